//! Columns and conditions, as simple as possible.

use ratchet_core::money::Money;
use ratchet_core::payload::{Json, Payload};
use ratchet_core::quality::synthesis::{JudgeVersion, is_superseded};
use ratchet_core::record::observation::{Level, Observation};
use ratchet_core::record::score::{DataType, Score, ScoreTarget};
use ratchet_core::record::trace::{LevelCounts, Trace};
use ratchet_core::record::usage::Cost;
use ratchet_core::time::Timestamp;
use ratchet_store::query::{Compare, ObservationColumn, ScoreColumn, Test, TextTest, TraceColumn};

/// The value of a column.
pub(super) enum Cell {
    Text(Option<String>),
    Number(Option<f64>),
    Time(Option<Timestamp>),
    Truth(bool),
    Tags(Vec<String>),
    Keys(Vec<(String, Json)>),
    Numbers(Vec<(String, f64)>),
    Labels(Vec<(String, String)>),
    Models(Vec<String>),
}

/// Whether a value passes a condition; `None` when the condition does not fit the column.
pub(super) fn passes(cell: &Cell, test: &Test) -> Option<bool> {
    match (cell, test) {
        (Cell::Numbers(_) | Cell::Labels(_), test) => judged_passes(cell, test),
        (Cell::Models(models), test) => models_pass(models, test),
        (cell, Test::IsNull) => Some(is_missing(cell)),
        (cell, Test::IsNotNull) => Some(!is_missing(cell)),
        (Cell::Text(text), test) => text_passes(text.as_deref(), test),
        (Cell::Number(number), Test::Number(how, than)) => {
            Some(number.map_or(*how == Compare::Unequal, |number| compares(*how, &number, than)))
        }
        (Cell::Number(number), Test::AnyNumber(numbers)) => {
            Some(number.is_some_and(|number| numbers.contains(&number)))
        }
        (Cell::Time(time), Test::Time(how, than)) => {
            Some(time.map_or(*how == Compare::Unequal, |time| compares(*how, &time, than)))
        }
        (Cell::Truth(truth), Test::Is(wanted)) => Some(truth == wanted),
        (Cell::Tags(tags), Test::AnyOf(words)) => Some(words.iter().any(|tag| tags.contains(tag))),
        (Cell::Tags(tags), Test::NoneOf(words)) => {
            Some(!words.iter().any(|tag| tags.contains(tag)))
        }
        (Cell::Tags(tags), Test::AllOf(words)) => Some(words.iter().all(|tag| tags.contains(tag))),
        (Cell::Keys(keys), Test::Key(key, test)) => {
            let json = keys.iter().find(|(name, _)| name == key).map(|(_, json)| json);
            key_passes(json, test)
        }
        _ => None,
    }
}

fn is_missing(cell: &Cell) -> bool {
    match cell {
        Cell::Text(text) => text.is_none(),
        Cell::Number(number) => number.is_none(),
        Cell::Time(time) => time.is_none(),
        Cell::Truth(_) => false,
        Cell::Tags(tags) => tags.is_empty(),
        Cell::Keys(keys) => keys.is_empty(),
        Cell::Numbers(_) | Cell::Labels(_) => false,
        Cell::Models(models) => models.is_empty(),
    }
}

/// One model passes, or none fails a negated condition.
fn models_pass(models: &[String], test: &Test) -> Option<bool> {
    let passes = |model: &String| text_passes(Some(model), test);
    match test {
        Test::IsNull => Some(models.is_empty()),
        Test::IsNotNull => Some(!models.is_empty()),
        Test::Text(TextTest::Differs | TextTest::Lacks | TextTest::Misses, _) | Test::NoneOf(_) => {
            Some(models.iter().all(|model| passes(model) == Some(true)))
        }
        Test::Text(..) | Test::AnyOf(_) => {
            Some(models.iter().any(|model| passes(model) == Some(true)))
        }
        Test::AllOf(names) => Some(names.iter().all(|name| models.contains(name))),
        _ => None,
    }
}

fn text_passes(text: Option<&str>, test: &Test) -> Option<bool> {
    match test {
        Test::Text(how, other) => Some(match (how, text) {
            (TextTest::Equals, text) => text == Some(other),
            (TextTest::Differs, text) => text != Some(other),
            (TextTest::Contains, text) => text.is_some_and(|text| text.contains(other)),
            (TextTest::Lacks, text) => !text.is_some_and(|text| text.contains(other)),
            (TextTest::Matches, text) => {
                text.is_some_and(|text| text.to_lowercase().contains(&other.to_lowercase()))
            }
            (TextTest::Misses, text) => {
                !text.is_some_and(|text| text.to_lowercase().contains(&other.to_lowercase()))
            }
            (TextTest::StartsWith, text) => text.is_some_and(|text| text.starts_with(other)),
            (TextTest::EndsWith, text) => text.is_some_and(|text| text.ends_with(other)),
        }),
        Test::AnyOf(words) => Some(text.is_some_and(|text| words.iter().any(|word| word == text))),
        Test::NoneOf(words) => {
            Some(!text.is_some_and(|text| words.iter().any(|word| word == text)))
        }
        Test::IsNull => Some(text.is_none()),
        Test::IsNotNull => Some(text.is_some()),
        _ => None,
    }
}

/// A metadata value is a text when it is a JSON string, and otherwise raw JSON. A text that parses
/// as a number compares as one.
fn key_passes(json: Option<&Json>, test: &Test) -> Option<bool> {
    let value = json.map(|json| serde_json::from_str(json.as_str()).unwrap());
    let text = value.as_ref().map(|value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    let number = || match value.as_ref()? {
        serde_json::Value::String(text) => text.parse().ok(),
        other => other.as_f64(),
    };
    match test {
        Test::Number(..) | Test::AnyNumber(_) => passes(&Cell::Number(number()), test),
        _ => text_passes(text.as_deref(), test),
    }
}

fn compares<T: PartialOrd>(how: Compare, value: &T, than: &T) -> bool {
    match how {
        Compare::Equal => value == than,
        Compare::Unequal => value != than,
        Compare::Greater => value > than,
        Compare::AtLeast => value >= than,
        Compare::Less => value < than,
        Compare::AtMost => value <= than,
    }
}

/// Numbers are averaged, all of them or those of one name; categories are matched against a list.
fn judged_passes(cell: &Cell, test: &Test) -> Option<bool> {
    match (cell, test) {
        (Cell::Numbers(numbers), Test::Number(..)) => {
            let numbers: Vec<f64> = numbers.iter().map(|(_, number)| *number).collect();
            passes(&Cell::Number(average(&numbers)), test)
        }
        (Cell::Numbers(numbers), Test::Key(name, test)) => match test.as_ref() {
            Test::Number(..) => {
                let named = numbers.iter().filter(|(of, _)| of == name);
                judged_passes(&Cell::Numbers(named.cloned().collect()), test)
            }
            _ => None,
        },
        (Cell::Labels(labels), Test::Key(name, test)) => {
            let has = |words: &[String]| {
                labels.iter().any(|(of, label)| of == name && words.contains(label))
            };
            match test.as_ref() {
                Test::AnyOf(words) => Some(has(words)),
                Test::NoneOf(words) => Some(!has(words)),
                _ => None,
            }
        }
        _ => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "tests count in small numbers")]
fn average(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

/// The scores of one data type, by name.
fn judged<'a>(scores: impl Iterator<Item = &'a Score>, data_type: DataType) -> Cell {
    let scores = scores.filter(|score| score.value.data_type() == data_type);
    let name = |score: &Score| score.name.clone();
    if data_type == DataType::Numeric {
        let number = |score: &Score| (name(score), score.value.number().unwrap_or_default());
        return Cell::Numbers(scores.map(number).collect());
    }
    let label = |score: &Score| (name(score), score.value.text().unwrap_or_default().to_owned());
    Cell::Labels(scores.map(label).collect())
}

pub(super) struct RecordContext {
    pub(super) steps: Vec<Observation>,
    pub(super) scores: Vec<Score>,
}

impl RecordContext {
    /// The scores on a trace and on its observations.
    fn on_trace(&self, trace: &Trace) -> impl Iterator<Item = &Score> {
        self.scores.iter().filter(|score| match &score.target {
            ScoreTarget::Trace(on) | ScoreTarget::Observation(on, _) => *on == trace.id,
            ScoreTarget::Session(_) | ScoreTarget::DatasetRun(_) => false,
        })
    }

    fn on_step(&self, seen: &Observation) -> impl Iterator<Item = &Score> {
        let target = ScoreTarget::Observation(seen.trace.clone(), seen.id.clone());
        self.scores.iter().filter(move |score| score.target == target)
    }
}

pub(super) fn of_trace(trace: &Trace, around: &RecordContext, column: TraceColumn) -> Cell {
    let content = trace.content.clone().unwrap_or_default();
    let (sums, levels) = (&trace.summary, &trace.summary.levels);
    match column {
        TraceColumn::Id => Cell::Text(Some(trace.id.to_string())),
        TraceColumn::Timestamp => Cell::Time(Some(trace.timestamp)),
        TraceColumn::Name => Cell::Text(trace.name.clone()),
        TraceColumn::User => Cell::Text(trace.user.clone()),
        TraceColumn::Session => Cell::Text(trace.session.as_ref().map(ToString::to_string)),
        TraceColumn::Release => Cell::Text(trace.release.clone()),
        TraceColumn::Version => Cell::Text(trace.version.clone()),
        TraceColumn::Environment => Cell::Text(Some(trace.environment.to_string())),
        TraceColumn::Agent => Cell::Text(trace.agent.clone()),
        TraceColumn::Tags => Cell::Tags(trace.tags.clone()),
        TraceColumn::Public => Cell::Truth(trace.public),
        TraceColumn::Bookmarked => Cell::Truth(trace.bookmarked),
        TraceColumn::Metadata => Cell::Keys(content.metadata),
        TraceColumn::Input => Cell::Text(content.input.as_ref().map(written)),
        TraceColumn::Output => Cell::Text(content.output.as_ref().map(written)),
        TraceColumn::Level => Cell::Text(Some(worst_level(levels).as_str().to_owned())),
        TraceColumn::ObservationCount => count(levels.total()),
        TraceColumn::ScoreCount => count(around.on_trace(trace).count() as u64),
        TraceColumn::ScoreNumbers => judged(around.on_trace(trace), DataType::Numeric),
        TraceColumn::ScoreLabels => judged(around.on_trace(trace), DataType::Categorical),
        TraceColumn::ScoreBooleans => judged(around.on_trace(trace), DataType::Boolean),
        TraceColumn::DebugCount => count(levels.debug),
        TraceColumn::DefaultCount => count(levels.default),
        TraceColumn::WarningCount => count(levels.warning),
        TraceColumn::ErrorCount => count(levels.error),
        TraceColumn::Latency => Cell::Number(sums.latency().map(seconds)),
        TraceColumn::InputTokens => count(sums.input_tokens),
        TraceColumn::OutputTokens => count(sums.output_tokens),
        TraceColumn::TotalTokens => count(sums.total_tokens),
        TraceColumn::Cost => Cell::Number(sums.cost.map(Money::dollars)),
        TraceColumn::ApproximateCost => Cell::Number(Some(sums.approximate_cost.dollars())),
        TraceColumn::InputCost => sides(trace, &around.steps, Cost::input),
        TraceColumn::OutputCost => sides(trace, &around.steps, Cost::output),
        TraceColumn::Models => {
            let steps = around.steps.iter().filter(|step| step.trace == trace.id);
            Cell::Models(steps.filter_map(|step| step.model.clone()).collect())
        }
    }
}

pub(super) fn of_observation(
    seen: &Observation,
    of: &Trace,
    around: &RecordContext,
    column: ObservationColumn,
) -> Cell {
    let content = seen.content.clone().unwrap_or_default();
    let prompt = seen.prompt.as_ref();
    match column {
        ObservationColumn::Id => Cell::Text(Some(seen.id.to_string())),
        ObservationColumn::Trace => Cell::Text(Some(seen.trace.to_string())),
        ObservationColumn::Kind => Cell::Text(Some(seen.kind.as_str().to_owned())),
        ObservationColumn::Name => Cell::Text(seen.name.clone()),
        ObservationColumn::Parent => Cell::Text(seen.parent.as_ref().map(ToString::to_string)),
        ObservationColumn::Root => Cell::Truth(seen.is_root()),
        ObservationColumn::Start => Cell::Time(Some(seen.start)),
        ObservationColumn::End => Cell::Time(seen.end),
        ObservationColumn::Level => Cell::Text(Some(seen.level.as_str().to_owned())),
        ObservationColumn::StatusMessage => Cell::Text(seen.status_message.clone()),
        ObservationColumn::Version => Cell::Text(seen.version.clone()),
        ObservationColumn::Environment => Cell::Text(Some(seen.environment.to_string())),
        ObservationColumn::Agent => Cell::Text(super::aggregate::agent(seen, of)),
        ObservationColumn::Model => Cell::Text(seen.model.clone()),
        ObservationColumn::PromptName => Cell::Text(prompt.map(|prompt| prompt.name.clone())),
        ObservationColumn::PromptVersion => {
            Cell::Number(prompt.map(|prompt| f64::from(prompt.version)))
        }
        ObservationColumn::Metadata => Cell::Keys(content.metadata),
        ObservationColumn::Input => Cell::Text(content.input.as_ref().map(written)),
        ObservationColumn::Output => Cell::Text(content.output.as_ref().map(written)),
        ObservationColumn::Latency => Cell::Number(seen.latency().map(seconds)),
        ObservationColumn::TimeToFirstToken => {
            Cell::Number(seen.time_to_first_token().map(seconds))
        }
        ObservationColumn::TokensPerSecond => Cell::Number(tokens_per_second(seen)),
        ObservationColumn::StreamingLatency => Cell::Number(streaming(seen).map(seconds)),
        ObservationColumn::StreamedTokensPerSecond => {
            let took = streaming(seen).filter(|nanos| *nanos != 0).map(seconds);
            Cell::Number(took.map(|took| number(seen.usage.output()) / took))
        }
        ObservationColumn::TotalTokensPerSecond => {
            let took = seen.latency().filter(|nanos| *nanos != 0).map(seconds);
            Cell::Number(took.map(|took| number(seen.usage.total()) / took))
        }
        ObservationColumn::ScoreCount => count(around.on_step(seen).count() as u64),
        ObservationColumn::ScoreNumbers => judged(around.on_step(seen), DataType::Numeric),
        ObservationColumn::ScoreLabels => judged(around.on_step(seen), DataType::Categorical),
        ObservationColumn::ScoreBooleans => judged(around.on_step(seen), DataType::Boolean),
        ObservationColumn::InputTokens => count(seen.usage.input()),
        ObservationColumn::OutputTokens => count(seen.usage.output()),
        ObservationColumn::TotalTokens => count(seen.usage.total()),
        ObservationColumn::Cost => side(seen, |cost| Some(cost.total())),
        ObservationColumn::ApproximateCost => Cell::Number(Some(seen.approximate_cost().dollars())),
        ObservationColumn::InputCost => side(seen, Cost::input),
        ObservationColumn::OutputCost => side(seen, Cost::output),
        ObservationColumn::TraceName => Cell::Text(of.name.clone()),
        ObservationColumn::TraceUser => Cell::Text(of.user.clone()),
        ObservationColumn::TraceSession => Cell::Text(of.session.as_ref().map(ToString::to_string)),
        ObservationColumn::TraceTags => Cell::Tags(of.tags.clone()),
        ObservationColumn::TraceEnvironment => Cell::Text(Some(of.environment.to_string())),
        ObservationColumn::TraceRelease => Cell::Text(of.release.clone()),
        ObservationColumn::TraceVersion => Cell::Text(of.version.clone()),
        ObservationColumn::TracePublic => Cell::Truth(of.public),
        ObservationColumn::TraceBookmarked => Cell::Truth(of.bookmarked),
    }
}

pub(super) fn of_score(
    score: &Score,
    of: Option<&Trace>,
    around: &RecordContext,
    column: ScoreColumn,
) -> Cell {
    let step = around.steps.iter().find(|step| {
        of.is_some()
            && score.target == ScoreTarget::Observation(step.trace.clone(), step.id.clone())
    });
    let prompt = step.and_then(|step| step.prompt.as_ref());
    let (trace, observation, session, run) = match &score.target {
        ScoreTarget::Trace(trace) => (Some(trace.to_string()), None, None, None),
        ScoreTarget::Observation(trace, seen) => {
            (Some(trace.to_string()), Some(seen.to_string()), None, None)
        }
        ScoreTarget::Session(session) => (None, None, Some(session.to_string()), None),
        ScoreTarget::DatasetRun(run) => (None, None, None, Some(run.clone())),
    };
    match column {
        ScoreColumn::Id => Cell::Text(Some(score.id.to_string())),
        ScoreColumn::Name => Cell::Text(Some(score.name.clone())),
        ScoreColumn::DataType => Cell::Text(Some(score.value.data_type().as_str().to_owned())),
        ScoreColumn::Number => Cell::Number(score.value.number()),
        ScoreColumn::Truth => Cell::Truth(score.value.number().is_some_and(|n| n != 0.0)),
        ScoreColumn::Text => Cell::Text(score.value.text().map(str::to_owned)),
        ScoreColumn::Source => Cell::Text(Some(score.source.as_str().to_owned())),
        ScoreColumn::Timestamp => Cell::Time(Some(score.timestamp)),
        ScoreColumn::Environment => Cell::Text(Some(score.environment.to_string())),
        ScoreColumn::Comment => Cell::Text(score.comment.clone()),
        ScoreColumn::Author => Cell::Text(score.author.clone()),
        ScoreColumn::Config => Cell::Text(score.config.clone()),
        ScoreColumn::Queue => Cell::Text(score.queue.clone()),
        ScoreColumn::Trace => Cell::Text(trace),
        ScoreColumn::Observation => Cell::Text(observation),
        ScoreColumn::Session => Cell::Text(session),
        ScoreColumn::DatasetRun => Cell::Text(run),
        ScoreColumn::Metadata => Cell::Keys(score.metadata.clone()),
        ScoreColumn::TraceName => Cell::Text(of.and_then(|trace| trace.name.clone())),
        ScoreColumn::TraceUser => Cell::Text(of.and_then(|trace| trace.user.clone())),
        ScoreColumn::TraceTags => Cell::Tags(of.map(|t| t.tags.clone()).unwrap_or_default()),
        ScoreColumn::TraceRelease => Cell::Text(of.and_then(|trace| trace.release.clone())),
        ScoreColumn::TraceVersion => Cell::Text(of.and_then(|trace| trace.version.clone())),
        ScoreColumn::AnySession => {
            let of_trace = of.and_then(|trace| trace.session.as_ref()).map(ToString::to_string);
            Cell::Text(session.or(of_trace))
        }
        ScoreColumn::ObservationName => Cell::Text(step.and_then(|step| step.name.clone())),
        ScoreColumn::ObservationModel => Cell::Text(step.and_then(|step| step.model.clone())),
        ScoreColumn::ObservationPromptName => Cell::Text(prompt.map(|link| link.name.clone())),
        ScoreColumn::ObservationPromptVersion => {
            Cell::Number(prompt.map(|link| f64::from(link.version)))
        }
        ScoreColumn::Judge => {
            let judge = JudgeVersion::of(score);
            Cell::Text((!judge.judge.is_empty()).then(|| judge.exact_words()))
        }
        ScoreColumn::Superseded => Cell::Truth(is_superseded(&score.metadata)),
    }
}

/// Nanoseconds from the first token to the end.
fn streaming(seen: &Observation) -> Option<i64> {
    Some(seen.end?.since(seen.completion_start?))
}

/// The sum of the known input or output costs of a trace's model calls.
fn sides(trace: &Trace, steps: &[Observation], of: fn(&Cost) -> Option<Money>) -> Cell {
    let steps = steps.iter().filter(|step| step.trace == trace.id);
    let known = steps.filter_map(|step| of(step.cost.as_ref()?));
    Cell::Number(known.reduce(|sum, cost| sum + cost).map(Money::dollars))
}

fn side(seen: &Observation, of: fn(&Cost) -> Option<Money>) -> Cell {
    Cell::Number(seen.cost.as_ref().and_then(of).map(Money::dollars))
}

/// The most severe level of a trace's observations.
fn worst_level(levels: &LevelCounts) -> Level {
    match levels {
        LevelCounts { error: 1.., .. } => Level::Error,
        LevelCounts { warning: 1.., .. } => Level::Warning,
        LevelCounts { default: 0, debug: 1.., .. } => Level::Debug,
        LevelCounts { .. } => Level::Default,
    }
}

fn tokens_per_second(seen: &Observation) -> Option<f64> {
    let latency = seen.latency().filter(|nanos| *nanos > 0)?;
    Some(number(seen.usage.output()) / seconds(latency))
}

fn written(payload: &Payload) -> String {
    payload.as_str().to_owned()
}

fn count(units: u64) -> Cell {
    Cell::Number(Some(number(units)))
}

#[expect(clippy::cast_precision_loss, reason = "tests count in small numbers")]
fn number(units: u64) -> f64 {
    units as f64
}

#[expect(clippy::cast_precision_loss, reason = "tests last for short times")]
fn seconds(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}
