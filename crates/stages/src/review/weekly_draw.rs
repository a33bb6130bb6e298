use ratchet_core::calendar::Week;
use ratchet_core::catalog::agent::AgentSettings;
use ratchet_core::payload::Json;
use ratchet_core::review::allocation::ReviewPlan;
use ratchet_core::time::Timestamp;
use ratchet_store::StoreResult;
use ratchet_store::catalog::{Agent, Catalog, DrawEffect, NewDraw, NewQueue, QueueId};
use ratchet_store::project::ProjectId;
use ratchet_store::query::TimeRange;
use ratchet_store::review_signals::{AgentScope, DrawQuery, SignalQuery};
use serde_json::json;

use super::review_site::{ReviewSite, ReviewSiteResult};
use crate::sink::langfuse;

/// The queue of traces without an agent.
const QUEUE: &str = "weekly-review";
const DESCRIPTION: &str = "Traces drawn every Monday for review";
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
    pub plan: ReviewPlan,
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
/// Fails if traces or agents cannot be read.
pub async fn targets(site: &ReviewSite, week: &Week) -> ReviewSiteResult<Vec<ReviewTarget>> {
    let project = &site.project;
    let seen = site.traced_agents(traces_of(project, week, AgentScope::All)).await?;
    let known = site.catalog.agents(project.clone()).await?;
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
            Some(name) => named(&site.catalog, settings(&name), agents, week).await?,
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
        plan: ReviewPlan::default(),
        assignee: None,
    }
}

async fn named(
    catalog: &Catalog,
    (name, settings): (String, AgentSettings),
    agents: usize,
    week: &Week,
) -> StoreResult<ReviewTarget> {
    // A person on call without an account here is not assigned.
    let assignee = match settings.on_call_in(&week.after()) {
        Some(person) => catalog.user(person.to_owned()).await.ok().map(|user| user.id),
        None => None,
    };
    let names = std::iter::once(name.clone()).chain(settings.aliases.iter().cloned());
    Ok(ReviewTarget {
        scope: AgentScope::Named(names.collect()),
        queue: settings.queue_name(&name, agents),
        plan: plan(&settings),
        assignee,
        agent: Some(name),
    })
}

/// The plan of an agent's next sample. A split that a person accepted was chosen within the wanted
/// half-width, by measured rates: no places are reserved by expected ones.
pub(super) fn plan(settings: &AgentSettings) -> ReviewPlan {
    let plan = ReviewPlan {
        capacity: settings.review_capacity as usize,
        half_width: Some(settings.half_width),
        spot_share: settings.spot_share,
        ..ReviewPlan::default()
    };
    match settings.flagged_share {
        Some(flagged_share) => ReviewPlan { flagged_share, half_width: None, ..plan },
        None => plan,
    }
}

/// Draws a week's sample into the queue of its target and assigns the queue. A week that was drawn
/// stays as it is.
///
/// On a Langfuse server, the draw is stored here first and its traces are then added to the server's
/// queue of the same name; an interrupted run adds the missing ones.
///
/// # Errors
/// Fails if the queue cannot be created, or if there is no such user.
pub async fn draw(
    site: &ReviewSite,
    week: &Week,
    target: &ReviewTarget,
    now: Timestamp,
) -> ReviewSiteResult<DrawReport> {
    let (project, catalog) = (&site.project, &site.catalog);
    let new = NewQueue {
        name: target.queue.clone(),
        description: Some(DESCRIPTION.to_owned()),
        score_configs: Vec::new(),
    };
    let queue = catalog.ensure_queue(project.clone(), new, now).await?;
    let seed = format!("{project}/{}/{week}", target.queue);
    let draw = site.draw_week(DrawQuery {
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
    let effect = catalog.save_draw(of.clone(), new, now).await?;
    if let Some(person) = &target.assignee {
        catalog.assign_queue(of, person.clone(), now).await?;
    }
    let (queue, mut queue_id) = (queue.name, queue.id);
    if let Some(client) = site.client() {
        let stored = catalog.draws(project.clone(), week.to_string()).await?;
        let stored = stored.iter().filter(|draw| draw.queue == queue_id);
        let traces: Vec<&str> =
            stored.flat_map(|draw| &draw.traces).map(|drawn| drawn.trace.as_str()).collect();
        let there = langfuse::queues::ensure_queue(client, &queue, DESCRIPTION).await?;
        langfuse::queues::queue_traces(client, &there, traces.into_iter()).await?;
        queue_id = there;
    }
    Ok(DrawReport { queue, queue_id, agent: target.agent.clone(), effect, drawn, traces })
}
