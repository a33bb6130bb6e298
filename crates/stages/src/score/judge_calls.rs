use std::collections::BTreeMap;

use ratchet_core::environment::Environment;
use ratchet_core::id::{IdError, ObservationId, TraceId};
use ratchet_core::judge::evaluator::EvaluatorPrompt;
use ratchet_core::money::Money;
use ratchet_core::payload::{Json, Payload};
use ratchet_core::record::field::{Field, Stamp, StampedValue, WriteKind};
use ratchet_core::record::merge::{Earliest, Latest, Metadata};
use ratchet_core::record::observation::{ObservationKind, ObservationPatch};
use ratchet_core::record::trace::TracePatch;
use ratchet_core::record::usage::{Cost, Usage};
use ratchet_core::time::Timestamp;
use serde_json::Value;

use super::write_scores::hash;

/// The metadata key of the trace of the model call, on a score.
pub(crate) const CALL_TRACE: &str = "judge_trace";

/// Digits of a trace id of ours.
const TRACE_DIGITS: usize = 32;
/// Digits of an observation id of ours.
const OBSERVATION_DIGITS: usize = 16;

/// A model call of a judge that was answered.
#[derive(Clone, Debug)]
pub(crate) struct JudgeCallRecord<'a> {
    /// Unique per call.
    pub(crate) key: &'a [&'a str],
    /// Name of the evaluator.
    pub(crate) evaluator: &'a str,
    /// What is recorded as metadata of the trace; null is left out.
    pub(crate) facts: Vec<(&'static str, Value)>,
    /// Messages with `role` and `content`.
    pub(crate) messages: &'a Value,
    pub(crate) output: &'a str,
    pub(crate) model: &'a str,
    pub(crate) usage: Usage,
    pub(crate) cost: Option<Money>,
    pub(crate) sent_at: Timestamp,
    pub(crate) ended_at: Timestamp,
}

impl JudgeCallRecord<'_> {
    /// Returns the trace of the call and its generation.
    pub(crate) fn patches(self, now: Timestamp) -> Result<(TracePatch, ObservationPatch), IdError> {
        let key = hash(self.key);
        let trace = TraceId::parse(key.get(..TRACE_DIGITS).unwrap_or(&key))?;
        let id = ObservationId::parse(key.get(key.len() - OBSERVATION_DIGITS..).unwrap_or(&key))?;
        let stamp = Stamp::stated(now, WriteKind::Create);
        let environment = Field::new(Environment::of_judges(), stamp);
        let name = Field::new(format!("Evaluate: {}", self.evaluator), stamp);
        let input = Field::new(Payload::Json(Json::from_value(self.messages)), stamp);
        let output = Field::new(Payload::Text(self.output.into()), stamp);
        let total = |cost: Money| Cost::new(BTreeMap::from([("total".to_owned(), cost)]));
        let observation = ObservationPatch {
            kind: Field::new(ObservationKind::Generation, stamp),
            name: name.clone(),
            start: Earliest(Some(self.sent_at)),
            end: Latest(Some(self.ended_at)),
            environment: environment.clone(),
            model: Field::new(self.model.to_owned(), stamp),
            usage: Field::new(self.usage, stamp),
            cost: Field::if_some(self.cost.map(total), stamp),
            input: input.clone(),
            output: output.clone(),
            ..ObservationPatch::new(id.clone(), Some(trace.clone()))
        };
        let trace = TracePatch {
            timestamp: Earliest(Some(self.sent_at)),
            name,
            environment,
            input,
            output,
            metadata: metadata(stamp, &self.facts),
            root: Field::new(id, stamp),
            ..TracePatch::new(trace)
        };
        Ok((trace, observation))
    }
}

/// Returns the messages that a judge is sent, with their roles.
pub(crate) fn messages(prompt: &EvaluatorPrompt) -> Vec<(&str, &str)> {
    let system = ("system", prompt.system.as_str());
    let rest = prompt.messages.iter().map(|(role, text)| (role.as_str(), text.as_str()));
    std::iter::once(system).chain(rest).collect()
}

/// Returns facts as metadata; null is left out.
pub(crate) fn metadata(stamp: Stamp, facts: &[(&'static str, Value)]) -> Metadata {
    let stamped = |value: &Value| StampedValue { stamp, value: Some(Json::from_value(value)) };
    let known = facts.iter().filter(|(_, value)| !value.is_null());
    Metadata::new(known.map(|(key, value)| ((*key).to_owned(), stamped(value))))
}
