//! Online evaluators: what a judge of one trace, observation or session is shown, what it may
//! answer, and what the offline judge says of it.
//!
//! The prompt is the evaluator's own; what was recorded is put into it between unguessable markers.

/// The values of a prompt's variables.
mod values;
/// The form of an answer, and its parsing.
mod answer;
/// What an evaluator of type code is given, and what it may answer.
mod code;

use sha2::{Digest, Sha256};

use crate::catalog::evaluator::document::PromptMessage;
use crate::catalog::evaluator::is_name;
use crate::catalog::prompt::fill::fill_with;
use crate::judge::evidence::Evidence;
use crate::judge::judge_prompt::Seed;
use crate::judge::judge_prompt::digits;
use crate::judge::judge_prompt::marker::Marker;
use crate::judge::judge_prompt::quoting::QuotedText;
use crate::judge::offline::{self, Peers, SignalSet};
use crate::judge::rubric::Rubric;
use crate::judge::verdict::{Judgement, MAX_RATIONALE_CHARS};
use crate::record::score::rule::SentValue;

pub use answer::{read, schema};
pub use code::{code_answer, code_request};
pub use values::{EvaluatedRecord, values};

/// The default system prompt of evaluators.
pub const SHIPPED: &str = include_str!("../../../../prompts/evaluator-system.md");
/// The file that overrides it, in the data folder's `prompts`.
pub const FILE: &str = "evaluator-system.md";
/// The prompt of the evaluator that comes with Ratchet.
pub const QUALITY_CHECK: &str = include_str!("../../../../prompts/online-quality-check.md");
/// The file that overrides it, in the data folder's `prompts`.
pub const QUALITY_CHECK_FILE: &str = "online-quality-check.md";

/// Digits of a fingerprint.
const FINGERPRINT_DIGITS: usize = 24;
/// The maximum length of one value in a prompt: more than any model reads with care.
const MAX_VALUE_BYTES: usize = 200_000;

/// What an evaluator asks of a judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluatorPrompt {
    pub system: String,
    /// Roles and texts, in order.
    pub messages: Vec<(String, String)>,
}

/// What a judge said of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluatorVerdict {
    /// Name of the score, where a record gets several; that of the evaluator's scores if `None`.
    pub name: Option<String>,
    pub value: SentValue,
    pub rationale: String,
}

impl EvaluatorPrompt {
    /// Puts values between markers into the messages of an evaluator. `what` identifies the record:
    /// the same record has the same markers each time.
    pub fn new(
        general: &str,
        messages: &[PromptMessage],
        values: &[(String, String)],
        (what, seed): (&str, &Seed),
    ) -> Self {
        let recorded: Vec<&str> = values.iter().map(|(_, value)| value.as_str()).collect();
        let marker = Marker::apart_from(what, seed, &recorded);
        let quoted: Vec<(&str, String)> =
            values.iter().map(|(name, value)| (name.as_str(), quote(&marker, value))).collect();
        let (opening, closing) = (marker.opening(), marker.closing());
        let (mut system, mut turns) = (general.trim().to_owned(), Vec::new());
        for PromptMessage { role, content } in messages {
            let text = filled(content, &quoted);
            match role.as_str() {
                "system" => system = format!("{system}\n\n{text}"),
                _ => turns.push((role.clone(), text)),
            }
        }
        system = format!("{system}\n\nEvidence stands between {opening} and {closing}.\n");
        if turns.is_empty() {
            turns.push(("user".to_owned(), "Judge the evidence.".to_owned()));
        }
        Self { system, messages: turns }
    }

    /// Returns a hash of all that the judge is shown.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(&self.system);
        for (role, text) in &self.messages {
            hash.update(role.len().to_be_bytes());
            hash.update(role);
            hash.update(text.len().to_be_bytes());
            hash.update(text);
        }
        digits(hash, FINGERPRINT_DIGITS)
    }
}

fn quote(marker: &Marker, value: &str) -> String {
    let mut text = QuotedText::default();
    text.line(marker.opening()).block(value, MAX_VALUE_BYTES).line(marker.closing());
    text.into_text()
}

/// Replaces the variables of a template; those without a value become nothing.
fn filled(template: &str, values: &[(&str, String)]) -> String {
    fill_with(template, |name| {
        let value = values.iter().find(|(known, _)| *known == name);
        value.map(|(_, value)| value.as_str()).or_else(|| is_name(name).then_some(""))
    })
}

/// Returns a hash of all that was recorded, which the offline judge goes by.
pub fn evidence_fingerprint(evidence: &Evidence) -> String {
    let mut hash = Sha256::new();
    let mut add = |part: &str| {
        hash.update(part.len().to_be_bytes());
        hash.update(part);
    };
    for numbered in &evidence.traces {
        add(&numbered.trace.id.to_string());
        let steps = numbered.steps.iter();
        let contents = steps.clone().map(|step| &step.content).chain([&numbered.trace.content]);
        for content in contents.flatten() {
            for payload in [&content.input, &content.output] {
                add(payload.as_ref().map_or("", |payload| payload.as_str()));
            }
        }
        for step in steps {
            add(step.level.as_str());
            add(step.status_message.as_deref().unwrap_or_default());
        }
    }
    digits(hash, FINGERPRINT_DIGITS)
}

/// Judges a record by the signals in it, without a model; `None` if it shows none. It has no peers:
/// what is usual for an agent takes whole sessions to know.
pub fn judge_offline(
    signals: &SignalSet,
    rubric: &Rubric,
    evidence: &Evidence,
) -> Option<EvaluatorVerdict> {
    let verdict = offline::judge_with(signals, rubric, evidence, &Peers::default());
    let quality = verdict.overall(rubric)?;
    let rationale = rationale(&verdict.dimensions).chars().take(MAX_RATIONALE_CHARS).collect();
    Some(EvaluatorVerdict { name: None, value: SentValue::Number(quality), rationale })
}

/// The marks of the dimensions, and what the rules found, each reason once. That a judge without a
/// model gave the score is shown beside it.
fn rationale(dimensions: &[Judgement]) -> String {
    let (mut marks, mut reasons) = (Vec::new(), Vec::<String>::new());
    for judgement in dimensions {
        let Some(value) = judgement.finding.value() else { continue };
        marks.push(format!("{} {value:.2}", judgement.dimension.replace('_', " ")));
        for reason in judgement.rationale.trim_end_matches('.').split("; ") {
            let mut reason = reason.to_owned();
            if let Some(first) = reason.get_mut(..1) {
                first.make_ascii_lowercase();
            }
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
    }
    format!("{}: {}.", marks.join(", "), reasons.join("; "))
}

#[cfg(test)]
mod tests;
