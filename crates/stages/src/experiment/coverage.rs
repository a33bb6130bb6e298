//! What a dataset does not cover yet: tools and kinds of traffic without an item (ADR 112).
//!
//! Bounded: the newest traces of the agent are held against the traces that items came from and the
//! traces of the newest run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ratchet_core::catalog::dataset::DatasetStatus;
use ratchet_core::id::TraceId;
use ratchet_core::record::observation::ObservationKind;
use ratchet_core::record::trace::Trace;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::DatasetItemQuery;
use ratchet_store::experiment::{ExperimentItemQuery, ExperimentQuery, RunQuery};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Condition, Detail, Direction, ObservationQuery, PageNumber, Paging, TimeRange, TraceColumn,
    TraceOrder, TraceQuery,
};
use ratchet_store::{Store, StoreResult};

/// From so many items on a gate can tell something.
pub const WANTED_ITEMS: u64 = 30;
/// So many are enough for most gates.
pub const ENOUGH_ITEMS: u64 = 50;
/// The newest traces of traffic that are read.
const TRAFFIC: u64 = 100;
/// Traces of items that are read, of those that items came from and of a run each.
const ITEM_TRACES: u64 = 100;
/// Observations of a trace that are read.
const OBSERVATIONS: u64 = 200;
/// Traffic is looked at so far back.
const DAYS: u64 = 30;
/// Hints of each sort.
const HINTS: usize = 8;

/// What is covered, and what is not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatasetCoverage {
    /// Active items of all its datasets.
    pub items: u64,
    /// Traces of traffic that were read.
    pub traces: u64,
    /// Tools that traffic calls and no item's trace does, with the number of traces.
    pub tools: Vec<(String, u64)>,
    /// Names and tags of traces without an item, with the number of traces.
    pub categories: Vec<(String, u64)>,
}

/// What to look at.
#[derive(Clone, Copy, Debug)]
pub struct CoverageQuery<'a> {
    /// All traffic of the project if `None`.
    pub agent: Option<&'a str>,
    /// Names of datasets.
    pub datasets: &'a [String],
    pub now: Timestamp,
}

/// Reads what the items of datasets cover.
///
/// # Errors
/// Fails only when a database does.
pub async fn read(
    store: &Store,
    project: &ProjectId,
    query: CoverageQuery<'_>,
) -> StoreResult<DatasetCoverage> {
    let mut items = 0;
    let mut sources = BTreeSet::new();
    for name in query.datasets {
        items += collect(store, project, name, &mut sources).await?;
    }
    let traffic = traffic(store, project, query).await?;
    let is_of_an_item = |trace: &Trace| sources.contains(&trace.id);
    let own: Vec<TraceId> = sources.iter().cloned().collect();
    let covering = store.telemetry.find_traces(project.clone(), own).await?;
    let mut known = BTreeSet::new();
    let mut called = BTreeSet::new();
    for trace in &covering {
        known.extend(categories(trace));
        called.extend(tools(store, project, &trace.id).await?);
    }
    let mut missing = (BTreeMap::new(), BTreeMap::new());
    for trace in traffic.iter().filter(|trace| !is_of_an_item(trace)) {
        for tool in tools(store, project, &trace.id).await?.difference(&called) {
            *missing.0.entry(tool.clone()).or_insert(0) += 1;
        }
        for category in categories(trace).difference(&known) {
            *missing.1.entry(category.clone()).or_insert(0) += 1;
        }
    }
    Ok(DatasetCoverage {
        items,
        traces: traffic.len() as u64,
        tools: most_frequent(missing.0),
        categories: most_frequent(missing.1),
    })
}

fn most_frequent(counts: BTreeMap<String, u64>) -> Vec<(String, u64)> {
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    counts.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    counts.truncate(HINTS);
    counts
}

/// How traffic is grouped: by the name of a trace and its tags.
fn categories(trace: &Trace) -> BTreeSet<String> {
    trace.name.iter().chain(&trace.tags).cloned().collect()
}

/// Counts the items of a dataset, and adds the traces that they came from and of its newest run.
async fn collect(
    store: &Store,
    project: &ProjectId,
    name: &str,
    traces: &mut BTreeSet<TraceId>,
) -> StoreResult<u64> {
    let Some(dataset) = store.catalog.dataset(project.clone(), name.to_owned()).await? else {
        return Ok(0);
    };
    let query = DatasetItemQuery {
        project: project.clone(),
        dataset_name: Some(dataset.name.clone()),
        source_trace: None,
        source_observation: None,
        status: DatasetStatus::Active,
        as_of: None,
        page: PageNumber { page: 1, limit: ITEM_TRACES },
    };
    let items = store.catalog.bounded_dataset_items(query, 0).await?;
    let sources = items.rows.iter().filter_map(|listed| listed.item.source_trace.as_deref());
    traces.extend(sources.filter_map(|trace| TraceId::parse(trace).ok()));
    let runs = RunQuery {
        project: project.clone(),
        dataset: dataset.id,
        name: None,
        paging: Paging::After { cursor: None, limit: 1 },
    };
    if let Some(run) = store.telemetry.runs(runs).await?.rows.into_iter().next() {
        let of = ExperimentQuery {
            project: project.clone(),
            range: TimeRange::default(),
            ids: vec![run.id],
            names: Vec::new(),
            datasets: Vec::new(),
            paging: Paging::After { cursor: None, limit: ITEM_TRACES },
        };
        let query = ExperimentItemQuery { of, items: Vec::new(), detail: Detail::Row };
        let tried = store.telemetry.experiment_items(query).await?.rows;
        traces.extend(tried.into_iter().map(|item| item.trace));
    }
    Ok(items.total.unwrap_or_default())
}

/// The newest traces, those of experiments and chats included.
async fn traffic(
    store: &Store,
    project: &ProjectId,
    query: CoverageQuery<'_>,
) -> StoreResult<Vec<Trace>> {
    let agent = query.agent.map(|agent| Condition::equals(TraceColumn::Agent, agent));
    let window = Duration::from_secs(DAYS * 86_400);
    let back = i64::try_from(window.as_nanos()).unwrap_or(i64::MAX);
    let query = TraceQuery {
        project: project.clone(),
        range: TimeRange { from: Some(query.now.plus_nanos(-back)), to: None },
        conditions: agent.into_iter().collect(),
        order: (TraceOrder::Timestamp, Direction::Descending),
        paging: Paging::After { cursor: None, limit: TRAFFIC },
        detail: Detail::Row,
    };
    Ok(store.telemetry.traces(query).await?.rows)
}

async fn tools(
    store: &Store,
    project: &ProjectId,
    trace: &TraceId,
) -> StoreResult<BTreeSet<String>> {
    let query = ObservationQuery {
        project: project.clone(),
        range: TimeRange::default(),
        trace: Some(trace.clone()),
        conditions: Vec::new(),
        direction: Direction::Ascending,
        paging: Paging::After { cursor: None, limit: OBSERVATIONS },
        detail: Detail::Row,
    };
    let rows = store.telemetry.observations(query).await?.rows;
    let calls = rows.into_iter().filter(|step| step.kind == ObservationKind::Tool);
    Ok(calls.filter_map(|step| step.name).collect())
}
