//! Builders for patches and batches.
//!
//! ```
//! use ratchet_testkit::build::{batch, generation, project, trace};
//!
//! let recorded = batch(&project("shop"))
//!     .with(trace("t").named("checkout").in_session("monday"))
//!     .with(generation("g").of("t").lasting(0, 250).calling("gpt-5").tokens(12, 30));
//! ```
//!
//! Times are milliseconds after `START`. A builder has one current `Stamp`; `said_at`, `as_update`
//! and `by` change the stamp of the fields set after them.

mod observation;
mod score;
mod trace;

pub use observation::{ObservationBuilder, event, generation, observation, span, tool};
pub use score::{ScoreBuilder, score};
pub use trace::{TraceBuilder, trace};

use ratchet_core::payload::{Json, Payload};
use ratchet_core::record::field::{Authority, Stamp, StampedValue, WriteKind};
use ratchet_core::record::observation::ObservationPatch;
use ratchet_core::record::score::ScorePatch;
use ratchet_core::record::trace::TracePatch;
use ratchet_core::time::Timestamp;
use ratchet_store::project::ProjectId;
use ratchet_store::telemetry::Batch;

/// The start of test data: 2026-03-02T08:00:00Z, a Monday morning.
pub const START: Timestamp = Timestamp::from_millis(1_772_438_400_000);

/// The moment so many milliseconds after the start.
pub const fn at(millis: i64) -> Timestamp {
    START.plus_nanos(millis * 1_000_000)
}

/// A project id; must be valid.
pub fn project(id: &str) -> ProjectId {
    ProjectId::parse(id).unwrap()
}

/// A JSON text; must be valid.
pub fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

/// A text payload, as in a span attribute.
pub fn text(text: &str) -> Payload {
    Payload::Text(text.into())
}

/// An empty batch, received at the start.
pub fn batch(project: &ProjectId) -> BatchBuilder {
    BatchBuilder(Batch {
        project: project.clone(),
        traces: Vec::new(),
        observations: Vec::new(),
        scores: Vec::new(),
        experiment_items: Vec::new(),
        received_at: START,
    })
}

/// A batch builder.
#[derive(Clone, Debug)]
#[must_use]
pub struct BatchBuilder(Batch);

impl BatchBuilder {
    /// Adds a patch.
    pub fn with(mut self, patch: impl Into<Patch>) -> Self {
        match patch.into() {
            Patch::Trace(patch) => self.0.traces.push(*patch),
            Patch::Observation(patch) => self.0.observations.push(*patch),
            Patch::Score(patch) => self.0.scores.push(*patch),
        }
        self
    }

    /// Adds patches.
    pub fn with_all<P: Into<Patch>>(self, patches: impl IntoIterator<Item = P>) -> Self {
        patches.into_iter().fold(self, BatchBuilder::with)
    }

    /// Sets the time of arrival.
    pub fn received(mut self, millis: i64) -> Self {
        self.0.received_at = at(millis);
        self
    }

    pub fn build(self) -> Batch {
        self.0
    }
}

/// A patch of any record.
#[derive(Clone, Debug)]
pub enum Patch {
    Trace(Box<TracePatch>),
    Observation(Box<ObservationPatch>),
    Score(Box<ScorePatch>),
}

impl From<TracePatch> for Patch {
    fn from(patch: TracePatch) -> Self {
        Self::Trace(Box::new(patch))
    }
}

impl From<ObservationPatch> for Patch {
    fn from(patch: ObservationPatch) -> Self {
        Self::Observation(Box::new(patch))
    }
}

impl From<ScorePatch> for Patch {
    fn from(patch: ScorePatch) -> Self {
        Self::Score(Box::new(patch))
    }
}

/// The initial stamp of builders: a create event at the start, about the record itself.
const INITIAL_STAMP: Stamp = Stamp::stated(START, WriteKind::Create);

/// A metadata value: a JSON text, or null to remove it.
fn word(value: &str, stamp: Stamp) -> StampedValue<Json> {
    let value = Some(json(value)).filter(|json| json.as_str() != "null");
    StampedValue { stamp, value }
}

/// The stamp with another time.
fn restamped(stamp: Stamp, millis: i64) -> Stamp {
    Stamp { at: at(millis), ..stamp }
}

/// The stamp as an update.
fn updating(stamp: Stamp) -> Stamp {
    Stamp { act: WriteKind::Update, ..stamp }
}

/// The stamp with another authority.
fn spoken_by(stamp: Stamp, authority: Authority) -> Stamp {
    Stamp { authority, ..stamp }
}
