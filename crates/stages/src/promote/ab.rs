//! A/B tests of prompts: who gets what, which users count, and the winner's promotion.

use std::collections::BTreeMap;

use ratchet_core::catalog::agent::review_datasets;
use ratchet_core::catalog::prompt::PRODUCTION;
use ratchet_core::promotion::ab_test::comparison::{AbSample, AbTraffic, UnitMarks};
use ratchet_core::promotion::ab_test::{AbEnd, AbSpec, Arm, MAX_UNIT_BYTES};
use ratchet_core::promotion::agent_version::AgentVersion;
use ratchet_core::promotion::state::Refused;
use ratchet_core::record::score::ScoreTarget;
use ratchet_core::record::trace::Trace;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{AbChange, Catalog, NewPromotion, StoredAbTest};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Condition, Detail, Direction, ObservationColumn, ObservationQuery, Paging, Test, TimeRange,
    TraceColumn, TraceOrder, TraceQuery,
};
use ratchet_store::{Store, StoreResult};

use super::sessions::{MAX_TRACES, SCORED, SETTLES_AFTER, Sums, is_quality, scores, version_of};
use super::{PromoteContext, PromoteError, save_version};
use crate::gate::{self, GateContext};

/// Observations per query.
const PAGE: u64 = 500;

/// What a user or session gets of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    pub label: String,
    /// `None` without a running test: whatever the label points to.
    pub version: Option<u32>,
    /// Id of the running test.
    pub test: Option<String>,
    pub arm: Option<Arm>,
}

/// Starts a test.
///
/// # Errors
/// Something is invalid or does not exist, or the prompt has a running test.
pub async fn start(context: GateContext<'_>, spec: AbSpec) -> Result<StoredAbTest, PromoteError> {
    let spec = spec.checked().map_err(PromoteError::Invalid)?;
    let GateContext { catalog, project, now, .. } = context;
    Ok(catalog.start_ab_test(project.clone(), spec, now).await??)
}

/// Returns what a user or session gets of a prompt: `production` if it has no running test.
///
/// # Errors
/// The unit is empty or too long.
pub async fn assignment(
    (catalog, project): (&Catalog, &ProjectId),
    prompt: &str,
    unit: &str,
) -> Result<Assignment, PromoteError> {
    if unit.is_empty() || unit.len() > MAX_UNIT_BYTES {
        let problem = format!("from 1 to {MAX_UNIT_BYTES} bytes");
        return Err(Refused::Invalid { field: "unit", problem }.into());
    }
    let running = catalog.running_ab_test(project.clone(), prompt.to_owned()).await?;
    let Some(stored) = running else {
        let label = PRODUCTION.to_owned();
        return Ok(Assignment { label, version: None, test: None, arm: None });
    };
    let arm = stored.test.arm(&stored.id, unit);
    let (label, version) = stored.test.served(arm);
    let label = label.to_owned();
    Ok(Assignment { label, version: Some(version), test: Some(stored.id), arm: Some(arm) })
}

/// Compares the users so far, ends the test if a stop rule applies, and offers the winner.
///
/// # Errors
/// There is no such test.
pub async fn look(context: PromoteContext<'_>, id: &str) -> Result<StoredAbTest, PromoteError> {
    let GateContext { catalog, store, project, now, .. } = context.gate;
    let stored = catalog.ab_test(project.clone(), id.to_owned()).await?;
    if !stored.test.is_running() {
        return Ok(stored);
    }
    let sample = sample(store, &stored, now).await?;
    let which = (project.clone(), id.to_owned());
    let stored = catalog.change_ab_test(which, AbChange::Look(sample), now).await??;
    let end = stored.test.outcome.as_ref().map(|outcome| outcome.end);
    if end == Some(AbEnd::Winner) { offer(context, id).await } else { Ok(stored) }
}

/// Ends a test by hand.
///
/// # Errors
/// There is no such test, or it has ended.
pub async fn stop(
    context: GateContext<'_>,
    id: &str,
    reason: String,
) -> Result<StoredAbTest, PromoteError> {
    let which = (context.project.clone(), id.to_owned());
    let change = AbChange::Stop { reason };
    Ok(context.catalog.change_ab_test(which, change, context.now).await??)
}

/// Opens a draft promotion of the winner; if that cannot be done, the test says why.
///
/// # Errors
/// There is no such test, or it has no winner.
pub async fn offer(context: PromoteContext<'_>, id: &str) -> Result<StoredAbTest, PromoteError> {
    let GateContext { catalog, project, now, .. } = context.gate;
    let stored = catalog.ab_test(project.clone(), id.to_owned()).await?;
    let end = stored.test.outcome.as_ref().map(|outcome| outcome.end);
    if end != Some(AbEnd::Winner) || stored.test.promotion.is_some() {
        let why = match &stored.test.promotion {
            Some(promotion) => format!("the winner is offered already: promotion {promotion}"),
            None => "the A/B test has no winner".to_owned(),
        };
        return Err(Refused::Ended(why).into());
    }
    let offered = match draft(context.gate, &stored).await {
        Ok(promotion) => Ok(promotion),
        Err(error) => Err(error.to_string()),
    };
    let which = (project.clone(), id.to_owned());
    Ok(catalog.change_ab_test(which, AbChange::Offered(offered), now).await??)
}

/// What serves now, with the winner instead of the control.
async fn draft(context: GateContext<'_>, stored: &StoredAbTest) -> Result<String, PromoteError> {
    let GateContext { catalog, project, now, .. } = context;
    let spec = &stored.test.spec;
    let [_, dataset] = review_datasets(&spec.agent, now);
    gate::dataset(context, &dataset).await?;
    let responsible = catalog.responsible(project.clone(), spec.agent.clone()).await?;
    let history = catalog.serving_history(project.clone(), spec.agent.clone()).await?;
    let environment = &responsible.policy.environment;
    let current = history.into_iter().find(|one| one.environment == *environment);
    let mut content = match current.and_then(|serving| serving.version) {
        Some(version) => catalog.agent_version(project.clone(), version).await?.version,
        None => AgentVersion::default(),
    };
    content.prompts.insert(spec.prompt.clone(), stored.test.candidate_version);
    let version = save_version(context, &spec.agent, content).await?;
    let author = Some(stored.test.author.clone());
    let new = NewPromotion { version: version.id, dataset, author };
    Ok(catalog.create_promotion(project.clone(), new, now).await?.id)
}

/// Users whose window is over, in the order in which it ended, and the traffic of all.
async fn sample(store: &Store, stored: &StoredAbTest, now: Timestamp) -> StoreResult<AbSample> {
    let used = used_versions(store, stored, now).await?;
    let traces = traces(store, stored, used.keys().cloned().collect()).await?;
    let mut found = seen(&traces);
    let mut traffic = AbTraffic::default();
    for (unit, one) in &found {
        traffic.add(stored.test.arm(&stored.id, unit), one.traces);
    }
    let scores = scores(store, &stored.project, &traces).await?;
    // The first score's evaluator, so that later ones do not change what was counted.
    let first = scores.iter().filter(|score| is_quality(score)).min_by_key(|one| one.timestamp);
    let evaluator = first.and_then(version_of);
    let (mut unit_by_trace, mut unit_by_session) = (BTreeMap::new(), BTreeMap::new());
    for trace in &traces {
        let Some(unit) = unit_of(trace) else { continue };
        let Some(one) = found.get_mut(&unit) else { continue };
        if trace.timestamp > stored.test.window_end(one.first) {
            continue;
        }
        let (_, version) = stored.test.served(stored.test.arm(&stored.id, &unit));
        one.as_assigned &= used.get(&trace.id.to_string()) == Some(&Some(version));
        one.sums.add(trace);
        unit_by_trace.insert(trace.id.to_string(), unit.clone());
        if let Some(session) = &trace.session {
            unit_by_session.insert(session.to_string(), unit);
        }
    }
    for score in &scores {
        // Scores of different evaluator versions say nothing about the prompt.
        if is_quality(score) && version_of(score) != evaluator {
            continue;
        }
        let unit = match &score.target {
            ScoreTarget::Trace(trace) | ScoreTarget::Observation(trace, _) => {
                unit_by_trace.get(&trace.to_string())
            }
            ScoreTarget::Session(session) => unit_by_session.get(&session.to_string()),
            ScoreTarget::DatasetRun(_) => None,
        };
        if let Some(one) = unit.and_then(|unit| found.get_mut(unit))
            && score.timestamp <= counts_from(stored, one.first)
        {
            one.sums.add_score(score);
        }
    }
    let mut counted: Vec<(Timestamp, String, Unit)> = found
        .into_iter()
        .filter(|(_, one)| counts_from(stored, one.first) <= now)
        .map(|(unit, one)| (one.first, unit, one))
        .collect();
    counted.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
    let marks = |(_, unit, one): (Timestamp, String, Unit)| UnitMarks {
        arm: stored.test.arm(&stored.id, &unit),
        marks: one.sums.marks(),
        as_assigned: one.as_assigned,
    };
    Ok(AbSample { units: counted.into_iter().map(marks).collect(), traffic })
}

/// Users by id, with their first trace and the number of all.
fn seen(traces: &[Trace]) -> BTreeMap<String, Unit> {
    let mut found: BTreeMap<String, Unit> = BTreeMap::new();
    for trace in traces {
        let Some(unit) = unit_of(trace) else { continue };
        let one = found.entry(unit).or_insert_with(|| Unit::new(trace.timestamp));
        one.first = one.first.min(trace.timestamp);
        one.traces = one.traces.saturating_add(1);
    }
    found
}

/// When a user counts: later scores would change evidence that was looked at before.
fn counts_from(stored: &StoredAbTest, first: Timestamp) -> Timestamp {
    stored.test.window_end(first).plus(SETTLES_AFTER)
}

struct Unit {
    first: Timestamp,
    traces: u32,
    sums: Sums,
    as_assigned: bool,
}

impl Unit {
    fn new(first: Timestamp) -> Self {
        Self { first, traces: 0, sums: Sums::default(), as_assigned: true }
    }
}

/// The user, or the session of a trace without one.
fn unit_of(trace: &Trace) -> Option<String> {
    trace.user.clone().or_else(|| trace.session.as_ref().map(ToString::to_string))
}

/// The version of the prompt that each trace used since the start; `None` if it used several.
async fn used_versions(
    store: &Store,
    stored: &StoredAbTest,
    now: Timestamp,
) -> StoreResult<BTreeMap<String, Option<u32>>> {
    let mut used: BTreeMap<String, Option<u32>> = BTreeMap::new();
    let mut cursor = None;
    loop {
        let query = ObservationQuery {
            project: stored.project.clone(),
            // Now is part of the range.
            range: TimeRange { from: Some(stored.test.started_at), to: Some(now.plus_nanos(1)) },
            trace: None,
            conditions: vec![Condition::equals(
                ObservationColumn::PromptName,
                &stored.test.spec.prompt,
            )],
            direction: Direction::Ascending,
            paging: Paging::After { cursor, limit: PAGE },
            detail: Detail::Row,
        };
        let page = store.telemetry.observations(query).await?;
        for one in page.rows {
            let version = one.prompt.as_ref().map(|prompt| prompt.version);
            let known = used.entry(one.trace.to_string()).or_insert(version);
            if *known != version {
                *known = None;
            }
        }
        cursor = page.cursor;
        if cursor.is_none() || used.len() >= MAX_TRACES {
            return Ok(used);
        }
    }
}

async fn traces(store: &Store, stored: &StoredAbTest, ids: Vec<String>) -> StoreResult<Vec<Trace>> {
    let mut all = Vec::new();
    for some in ids.chunks(SCORED) {
        let id = Condition { column: TraceColumn::Id, test: Test::AnyOf(some.to_vec()) };
        let query = TraceQuery {
            project: stored.project.clone(),
            range: TimeRange::default(),
            conditions: vec![id],
            order: (TraceOrder::Timestamp, Direction::Ascending),
            paging: Paging::After { cursor: None, limit: PAGE },
            detail: Detail::Row,
        };
        all.extend(store.telemetry.traces(query).await?.rows);
    }
    Ok(all)
}
