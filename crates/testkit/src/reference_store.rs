//! A simple reference implementation of the store: it retains every patch and recomputes everything
//! for every query. Engines must give the same answers.

mod aggregate;
mod column;
mod metrics;
mod view;

use std::collections::BTreeMap;

use ratchet_core::id::{ObservationId, ScoreId, SessionId, TraceId};
use ratchet_core::record::merge::Merge;
use ratchet_core::record::observation::{Observation, ObservationPatch};
use ratchet_core::record::score::{Score, ScorePatch, ScoreTarget};
use ratchet_core::record::session::Session;
use ratchet_core::record::trace::{Trace, TracePatch};
use ratchet_core::time::Timestamp;
use ratchet_store::aggregate::{AggregateQuery, Group};
use ratchet_store::metrics::{MetricsQuery, MetricsRow};
use ratchet_store::query::{Condition, ObservationColumn, ScoreColumn, TraceColumn};
use ratchet_store::telemetry::Batch;

use self::column::RecordContext;

/// The expected state of one project.
#[derive(Clone, Debug, Default)]
pub struct Model {
    traces: BTreeMap<TraceId, PatchLog<TracePatch>>,
    observations: BTreeMap<ObservationId, PatchLog<ObservationPatch>>,
    scores: BTreeMap<String, PatchLog<ScorePatch>>,
}

/// All patches of one record, and the arrival of the first and last.
#[derive(Clone, Debug)]
struct PatchLog<T> {
    patch: T,
    first_at: Timestamp,
    last_at: Timestamp,
}

impl<T: Merge> PatchLog<T> {
    fn new(patch: T, at: Timestamp) -> Self {
        Self { patch, first_at: at, last_at: at }
    }

    fn and(self, other: Self) -> Self {
        Self {
            patch: self.patch.merge(other.patch),
            first_at: self.first_at.min(other.first_at),
            last_at: self.last_at.max(other.last_at),
        }
    }
}

fn tell<K: Ord, T: Merge>(map: &mut BTreeMap<K, PatchLog<T>>, key: K, word: PatchLog<T>) {
    let known = match map.remove(&key) {
        Some(known) => known.and(word),
        None => word,
    };
    map.insert(key, known);
}

impl Model {
    /// Records a batch. Observation ids must be unique across traces.
    pub fn record(&mut self, batch: Batch) {
        let at = batch.received_at;
        for patch in batch.traces {
            tell(&mut self.traces, patch.id.clone(), PatchLog::new(patch, at));
        }
        for patch in batch.observations {
            tell(&mut self.observations, patch.id.clone(), PatchLog::new(patch, at));
        }
        for patch in batch.scores {
            tell(&mut self.scores, patch.id.to_string(), PatchLog::new(patch, at));
        }
    }

    /// Deletes the traces that started before a moment, with their observations and scores.
    pub fn delete_before(&mut self, before: Timestamp) {
        let gone = self.traces().into_iter().filter(|trace| trace.timestamp < before);
        let gone: Vec<_> = gone.map(|trace| trace.id).collect();
        self.delete_traces(&gone);
    }

    /// Deletes traces with their observations and scores. Scores of an unknown trace stay: they may
    /// arrive first.
    pub fn delete_traces(&mut self, ids: &[TraceId]) {
        let sessions = self.sessions();
        let there: Vec<_> = self.traces().into_iter().map(|trace| trace.id).collect();
        for id in ids.iter().filter(|id| there.contains(id)) {
            self.traces.remove(id);
            self.observations.retain(|_, recorded| home(&recorded.patch) != *id);
            self.scores.retain(|_, recorded| trace_of(&recorded.patch) != Some(id));
        }
        let left = self.sessions();
        for session in sessions.iter().filter(|was| left.iter().all(|is| is.id != was.id)) {
            let target = ScoreTarget::Session(session.id.clone());
            self.scores.retain(|_, recorded| recorded.patch.target.value() != Some(&target));
        }
    }

    /// Deletes a score; returns whether it existed.
    pub fn delete_score(&mut self, id: &ScoreId) -> bool {
        self.scores.remove(&id.to_string()).is_some()
    }

    /// Every expected trace, by id.
    pub fn traces(&self) -> Vec<Trace> {
        let mut ids: Vec<_> = self.traces.keys().cloned().collect();
        ids.extend(self.observations.values().map(|recorded| home(&recorded.patch)));
        ids.sort();
        ids.dedup();
        ids.into_iter().map(|id| view::trace(self, id)).collect()
    }

    /// Every expected observation, by id.
    pub fn observations(&self) -> Vec<Observation> {
        self.observations.values().map(view::observation).collect()
    }

    /// Every complete expected score, by id.
    pub fn scores(&self) -> Vec<Score> {
        self.scores.values().filter_map(view::score).collect()
    }

    /// Every expected session, by id.
    pub fn sessions(&self) -> Vec<Session> {
        let mut traces: BTreeMap<SessionId, Vec<Trace>> = BTreeMap::new();
        for trace in self.traces() {
            let Some(session) = trace.session.clone() else { continue };
            traces.entry(session).or_default().push(trace);
        }
        traces.into_iter().map(|(id, traces)| view::session(id, &traces)).collect()
    }

    /// The matching traces, by id; `None` when a condition does not fit its column.
    pub fn traces_passing(&self, conditions: &[Condition<TraceColumn>]) -> Option<Vec<Trace>> {
        let around = self.around();
        let passes = |trace: &Trace| {
            let cells = conditions.iter().map(|condition| {
                column::passes(&column::of_trace(trace, &around, condition.column), &condition.test)
            });
            cells.collect::<Option<Vec<bool>>>().map(|all| all.iter().all(|passed| *passed))
        };
        let judged: Option<Vec<_>> =
            self.traces().into_iter().map(|trace| Some((passes(&trace)?, trace))).collect();
        Some(judged?.into_iter().filter(|(passed, _)| *passed).map(|(_, trace)| trace).collect())
    }

    /// The matching observations, by id; `None` when a condition does not fit its column.
    pub fn observations_passing(
        &self,
        conditions: &[Condition<ObservationColumn>],
    ) -> Option<Vec<Observation>> {
        let (traces, around) = (self.traces_by_id(), self.around());
        let passes = |seen: &Observation| {
            let cells = conditions.iter().map(|condition| {
                let of = &traces[&seen.trace];
                let cell = column::of_observation(seen, of, &around, condition.column);
                column::passes(&cell, &condition.test)
            });
            cells.collect::<Option<Vec<bool>>>().map(|all| all.iter().all(|passed| *passed))
        };
        let judged: Option<Vec<_>> =
            self.observations().into_iter().map(|seen| Some((passes(&seen)?, seen))).collect();
        Some(judged?.into_iter().filter(|(passed, _)| *passed).map(|(_, seen)| seen).collect())
    }

    /// The matching scores, by id; `None` when a condition does not fit its column.
    pub fn scores_passing(&self, conditions: &[Condition<ScoreColumn>]) -> Option<Vec<Score>> {
        let (traces, around) = (self.traces_by_id(), self.around());
        let passes = |score: &Score| {
            let trace = target_trace(&score.target).and_then(|id| traces.get(id));
            let cells = conditions.iter().map(|condition| {
                let cell = column::of_score(score, trace, &around, condition.column);
                column::passes(&cell, &condition.test)
            });
            cells.collect::<Option<Vec<bool>>>().map(|all| all.iter().all(|passed| *passed))
        };
        let judged: Option<Vec<_>> =
            self.scores().into_iter().map(|score| Some((passes(&score)?, score))).collect();
        Some(judged?.into_iter().filter(|(passed, _)| *passed).map(|(_, score)| score).collect())
    }

    /// The expected metrics of traces.
    pub fn trace_metrics(&self, query: &MetricsQuery<TraceColumn>) -> Vec<MetricsRow> {
        let (passing, around) = (self.traces_passing(&query.conditions).unwrap(), self.around());
        let cell = |trace: &Trace, column| column::of_trace(trace, &around, column);
        metrics::rows(query, &passing, |trace| trace.timestamp, cell)
    }

    /// The expected metrics of observations.
    pub fn observation_metrics(&self, query: &MetricsQuery<ObservationColumn>) -> Vec<MetricsRow> {
        let passing = self.observations_passing(&query.conditions).unwrap();
        let (traces, around) = (self.traces_by_id(), self.around());
        let cell = |seen: &Observation, column| {
            column::of_observation(seen, &traces[&seen.trace], &around, column)
        };
        metrics::rows(query, &passing, |seen| seen.start, cell)
    }

    /// The expected metrics of scores.
    pub fn score_metrics(&self, query: &MetricsQuery<ScoreColumn>) -> Vec<MetricsRow> {
        let passing = self.scores_passing(&query.conditions).unwrap();
        let (traces, around) = (self.traces_by_id(), self.around());
        let cell = |score: &Score, column| {
            let trace = target_trace(&score.target).and_then(|id| traces.get(id));
            column::of_score(score, trace, &around, column)
        };
        metrics::rows(query, &passing, |score| score.timestamp, cell)
    }

    fn around(&self) -> RecordContext {
        RecordContext { steps: self.observations(), scores: self.scores() }
    }

    fn traces_by_id(&self) -> BTreeMap<TraceId, Trace> {
        self.traces().into_iter().map(|trace| (trace.id.clone(), trace)).collect()
    }

    /// The expected sums by group, ordered by time and key.
    pub fn aggregate(&self, query: &AggregateQuery) -> Vec<Group> {
        aggregate::groups(self, query)
    }
}

/// The trace of an observation: a placeholder with its own id, until its trace is known.
fn home(patch: &ObservationPatch) -> TraceId {
    patch.trace.clone().unwrap_or_else(|| patch.id.cast())
}

fn trace_of(score: &ScorePatch) -> Option<&TraceId> {
    target_trace(score.target.value()?)
}

fn target_trace(target: &ScoreTarget) -> Option<&TraceId> {
    match target {
        ScoreTarget::Trace(trace) | ScoreTarget::Observation(trace, _) => Some(trace),
        ScoreTarget::Session(_) | ScoreTarget::DatasetRun(_) => None,
    }
}
