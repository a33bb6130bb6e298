use std::cmp::Ordering;

use crate::environment::Environment;
use crate::id::{ObservationId, ScoreId, SessionId, TraceId};
use crate::payload::Json;
use crate::record::field::Field;
use crate::record::merge::{Earliest, Merge, Metadata};
use crate::time::Timestamp;

/// Score configs: constraints of a project's scores.
pub mod config;
/// Scores before they are validated.
pub mod draft;
/// Scores of callers with only a public key.
pub mod public;
pub mod user_feedback;
/// Validation of scores.
pub mod rule;

/// The data type of a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DataType {
    Numeric,
    Boolean,
    /// One of several labels.
    Categorical,
    Text,
    /// A corrected output.
    Correction,
}

impl DataType {
    pub const ALL: [Self; 5] =
        [Self::Numeric, Self::Boolean, Self::Categorical, Self::Text, Self::Correction];

    /// Returns the API name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Numeric => "NUMERIC",
            Self::Boolean => "BOOLEAN",
            Self::Categorical => "CATEGORICAL",
            Self::Text => "TEXT",
            Self::Correction => "CORRECTION",
        }
    }

    /// Parses the API name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|data_type| data_type.as_str() == name)
    }
}

/// The value of a score, by its data type.
#[derive(Clone, Debug)]
pub enum ScoreValue {
    /// Never NaN or infinite.
    Numeric(f64),
    Boolean(bool),
    /// A label, with its number where a score config defines one.
    Categorical {
        label: String,
        number: Option<f64>,
    },
    Text(String),
    /// A corrected output.
    Correction(String),
}

impl ScoreValue {
    /// Returns the data type.
    pub const fn data_type(&self) -> DataType {
        match self {
            Self::Numeric(_) => DataType::Numeric,
            Self::Boolean(_) => DataType::Boolean,
            Self::Categorical { .. } => DataType::Categorical,
            Self::Text(_) => DataType::Text,
            Self::Correction(_) => DataType::Correction,
        }
    }

    /// Returns the numeric value, if there is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Numeric(number) => Some(*number),
            Self::Boolean(yes) => Some(f64::from(u8::from(*yes))),
            Self::Categorical { number, .. } => *number,
            Self::Text(_) | Self::Correction(_) => None,
        }
    }

    /// Returns the text value, if there is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Numeric(_) => None,
            Self::Boolean(yes) => Some(if *yes { "True" } else { "False" }),
            Self::Categorical { label, .. } => Some(label),
            Self::Text(text) | Self::Correction(text) => Some(text),
        }
    }
}

impl Ord for ScoreValue {
    fn cmp(&self, other: &Self) -> Ordering {
        let numbers = || match (self.number(), other.number()) {
            (Some(ours), Some(theirs)) => ours.total_cmp(&theirs),
            (ours, theirs) => ours.is_some().cmp(&theirs.is_some()),
        };
        let types = self.data_type().as_str().cmp(other.data_type().as_str());
        types.then_with(|| self.text().cmp(&other.text())).then_with(numbers)
    }
}

impl PartialOrd for ScoreValue {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ScoreValue {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ScoreValue {}

/// The source of a score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScoreSource {
    #[default]
    Api,
    Eval,
    Annotation,
}

impl ScoreSource {
    pub const ALL: [Self; 3] = [Self::Api, Self::Eval, Self::Annotation];

    /// Returns the API name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Api => "API",
            Self::Eval => "EVAL",
            Self::Annotation => "ANNOTATION",
        }
    }

    /// Parses the API name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.as_str() == name)
    }
}

/// The record that a score is attached to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScoreTarget {
    Trace(TraceId),
    Observation(TraceId, ObservationId),
    Session(SessionId),
    DatasetRun(String),
}

/// A partial update of a score by one event; merged, it is the record itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScorePatch {
    pub id: ScoreId,
    pub target: Field<ScoreTarget>,
    /// For example `quality` or `thumbs_feedback`.
    pub name: Field<String>,
    pub value: Field<ScoreValue>,
    pub source: Field<ScoreSource>,
    /// When it was first given.
    pub timestamp: Earliest,
    /// The environment of the scored trace.
    pub environment: Field<Environment>,
    pub comment: Field<String>,
    /// The person who gave it.
    pub author: Field<String>,
    /// Id of its score config.
    pub config: Field<String>,
    /// Id of the annotation queue.
    pub queue: Field<String>,
    /// Client metadata.
    pub metadata: Metadata,
}

impl ScorePatch {
    /// Creates an empty patch.
    pub fn new(id: ScoreId) -> Self {
        Self {
            id,
            target: Field::unset(),
            name: Field::unset(),
            value: Field::unset(),
            source: Field::unset(),
            timestamp: Earliest::default(),
            environment: Field::unset(),
            comment: Field::unset(),
            author: Field::unset(),
            config: Field::unset(),
            queue: Field::unset(),
            metadata: Metadata::default(),
        }
    }
}

impl ScorePatch {
    /// Returns the number of fields that lose because the stored value has a later time.
    pub fn outdated_by(&self, kept: &Self) -> usize {
        let fields = [
            self.target.is_outdated_by(&kept.target),
            self.name.is_outdated_by(&kept.name),
            self.value.is_outdated_by(&kept.value),
            self.source.is_outdated_by(&kept.source),
            self.environment.is_outdated_by(&kept.environment),
            self.comment.is_outdated_by(&kept.comment),
            self.author.is_outdated_by(&kept.author),
            self.config.is_outdated_by(&kept.config),
            self.queue.is_outdated_by(&kept.queue),
        ];
        fields.into_iter().filter(|is_outdated| *is_outdated).count()
            + self.metadata.outdated_by(&kept.metadata)
    }

    /// Moves the stamps after those of a known record, for callers that know the order regardless
    /// of clocks.
    #[must_use]
    pub fn after(self, known: &Self) -> Self {
        Self {
            id: self.id,
            target: self.target.after(&known.target),
            name: self.name.after(&known.name),
            value: self.value.after(&known.value),
            source: self.source.after(&known.source),
            environment: self.environment.after(&known.environment),
            comment: self.comment.after(&known.comment),
            author: self.author.after(&known.author),
            config: self.config.after(&known.config),
            queue: self.queue.after(&known.queue),
            timestamp: self.timestamp,
            metadata: self.metadata.after(&known.metadata),
        }
    }
}

impl Merge for ScorePatch {
    fn merge(self, other: Self) -> Self {
        Self {
            id: self.id,
            target: self.target.merge(other.target),
            name: self.name.merge(other.name),
            value: self.value.merge(other.value),
            source: self.source.merge(other.source),
            timestamp: self.timestamp.merge(other.timestamp),
            environment: self.environment.merge(other.environment),
            comment: self.comment.merge(other.comment),
            author: self.author.merge(other.author),
            config: self.config.merge(other.config),
            queue: self.queue.merge(other.queue),
            metadata: self.metadata.merge(other.metadata),
        }
    }
}

/// A score.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    pub id: ScoreId,
    pub target: ScoreTarget,
    pub name: String,
    pub value: ScoreValue,
    pub source: ScoreSource,
    /// When it was first given.
    pub timestamp: Timestamp,
    /// The environment of the scored trace.
    pub environment: Environment,
    pub comment: Option<String>,
    /// The person who gave it.
    pub author: Option<String>,
    /// Id of its score config.
    pub config: Option<String>,
    /// Id of the annotation queue.
    pub queue: Option<String>,
    /// Client metadata, sorted by key.
    pub metadata: Vec<(String, Json)>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}
