//! Who works in a project, and as what.

use axum::Router;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::catalog::account::Email;
use ratchet_core::catalog::validation;
use ratchet_core::secret::Secret;
use ratchet_store::StoreError;
use ratchet_store::catalog::{Membership, NewUser, Role, User};
use ratchet_store::secrets::random_token;

use super::{ConfirmDialog, Done, Tab, once, page, question, wrong};
use crate::components::field::{self, Entered, FormField};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{copy, figure};
use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

const EMAIL: FormField<'_> = FormField { name: "email", label: "Email address", hint: "" };
const ROLE: FormField<'_> = FormField {
    name: "role",
    label: "Role in this project",
    hint: "Reviewers see only the queues they are assigned to, viewers read, members also edit and score, owners manage the project.",
};
const PERSON: FormField<'_> =
    FormField { name: "name", label: "Name", hint: "Only for new users." };

const ROLES: [Role; 4] = [Role::Reviewer, Role::Viewer, Role::Member, Role::Owner];

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/settings/members", get(show).post(add))
        .route("/project/{project}/settings/members/{person}/role", post(set_role))
        .route("/project/{project}/settings/members/{person}/remove", post(remove))
}

async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    ctx.viewer.may_own()?;
    drawn(&web, &ctx, &preset(), None).await
}

fn preset() -> Entered {
    Entered::preset(&[("role", Role::Member.as_str())])
}

/// Someone who was made just now, and the password they begin with.
struct Newcomer {
    email: String,
    password: Secret,
}

async fn drawn(
    web: &Web,
    ctx: &RequestContext,
    entered: &Entered,
    newcomer: Option<&Newcomer>,
) -> PageResult<Markup> {
    let members = web.store.catalog.memberships(ctx.project_id()).await?;
    let everyone = web.store.catalog.users().await?;
    let owners: Vec<&User> = everyone.iter().filter(|user| user.role == Role::Owner).collect();
    let body = html! {
        @if let Some(newcomer) = newcomer { (welcome(newcomer)) }
        section.settings {
            h2 { "Project members" }
            @if members.is_empty() {
                p.muted { "No members yet. Server owners can access every project." }
            } @else { (list(&members, ctx)) }
            @if !owners.is_empty() {
                p.muted {
                    "Server owners have full access to every project: "
                    @for (index, owner) in owners.iter().enumerate() {
                        @if index > 0 { ", " } bdi { (owner.email) }
                    }
                    "."
                }
            }
        }
        (add_form(ctx, entered))
    };
    let count = members.len();
    let summary = html! {
        (count) " " (if count == 1 { "member" } else { "members" }) ", not counting server owners."
    };
    Ok(page(ctx, Tab::Members, summary, &body))
}

fn welcome(newcomer: &Newcomer) -> Markup {
    html! {
        section.settings.shown-once role="status" {
            h2 { "Temporary password for " bdi { (newcomer.email) } }
            p { "Share it with the user, who can change it after signing in. It is not shown again." }
            (copy::snippet(newcomer.password.expose()))
        }
    }
}

fn list(members: &[Membership], ctx: &RequestContext) -> Markup {
    let columns = vec![
        Column::text("User"),
        Column::text("Role"),
        Column::text("User since"),
        Column::text("Actions"),
    ];
    let rows = members.iter().map(|member| row(member, ctx)).collect();
    table::table(&Table { caption: "Members".to_owned(), columns, rows, select_for: None })
}

fn row(member: &Membership, ctx: &RequestContext) -> Row {
    let Membership { user, role } = member;
    let action = |what: &str| Tab::Members.action(ctx, &[&user.id, what]);
    Row {
        id: user.id.clone(),
        link: None,
        cells: vec![
            html! {
                bdi { (user.email) }
                @if let Some(name) = &user.name { " " span.muted { bdi { (name) } } }
            },
            html! {
                form.inline method="post" action=(action("role")) {
                    (ctx.viewer.form_token.field())
                    select name="role" aria-label={ "Role of " (user.email) } {
                        @for choice in ROLES {
                            option selected[choice == *role] { (choice.as_str()) }
                        }
                    }
                    button.button type="submit" { "Update" }
                }
            },
            figure::ago(user.created_at, &ctx.time),
            html! {
                form.inline method="post" action=(action("remove")) {
                    (ctx.viewer.form_token.field())
                    button.quiet type="submit" { "Remove" span.sr { " " (user.email) } }
                }
            },
        ],
        failed: false,
    }
}

fn add_form(ctx: &RequestContext, entered: &Entered) -> Markup {
    let roles = ROLES.map(|role| (role.as_str(), role.as_str()));
    html! {
        section.settings {
            h2 { "Add member" }
            form method="post" action=(Tab::Members.action(ctx, &[])) {
                (ctx.viewer.form_token.field())
                (field::line(EMAIL, entered))
                (field::choice(ROLE, &roles, entered))
                @if ctx.viewer.owns_server() { (field::line(PERSON, entered)) }
                button.button.primary type="submit" { "Add" }
            }
            p.hint {
                @if ctx.viewer.owns_server() {
                    "New users get an account with a temporary password."
                } @else {
                    "The user must already have an account; server owners can create accounts."
                }
            }
        }
    }
}

/// A role that people may have.
fn role(word: &str) -> Option<Role> {
    Role::parse(word).filter(|role| ROLES.contains(role))
}

async fn add(State(web): State<Web>, PageForm { ctx, form }: PageForm) -> PageResult<Response> {
    ctx.viewer.may_own()?;
    let mut entered = Entered::new(form);
    let email = Email::parse(entered.text("email"));
    if email.is_none() {
        entered.wrong("email", "not a valid email address");
    }
    let role = role(entered.raw("role"));
    if role.is_none() {
        entered.wrong("role", "viewer, member or owner");
    }
    let name = validation::person_name(entered.filled("name").map(str::to_owned));
    if let Err(why) = &name {
        entered.wrong("name", why.problem.clone());
    }
    let (Some(email), Some(role), Ok(name)) = (email, role, name) else {
        return Ok(wrong(drawn(&web, &ctx, &entered, None).await?));
    };
    match web.store.catalog.user(email.to_string()).await {
        Ok(user) => {
            let catalog = ctx.viewer.catalog(&web);
            catalog.set_membership(ctx.project_id(), user.id, role, ctx.now).await?;
            Ok(Done::Added.back(&ctx, Tab::Members))
        }
        Err(StoreError::NotFound(_)) if ctx.viewer.owns_server() => {
            let newcomer = make(&web, &ctx, (email, name), role).await?;
            let shown = drawn(&web, &ctx, &preset(), Some(&newcomer)).await?;
            Ok(once(shown))
        }
        Err(StoreError::NotFound(_)) => {
            let why = "no account with this address; server owners can create accounts";
            let entered = entered.and_wrong("email", why);
            Ok(wrong(drawn(&web, &ctx, &entered, None).await?))
        }
        Err(error) => Err(error.into()),
    }
}

/// Creates an account. On the server it is a member at most: it owns only this
/// project.
async fn make(
    web: &Web,
    ctx: &RequestContext,
    (email, name): (Email, Option<String>),
    role: Role,
) -> PageResult<Newcomer> {
    let password = random_token()?;
    let catalog = ctx.viewer.catalog(web);
    let new = NewUser {
        email,
        name,
        password: password.clone(),
        role: role.min(Role::Member),
        project: Some(ctx.project_id()),
    };
    let user = catalog.create_user(new, ctx.now).await?;
    if role == Role::Owner {
        catalog.set_membership(ctx.project_id(), user.id, role, ctx.now).await?;
    }
    Ok(Newcomer { email: user.email, password })
}

async fn set_role(
    State(web): State<Web>,
    Path((_, person)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    ctx.viewer.may_own()?;
    let role = role(Entered::new(form).raw("role"))
        .ok_or_else(|| PageError::Bad("role: viewer, member or owner".to_owned()))?;
    let member = member(&web, &ctx, &person).await?;
    let catalog = ctx.viewer.catalog(&web);
    catalog.set_membership(ctx.project_id(), member.user.id, role, ctx.now).await?;
    Ok(Done::Saved.back(&ctx, Tab::Members))
}

async fn remove(
    State(web): State<Web>,
    Path((_, person)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    ctx.viewer.may_own()?;
    let member = member(&web, &ctx, &person).await?;
    if !Entered::new(form).is_ticked("sure") {
        let ask = ConfirmDialog {
            title: format!("Remove {}?", member.user.email),
            lost: html! {
                "They lose access to this project. Their account, comments and scores are not deleted."
            },
            action: Tab::Members.action(&ctx, &[&person, "remove"]),
            verb: "Remove",
            fields: &[],
        };
        return Ok(question(&ctx, Tab::Members, &ask).into_response());
    }
    let catalog = ctx.viewer.catalog(&web);
    catalog.end_membership(ctx.project_id(), member.user.id, ctx.now).await?;
    Ok(Done::Removed.back(&ctx, Tab::Members))
}

/// Someone who works here; anyone else looks as if they were not there.
async fn member(web: &Web, ctx: &RequestContext, person: &str) -> PageResult<Membership> {
    let members = web.store.catalog.memberships(ctx.project_id()).await?;
    let found = members.into_iter().find(|member| member.user.id == person);
    found.ok_or_else(|| PageError::not_there("member"))
}
