use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::payload::Json;
use ratchet_core::record::score::{Score, ScoreSource, ScoreTarget};
use ratchet_core::stats::interval::{Estimate, share};
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::Agent;
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Condition, Detail, Direction, Paging, ScoreColumn, ScoreQuery, ScoresOn, Test, TimeRange,
    TraceColumn, TraceOrder, TraceQuery,
};
use ratchet_store::{Store, StoreResult};

use super::intake::target_key;
use super::records::{EVALUATOR_ID, score_id};

/// The score of people that verdicts are compared with.
const HUMAN_SCORE: &str = "correctness";
/// People's newest scores that are compared at most.
const MAX_COMPARED: u64 = 500;
/// The newest verdicts that are counted for one agent at most.
const MAX_COUNTED: u64 = 2_000;
/// Traces of sessions that are read at most.
const MAX_TRACES: u64 = 10_000;
/// From here on a score says that the work is good.
const GOOD: f64 = 0.5;

/// What people say of records, by record.
#[derive(Clone, Debug, Default)]
pub(super) struct PeoplesScores(BTreeMap<String, (ScoreTarget, bool)>);

impl PeoplesScores {
    /// Reads people's newest scores, of all records or of an agent's.
    pub(super) async fn read(
        store: &Store,
        project: &ProjectId,
        agent: Option<&NamesOfAgent>,
    ) -> StoreResult<Self> {
        let sources = [ScoreSource::Annotation, ScoreSource::Api];
        let query = named(project, HUMAN_SCORE, &sources, (None, MAX_COMPARED));
        let scores = store.telemetry.scores(query).await?.rows;
        let scores = of_agent(store, project, (scores, agent)).await?;
        let mut newest = BTreeMap::new();
        for score in scores {
            if let Some(number) = score.value.number() {
                newest
                    .entry(target_key(&score.target))
                    .or_insert_with(|| (score.target, number >= GOOD));
            }
        }
        Ok(Self(newest))
    }

    /// How often the verdicts of an evaluator version say what people say of the same records;
    /// `None` if no person has scored any of them.
    pub(super) async fn agreement(
        &self,
        store: &Store,
        project: &ProjectId,
        (evaluator, version): (&str, u32),
    ) -> StoreResult<Option<Estimate>> {
        let (mut agreed, mut compared) = (0, 0);
        for (target, is_good) in self.0.values() {
            let Ok(id) = score_id(evaluator, version, target) else { continue };
            let verdict = store.telemetry.score(project.clone(), id).await?;
            let Some(number) = verdict.and_then(|score| score.value.number()) else { continue };
            compared += 1;
            agreed += u64::from((number >= GOOD) == *is_good);
        }
        Ok(share(agreed, compared))
    }
}

/// The names that an agent's traces have.
pub(super) type NamesOfAgent = BTreeSet<String>;

/// Returns the names of an agent, by one of them.
pub(super) async fn names_of(
    store: &Store,
    project: &ProjectId,
    name: &str,
) -> StoreResult<NamesOfAgent> {
    let known = store.catalog.agents(project.clone()).await?;
    let is_it = |agent: &Agent| {
        agent.name == name || agent.settings.aliases.iter().any(|alias| alias == name)
    };
    let own = known.into_iter().find(is_it).map(|agent| {
        std::iter::once(agent.name).chain(agent.settings.aliases).collect::<NamesOfAgent>()
    });
    Ok(own.unwrap_or_else(|| NamesOfAgent::from([name.to_owned()])))
}

/// Returns how many verdicts an evaluator gave about an agent's traces since a moment, among its
/// newest ones.
pub(super) async fn judged_of(
    store: &Store,
    project: &ProjectId,
    (evaluator, score_name): (&str, &str),
    (agent, since): (&NamesOfAgent, Timestamp),
) -> StoreResult<u64> {
    let bounds = (Some(since), MAX_COUNTED);
    let query = named(project, score_name, &[ScoreSource::Eval], bounds);
    let mut scores = store.telemetry.scores(query).await?.rows;
    let own = Json::from_value(&evaluator.into());
    scores.retain(|score| {
        let mut ids = score.metadata.iter().filter(|(key, _)| key == EVALUATOR_ID);
        ids.any(|(_, id)| id.as_str() == own.as_str())
    });
    Ok(of_agent(store, project, (scores, Some(agent))).await?.len() as u64)
}

/// Those of the scores that are on an agent's traces or sessions.
async fn of_agent(
    store: &Store,
    project: &ProjectId,
    (mut scores, agent): (Vec<Score>, Option<&NamesOfAgent>),
) -> StoreResult<Vec<Score>> {
    let Some(agent) = agent else { return Ok(scores) };
    let is_its = |name: Option<String>| name.is_some_and(|name| agent.contains(&name));
    let traces: BTreeSet<TraceId> = scores.iter().filter_map(trace_of).cloned().collect();
    let found = store.telemetry.find_traces(project.clone(), traces.into_iter().collect()).await?;
    let traces: BTreeSet<TraceId> =
        found.into_iter().filter(|trace| is_its(trace.agent.clone())).map(|it| it.id).collect();
    let sessions = sessions_of(store, project, (&scores, agent)).await?;
    scores.retain(|score| {
        trace_of(score).is_some_and(|trace| traces.contains(trace))
            || session_of(score).is_some_and(|session| sessions.contains(session))
    });
    Ok(scores)
}

/// The sessions of scores in which an agent worked.
async fn sessions_of(
    store: &Store,
    project: &ProjectId,
    (scores, agent): (&[Score], &NamesOfAgent),
) -> StoreResult<BTreeSet<SessionId>> {
    let sessions: BTreeSet<String> =
        scores.iter().filter_map(session_of).map(ToString::to_string).collect();
    if sessions.is_empty() {
        return Ok(BTreeSet::new());
    }
    let any = |column, names: &BTreeSet<String>| Condition {
        column,
        test: Test::AnyOf(names.iter().cloned().collect()),
    };
    let query = TraceQuery {
        project: project.clone(),
        range: TimeRange::default(),
        conditions: vec![any(TraceColumn::Session, &sessions), any(TraceColumn::Agent, agent)],
        order: (TraceOrder::Timestamp, Direction::Descending),
        paging: Paging::After { cursor: None, limit: MAX_TRACES },
        detail: Detail::Row,
    };
    let traces = store.telemetry.traces(query).await?.rows;
    Ok(traces.into_iter().filter_map(|trace| trace.session).collect())
}

fn trace_of(score: &Score) -> Option<&TraceId> {
    match &score.target {
        ScoreTarget::Trace(trace) | ScoreTarget::Observation(trace, _) => Some(trace),
        ScoreTarget::Session(_) | ScoreTarget::DatasetRun(_) => None,
    }
}

fn session_of(score: &Score) -> Option<&SessionId> {
    match &score.target {
        ScoreTarget::Session(session) => Some(session),
        _ => None,
    }
}

/// The newest scores of a name and of some sources.
fn named(
    project: &ProjectId,
    name: &str,
    sources: &[ScoreSource],
    (from, limit): (Option<Timestamp>, u64),
) -> ScoreQuery {
    let sources = sources.iter().map(|source| source.as_str().to_owned()).collect();
    ScoreQuery {
        project: project.clone(),
        range: TimeRange { from, to: None },
        on: ScoresOn::Anything,
        conditions: vec![
            Condition { column: ScoreColumn::Name, test: Test::AnyOf(vec![name.to_owned()]) },
            Condition { column: ScoreColumn::Source, test: Test::AnyOf(sources) },
        ],
        paging: Paging::After { cursor: None, limit },
    }
}
