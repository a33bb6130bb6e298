//! What each view has: names for dimensions and measures, and what they are in the store.

use ratchet_core::catalog::dashboard::widget::MetricsRecords;
use ratchet_core::record::limit::elide;
use ratchet_store::metrics::{By, Measure};
use ratchet_store::query::{ObservationColumn as O, ScoreColumn as S, TraceColumn as T};

/// Maximum length of an unknown name in an error.
const MAX_SHOWN: usize = 100;

/// The measure of how much of a cost is approximate, because its tokens were counted here. Langfuse
/// does not have it.
pub const APPROXIMATE_COST: &str = "approximateCost";

/// The dimension of scores by who judged, with versions. Langfuse does not have it.
pub const JUDGE: &str = "judge";

/// The measure of how many records there are.
pub const COUNT: &str = "count";

/// The names that a view knows.
#[derive(Debug)]
pub struct Names {
    view: MetricsRecords,
    /// What it can be split by.
    pub dimensions: Vec<&'static str>,
    /// What can be measured, and in what.
    pub measures: Vec<(&'static str, Unit)>,
    wide: Vec<&'static str>,
}

impl Names {
    /// The names of a view.
    pub fn of(view: MetricsRecords) -> Self {
        match view {
            MetricsRecords::Traces => TRACES.names(view),
            MetricsRecords::Observations => OBSERVATIONS.names(view),
            MetricsRecords::ScoresNumeric => NUMERIC_SCORES.names(view),
            MetricsRecords::ScoresBoolean => BOOLEAN_SCORES.names(view),
            MetricsRecords::ScoresCategorical => CATEGORICAL_SCORES.names(view),
        }
    }

    /// Whether a dimension has about as many values as there are records.
    pub fn is_wide(&self, dimension: &str) -> bool {
        self.wide.contains(&dimension)
    }

    /// What is wrong about a name, unless it is that of a dimension.
    pub fn no_dimension(&self, name: &str) -> Option<String> {
        let is_known = self.dimensions.contains(&name);
        (!is_known).then(|| unknown("dimension", name, self.view, &self.dimensions))
    }

    /// What is wrong about a name, unless it is that of a measure.
    pub fn no_measure(&self, name: &str) -> Option<String> {
        let known: Vec<_> = self.measures.iter().map(|(known, _)| *known).collect();
        (!known.contains(&name)).then(|| unknown("measure", name, self.view, &known))
    }
}

fn unknown(what: &str, name: &str, view: MetricsRecords, known: &[&str]) -> String {
    let (name, view) = (elide(name, MAX_SHOWN), view.as_str());
    format!("{name} is not a known {what} of {view}: {}", known.join(", "))
}

/// A view over records with the columns `C`.
#[derive(Debug)]
pub struct ViewTable<C: 'static> {
    /// Dimensions that other views have, too.
    shared: &'static [KnownDimension<C>],
    own: &'static [KnownDimension<C>],
    pub measures: &'static [MeasureName<C>],
}

impl<C> ViewTable<C> {
    pub fn dimensions(&'static self) -> impl Iterator<Item = &'static KnownDimension<C>> {
        self.shared.iter().chain(self.own)
    }

    fn names(&'static self, view: MetricsRecords) -> Names {
        let dimensions = self.dimensions().map(|known| known.name).collect();
        let measures = self.measures.iter().map(|known| (known.name, known.unit)).collect();
        let wide = self.dimensions().filter(|known| known.is_wide).map(|known| known.name);
        Names { view, dimensions, measures, wide: wide.collect() }
    }

    pub fn dimension(&'static self, name: &str) -> Option<&'static KnownDimension<C>> {
        self.dimensions().find(|known| known.name == name)
    }
}

#[derive(Debug)]
pub struct KnownDimension<C> {
    pub name: &'static str,
    /// What it is in the store.
    pub by: By<C>,
    /// How its values are written.
    pub form: Form,
    /// Whether it has about as many values as there are records.
    pub is_wide: bool,
}

/// How a dimension's value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Text,
    Number,
    Truth,
    Tags,
}

#[derive(Debug)]
pub struct MeasureName<C> {
    pub name: &'static str,
    /// What it is in the store.
    pub measure: Measure<C>,
    /// What it is given in.
    pub unit: Unit,
}

/// What a measure is given in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Pieces,
    /// Milliseconds; the store counts seconds.
    Milliseconds,
    Dollars,
    /// As the store has it.
    Plain,
    /// Different values of something that is no number.
    Different,
}

const fn text<C>(name: &'static str, column: C) -> KnownDimension<C> {
    KnownDimension { name, by: By::Column(column), form: Form::Text, is_wide: false }
}

const fn number<C>(name: &'static str, column: C) -> KnownDimension<C> {
    KnownDimension { name, by: By::Column(column), form: Form::Number, is_wide: false }
}

const fn truth<C>(name: &'static str, column: C) -> KnownDimension<C> {
    KnownDimension { name, by: By::Column(column), form: Form::Truth, is_wide: false }
}

const fn tags<C>(name: &'static str, column: C) -> KnownDimension<C> {
    KnownDimension { name, by: By::Column(column), form: Form::Tags, is_wide: false }
}

/// A dimension with about as many values as there are records.
const fn wide<C>(name: &'static str, column: C) -> KnownDimension<C> {
    KnownDimension { name, by: By::Column(column), form: Form::Text, is_wide: true }
}

const fn month<C>(name: &'static str) -> KnownDimension<C> {
    KnownDimension { name, by: By::Month, form: Form::Text, is_wide: false }
}

const fn day<C>(name: &'static str) -> KnownDimension<C> {
    KnownDimension { name, by: By::Day, form: Form::Text, is_wide: false }
}

const fn count<C>() -> MeasureName<C> {
    MeasureName { name: COUNT, measure: Measure::Records, unit: Unit::Pieces }
}

const fn pieces<C>(name: &'static str, column: C) -> MeasureName<C> {
    MeasureName { name, measure: Measure::Column(column), unit: Unit::Pieces }
}

const fn millis<C>(name: &'static str, column: C) -> MeasureName<C> {
    MeasureName { name, measure: Measure::Column(column), unit: Unit::Milliseconds }
}

const fn plain<C>(name: &'static str, column: C) -> MeasureName<C> {
    MeasureName { name, measure: Measure::Column(column), unit: Unit::Plain }
}

const fn dollars<C>(name: &'static str, column: C) -> MeasureName<C> {
    MeasureName { name, measure: Measure::Column(column), unit: Unit::Dollars }
}

const fn different<C>(name: &'static str, column: C) -> MeasureName<C> {
    MeasureName { name, measure: Measure::Column(column), unit: Unit::Different }
}

pub static TRACES: ViewTable<T> = ViewTable {
    shared: &[],
    own: &[
        wide("id", T::Id),
        text("name", T::Name),
        tags("tags", T::Tags),
        wide("userId", T::User),
        wide("sessionId", T::Session),
        text("release", T::Release),
        text("version", T::Version),
        text("environment", T::Environment),
        month("timestampMonth"),
    ],
    measures: &[
        count(),
        pieces("observationsCount", T::ObservationCount),
        pieces("scoresCount", T::ScoreCount),
        different("uniqueUserIds", T::User),
        different("uniqueSessionIds", T::Session),
        millis("latency", T::Latency),
        pieces("totalTokens", T::TotalTokens),
        dollars("totalCost", T::Cost),
        dollars(APPROXIMATE_COST, T::ApproximateCost),
    ],
};

pub static OBSERVATIONS: ViewTable<O> = ViewTable {
    shared: &[],
    own: &[
        wide("id", O::Id),
        wide("traceId", O::Trace),
        text("environment", O::Environment),
        wide("parentObservationId", O::Parent),
        text("type", O::Kind),
        text("name", O::Name),
        text("level", O::Level),
        text("version", O::Version),
        tags("tags", O::TraceTags),
        text("release", O::TraceRelease),
        text("traceName", O::TraceName),
        text("traceRelease", O::TraceRelease),
        text("traceVersion", O::TraceVersion),
        text("providedModelName", O::Model),
        text("promptName", O::PromptName),
        number("promptVersion", O::PromptVersion),
        wide("userId", O::TraceUser),
        wide("sessionId", O::TraceSession),
        truth("isRootObservation", O::Root),
        month("startTimeMonth"),
    ],
    measures: &[
        count(),
        millis("latency", O::Latency),
        millis("streamingLatency", O::StreamingLatency),
        pieces("inputTokens", O::InputTokens),
        pieces("outputTokens", O::OutputTokens),
        pieces("totalTokens", O::TotalTokens),
        plain("outputTokensPerSecond", O::StreamedTokensPerSecond),
        plain("tokensPerSecond", O::TotalTokensPerSecond),
        dollars("inputCost", O::InputCost),
        dollars("outputCost", O::OutputCost),
        dollars("totalCost", O::Cost),
        dollars(APPROXIMATE_COST, O::ApproximateCost),
        millis("timeToFirstToken", O::TimeToFirstToken),
        pieces("countScores", O::ScoreCount),
    ],
};

static OF_ALL_SCORES: &[KnownDimension<S>] = &[
    wide("id", S::Id),
    text("environment", S::Environment),
    text("name", S::Name),
    text("source", S::Source),
    text("dataType", S::DataType),
    text("configId", S::Config),
    month("timestampMonth"),
    day("timestampDay"),
    wide("traceId", S::Trace),
    wide("observationId", S::Observation),
    wide("userId", S::TraceUser),
    wide("sessionId", S::AnySession),
    text("traceName", S::TraceName),
    tags("tags", S::TraceTags),
    text("release", S::TraceRelease),
    text("traceRelease", S::TraceRelease),
    text("traceVersion", S::TraceVersion),
    text("observationName", S::ObservationName),
    text("observationModelName", S::ObservationModel),
    text("observationPromptName", S::ObservationPromptName),
    number("observationPromptVersion", S::ObservationPromptVersion),
    text(JUDGE, S::Judge),
];

/// Scores that are numbers, yes and no among them.
pub static NUMERIC_SCORES: ViewTable<S> = ViewTable {
    shared: OF_ALL_SCORES,
    own: &[number("value", S::Number)],
    measures: &[count(), plain("value", S::Number)],
};

/// Scores that are yes or no.
pub static BOOLEAN_SCORES: ViewTable<S> = ViewTable {
    shared: OF_ALL_SCORES,
    own: &[number("value", S::Number), truth("booleanValue", S::Truth)],
    measures: &[count(), plain("value", S::Number)],
};

/// Scores that are one of several labels.
pub static CATEGORICAL_SCORES: ViewTable<S> =
    ViewTable { shared: OF_ALL_SCORES, own: &[text("stringValue", S::Text)], measures: &[count()] };
