use maud::{Markup, html};
use ratchet_core::improve::backlog::ProposalState;
use ratchet_core::promotion::state::PromotionState;
use ratchet_core::promotion::watch::WatchResult;
use ratchet_core::record::limit::elide;
use ratchet_store::catalog::{PromotionQuery, ProposalQuery};
use ratchet_store::experiment::ExperimentQuery;
use ratchet_store::query::{
    Condition, Matching, PageNumber, Paging, ScoreColumn, TallyQuery, TraceColumn,
};

use crate::components::figure;
use crate::frame::Section;
use crate::page_error::PageResult;
use crate::request_context::{Link, RequestContext};
use crate::sums;
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

/// Bytes of a name that are shown.
const NAME: usize = 40;
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
        improve(web, ctx).await?,
        gated(web, ctx).await?,
        promoted(web, ctx).await?,
    ])
}

async fn recorded(web: &Web, ctx: &RequestContext) -> PageResult<StageCard> {
    let query = TallyQuery {
        project: ctx.project_id(),
        range: ctx.range(),
        conditions: in_environment(web, ctx, TraceColumn::Environment)
            .await?
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
        conditions: in_environment(web, ctx, ScoreColumn::Environment).await?,
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

/// The chosen environment, or all but those of judges and experiments.
async fn in_environment<C>(
    web: &Web,
    ctx: &RequestContext,
    column: C,
) -> PageResult<Vec<Condition<C>>> {
    let condition = match ctx.scope.environment.as_deref() {
        Some(chosen) => Some(Condition::equals(column, chosen)),
        None => sums::without(column, sums::left_out(web, ctx, ctx.range()).await?),
    };
    Ok(condition.into_iter().collect())
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

/// What of the backlog waits for whom.
async fn improve(web: &Web, ctx: &RequestContext) -> PageResult<StageCard> {
    let mut counts = [0; 4];
    let states = [
        ProposalState::New,
        ProposalState::Accepted,
        ProposalState::InExperiment,
        ProposalState::Gated,
    ];
    for (count, state) in counts.iter_mut().zip(states) {
        let query = ProposalQuery {
            agent: ctx.scope.agent.clone(),
            state: Some(state),
            ..ProposalQuery::all(ctx.project_id(), PageNumber { page: 1, limit: 1 })
        };
        *count = web.store.catalog.proposals(query).await?.total.unwrap_or(0);
    }
    let next = match counts {
        [0, 0, 0, 0] => "View proposals".to_owned(),
        [0, 0, 0, gated] => format!("{} waiting for promotion", figure::count(gated)),
        [0, 0, tried, _] => format!("{} waiting for a gate", figure::count(tried)),
        [0, accepted, ..] => format!("{} waiting for an experiment", figure::count(accepted)),
        [new, ..] => format!("{} waiting for a decision", figure::count(new)),
    };
    Ok(StageCard {
        stage: "Improve",
        number: figure::count(counts.iter().sum()),
        unit: "open proposals",
        next,
        link: Some(Section::Proposals.link(ctx)),
    })
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

/// What waits for whom on the way to production.
async fn promoted(web: &Web, ctx: &RequestContext) -> PageResult<StageCard> {
    let query = PromotionQuery {
        project: ctx.project_id(),
        agent: ctx.scope.agent.clone(),
        page: PageNumber { page: 1, limit: MANY },
    };
    let found = web.store.catalog.promotions(query).await?.rows;
    let worse = found.iter().find(|stored| {
        let promotion = &stored.promotion;
        let is_worse = promotion.watch.as_ref().is_some_and(WatchResult::is_worse);
        promotion.state == PromotionState::Live && is_worse
    });
    let open: Vec<_> = found.iter().filter(|stored| stored.promotion.state.is_open()).collect();
    let next = match (worse, open.first()) {
        (Some(worse), _) => {
            format!("{}: worse after its promotion", elide(&worse.promotion.agent, NAME))
        }
        (None, Some(first)) => {
            let agent = first.promotion.agent.clone();
            let responsible =
                web.store.catalog.responsible(ctx.project_id(), agent.clone()).await?;
            let missing = first.promotion.criteria(&responsible);
            let first = missing.iter().find(|state| !state.is_met);
            let what = first.map_or_else(
                || "a start".to_owned(),
                |state| {
                    // Without how: its page says that.
                    let who = state.who.split([',', ';']).next().unwrap_or_default();
                    format!("{} by {}", state.criterion.given(), elide(who, NAME))
                },
            );
            format!("{} waits for {what}", elide(&agent, NAME))
        }
        (None, None) if found.is_empty() => "Promote a version".to_owned(),
        (None, None) => "View promotions".to_owned(),
    };
    Ok(StageCard {
        stage: "Promote",
        number: figure::count(open.len() as u64),
        unit: "promotions waiting",
        next,
        link: Some(match worse.or_else(|| open.first().copied()) {
            Some(waiting) => ctx.to(&["promotions", &waiting.id]),
            None => Section::Promotions.link(ctx),
        }),
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
