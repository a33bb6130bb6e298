use ratchet_core::field::Field;
use ratchet_core::merge::Earliest;
use ratchet_core::score::{ScorePatch, ScoreSource, ScoreTarget, ScoreValue};
use ratchet_remote::langfuse::wire::error::Issue;
use ratchet_remote::langfuse::wire::ingestion::score::DataType;
use ratchet_remote::langfuse::wire::ingestion::{ScoreBody, ScoreInput};
use ratchet_remote::langfuse::wire::maybe::Maybe;
use ratchet_remote::langfuse::wire::word::Spelled;

use super::{Reach, Saying, parse_id};

/// What a correction is about, whatever name it is sent with.
const CORRECTED: &str = "output";
/// The most characters the value of a text score may have.
const MAX_TEXT_CHARS: usize = 500;

/// What an event says about a score. Whatever Langfuse would drop later without a word is refused.
pub(super) fn patch(body: ScoreBody, saying: &Saying<'_>) -> Result<ScorePatch, Issue> {
    let target = target(&body)?;
    let value = value(body.value, body.data_type.value().map(|word| word.0))?;
    let is_correction = matches!(value, ScoreValue::Correction(_));
    let is_on_trace = matches!(target, ScoreTarget::Trace(_) | ScoreTarget::Observation(_, _));
    if is_correction && !is_on_trace {
        return Err(Issue::at("dataType", "a CORRECTION needs a traceId"));
    }
    let name = if is_correction { Some(CORRECTED.to_owned()) } else { body.name.value() };
    let name = name.filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| Issue::at("name", "required, and not empty"))?;
    let config = saying.label(body.config_id);
    let source = body.source.value().map_or(ScoreSource::Api, |word| word.0);
    let has_config = is_correction || config.value().is_some();
    check_source(source, has_config, saying.rules.reach)?;
    let timestamp = body.timestamp.value().map_or(saying.stamp.at, |time| time.0);
    Ok(ScorePatch {
        id: saying.id(&body.id)?,
        target: Field::said(target, saying.stamp),
        name: saying.text(Maybe::Value(name)),
        value: Field::said(value, saying.stamp),
        source: Field::said(source, saying.stamp),
        timestamp: Earliest(Some(timestamp)),
        environment: saying.environment(body.environment),
        comment: saying.text(body.comment),
        author: Field::unsaid(),
        config,
        queue: saying.label(body.queue_id),
        metadata: saying.metadata(body.metadata),
    })
}

fn target(body: &ScoreBody) -> Result<ScoreTarget, Issue> {
    let given = |id: &Maybe<String>| id.as_value().filter(|text| !text.is_empty()).cloned();
    let trace = given(&body.trace_id);
    let observation = given(&body.observation_id);
    match (trace, given(&body.session_id), given(&body.dataset_run_id)) {
        (Some(trace), None, None) => {
            let trace = parse_id("traceId", &trace)?;
            Ok(match observation {
                None => ScoreTarget::Trace(trace),
                Some(id) => ScoreTarget::Observation(trace, parse_id("observationId", &id)?),
            })
        }
        _ if observation.is_some() => Err(Issue::at(
            "observationId",
            "needs the traceId of its trace, and neither a sessionId nor a datasetRunId",
        )),
        (None, Some(session), None) => Ok(ScoreTarget::Session(parse_id("sessionId", &session)?)),
        (None, None, Some(run)) => Ok(ScoreTarget::DatasetRun(run)),
        (None, None, None) => {
            Err(Issue::at("traceId", "a score needs a traceId, a sessionId or a datasetRunId"))
        }
        _ => Err(Issue::at(
            "traceId",
            "a score takes only one of traceId, sessionId and datasetRunId",
        )),
    }
}

/// Reads a value by its data type, or by itself when that is not said.
fn value(sent: Maybe<ScoreInput>, data_type: Option<DataType>) -> Result<ScoreValue, Issue> {
    let sent = sent.value().ok_or_else(|| Issue::at("value", "required"))?;
    let data_type = data_type.unwrap_or(match &sent {
        ScoreInput::Number(_) => DataType::Numeric,
        ScoreInput::Text(_) => DataType::Categorical,
        ScoreInput::Bool(_) => DataType::Boolean,
    });
    match (data_type, sent) {
        (DataType::Numeric, ScoreInput::Number(number)) if number.is_finite() => {
            Ok(ScoreValue::Numeric(number))
        }
        (DataType::Numeric, _) => Err(unfit(data_type, "a finite number")),
        (DataType::Boolean, ScoreInput::Bool(yes)) => Ok(ScoreValue::Boolean(yes)),
        (DataType::Boolean, ScoreInput::Number(number)) if number == 0.0 || number == 1.0 => {
            Ok(ScoreValue::Boolean(number == 1.0))
        }
        (DataType::Boolean, _) => Err(unfit(data_type, "0 or 1")),
        (DataType::Categorical, ScoreInput::Text(label)) if !label.is_empty() => {
            Ok(ScoreValue::Categorical { label, number: None })
        }
        (DataType::Categorical, _) => Err(unfit(data_type, "a text that is not empty")),
        (DataType::Text, ScoreInput::Text(text)) if is_short(&text) => Ok(ScoreValue::Text(text)),
        (DataType::Text, _) => Err(unfit(data_type, "a text of 1 to 500 characters")),
        (DataType::Correction, ScoreInput::Text(text)) => Ok(ScoreValue::Correction(text)),
        (DataType::Correction, _) => Err(unfit(data_type, "a text")),
    }
}

fn is_short(text: &str) -> bool {
    (1..=MAX_TEXT_CHARS).contains(&text.chars().count())
}

fn unfit(data_type: DataType, wanted: &str) -> Issue {
    Issue::at("value", format!("a {} score needs {wanted}", data_type.word()))
}

/// A browser speaks for nobody but itself, and a person's judgement follows a score config.
fn check_source(source: ScoreSource, has_config: bool, reach: Reach) -> Result<(), Issue> {
    match (source, reach) {
        (ScoreSource::Api, _) | (ScoreSource::Eval, Reach::All) => Ok(()),
        (ScoreSource::Annotation, Reach::All) if has_config => Ok(()),
        (ScoreSource::Annotation, Reach::All) => {
            Err(Issue::at("configId", "required when the source is ANNOTATION"))
        }
        (ScoreSource::Eval | ScoreSource::Annotation, Reach::Scores) => {
            Err(Issue::at("source", "a public key alone may only send scores whose source is API"))
        }
    }
}
