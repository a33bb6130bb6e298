use ratchet_core::calendar::Week;
use ratchet_core::catalog::agent::AgentSettings;
use ratchet_core::payload::Json;
use ratchet_core::review::allocation::ReviewPlan;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{Catalog, DrawEffect, NewDraw, NewQueue, QueueId, StoredDraw};
use ratchet_store::project::ProjectId;
use ratchet_store::query::TimeRange;
use ratchet_store::review_signals::{AgentScope, DrawQuery, SignalQuery};
use ratchet_store::{StoreError, StoreResult};
use serde_json::json;

use super::known_agents::KnownAgents;
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
    /// Its environments; all when empty.
    pub environments: Vec<String>,
    /// Name of the queue.
    pub queue: String,
    pub plan: ReviewPlan,
    /// The person on call, as the agent's rota names them.
    pub on_call: Option<String>,
    /// The id of their account, if they have one.
    pub assignee: Option<String>,
}

impl ReviewTarget {
    /// The agent's other names.
    fn aliases(&self) -> Vec<String> {
        match &self.scope {
            AgentScope::Named(names) => {
                names.iter().filter(|name| self.agent.as_ref() != Some(name)).cloned().collect()
            }
            AgentScope::All | AgentScope::Unnamed => Vec::new(),
        }
    }
}

/// The result of a draw.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawReport {
    /// Name of the queue.
    pub queue: String,
    pub page: QueuePage,
    pub agent: Option<String>,
    /// The person on call, by name.
    pub on_call: Option<String>,
    pub effect: DrawEffect,
    /// Traces in the sample.
    pub drawn: usize,
    /// Traces of the week.
    pub traces: u64,
}

/// Where people review a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueuePage {
    /// A queue of this server, by id.
    Here(String),
    /// A page of a Langfuse server.
    There(String),
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
        environments: Vec::new(),
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
    let known = KnownAgents::read(site).await?;
    let settings = |name: &str| {
        known.find(name).map_or_else(
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
        environments: Vec::new(),
        queue: QUEUE.to_owned(),
        plan: ReviewPlan::default(),
        on_call: None,
        assignee: None,
    }
}

async fn named(
    catalog: &Catalog,
    (name, settings): (String, AgentSettings),
    agents: usize,
    week: &Week,
) -> StoreResult<ReviewTarget> {
    let on_call = settings.on_call_in(&week.after()).map(str::to_owned);
    // A person on call without an account here is announced, but not assigned.
    let assignee = match &on_call {
        Some(person) => catalog.user(person.clone()).await.ok().map(|user| user.id),
        None => None,
    };
    let names = std::iter::once(name.clone()).chain(settings.aliases.iter().cloned());
    Ok(ReviewTarget {
        scope: AgentScope::Named(names.collect()),
        environments: settings.environments.clone(),
        queue: settings.queue_name(&name, agents),
        plan: plan(&settings),
        on_call,
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

/// Draws a week's sample into the queue of its target and assigns the queue to who is on call. A week
/// that was drawn stays as it is, in the queue that it was drawn into.
///
/// On a Langfuse server, the draw is stored here first and its traces are then added to the server's
/// queue of the same name; an interrupted run adds the missing ones.
///
/// # Errors
/// Fails if the queue cannot be created.
pub async fn draw(
    site: &ReviewSite,
    week: &Week,
    target: &ReviewTarget,
    now: Timestamp,
) -> ReviewSiteResult<DrawReport> {
    let effect = match stored(site, week, target).await? {
        Some(_) => DrawEffect::Known,
        None => draw_new(site, week, target, now).await?,
    };
    let stored = stored(site, week, target).await?;
    let stored = stored.ok_or_else(|| StoreError::NotFound("the stored draw".to_owned()))?;
    let of = QueueId { project: site.project.clone(), queue: stored.queue.clone() };
    let queue = site.catalog.queue(of).await?.name;
    let page = match site.client() {
        None => QueuePage::Here(stored.queue),
        Some(client) => {
            let there = langfuse::queues::ensure_queue(client, &queue, DESCRIPTION).await?;
            let traces = stored.traces.iter().map(|drawn| drawn.trace.as_str());
            langfuse::queues::queue_traces(client, &there, traces).await?;
            QueuePage::There(langfuse::queues::page(client, &there).await?)
        }
    };
    Ok(DrawReport {
        queue,
        page,
        agent: target.agent.clone(),
        on_call: target.on_call.clone(),
        effect,
        drawn: stored.traces.len(),
        traces: stored.cells.iter().map(|cell| cell.population).sum(),
    })
}

/// The draw of a target's week, under any of its agent's names.
async fn stored(
    site: &ReviewSite,
    week: &Week,
    target: &ReviewTarget,
) -> StoreResult<Option<StoredDraw>> {
    let draws = site.catalog.draws(site.project.clone(), week.to_string()).await?;
    Ok(draws.into_iter().find(|draw| target.scope.has(draw.agent.as_deref())))
}

async fn draw_new(
    site: &ReviewSite,
    week: &Week,
    target: &ReviewTarget,
    now: Timestamp,
) -> ReviewSiteResult<DrawEffect> {
    let (project, catalog) = (&site.project, &site.catalog);
    let new = NewQueue {
        name: target.queue.clone(),
        description: Some(DESCRIPTION.to_owned()),
        score_configs: Vec::new(),
    };
    let queue = catalog.ensure_queue(project.clone(), new, now).await?;
    let seed = format!("{project}/{}/{week}", target.queue);
    let draw = site.draw_week(DrawQuery {
        traces: SignalQuery {
            environments: target.environments.clone(),
            ..traces_of(project, week, target.scope.clone())
        },
        plan: target.plan,
        seed,
    });
    let draw = draw.await?;
    let plan = json!({
        "capacity": target.plan.capacity,
        "half_width": target.plan.half_width,
        "flagged_share": target.plan.flagged_share,
        "spot_share": target.plan.spot_share,
        "environments": target.environments,
        "planned_half_width": draw.half_width,
    });
    let of = QueueId { project: project.clone(), queue: queue.id };
    let new = NewDraw {
        week: week.to_string(),
        agent: target.agent.clone(),
        aliases: target.aliases(),
        assignee: target.assignee.clone(),
        plan: Json::from_value(&plan),
        draw,
    };
    Ok(catalog.save_draw(of, new, now).await?)
}
