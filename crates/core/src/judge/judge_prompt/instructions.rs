use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{FINGERPRINT_DIGITS, digits};
use crate::judge::rubric::{Aggregation, Dimension, Rubric, Scale};

/// The default system prompt of a judge.
pub const SHIPPED: &str = include_str!("../../../../../prompts/judge-system.md");

/// The file that overrides it, in the data folder's `prompts`.
pub const FILE: &str = "judge-system.md";

/// The system prompt: procedure, criteria and output format.
///
/// Depends on the rubric alone and never on the recording, so that it is the same for all sessions
/// of a run. The instructions of a critic for one dimension differ only after the evidence: so all
/// critics of a chunk share what a provider caches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instructions {
    pub(super) system: String,
    /// After the evidence; empty where one judge is asked about all dimensions.
    pub(super) ending: String,
}

impl Instructions {
    /// Combines a general text ([`SHIPPED`] or the user's own), the rubric's criteria and the JSON
    /// Schema of the answer.
    pub fn new(general: &str, rubric: &Rubric, schema: &Value) -> Self {
        let mut text = format!("{}\n\n# Criteria: {}\n", general.trim(), rubric.name);
        if !rubric.description.is_empty() {
            text.push_str(&format!("\n{}\n", rubric.description.trim()));
        }
        for dimension in &rubric.dimensions {
            text.push_str(&criterion(dimension));
        }
        text.push_str(&form(schema));
        Self { system: text, ending: String::new() }
    }

    /// Combines the same for a critic: the criteria of its rubric follow the evidence.
    pub fn critic(general: &str, rubric: &Rubric, schema: &Value) -> Self {
        let system = format!(
            "{}\n\nThe criterion, and the form of the answer, follow the evidence.\n",
            general.trim()
        );
        let criteria: String = rubric.dimensions.iter().map(criterion).collect();
        let ending = format!("\n# Criteria: {}\n{criteria}{}", rubric.name, form(schema));
        Self { system, ending }
    }

    /// Returns the system prompt.
    pub fn as_str(&self) -> &str {
        &self.system
    }

    /// Returns a short hash of the text, to be stored with verdicts.
    pub fn fingerprint(&self) -> String {
        let hash = Sha256::new_with_prefix(&self.system).chain_update(&self.ending);
        digits(hash, FINGERPRINT_DIGITS)
    }
}

fn form(schema: &Value) -> String {
    format!("\n# Form of the answer\n\nJSON that fits this schema:\n{schema}\n")
}

fn criterion(dimension: &Dimension) -> String {
    let Dimension { name, weight, scale, criteria, aggregation } = dimension;
    let marks = match scale {
        Scale::Numeric => "a number from 0 to 1".to_owned(),
        Scale::Ordered(grades) => {
            let labels: Vec<&str> = grades.iter().map(|grade| grade.label.as_str()).collect();
            format!("one of {}, from worst to best", labels.join(", "))
        }
    };
    let percent = weight * 100.0;
    let whole = match aggregation {
        Aggregation::Mean => "the mean over the parts of a session counts",
        Aggregation::Vote => "what most parts of a session say counts",
        Aggregation::Worst => "the worst part of a session counts",
        Aggregation::Last => "the last part of a session that can tell counts",
    };
    let criteria = criteria.trim();
    format!("\n## {name}\n\nMark: {marks}. Weight: {percent:.0} %; {whole}.\n\n{criteria}\n")
}
