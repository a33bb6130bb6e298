use std::cmp::Ordering;

use crate::environment::Environment;
use crate::id::{ObservationId, ScoreId, SessionId, TraceId};
use crate::payload::Json;
use crate::record::field::Field;
use crate::record::merge::{Earliest, Merge, Metadata};
use crate::time::Timestamp;

/// What scores must look like, as a project settles it.
pub mod config;
/// Scores before they are validated.
pub mod draft;
/// Scores of callers who hold a public key alone.
pub mod public;
/// Whether what a client says is a score.
pub mod rule;

/// How the value of a score is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DataType {
    Numeric,
    /// As yes or no.
    Boolean,
    /// As one of several labels.
    Categorical,
    Text,
    /// As what the output should have been.
    Correction,
}

impl DataType {
    pub const ALL: [Self; 5] =
        [Self::Numeric, Self::Boolean, Self::Categorical, Self::Text, Self::Correction];

    /// The word for it, as clients write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Numeric => "NUMERIC",
            Self::Boolean => "BOOLEAN",
            Self::Categorical => "CATEGORICAL",
            Self::Text => "TEXT",
            Self::Correction => "CORRECTION",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|data_type| data_type.as_str() == word)
    }
}

/// The value of a score, by its data type.
#[derive(Clone, Debug)]
pub enum ScoreValue {
    /// A number. Never NaN or infinite.
    Numeric(f64),
    /// Yes or no.
    Boolean(bool),
    /// One of several labels; its number where a score config gives one.
    Categorical {
        label: String,
        /// The number the config gives it.
        number: Option<f64>,
    },
    Text(String),
    /// What the output should have been.
    Correction(String),
}

impl ScoreValue {
    /// How it is to be read.
    pub const fn data_type(&self) -> DataType {
        match self {
            Self::Numeric(_) => DataType::Numeric,
            Self::Boolean(_) => DataType::Boolean,
            Self::Categorical { .. } => DataType::Categorical,
            Self::Text(_) => DataType::Text,
            Self::Correction(_) => DataType::Correction,
        }
    }

    /// The value as a number, where it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Numeric(number) => Some(*number),
            Self::Boolean(yes) => Some(f64::from(u8::from(*yes))),
            Self::Categorical { number, .. } => *number,
            Self::Text(_) | Self::Correction(_) => None,
        }
    }

    /// The value as a text, where it is one.
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

/// Where a score came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScoreSource {
    #[default]
    Api,
    Eval,
    Annotation,
}

impl ScoreSource {
    pub const ALL: [Self; 3] = [Self::Api, Self::Eval, Self::Annotation];

    /// The word for it, as clients write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Api => "API",
            Self::Eval => "EVAL",
            Self::Annotation => "ANNOTATION",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.as_str() == word)
    }
}

/// What a score judges.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScoreTarget {
    Trace(TraceId),
    /// One step of a run.
    Observation(TraceId, ObservationId),
    Session(SessionId),
    /// A run of a dataset.
    DatasetRun(String),
}

/// What one event says about a score; merged, it is the record itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScorePatch {
    pub id: ScoreId,
    pub target: Field<ScoreTarget>,
    /// What is judged: `quality`, `thumbs_feedback` …
    pub name: Field<String>,
    pub value: Field<ScoreValue>,
    pub source: Field<ScoreSource>,
    /// When it was first given.
    pub timestamp: Earliest,
    /// Where the judged run ran.
    pub environment: Field<Environment>,
    pub comment: Field<String>,
    /// The person who gave it.
    pub author: Field<String>,
    /// The score config it follows.
    pub config: Field<String>,
    /// The annotation queue it was given in.
    pub queue: Field<String>,
    /// Keys and values of the client's own.
    pub metadata: Metadata,
}

impl ScorePatch {
    /// A patch that says nothing yet.
    pub fn new(id: ScoreId) -> Self {
        Self {
            id,
            target: Field::unsaid(),
            name: Field::unsaid(),
            value: Field::unsaid(),
            source: Field::unsaid(),
            timestamp: Earliest::default(),
            environment: Field::unsaid(),
            comment: Field::unsaid(),
            author: Field::unsaid(),
            config: Field::unsaid(),
            queue: Field::unsaid(),
            metadata: Metadata::default(),
        }
    }
}

impl ScorePatch {
    /// How many of its words are not believed, because what is kept has a later time.
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

    /// The same, said later than what is known: for whoever knows the order, whatever clocks say.
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

/// A score as people see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    pub id: ScoreId,
    pub target: ScoreTarget,
    pub name: String,
    pub value: ScoreValue,
    pub source: ScoreSource,
    /// When it was first given.
    pub timestamp: Timestamp,
    /// Where the judged run ran.
    pub environment: Environment,
    pub comment: Option<String>,
    /// The person who gave it.
    pub author: Option<String>,
    /// The score config it follows.
    pub config: Option<String>,
    /// The annotation queue it was given in.
    pub queue: Option<String>,
    /// Keys and values of the client's own, in order of key.
    pub metadata: Vec<(String, Json)>,
    /// When the record was first written.
    pub created_at: Timestamp,
    /// When the record last changed.
    pub updated_at: Timestamp,
}
