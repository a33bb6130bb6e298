//! Promotions: what is on its way to production, what serves where, and the way back.

/// One promotion: criteria, evidence, watch, and what can be done.
mod one;
/// What can be done with it.
mod actions;
/// Where it stands on the way to production.
mod pipeline;
/// Production before and after.
mod watch;
/// Versions of an agent and what serves where.
mod lineage;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::promotion::agent_version::AgentVersion;
use ratchet_core::promotion::state::{PromotionState, Refused};
use ratchet_core::record::limit::elide;
use ratchet_stages::gate::{GateContext, GateError};
use ratchet_stages::promote::{self, PromoteContext, PromoteError};
use ratchet_store::StoreError;
use ratchet_store::catalog::{Catalog, PromotionQuery, StoredPromotion};
use ratchet_store::project::ProjectId;
use ratchet_store::query::PageNumber;

use crate::components::field::{self, Entered, FormField};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{badge, empty, figure};
use crate::form::PageForm;
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

/// Promotions on a page.
const ROWS: u64 = 50;
/// Characters of a name that are shown.
const NAME: usize = 80;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/promotions", get(list).post(create))
        .route("/project/{project}/promotions/agents/{agent}", get(lineage::show))
        .route("/project/{project}/promotions/{promotion}", get(one::show))
        .route("/project/{project}/promotions/{promotion}/{action}", post(actions::act))
}

/// Why a promotion refused, as a page: 409, 403 or 400.
pub(super) fn refused(error: PromoteError) -> PageError {
    match error {
        PromoteError::Refused(why @ Refused::NotYours { .. }) => {
            PageError::Forbidden(why.to_string())
        }
        PromoteError::Refused(why @ Refused::Invalid { .. }) => PageError::Bad(why.to_string()),
        PromoteError::Refused(why) => PageError::Store(StoreError::Conflict(why.to_string())),
        PromoteError::Store(error) | PromoteError::Gate(GateError::Store(error)) => {
            PageError::Store(error)
        }
        PromoteError::Gate(GateError::NotFound(why)) => PageError::NotFound(why),
        error @ (PromoteError::Gate(_) | PromoteError::Junit(_) | PromoteError::Invalid(_)) => {
            PageError::Bad(error.to_string())
        }
    }
}

/// What promotions need, for the viewer.
pub(super) fn context<'a>(
    web: &'a Web,
    (catalog, project): (&'a Catalog, &'a ProjectId),
    ctx: &'a RequestContext,
) -> PromoteContext<'a> {
    let (server, now) = (ctx.server.as_str(), ctx.now);
    let gate = GateContext { store: &web.store, catalog, project, server, now };
    PromoteContext { gate, can_deploy: web.can_deploy() }
}

/// The state, as a badge.
pub(super) fn state(state: PromotionState) -> Markup {
    badge::tag(match state {
        PromotionState::Draft => "Draft",
        PromotionState::Evidence => "Waits for CI",
        PromotionState::Review => "In review",
        PromotionState::Approved => "Approved",
        PromotionState::Deploying => "Deploying",
        PromotionState::Live => "Live, watched",
        PromotionState::Confirmed => "Confirmed",
        PromotionState::RolledBack => "Rolled back",
        PromotionState::Failed => "Deployment failed",
        PromotionState::Superseded => "Superseded",
        PromotionState::Abandoned => "Abandoned",
    })
}

async fn list(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    listed(&web, &ctx, &Entered::default()).await
}

async fn listed(web: &Web, ctx: &RequestContext, entered: &Entered) -> PageResult<Markup> {
    let number = ctx.params.page();
    let query = PromotionQuery {
        project: ctx.project_id(),
        agent: ctx.params.get("of").map(str::to_owned),
        page: PageNumber { page: number, limit: ROWS },
    };
    let found = web.store.catalog.promotions(query).await?;
    let total = found.total.unwrap_or(0);
    let mut rows = Vec::new();
    for stored in &found.rows {
        rows.push(row(web, ctx, stored).await?);
    }
    let mut page = Page::new(Section::Promotions, "Promotions");
    page.summary = html! {
        (figure::counted(total, "promotion"))
        " of agent versions, newest first."
    };
    page.body = html! {
        @if rows.is_empty() { (nothing(ctx)) } @else { (overview(rows)) }
        @if total > number.saturating_mul(ROWS) {
            p { a href=(ctx.here().with("page", (number + 1).to_string())) { "Older" } }
        }
        @if ctx.viewer.can_change() { (form(ctx, entered)) }
    };
    Ok(page.show(ctx))
}

fn nothing(ctx: &RequestContext) -> Markup {
    let how = html! {
        p { "A promotion brings a version of an agent to production: prompts, model and tools. It needs "
            "six criteria: tool tests, an accuracy gate, no regression, corrected judge errors, a review "
            "and an approval. Create one below, or in CI with " code { "ratchet promote evidence" } "." }
        @if ctx.viewer.can_change() { p { a.button href="#create" { "Create promotion" } } }
    };
    empty::empty("No promotions yet", &how)
}

fn overview(rows: Vec<Row>) -> Markup {
    let columns = vec![
        Column::text("State"),
        Column::wide("Agent"),
        Column::text("Version"),
        Column::number("Criteria"),
        Column::wide("Waits for"),
        Column::text("Changed"),
    ];
    table::table(&Table { caption: "Promotions".to_owned(), columns, rows, select_for: None })
}

async fn row(web: &Web, ctx: &RequestContext, stored: &StoredPromotion) -> PageResult<Row> {
    let promotion = &stored.promotion;
    let catalog = &web.store.catalog;
    let responsible = catalog.responsible(ctx.project_id(), promotion.agent.clone()).await?;
    let criteria = promotion.criteria(&responsible);
    let met = criteria.iter().filter(|state| state.is_met).count();
    let waits = match promotion.state {
        PromotionState::Approved => "start".to_owned(),
        PromotionState::Live => promotion.watch.as_ref().map_or_else(
            || "the watch".to_owned(),
            ratchet_core::promotion::watch::WatchResult::sentence,
        ),
        open if open.is_open() => criteria
            .iter()
            .find(|state| !state.is_met)
            .map_or_else(|| "start".to_owned(), |state| state.who.clone()),
        _ => "–".to_owned(),
    };
    Ok(Row {
        id: stored.id.clone(),
        link: Some(ctx.to(&["promotions", &stored.id])),
        cells: vec![
            state(promotion.state),
            html! { bdi { (elide(&promotion.agent, NAME)) } },
            html! { code { (promotion.version) } },
            html! { (met) " of 6" },
            html! { bdi { (elide(&waits, 2 * NAME)) } },
            html! { (figure::ago(stored.updated_at, &ctx.time)) },
        ],
        failed: promotion.state == PromotionState::Failed,
    })
}

const FIELDS: [FormField<'_>; 4] = [
    FormField { name: "agent", label: "Agent", hint: "By name or alias." },
    FormField { name: "model", label: "Model", hint: "Empty if it is not part of the version." },
    FormField { name: "tools", label: "Tools", hint: "The commit of the tool set." },
    FormField {
        name: "dataset",
        label: "Dataset",
        hint: "Empty: the agent's global dataset, AGENT-eval-global.",
    },
];
const SETTINGS: FormField<'_> = FormField {
    name: "settings",
    label: "Settings",
    hint: "One per line, by environment: production:temperature=0.2.",
};
const PROMPTS: FormField<'_> = FormField {
    name: "prompts",
    label: "Prompts",
    hint: "One per line with its version, those of sub-agents too: support=3.",
};

fn form(ctx: &RequestContext, entered: &Entered) -> Markup {
    html! {
        form.settings #create method="post" action=(ctx.to(&["promotions"])) {
            (ctx.viewer.form_token.field())
            (field::problem(entered))
            fieldset {
                legend { "New promotion" }
                @for one in FIELDS { (field::line(one, entered)) }
                (field::area(PROMPTS, 3, entered))
                (field::area(SETTINGS, 2, entered))
            }
            button.button.primary type="submit" { "Create promotion" }
        }
    }
}

/// The version that a form describes; notes what is wrong with it.
fn version(entered: &mut Entered) -> AgentVersion {
    let mut version = AgentVersion {
        model: entered.filled("model").map(str::to_owned),
        tools: entered.filled("tools").map(str::to_owned),
        ..AgentVersion::default()
    };
    for line in entered.lines("prompts") {
        let parts = line.rsplit_once('=').and_then(|(name, number)| {
            Some((name.trim().to_owned(), number.trim().parse::<u32>().ok()?))
        });
        match parts {
            Some((name, number)) => drop(version.prompts.insert(name, number)),
            None => entered.wrong("prompts", "must be NAME=VERSION per line"),
        }
    }
    for line in entered.lines("settings") {
        let parts = line.split_once(':').and_then(|(environment, rest)| {
            let (name, value) = rest.split_once('=')?;
            Some((environment.trim().to_owned(), (name.trim().to_owned(), value.trim().to_owned())))
        });
        match parts {
            Some((environment, (name, value))) => {
                version.settings.entry(environment).or_default().insert(name, value);
            }
            None => entered.wrong("settings", "must be ENVIRONMENT:NAME=VALUE per line"),
        }
    }
    version
}

async fn create(State(web): State<Web>, PageForm { ctx, form }: PageForm) -> PageResult<Response> {
    ctx.viewer.may_change()?;
    let mut entered = Entered::new(form);
    let version = version(&mut entered);
    if entered.is_fine() {
        match made(&web, &ctx, (&entered, version)).await {
            Ok(made) => {
                let to = ctx.to(&["promotions", &made.id]).to_string();
                return Ok(Redirect::to(&to).into_response());
            }
            Err(error) => {
                let (field, why) = wrong_field(&error);
                if let Some(why) = why {
                    entered.wrong(field, why);
                } else {
                    return Err(refused(error));
                }
            }
        }
    }
    let page = listed(&web, &ctx, &entered).await?;
    Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response())
}

async fn made(
    web: &Web,
    ctx: &RequestContext,
    (entered, version): (&Entered, AgentVersion),
) -> Result<StoredPromotion, PromoteError> {
    let (catalog, project) = (ctx.viewer.catalog(web), ctx.project_id());
    let context = context(web, (&catalog, &project), ctx);
    let saved = promote::save_version(context.gate, entered.text("agent"), version).await?;
    let dataset = entered.filled("dataset").map(str::to_owned);
    promote::create(context, &saved.id, dataset).await
}

/// The field of the form that is wrong, and why; `None` if it is not the form.
fn wrong_field(error: &PromoteError) -> (&'static str, Option<String>) {
    match error {
        PromoteError::Invalid(wrong) => match wrong.field {
            field @ ("prompts" | "model" | "tools" | "settings") => {
                (field, Some(wrong.problem.clone()))
            }
            _ => ("", Some(wrong.problem.clone())),
        },
        PromoteError::Refused(Refused::Invalid { field: "dataset", problem }) => {
            ("dataset", Some(problem.clone()))
        }
        PromoteError::Gate(GateError::NotFound(why)) => ("dataset", Some(why.clone())),
        PromoteError::Store(StoreError::NotFound(why)) => {
            ("agent", Some(format!("{why} not found")))
        }
        PromoteError::Store(StoreError::BadQuery(why)) => ("", Some(why.clone())),
        _ => ("", None),
    }
}
