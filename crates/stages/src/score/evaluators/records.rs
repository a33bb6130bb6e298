use ratchet_agent::response::LlmResponse;
use ratchet_core::catalog::evaluator::document::Evaluator;
use ratchet_core::environment::Environment;
use ratchet_core::id::{IdError, ScoreId};
use ratchet_core::judge::evaluator::{EvaluatorPrompt, EvaluatorVerdict};
use ratchet_core::money::Money;
use ratchet_core::payload::Json;
use ratchet_core::record::field::{Field, Stamp, WriteKind};
use ratchet_core::record::observation::ObservationPatch;
use ratchet_core::record::score::draft::ScoreDraft;
use ratchet_core::record::score::rule::SentValue;
use ratchet_core::record::score::{DataType, Score, ScoreSource, ScoreTarget};
use ratchet_core::record::trace::TracePatch;
use ratchet_core::time::Timestamp;
use serde_json::{Value, json};

use super::intake::target_key;
use crate::score::judge_calls::{CALL_TRACE, JudgeCallRecord, messages, metadata};
use crate::score::previous_scores::{FINGERPRINT, JUDGE};
use crate::score::write_scores::{JUDGE_VERSION, hash};

/// The metadata key of an evaluator's name.
const EVALUATOR: &str = "evaluator";
/// The metadata key of an evaluator's id.
pub(super) const EVALUATOR_ID: &str = "evaluator_id";
const EVALUATOR_VERSION: &str = "evaluator_version";
const RULE: &str = "evaluation_rule";
/// The metadata key of the cost in US dollars.
const COST: &str = "cost";

/// Who judged, and by what.
#[derive(Clone, Debug)]
pub(super) struct VerdictSource<'a> {
    pub(super) evaluator: &'a Evaluator,
    pub(super) version: u32,
    pub(super) rule: &'a str,
    /// The name of the scores.
    pub(super) score_name: &'a str,
    pub(super) target: &'a ScoreTarget,
    pub(super) judge: &'a str,
    /// What the judge goes by beside the evaluator.
    pub(super) judge_version: &'a str,
    /// Hash of what was judged.
    pub(super) fingerprint: &'a str,
    /// The environment of the record.
    pub(super) environment: &'a Environment,
}

/// A model call that was answered.
#[derive(Clone, Debug)]
pub(super) struct AnsweredCall<'a> {
    /// Unique per call.
    pub(super) key: String,
    pub(super) prompt: &'a EvaluatorPrompt,
    pub(super) response: &'a LlmResponse,
    pub(super) sent_at: Timestamp,
}

/// What a verdict leaves behind.
#[derive(Clone, Debug)]
pub(super) struct VerdictRecords {
    pub(super) scores: Vec<ScoreDraft>,
    /// The trace of the model call, if there was one.
    pub(super) call: Option<(TracePatch, ObservationPatch)>,
}

/// The id of the score of an evaluator version on a record: one, however often it is judged.
pub(super) fn score_id(
    evaluator: &str,
    version: u32,
    target: &ScoreTarget,
) -> Result<ScoreId, IdError> {
    let key = hash(&["evaluation", evaluator, &version.to_string(), &target_key(target)]);
    ScoreId::parse(&key)
}

/// The id of one of several scores of an evaluator version on a record, by its name.
fn named_score_id(source: &VerdictSource<'_>, name: &str) -> Result<ScoreId, IdError> {
    let (version, target) = (source.version.to_string(), target_key(source.target));
    ScoreId::parse(&hash(&["evaluation", &source.evaluator.id, &version, &target, name]))
}

/// Whether a score is the verdict on what is recorded now.
pub(super) fn is_current(score: &Score, fingerprint: &str) -> bool {
    let stored = score.metadata.iter().find(|(key, _)| key == FINGERPRINT);
    let expected = Json::from_value(&fingerprint.into());
    stored.is_some_and(|(_, value)| value.as_str() == expected.as_str())
}

/// The scores of verdicts, and the trace of their call. The first one has the id that tells whether
/// the record was judged.
pub(super) fn written(
    source: &VerdictSource<'_>,
    verdicts: Vec<EvaluatorVerdict>,
    call: Option<&AnsweredCall<'_>>,
    now: Timestamp,
) -> Result<VerdictRecords, IdError> {
    let id = score_id(&source.evaluator.id, source.version, source.target)?;
    let stamp = Stamp::stated(now, WriteKind::Create);
    let call_trace = call.map(|call| call_records(source, &id, call, now)).transpose()?;
    let trace_id = call_trace.as_ref().map(|(trace, _)| trace.id.to_string());
    let cost = call.map(|call| call.response.cost.map(Money::dollars));
    let facts = [
        (EVALUATOR, json!(source.evaluator.name)),
        (EVALUATOR_ID, json!(source.evaluator.id)),
        (EVALUATOR_VERSION, json!(source.version)),
        (RULE, json!(source.rule)),
        (JUDGE, json!(source.judge)),
        (JUDGE_VERSION, json!(source.judge_version)),
        (FINGERPRINT, json!(source.fingerprint)),
        (CALL_TRACE, json!(trace_id)),
        // The offline judge costs nothing; the cost of a call may be unknown.
        (COST, cost.map_or(json!(0.0), |cost| json!(cost))),
    ];
    let mut scores = Vec::with_capacity(verdicts.len());
    for verdict in verdicts {
        let id = match &verdict.name {
            Some(name) if !scores.is_empty() => named_score_id(source, name)?,
            _ => id.clone(),
        };
        let data_type = match verdict.value {
            SentValue::Number(_) => DataType::Numeric,
            SentValue::Bool(_) => DataType::Boolean,
            SentValue::Text(_) => DataType::Categorical,
        };
        scores.push(ScoreDraft {
            name: Some(verdict.name.unwrap_or_else(|| source.score_name.to_owned())),
            value: Some(verdict.value),
            data_type: Some(data_type),
            comment: Field::new(verdict.rationale, stamp),
            environment: Field::new(source.environment.clone(), stamp),
            metadata: metadata(stamp, &facts),
            ..ScoreDraft::new(id, source.target.clone(), ScoreSource::Eval, stamp)
        });
    }
    Ok(VerdictRecords { scores, call: call_trace })
}

fn call_records(
    source: &VerdictSource<'_>,
    score: &ScoreId,
    call: &AnsweredCall<'_>,
    now: Timestamp,
) -> Result<(TracePatch, ObservationPatch), IdError> {
    let said = messages(call.prompt).into_iter();
    let said: Value = said.map(|(role, text)| json!({ "role": role, "content": text })).collect();
    let record = JudgeCallRecord {
        key: &["evaluation-call", &call.key, &source.evaluator.id],
        evaluator: &source.evaluator.name,
        facts: vec![
            (EVALUATOR, json!(source.evaluator.name)),
            (EVALUATOR_VERSION, json!(source.version)),
            ("target", json!(target_key(source.target))),
            ("score", json!(score.to_string())),
        ],
        messages: &said,
        output: &call.response.text,
        model: &call.response.model,
        usage: call.response.usage.clone(),
        cost: call.response.cost,
        sent_at: call.sent_at,
        ended_at: now,
    };
    record.patches(now)
}
