use ratchet_core::environment::Environment;
use ratchet_core::id::{ObservationId, ScoreId, SessionId, TraceId};
use ratchet_core::record::field::{Field, Stamp};
use ratchet_core::record::merge::{Earliest, Merge as _, Metadata};
use ratchet_core::record::score::{ScorePatch, ScoreSource, ScoreTarget, ScoreValue};

use super::{INITIAL_STAMP, Patch, at, restamped, updating, word};

/// An empty patch of a score.
pub fn score(id: &str) -> ScoreBuilder {
    ScoreBuilder { patch: ScorePatch::new(ScoreId::parse(id).unwrap()), stamp: INITIAL_STAMP }
}

/// A builder for a patch of a score.
#[derive(Clone, Debug)]
#[must_use]
pub struct ScoreBuilder {
    patch: ScorePatch,
    stamp: Stamp,
}

impl ScoreBuilder {
    /// Stamps the following fields with this time.
    pub fn said_at(mut self, millis: i64) -> Self {
        self.stamp = restamped(self.stamp, millis);
        self
    }

    /// Stamps the following fields as an update.
    pub fn as_update(mut self) -> Self {
        self.stamp = updating(self.stamp);
        self
    }

    /// Sets the timestamp.
    pub fn given(mut self, millis: i64) -> Self {
        self.patch.timestamp = Earliest(Some(at(millis)));
        self
    }

    /// Sets the name: `quality` …
    pub fn on(mut self, name: &str) -> Self {
        self.patch.name = Field::new(name.to_owned(), self.stamp);
        self
    }

    /// Sets the target to a trace.
    pub fn of_trace(mut self, trace: &str) -> Self {
        let target = ScoreTarget::Trace(TraceId::parse(trace).unwrap());
        self.patch.target = Field::new(target, self.stamp);
        self
    }

    /// Sets the target to an observation.
    pub fn of_observation(mut self, trace: &str, observation: &str) -> Self {
        let trace = TraceId::parse(trace).unwrap();
        let observation = ObservationId::parse(observation).unwrap();
        self.patch.target = Field::new(ScoreTarget::Observation(trace, observation), self.stamp);
        self
    }

    /// Sets the target to a session.
    pub fn of_session(mut self, session: &str) -> Self {
        let target = ScoreTarget::Session(SessionId::parse(session).unwrap());
        self.patch.target = Field::new(target, self.stamp);
        self
    }

    /// Sets the target to a dataset run.
    pub fn of_run(mut self, run: &str) -> Self {
        self.patch.target = Field::new(ScoreTarget::DatasetRun(run.to_owned()), self.stamp);
        self
    }

    /// Sets a numeric value.
    pub fn number(self, number: f64) -> Self {
        self.value(ScoreValue::Numeric(number))
    }

    pub fn value(mut self, value: ScoreValue) -> Self {
        self.patch.value = Field::new(value, self.stamp);
        self
    }

    pub fn from(mut self, source: ScoreSource) -> Self {
        self.patch.source = Field::new(source, self.stamp);
        self
    }

    /// Sets the environment.
    pub fn in_environment(mut self, name: &str) -> Self {
        self.patch.environment = Field::new(Environment::normalise(name), self.stamp);
        self
    }

    /// Sets author, score config and queue.
    pub fn by(mut self, author: &str, config: &str, queue: &str) -> Self {
        self.patch.author = Field::new(author.to_owned(), self.stamp);
        self.patch.config = Field::new(config.to_owned(), self.stamp);
        self.patch.queue = Field::new(queue.to_owned(), self.stamp);
        self
    }

    pub fn comment(mut self, comment: &str) -> Self {
        self.patch.comment = Field::new(comment.to_owned(), self.stamp);
        self
    }

    pub fn without_comment(mut self) -> Self {
        self.patch.comment = Field::cleared(self.stamp);
        self
    }

    /// Sets a metadata key to a JSON text; `null` removes it.
    pub fn metadata(mut self, key: &str, value: &str) -> Self {
        let said = Metadata::new([(key.to_owned(), word(value, self.stamp))]);
        self.patch.metadata = self.patch.metadata.merge(said);
        self
    }

    pub fn build(self) -> ScorePatch {
        self.patch
    }
}

impl From<ScoreBuilder> for Patch {
    fn from(builder: ScoreBuilder) -> Self {
        builder.build().into()
    }
}
