use ratchet_core::catalog::filter::FilterKind;
use ratchet_store::query::{ObservationColumn as O, ScoreColumn as S, TraceColumn as T};

/// The columns of a resource.
pub type Columns<C> = &'static ColumnSet<C>;

/// Which columns a resource has.
#[derive(Debug)]
pub struct ColumnSet<C: 'static> {
    known: &'static [FilterColumn<C>],
}

/// A column that can be filtered on.
#[derive(Debug)]
pub(super) struct FilterColumn<C> {
    name: &'static str,
    /// The same in the store.
    pub column: C,
    pub kind: ColumnKind,
    /// Whether it is when the record began.
    pub is_start: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Text,
    Number,
    Time,
    Truth,
    Tags,
    Object,
    /// Averages of scores, by name or all of them.
    ScoreNumbers,
    /// Labels of scores by name.
    ScoreLabels,
    /// Yes and no by name of the score.
    ScoreTruths,
}

impl<C> ColumnSet<C> {
    /// Whether there is a column of a name.
    pub fn has(&'static self, name: &str) -> bool {
        self.known.iter().any(|column| column.name == name)
    }

    /// The column of a name, or why there is none.
    pub(super) fn find(&'static self, name: &str) -> Result<&'static FilterColumn<C>, String> {
        if let Some(column) = self.known.iter().find(|column| column.name == name) {
            return Ok(column);
        }
        let known: Vec<_> = self.known.iter().map(|column| column.name).collect();
        Err(format!("{name} is not a known column: {}", known.join(", ")))
    }
}

impl ColumnKind {
    /// Whether such a condition makes sense here.
    pub(super) fn takes(self, kind: FilterKind) -> bool {
        self.kinds().contains(&kind)
    }

    /// The conditions that make sense here, for messages.
    pub(super) fn taken(self) -> String {
        self.kinds().iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ")
    }

    fn kinds(self) -> &'static [FilterKind] {
        match self {
            Self::Text => &[FilterKind::String, FilterKind::StringOptions, FilterKind::Null],
            Self::Number => &[FilterKind::Number, FilterKind::Null],
            Self::Time => &[FilterKind::Datetime, FilterKind::Null],
            Self::Truth => &[FilterKind::Boolean],
            Self::Tags => &[FilterKind::ArrayOptions],
            Self::ScoreNumbers => &[FilterKind::NumberObject, FilterKind::Number],
            Self::ScoreLabels => &[FilterKind::CategoryOptions],
            Self::ScoreTruths => &[FilterKind::BooleanObject],
            Self::Object => &[
                FilterKind::StringObject,
                FilterKind::NumberObject,
                FilterKind::BooleanObject,
                FilterKind::CategoryOptions,
            ],
        }
    }
}

const fn text<C>(name: &'static str, column: C) -> FilterColumn<C> {
    FilterColumn { name, column, kind: ColumnKind::Text, is_start: false }
}

const fn number<C>(name: &'static str, column: C) -> FilterColumn<C> {
    FilterColumn { name, column, kind: ColumnKind::Number, is_start: false }
}

const fn time<C>(name: &'static str, column: C) -> FilterColumn<C> {
    FilterColumn { name, column, kind: ColumnKind::Time, is_start: false }
}

const fn start<C>(name: &'static str, column: C) -> FilterColumn<C> {
    FilterColumn { name, column, kind: ColumnKind::Time, is_start: true }
}

const fn truth<C>(name: &'static str, column: C) -> FilterColumn<C> {
    FilterColumn { name, column, kind: ColumnKind::Truth, is_start: false }
}

const fn tags<C>(name: &'static str, column: C) -> FilterColumn<C> {
    FilterColumn { name, column, kind: ColumnKind::Tags, is_start: false }
}

const fn object<C>(name: &'static str, column: C) -> FilterColumn<C> {
    FilterColumn { name, column, kind: ColumnKind::Object, is_start: false }
}

const fn judged<C>(name: &'static str, column: C, kind: ColumnKind) -> FilterColumn<C> {
    FilterColumn { name, column, kind, is_start: false }
}

/// The columns of a trace.
pub static TRACE: ColumnSet<T> = ColumnSet {
    known: &[
        text("id", T::Id),
        text("name", T::Name),
        start("timestamp", T::Timestamp),
        text("userId", T::User),
        text("sessionId", T::Session),
        text("environment", T::Environment),
        text("version", T::Version),
        text("release", T::Release),
        text("agent", T::Agent),
        tags("tags", T::Tags),
        truth("bookmarked", T::Bookmarked),
        truth("public", T::Public),
        object("metadata", T::Metadata),
        text("input", T::Input),
        text("output", T::Output),
        number("latency", T::Latency),
        number("inputTokens", T::InputTokens),
        number("outputTokens", T::OutputTokens),
        number("totalTokens", T::TotalTokens),
        number("tokens", T::TotalTokens),
        number("totalCost", T::Cost),
        number("inputCost", T::InputCost),
        number("outputCost", T::OutputCost),
        text("level", T::Level),
        number("warningCount", T::WarningCount),
        number("errorCount", T::ErrorCount),
        number("defaultCount", T::DefaultCount),
        number("debugCount", T::DebugCount),
        judged("scores_avg", T::ScoreNumbers, ColumnKind::ScoreNumbers),
        judged("scores", T::ScoreNumbers, ColumnKind::ScoreNumbers),
        judged("score_categories", T::ScoreLabels, ColumnKind::ScoreLabels),
        judged("score_booleans", T::ScoreTruths, ColumnKind::ScoreTruths),
    ],
};

/// The columns of an observation.
pub static OBSERVATION: ColumnSet<O> = ColumnSet {
    known: &[
        text("id", O::Id),
        text("type", O::Kind),
        text("name", O::Name),
        text("traceId", O::Trace),
        text("parentObservationId", O::Parent),
        truth("isRootObservation", O::Root),
        start("startTime", O::Start),
        time("endTime", O::End),
        text("environment", O::Environment),
        text("level", O::Level),
        text("statusMessage", O::StatusMessage),
        text("version", O::Version),
        text("agent", O::Agent),
        number("latency", O::Latency),
        number("timeToFirstToken", O::TimeToFirstToken),
        number("tokensPerSecond", O::TokensPerSecond),
        number("inputTokens", O::InputTokens),
        number("outputTokens", O::OutputTokens),
        number("totalTokens", O::TotalTokens),
        number("tokens", O::TotalTokens),
        number("totalCost", O::Cost),
        number("inputCost", O::InputCost),
        number("outputCost", O::OutputCost),
        text("model", O::Model),
        text("providedModelName", O::Model),
        text("promptName", O::PromptName),
        number("promptVersion", O::PromptVersion),
        object("metadata", O::Metadata),
        text("input", O::Input),
        text("output", O::Output),
        text("userId", O::TraceUser),
        text("sessionId", O::TraceSession),
        text("traceName", O::TraceName),
        text("traceEnvironment", O::TraceEnvironment),
        tags("traceTags", O::TraceTags),
        tags("tags", O::TraceTags),
        text("release", O::TraceRelease),
        text("traceRelease", O::TraceRelease),
        text("traceVersion", O::TraceVersion),
        truth("public", O::TracePublic),
        truth("bookmarked", O::TraceBookmarked),
        judged("scores_avg", O::ScoreNumbers, ColumnKind::ScoreNumbers),
        judged("scores", O::ScoreNumbers, ColumnKind::ScoreNumbers),
        judged("score_categories", O::ScoreLabels, ColumnKind::ScoreLabels),
        judged("score_booleans", O::ScoreTruths, ColumnKind::ScoreTruths),
    ],
};

/// The columns of a score.
pub static SCORE: ColumnSet<S> = ColumnSet {
    known: &[
        text("id", S::Id),
        text("name", S::Name),
        start("timestamp", S::Timestamp),
        text("dataType", S::DataType),
        number("value", S::Number),
        text("stringValue", S::Text),
        truth("booleanValue", S::Truth),
        text("source", S::Source),
        text("environment", S::Environment),
        text("comment", S::Comment),
        text("authorUserId", S::Author),
        text("configId", S::Config),
        text("queueId", S::Queue),
        text("traceId", S::Trace),
        text("observationId", S::Observation),
        text("sessionId", S::Session),
        text("datasetRunId", S::DatasetRun),
        object("metadata", S::Metadata),
        text("traceName", S::TraceName),
        text("userId", S::TraceUser),
        tags("traceTags", S::TraceTags),
        tags("tags", S::TraceTags),
        text("release", S::TraceRelease),
        text("traceRelease", S::TraceRelease),
        text("traceVersion", S::TraceVersion),
        text("observationName", S::ObservationName),
        text("observationModelName", S::ObservationModel),
        text("observationPromptName", S::ObservationPromptName),
        number("observationPromptVersion", S::ObservationPromptVersion),
    ],
};
