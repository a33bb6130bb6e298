use std::collections::BTreeSet;

use crate::environment::Environment;
use crate::id::{ObservationId, SessionId, TraceId};
use crate::money::Money;
use crate::payload::{Json, Payload};
use crate::record::field::Field;
use crate::record::merge::{Earliest, Merge, Metadata};
use crate::record::observation::{Level, Observation};
use crate::record::usage::Cost;
use crate::time::Timestamp;

/// A partial update of a trace by one event or span; merged, it is the record itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracePatch {
    pub id: TraceId,
    /// Its explicit start; otherwise that of its first observation.
    pub timestamp: Earliest,
    pub name: Field<String>,
    pub user: Field<String>,
    pub session: Field<SessionId>,
    pub release: Field<String>,
    pub version: Field<String>,
    /// The root span's value beats its children's.
    pub environment: Field<Environment>,
    /// The agent, which is the unit of scoring, gating and promotion.
    pub agent: Field<String>,
    /// Only added, never removed.
    pub tags: BTreeSet<String>,
    /// Whether anyone with the link can view it.
    pub public: Field<bool>,
    pub bookmarked: Field<bool>,
    /// Client metadata.
    pub metadata: Metadata,
    /// Its explicit input; otherwise the root observation's.
    pub input: Field<Payload>,
    pub output: Field<Payload>,
    pub root: Field<ObservationId>,
}

impl TracePatch {
    /// Creates an empty patch.
    pub fn new(id: TraceId) -> Self {
        Self {
            id,
            timestamp: Earliest::default(),
            name: Field::unset(),
            user: Field::unset(),
            session: Field::unset(),
            release: Field::unset(),
            version: Field::unset(),
            environment: Field::unset(),
            agent: Field::unset(),
            tags: BTreeSet::new(),
            public: Field::unset(),
            bookmarked: Field::unset(),
            metadata: Metadata::default(),
            input: Field::unset(),
            output: Field::unset(),
            root: Field::unset(),
        }
    }
}

impl TracePatch {
    /// Returns the number of fields that lose because the stored value has a later time.
    pub fn outdated_by(&self, kept: &Self) -> usize {
        let fields = [
            self.name.is_outdated_by(&kept.name),
            self.user.is_outdated_by(&kept.user),
            self.session.is_outdated_by(&kept.session),
            self.release.is_outdated_by(&kept.release),
            self.version.is_outdated_by(&kept.version),
            self.environment.is_outdated_by(&kept.environment),
            self.agent.is_outdated_by(&kept.agent),
            self.public.is_outdated_by(&kept.public),
            self.bookmarked.is_outdated_by(&kept.bookmarked),
            self.input.is_outdated_by(&kept.input),
            self.output.is_outdated_by(&kept.output),
            self.root.is_outdated_by(&kept.root),
        ];
        fields.into_iter().filter(|is_outdated| *is_outdated).count()
            + self.metadata.outdated_by(&kept.metadata)
    }
}

impl Merge for TracePatch {
    fn merge(self, other: Self) -> Self {
        Self {
            id: self.id,
            timestamp: self.timestamp.merge(other.timestamp),
            name: self.name.merge(other.name),
            user: self.user.merge(other.user),
            session: self.session.merge(other.session),
            release: self.release.merge(other.release),
            version: self.version.merge(other.version),
            environment: self.environment.merge(other.environment),
            agent: self.agent.merge(other.agent),
            tags: self.tags.merge(other.tags),
            public: self.public.merge(other.public),
            bookmarked: self.bookmarked.merge(other.bookmarked),
            metadata: self.metadata.merge(other.metadata),
            input: self.input.merge(other.input),
            output: self.output.merge(other.output),
            root: self.root.merge(other.root),
        }
    }
}

/// A trace: one agent run, with the sums over its observations.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    pub id: TraceId,
    pub timestamp: Timestamp,
    pub name: Option<String>,
    pub user: Option<String>,
    pub session: Option<SessionId>,
    pub release: Option<String>,
    pub version: Option<String>,
    pub environment: Environment,
    pub agent: Option<String>,
    /// Sorted.
    pub tags: Vec<String>,
    /// Whether anyone with the link can view it.
    pub public: bool,
    pub bookmarked: bool,
    pub summary: TraceSummary,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// `None` when the query did not request it.
    pub content: Option<Content>,
}

/// Input, output and metadata of a trace or an observation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Content {
    pub input: Option<Payload>,
    pub output: Option<Payload>,
    /// Client metadata, sorted by key.
    pub metadata: Vec<(String, Json)>,
}

/// Sums over a trace's observations, updated as they arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceSummary {
    pub levels: LevelCounts,
    pub start: Option<Timestamp>,
    /// The last end, or the last start where nothing ended.
    pub end: Option<Timestamp>,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub total_tokens: u64,
    /// Sum of known costs; `None` when none is known.
    pub cost: Option<Money>,
    /// The part of the cost computed from usage counted by Ratchet.
    pub approximate_cost: Money,
}

impl TraceSummary {
    /// Computes the sums of observations.
    pub fn of(observations: &[Observation]) -> Self {
        let mut summary = Self::default();
        for observation in observations {
            let (start, end) = (observation.start, observation.end.unwrap_or(observation.start));
            let usage = &observation.usage;
            *summary.levels.at_mut(observation.level) += 1;
            summary.start = Some(summary.start.map_or(start, |first| first.min(start)));
            summary.end = Some(summary.end.map_or(end, |last| last.max(end)));
            summary.input_tokens = summary.input_tokens.saturating_add(usage.input());
            summary.output_tokens = summary.output_tokens.saturating_add(usage.output());
            summary.total_tokens = summary.total_tokens.saturating_add(usage.total());
            let known = summary.cost.into_iter().chain(observation.cost.as_ref().map(Cost::total));
            summary.cost = known.reduce(|sum, cost| sum + cost);
            summary.approximate_cost = summary.approximate_cost + observation.approximate_cost();
        }
        summary
    }

    /// Returns the nanoseconds from the first start to the last end.
    pub fn latency(&self) -> Option<i64> {
        Some(self.end?.since(self.start?))
    }
}

/// The number of observations by level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelCounts {
    pub debug: u64,
    pub default: u64,
    pub warning: u64,
    pub error: u64,
}

impl LevelCounts {
    /// Returns the total.
    pub fn total(&self) -> u64 {
        self.debug + self.default + self.warning + self.error
    }

    /// Returns the counter of a level.
    pub fn at_mut(&mut self, level: Level) -> &mut u64 {
        match level {
            Level::Debug => &mut self.debug,
            Level::Default => &mut self.default,
            Level::Warning => &mut self.warning,
            Level::Error => &mut self.error,
        }
    }
}
