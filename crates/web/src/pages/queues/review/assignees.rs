use std::collections::BTreeSet;

use axum::extract::{Path, State};
use axum::response::Redirect;
use maud::{Markup, html};
use ratchet_store::catalog::{Membership, QueueId, Role};

use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

/// Members who can review, by the role they have here.
async fn reviewers(web: &Web, ctx: &RequestContext) -> PageResult<Vec<Membership>> {
    let mut members = web.store.catalog.memberships(ctx.project_id()).await?;
    members.retain(|member| matches!(member.role, Role::Reviewer | Role::Member | Role::Owner));
    Ok(members)
}

/// The form that assigns a queue to people.
pub(super) async fn form(web: &Web, ctx: &RequestContext, of: &QueueId) -> PageResult<Markup> {
    let members = reviewers(web, ctx).await?;
    let assigned = web.store.catalog.assignees(of.clone()).await?;
    Ok(html! {
        h2 { "Reviewers" }
        @if members.is_empty() {
            p.muted { "No members who can review. Add people with the role reviewer in Settings › Members." }
        } @else {
            form.settings method="post" action=(ctx.to(&["queues", &of.queue, "assignees"])) {
                (ctx.viewer.form_token.field())
                p.muted { "People with the role reviewer see only the queues that they are assigned to." }
                @for Membership { user, role } in &members {
                    div.form-row.tick {
                        label {
                            input type="checkbox" name="person" value=(user.id) checked[assigned.contains(&user.id)];
                            " " bdi { (user.name.as_deref().unwrap_or(&user.email)) }
                            " " span.muted { (role.as_str()) }
                        }
                    }
                }
                button.button type="submit" { "Assign" }
            }
        }
    })
}

/// `POST …/queues/{queue}/assignees`: assigns the queue to the chosen members, and to no others of
/// those that the form shows.
pub(super) async fn save(
    State(web): State<Web>,
    Path((_, queue)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let of = QueueId { project: ctx.project_id(), queue };
    web.store.catalog.queue(of.clone()).await?;
    let members: BTreeSet<String> =
        reviewers(&web, &ctx).await?.into_iter().map(|member| member.user.id).collect();
    let chosen: BTreeSet<String> = form.all("person").map(str::to_owned).collect();
    if let Some(unknown) = chosen.iter().find(|person| !members.contains(*person)) {
        let unknown = ratchet_core::record::limit::elide(unknown, 100);
        return Err(PageError::Bad(format!("person: {unknown} is no member who can review")));
    }
    let assigned = web.store.catalog.assignees(of.clone()).await?;
    let catalog = ctx.viewer.catalog(&web);
    for person in chosen.iter().filter(|person| !assigned.contains(*person)) {
        catalog.assign_queue(of.clone(), person.clone(), ctx.now).await?;
    }
    for person in assigned.iter().filter(|it| members.contains(*it) && !chosen.contains(*it)) {
        catalog.unassign_queue(of.clone(), person.clone(), ctx.now).await?;
    }
    let to = ctx.to(&["queues", &of.queue, "settings"]);
    Ok(Redirect::to(&to.to_string()))
}
