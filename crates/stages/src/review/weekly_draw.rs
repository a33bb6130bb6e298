use ratchet_core::calendar::Week;
use ratchet_core::catalog::agent::AgentSettings;
use ratchet_core::payload::Json;
use ratchet_core::review::allocation::SamplePlan;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{Agent, DrawEffect, NewDraw, NewQueue, QueueId};
use ratchet_store::project::ProjectId;
use ratchet_store::query::TimeRange;
use ratchet_store::review_signals::{AgentScope, DrawQuery, SignalQuery};
use ratchet_store::{Store, StoreResult};
use serde_json::json;

/// The queue of traces without an agent.
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

/// Returns the targets of a week: one for each agent that has traces, with its settings.
///
/// # Errors
/// Fails only when the database does.
pub async fn targets(
    store: &Store,
    project: &ProjectId,
    week: &Week,
) -> StoreResult<Vec<ReviewTarget>> {
    let seen = store.telemetry.traced_agents(traces_of(project, week, AgentScope::All)).await?;
    let known = store.catalog.agents(project.clone()).await?;
    let settings = |name: &str| {
        let is_named = |agent: &&Agent| {
            agent.name == name || agent.settings.aliases.iter().any(|it| it == name)
        };
        let agent = known.iter().find(is_named);
        agent.map_or_else(
            || (name.to_owned(), AgentSettings::default()),
            |agent| (agent.name.clone(), agent.settings.clone()),
        )
    };
    let mut names: Vec<Option<String>> = Vec::new();
    for (agent, _) in seen {
        let name = agent.map(|agent| settings(&agent).0);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let agents = names.len().max(known.len());
    let mut targets = Vec::new();
    for name in names.into_iter().take(MAX_AGENTS) {
        targets.push(match name {
            None => unnamed(),
            Some(name) => named(store, settings(&name), agents, week).await?,
        });
    }
    Ok(targets)
}

/// The target of traces without an agent.
fn unnamed() -> ReviewTarget {
    ReviewTarget {
        agent: None,
        scope: AgentScope::Unnamed,
        queue: QUEUE.to_owned(),
        plan: SamplePlan::default(),
        assignee: None,
    }
}

async fn named(
    store: &Store,
    (name, settings): (String, AgentSettings),
    agents: usize,
    week: &Week,
) -> StoreResult<ReviewTarget> {
    // People who are on call need no account here; then nobody is assigned.
    let assignee = match settings.on_call_in(&week.after()) {
        Some(person) => store.catalog.user(person.to_owned()).await.ok().map(|user| user.id),
        None => None,
    };
    let names = std::iter::once(name.clone()).chain(settings.aliases.iter().cloned());
    Ok(ReviewTarget {
        scope: AgentScope::Named(names.collect()),
        queue: settings.queue_name(&name, agents),
        plan: SamplePlan { capacity: settings.review_capacity as usize, ..SamplePlan::default() },
        assignee,
        agent: Some(name),
    })
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
