use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::gate::stored_answer::StoredAnswer;
use ratchet_core::time::Timestamp;
use ratchet_store::experiment::StoredExperimentItem;

use super::evaluator::{content, expected, text_of};

/// The most answers of a run that are handed out to be judged.
const MAX_ANSWERS: usize = 5_000;
/// Bytes of answers after which no further one is handed out.
const MAX_ANSWER_BYTES: usize = 4_000_000;

/// The answers of an earlier run that are to be judged.
#[derive(Debug)]
pub(super) struct WantedAnswers {
    /// The version of each item in the run at the gate: answers to others cannot be compared.
    pub(super) versions: BTreeMap<String, Option<Timestamp>>,
    /// Traces that have a verdict by now.
    pub(super) judged: BTreeSet<String>,
}

/// Answers of an earlier run, as many as fit into a response.
#[derive(Debug, Default)]
pub(super) struct FittingAnswers {
    pub(super) answers: Vec<StoredAnswer>,
    /// Whether there are more.
    pub(super) has_more: bool,
    bytes: usize,
}

impl FittingAnswers {
    pub(super) fn add(&mut self, trial: &StoredExperimentItem) {
        if self.bytes >= MAX_ANSWER_BYTES || self.answers.len() >= MAX_ANSWERS {
            self.has_more = true;
            return;
        }
        self.bytes += bytes(trial);
        self.answers.extend(stored_answer(trial));
    }
}

impl WantedAnswers {
    pub(super) fn includes(
        &self,
        trial: &StoredExperimentItem,
        version: Option<Timestamp>,
    ) -> bool {
        self.versions.get(&trial.item).is_some_and(|now| *now == version)
            && !self.judged.contains(&trial.trace.to_string())
    }
}

fn stored_answer(trial: &StoredExperimentItem) -> Option<StoredAnswer> {
    let content = content(trial)?;
    let input = content.input.as_ref().map(|input| {
        let text = input.as_str();
        serde_json::from_str(text).unwrap_or_else(|_| text.into())
    });
    Some(StoredAnswer {
        run: trial.experiment.name.clone(),
        trace: trial.trace.to_string(),
        item: trial.item.clone(),
        input: input.unwrap_or_default(),
        expected_output: expected(trial).unwrap_or_default(),
        output: text_of(content.output.as_ref()?),
    })
}

/// Bytes of an answer with its input and of what was expected.
fn bytes(trial: &StoredExperimentItem) -> usize {
    let texts = content(trial).into_iter().flat_map(|content| [&content.input, &content.output]);
    let texts = texts.flatten().map(|text| text.as_str().len());
    texts.sum::<usize>() + trial.expected_output.as_ref().map_or(0, |json| json.as_str().len())
}
