//! Conversion of scores of both API generations.

use ratchet_core::environment::Environment;
use ratchet_core::record::score::{DataType, Score, ScoreTarget, ScoreValue};

use super::record::{id, metadata};
use crate::langfuse::wire::ingestion::ScoreInput;
use crate::langfuse::wire::score::v3::{ScoreSubject, TypedScore};
use crate::langfuse::wire::score::{ScoreBase, ScoreView, Verdict};
use ratchet_core::issue::Issue;

/// Converts a score of `v2/scores`.
pub(super) fn older(view: ScoreView) -> Result<Score, Issue> {
    let ScoreView { base, verdict } = view;
    let value = match verdict {
        Verdict::Numeric { value, .. } => ScoreValue::Numeric(value),
        Verdict::Boolean { value, .. } => ScoreValue::Boolean(value != 0.0),
        Verdict::Categorical { value, string_value } => ScoreValue::Categorical {
            label: string_value,
            // A label without a number is sent as 0, too.
            number: Some(value).filter(|number| *number != 0.0),
        },
        Verdict::Text { string_value } => ScoreValue::Text(string_value),
        Verdict::Correction { string_value, .. } => ScoreValue::Correction(string_value),
    };
    Ok(Score {
        id: id("id", &base.id)?,
        target: target(&base)?,
        value,
        name: base.name,
        source: base.source.0,
        timestamp: base.timestamp.0,
        environment: Environment::normalise(&base.environment),
        comment: base.comment,
        author: base.author_user_id,
        config: base.config_id,
        queue: base.queue_id,
        metadata: metadata(base.metadata.as_deref()),
        created_at: base.created_at.0,
        updated_at: base.updated_at.0,
    })
}

/// Converts a score of `v3/scores`.
pub(super) fn newer(view: TypedScore) -> Result<Score, Issue> {
    let subject = view.subject.ok_or_else(|| Issue::at("subject", "missing"))?;
    Ok(Score {
        id: id("id", &view.id)?,
        target: subject_target(subject)?,
        value: typed(view.data_type.0, view.value)?,
        name: view.name,
        source: view.source.0,
        timestamp: view.timestamp.0,
        environment: Environment::normalise(&view.environment),
        comment: view.comment.value(),
        author: view.author_user_id.value(),
        config: view.config_id.value(),
        queue: view.queue_id.value(),
        metadata: metadata(view.metadata.value().as_deref()),
        created_at: view.created_at.0,
        updated_at: view.updated_at.0,
    })
}

fn target(base: &ScoreBase) -> Result<ScoreTarget, Issue> {
    match (&base.trace_id, &base.observation_id, &base.session_id, &base.dataset_run_id) {
        (Some(trace), Some(observation), _, _) => {
            Ok(ScoreTarget::Observation(id("traceId", trace)?, id("observationId", observation)?))
        }
        (Some(trace), None, _, _) => Ok(ScoreTarget::Trace(id("traceId", trace)?)),
        (None, _, Some(session), _) => Ok(ScoreTarget::Session(id("sessionId", session)?)),
        (None, _, None, Some(run)) => Ok(ScoreTarget::DatasetRun(run.clone())),
        (None, _, None, None) => Err(Issue::at("traceId", "the score judges nothing")),
    }
}

fn subject_target(subject: ScoreSubject) -> Result<ScoreTarget, Issue> {
    Ok(match subject {
        ScoreSubject::Trace { id: trace } => ScoreTarget::Trace(id("subject.id", &trace)?),
        ScoreSubject::Observation { id: observation, trace_id } => {
            let trace = trace_id.ok_or_else(|| Issue::at("subject.traceId", "missing"))?;
            let trace = id("subject.traceId", &trace)?;
            ScoreTarget::Observation(trace, id("subject.id", &observation)?)
        }
        ScoreSubject::Session { id: session } => ScoreTarget::Session(id("subject.id", &session)?),
        ScoreSubject::Experiment { id: run } => ScoreTarget::DatasetRun(run),
    })
}

fn typed(data_type: DataType, value: ScoreInput) -> Result<ScoreValue, Issue> {
    match (data_type, value) {
        (DataType::Numeric, ScoreInput::Number(number)) => Ok(ScoreValue::Numeric(number)),
        (DataType::Boolean, ScoreInput::Bool(yes)) => Ok(ScoreValue::Boolean(yes)),
        (DataType::Boolean, ScoreInput::Number(number)) => Ok(ScoreValue::Boolean(number != 0.0)),
        (DataType::Categorical, ScoreInput::Text(label)) => {
            Ok(ScoreValue::Categorical { label, number: None })
        }
        (DataType::Text, ScoreInput::Text(text)) => Ok(ScoreValue::Text(text)),
        (DataType::Correction, ScoreInput::Text(text)) => Ok(ScoreValue::Correction(text)),
        (data_type, _) => {
            Err(Issue::at("value", format!("no {} value", data_type.as_str().to_lowercase())))
        }
    }
}
