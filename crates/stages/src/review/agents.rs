//! Agents in traffic become records of the catalog.

use std::time::Duration;

use ratchet_core::time::Timestamp;
use ratchet_store::metrics::{
    Aggregation, By, Figure, Measure, MetricRequest, MetricsQuery, MetricsRow,
};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{Condition, Test, TimeRange, TraceColumn};
use ratchet_store::{Store, StoreResult};

/// How far back a server looks for agents at its start.
const FIRST_LOOK: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// How far back it looks after that: traces may arrive late.
const LATER_LOOK: Duration = Duration::from_secs(2 * 60 * 60);
/// Environments of judges and of experiments, which have no agents in production.
const INTERNAL_ENVIRONMENTS: [&str; 3] =
    ["langfuse-llm-as-a-judge", "langfuse-prompt-experiment", "langfuse-code-eval"];

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

/// Creates records for agents in traces that have none yet, and returns their names.
///
/// # Errors
/// Fails only when the database does.
pub async fn discover(
    store: &Store,
    project: ProjectId,
    window: AgentWindow,
    now: Timestamp,
) -> StoreResult<Vec<String>> {
    let internal = INTERNAL_ENVIRONMENTS.map(str::to_owned).to_vec();
    let query = MetricsQuery {
        project: project.clone(),
        range: window.range(now),
        conditions: vec![
            Condition { column: TraceColumn::Agent, test: Test::IsNotNull },
            Condition { column: TraceColumn::Environment, test: Test::NoneOf(internal) },
        ],
        by: vec![By::Column(TraceColumn::Agent)],
        every: None,
        metrics: vec![MetricRequest { measure: Measure::Records, aggregation: Aggregation::Count }],
    };
    let rows = store.telemetry.trace_metrics(query).await?.rows;
    let seen: Vec<_> = rows.into_iter().filter_map(name_and_count).collect();
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

fn name_and_count(row: MetricsRow) -> Option<(String, u64)> {
    let name = row.key.into_iter().next().flatten()?;
    match row.figures.first() {
        Some(Figure::Count(count)) => Some((name, *count)),
        _ => None,
    }
}
