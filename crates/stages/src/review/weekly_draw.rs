use ratchet_core::calendar::Week;
use ratchet_core::payload::Json;
use ratchet_core::review::allocation::SamplePlan;
use ratchet_core::time::Timestamp;
use ratchet_store::Store;
use ratchet_store::StoreResult;
use ratchet_store::catalog::{DrawEffect, NewDraw, NewQueue, QueueId};
use ratchet_store::project::ProjectId;
use ratchet_store::query::TimeRange;
use ratchet_store::review_signals::{AgentScope, DrawQuery, SignalQuery};
use serde_json::json;

/// The queue of a project with one agent; with several, each has its own, `<agent>-weekly-review`.
const QUEUE: &str = "weekly-review";
/// Agents that get a sample of their own: those with the most traces.
const MAX_AGENTS: usize = 50;

/// Whose traces are drawn, into which queue, and how many.
#[derive(Clone, Debug, PartialEq)]
pub struct ReviewTarget {
    /// Name of the agent; `None` for traces without one.
    pub agent: Option<String>,
    /// The traces.
    pub scope: AgentScope,
    /// Name of the queue.
    pub queue: String,
    pub plan: SamplePlan,
    /// Id of the user who is on call.
    pub assignee: Option<String>,
}

/// The result of a draw.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawReport {
    /// Name of the queue.
    pub queue: String,
    /// Its id.
    pub queue_id: String,
    pub agent: Option<String>,
    pub effect: DrawEffect,
    /// Traces in the sample.
    pub drawn: usize,
    /// Traces of the week.
    pub traces: u64,
}

fn range(week: &Week) -> TimeRange {
    TimeRange { from: Some(week.start()), to: Some(week.end()) }
}

/// All traces of a week.
pub fn traces_of(project: &ProjectId, week: &Week, agent: AgentScope) -> SignalQuery {
    SignalQuery {
        project: project.clone(),
        range: range(week),
        agent,
        environment: None,
        release: None,
    }
}

/// Returns the targets of a week: one for each agent that has traces.
///
/// # Errors
/// Fails only when the database does.
pub async fn targets(
    store: &Store,
    project: &ProjectId,
    week: &Week,
) -> StoreResult<Vec<ReviewTarget>> {
    let seen = store.telemetry.traced_agents(traces_of(project, week, AgentScope::All)).await?;
    let is_alone = seen.len() <= 1;
    let target = |(agent, _): (Option<String>, u64)| ReviewTarget {
        queue: match &agent {
            Some(agent) if !is_alone => format!("{agent}-{QUEUE}"),
            _ => QUEUE.to_owned(),
        },
        scope: match &agent {
            Some(agent) => AgentScope::Named(vec![agent.clone()]),
            None => AgentScope::Unnamed,
        },
        agent,
        plan: SamplePlan::default(),
        assignee: None,
    };
    Ok(seen.into_iter().take(MAX_AGENTS).map(target).collect())
}

/// Draws a week's sample into the queue of its target and assigns the queue. A week that was drawn
/// stays as it is.
///
/// # Errors
/// Fails if the queue cannot be created, or if there is no such user.
pub async fn draw(
    store: &Store,
    (project, week): (&ProjectId, &Week),
    target: &ReviewTarget,
    now: Timestamp,
) -> StoreResult<DrawReport> {
    let new = NewQueue {
        name: target.queue.clone(),
        description: Some("Traces drawn every Monday for review".to_owned()),
        score_configs: Vec::new(),
    };
    let queue = store.catalog.ensure_queue(project.clone(), new, now).await?;
    let seed = format!("{project}/{}/{week}", target.queue);
    let draw = store.telemetry.draw_week(DrawQuery {
        traces: traces_of(project, week, target.scope.clone()),
        plan: target.plan,
        seed,
    });
    let draw = draw.await?;
    let (drawn, traces) = (draw.traces.len(), draw.populations().values().sum());
    let plan = json!({
        "capacity": target.plan.capacity,
        "half_width": target.plan.half_width,
        "flagged_share": target.plan.flagged_share,
        "spot_share": target.plan.spot_share,
        "planned_half_width": draw.half_width,
    });
    let of = QueueId { project: project.clone(), queue: queue.id.clone() };
    let new = NewDraw {
        week: week.to_string(),
        agent: target.agent.clone(),
        plan: Json::from_value(&plan),
        draw,
    };
    let effect = store.catalog.save_draw(of.clone(), new, now).await?;
    if let Some(person) = &target.assignee {
        store.catalog.assign_queue(of, person.clone(), now).await?;
    }
    let (queue, queue_id) = (queue.name, queue.id);
    Ok(DrawReport { queue, queue_id, agent: target.agent.clone(), effect, drawn, traces })
}
