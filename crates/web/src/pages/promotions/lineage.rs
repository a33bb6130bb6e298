use std::collections::BTreeMap;

use axum::extract::{Path, State};
use maud::{Markup, html};
use ratchet_core::record::limit::elide;
use ratchet_store::catalog::{Serving, StoredAgentVersion};

use super::NAME;
use crate::components::table::{self, Column, Row, Table};
use crate::components::{badge, empty, figure};
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

pub(super) async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, agent)): Path<(String, String)>,
) -> PageResult<Markup> {
    let (catalog, project) = (&web.store.catalog, ctx.project_id());
    let agent = catalog.agent(project.clone(), agent).await?;
    let versions = catalog.agent_versions(project.clone(), agent.name.clone()).await?;
    let history = catalog.serving_history(project, agent.name.clone()).await?;
    let mut page =
        Page::new(Section::Promotions, format!("Versions of {}", elide(&agent.name, NAME)));
    page.crumbs.push(("Promotions".to_owned(), ctx.to(&["promotions"])));
    let policy = &agent.settings.promotion;
    page.summary = html! {
        @if policy.is_required {
            "The label production of its prompts moves only by promotion or rollback."
        } @else {
            "Promotion is not required: the label production of its prompts can be moved by hand."
        }
    };
    page.action = html! {
        a.button href=(ctx.to(&["agents", "agent", &agent.name])) { "Agent settings" }
    };
    page.body = html! {
        @if versions.is_empty() { (nothing(&ctx)) } @else {
            (serving(&ctx, &history))
            (lineage(&ctx, &versions, &history))
        }
    };
    Ok(page.show(&ctx))
}

fn nothing(ctx: &RequestContext) -> Markup {
    let how = html! {
        p { "A version is recorded with its first promotion, or in CI with "
            code { "ratchet promote evidence --agent NAME --prompt NAME=VERSION" } "." }
        p { a.button href=(ctx.to(&["promotions"])) { "Promotions" } }
    };
    empty::empty("No versions yet", &how)
}

/// The newest entry of each environment.
fn current(history: &[Serving]) -> BTreeMap<&str, &Serving> {
    let mut current = BTreeMap::new();
    for one in history {
        current.entry(one.environment.as_str()).or_insert(one);
    }
    current
}

fn serving(ctx: &RequestContext, history: &[Serving]) -> Markup {
    let columns = vec![
        Column::wide("Environment"),
        Column::text("Version"),
        Column::text("Deployed"),
        Column::text("Promotion"),
    ];
    let row = |(environment, one): (&str, &Serving)| Row {
        id: environment.to_owned(),
        link: None,
        cells: vec![
            html! { bdi { (elide(environment, NAME)) } },
            html! { @match &one.version { Some(id) => code { (id) }, None => "not recorded" } },
            html! { (figure::ago(one.since, &ctx.time)) },
            html! {
                @match &one.promotion {
                    Some(id) => a href=(ctx.to(&["promotions", id])) { "View" },
                    None => "–",
                }
            },
        ],
        failed: false,
    };
    let rows: Vec<Row> = current(history).into_iter().map(row).collect();
    let caption = "What serves where".to_owned();
    html! {
        h2 { "What serves where" }
        @if rows.is_empty() { p.muted { "No version has served yet." } } @else {
            (table::table(&Table { caption, columns, rows, select_for: None }))
        }
    }
}

fn lineage(ctx: &RequestContext, versions: &[StoredAgentVersion], history: &[Serving]) -> Markup {
    let now = current(history);
    let columns = vec![
        Column::text("Version"),
        Column::wide("Prompts, model, tools, settings"),
        Column::wide("Changes"),
        Column::text("Serves in"),
        Column::text("Recorded by"),
        Column::text("Recorded"),
    ];
    let row = |(nth, one): (usize, &StoredAgentVersion)| {
        let changes = versions
            .get(nth + 1)
            .map_or_else(Vec::new, |earlier| one.version.changes_since(&earlier.version));
        let is_it = |serving: &&Serving| serving.version.as_ref() == Some(&one.id);
        Row {
            id: one.id.clone(),
            link: None,
            cells: vec![
                html! { code { (one.id) } },
                html! { bdi { (elide(&one.version.summary(), 2 * NAME)) } },
                html! { @if changes.is_empty() { "–" } @else {
                    ul.plain { @for change in &changes { li { bdi { (elide(change, NAME)) } } } }
                } },
                html! { @for (environment, _) in now.iter().filter(|(_, serving)| is_it(serving)) {
                    (badge::tag(&elide(environment, NAME))) " "
                } },
                html! { bdi { (elide(&one.created_by, NAME)) } },
                html! { (figure::ago(one.created_at, &ctx.time)) },
            ],
            failed: false,
        }
    };
    let rows = versions.iter().enumerate().map(row).collect();
    let caption = "Versions".to_owned();
    html! { h2 { "Versions" } (table::table(&Table { caption, columns, rows, select_for: None })) }
}
