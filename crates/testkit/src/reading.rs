use ratchet_core::record::observation::Observation;
use ratchet_core::record::score::Score;
use ratchet_core::record::session::Session;
use ratchet_core::record::trace::Trace;
use ratchet_store::project::ProjectId;
use ratchet_store::telemetry::Telemetry;

use crate::ask;
use crate::build::START;
use crate::reference_store::Model;

/// All readable data of a project, by id.
///
/// Without creation and update times: only these may depend on the order of arrival.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    pub traces: Vec<Trace>,
    pub observations: Vec<Observation>,
    pub sessions: Vec<Session>,
    pub scores: Vec<Score>,
}

impl Reading {
    /// Data read in another way.
    pub fn new(
        traces: Vec<Trace>,
        observations: Vec<Observation>,
        sessions: Vec<Session>,
        scores: Vec<Score>,
    ) -> Self {
        Self { traces, observations, sessions, scores }.normalised()
    }

    pub async fn of_store(store: &Telemetry, project: &ProjectId) -> Self {
        Self {
            traces: ask::traces(store, project).await,
            observations: ask::observations(store, project).await,
            sessions: ask::sessions(store, project).await,
            scores: ask::scores(store, project).await,
        }
        .normalised()
    }

    /// The expected data of the reference store.
    pub fn of_model(model: &Model) -> Self {
        Self {
            traces: model.traces(),
            observations: model.observations(),
            sessions: model.sessions(),
            scores: model.scores(),
        }
        .normalised()
    }

    fn normalised(mut self) -> Self {
        self.traces.sort_by(|a, b| a.id.cmp(&b.id));
        self.observations.sort_by(|a, b| (&a.trace, &a.id).cmp(&(&b.trace, &b.id)));
        self.sessions.sort_by(|a, b| a.id.cmp(&b.id));
        self.scores.sort_by(|a, b| a.id.cmp(&b.id));
        for trace in &mut self.traces {
            (trace.created_at, trace.updated_at) = (START, START);
        }
        for observation in &mut self.observations {
            (observation.created_at, observation.updated_at) = (START, START);
        }
        for score in &mut self.scores {
            (score.created_at, score.updated_at) = (START, START);
        }
        self
    }

    /// Fails on the first record that differs, naming the operations.
    #[track_caller]
    pub fn assert_equals(&self, expected: &Self, done: &str) {
        same(&self.traces, &expected.traces, done);
        same(&self.observations, &expected.observations, done);
        same(&self.sessions, &expected.sessions, done);
        same(&self.scores, &expected.scores, done);
    }
}

#[track_caller]
fn same<T: std::fmt::Debug + PartialEq>(read: &[T], expected: &[T], done: &str) {
    for (read, expected) in read.iter().zip(expected) {
        assert!(read == expected, "{done}:\n    read {read:#?}\nexpected {expected:#?}");
    }
    let (surplus, missing) = (
        read.get(expected.len()..).unwrap_or_default(),
        expected.get(read.len()..).unwrap_or_default(),
    );
    assert!(surplus.is_empty() && missing.is_empty(), "{done}: {surplus:#?} {missing:#?}");
}
