//! Agents in traffic become records of the catalog.

use std::time::Duration;

use ratchet_core::time::Timestamp;
use ratchet_store::project::ProjectId;
use ratchet_store::query::TimeRange;
use ratchet_store::review_signals::{AgentScope, SignalQuery};
use ratchet_store::{Store, StoreResult};

/// How far back a server looks for agents at its start.
const FIRST_LOOK: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// How far back it looks after that: traces may arrive late.
const LATER_LOOK: Duration = Duration::from_secs(2 * 60 * 60);
/// How far back to look for agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentWindow {
    First,
    Later,
    All,
}

impl AgentWindow {
    fn range(self, now: Timestamp) -> TimeRange {
        let back = |by: Duration| {
            let by = i64::try_from(by.as_nanos()).unwrap_or(i64::MAX);
            TimeRange { from: Some(now.plus_nanos(-by)), to: None }
        };
        match self {
            Self::First => back(FIRST_LOOK),
            Self::Later => back(LATER_LOOK),
            Self::All => TimeRange::default(),
        }
    }
}

/// Creates records for agents in traces that have none yet, and returns their names. Calls of judges
/// and of experiments count as little here as in the weekly sample: a target is no agent in use.
///
/// # Errors
/// Fails only when the database does.
pub async fn discover(
    store: &Store,
    project: ProjectId,
    window: AgentWindow,
    now: Timestamp,
) -> StoreResult<Vec<String>> {
    let query = SignalQuery {
        project: project.clone(),
        range: window.range(now),
        agent: AgentScope::All,
        environments: Vec::new(),
        release: None,
    };
    let found = store.telemetry.traced_agents(query).await?;
    let seen: Vec<_> =
        found.into_iter().filter_map(|(agent, traces)| Some((agent?, traces))).collect();
    if seen.is_empty() {
        return Ok(Vec::new());
    }
    store.catalog.discover_agents(project, seen, now).await
}

/// Looks for agents in every project.
///
/// # Errors
/// Fails only when the database does.
pub async fn discover_everywhere(
    store: &Store,
    window: AgentWindow,
    now: Timestamp,
) -> StoreResult<()> {
    for project in store.catalog.projects().await? {
        discover(store, project.id, window, now).await?;
    }
    Ok(())
}
