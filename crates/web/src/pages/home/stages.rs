use maud::{Markup, html};
use ratchet_store::catalog::PromptQuery;
use ratchet_store::experiment::ExperimentQuery;
use ratchet_store::query::{
    Condition, Matching, PageNumber, Paging, ScoreColumn, TallyQuery, TraceColumn,
};

use crate::components::figure;
use crate::frame::Section;
use crate::page_error::PageResult;
use crate::request_context::{Link, RequestContext};
use crate::web::Web;

/// One stage of the loop: its number and its next action.
pub(super) struct StageCard {
    stage: &'static str,
    number: String,
    unit: &'static str,
    next: String,
    /// `None` while the page does not exist.
    link: Option<Link>,
}

/// Above this number, experiments are shown as "many".
const MANY: u64 = 100;
/// Maximum number of records counted; above, a lower bound is shown.
const COUNTED: u64 = 10_000;

/// Queries the numbers of all stages.
pub(super) async fn gather(web: &Web, ctx: &RequestContext) -> PageResult<[StageCard; 6]> {
    Ok([
        recorded(web, ctx).await?,
        scored(web, ctx).await?,
        waiting(web, ctx).await?,
        improve(),
        gated(web, ctx).await?,
        promoted(web, ctx).await?,
    ])
}

async fn recorded(web: &Web, ctx: &RequestContext) -> PageResult<StageCard> {
    let query = TallyQuery {
        project: ctx.project_id(),
        range: ctx.range(),
        conditions: in_environment(ctx, TraceColumn::Environment)
            .into_iter()
            .chain(
                ctx.scope
                    .agent
                    .as_deref()
                    .map(|agent| Condition::equals(TraceColumn::Agent, agent)),
            )
            .collect(),
        at_most: COUNTED,
    };
    let traces = web.store.telemetry.matching_traces(query).await?;
    Ok(StageCard {
        stage: "Record",
        number: at_least(traces),
        unit: "traces",
        next: "View traces".to_owned(),
        link: Some(Section::Traces.link(ctx)),
    })
}

async fn scored(web: &Web, ctx: &RequestContext) -> PageResult<StageCard> {
    let query = TallyQuery {
        project: ctx.project_id(),
        range: ctx.range(),
        conditions: in_environment(ctx, ScoreColumn::Environment),
        at_most: COUNTED,
    };
    let scores = web.store.telemetry.matching_scores(query).await?;
    let next = if scores.matching == 0 { "Send the first score" } else { "View distributions" };
    Ok(StageCard {
        stage: "Score",
        number: at_least(scores),
        // A score does not say which agent it judges.
        unit: if ctx.scope.agent.is_some() { "scores of all agents" } else { "scores" },
        next: next.to_owned(),
        link: Some(Section::Scores.link(ctx)),
    })
}

fn in_environment<C>(ctx: &RequestContext, column: C) -> Vec<Condition<C>> {
    let chosen = ctx.scope.environment.as_deref();
    chosen.map(|environment| Condition::equals(column, environment)).into_iter().collect()
}

/// The count, or a lower bound.
fn at_least(found: Matching) -> String {
    let more = if found.looked_at < COUNTED { "" } else { "+" };
    format!("{}{more}", figure::count(found.matching))
}

async fn waiting(web: &Web, ctx: &RequestContext) -> PageResult<StageCard> {
    let queues = web.store.catalog.queue_progress(ctx.project_id()).await?;
    let waiting: u64 = queues.values().map(|progress| progress.waiting).sum();
    let next = match waiting {
        0 => "Nothing to review".to_owned(),
        some => format!("{} waiting for review", figure::count(some)),
    };
    Ok(StageCard {
        stage: "Review",
        number: figure::count(waiting),
        unit: "waiting",
        next,
        link: Some(Section::Queues.link(ctx)),
    })
}

/// Not implemented yet; shown as text, because a zero would look measured.
fn improve() -> StageCard {
    StageCard {
        stage: "Improve",
        number: "–".to_owned(),
        unit: "proposals",
        next: "Proposed changes, drafted from failures. Coming soon.".to_owned(),
        link: None,
    }
}

async fn gated(web: &Web, ctx: &RequestContext) -> PageResult<StageCard> {
    let query = ExperimentQuery {
        project: ctx.project_id(),
        range: ctx.range(),
        ids: Vec::new(),
        names: Vec::new(),
        datasets: Vec::new(),
        paging: Paging::After { cursor: None, limit: MANY },
    };
    let runs = web.store.telemetry.experiments(query).await?.rows.len() as u64;
    let next = if runs == 0 { "Run an agent on a dataset" } else { "Compare runs" };
    Ok(StageCard {
        stage: "Gate",
        number: if runs == MANY { "many".to_owned() } else { figure::count(runs) },
        unit: "dataset runs",
        next: next.to_owned(),
        link: Some(Section::Datasets.link(ctx)),
    })
}

async fn promoted(web: &Web, ctx: &RequestContext) -> PageResult<StageCard> {
    let query = PromptQuery {
        project: ctx.project_id(),
        name: None,
        label: Some("production".to_owned()),
        tag: None,
        updated: ctx.range(),
        page: PageNumber { page: 1, limit: 1 },
    };
    let promoted = web.store.catalog.prompts(query).await?.total.unwrap_or_default();
    Ok(StageCard {
        stage: "Promote",
        number: figure::count(promoted),
        unit: "prompts changed in production",
        next: "View prompts".to_owned(),
        link: Some(Section::Prompts.link(ctx)),
    })
}

pub(super) fn draw(stations: &[StageCard]) -> Markup {
    let inside = |card: &StageCard| {
        html! {
            span.card { (card.stage) }
            span.stat-value { (card.number) }
            span.muted { (card.unit) }
            span.next { (card.next) }
        }
    };
    html! {
        ol.loop aria-label="The loop" {
            @for card in stations {
                li {
                    @match &card.link {
                        Some(link) => a href=(link) { (inside(card)) },
                        None => div.not-yet { (inside(card)) },
                    }
                }
            }
        }
    }
}
