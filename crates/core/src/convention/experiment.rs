//! Which item of an experiment a span tried.

use crate::convention::claim::{Claims, text};
use crate::experiment::{ExperimentItem, ExperimentWords, Ran};
use crate::payload::{Json, Payload};
use crate::span::Span;
use crate::time::Timestamp;

const PREFIX: &str = "langfuse.experiment.";

/// The try that a span is, if it is one.
///
/// All steps below carry the same words; only the step that tried the item itself counts.
pub(super) fn read(claims: &Claims, span: &Span) -> Option<ExperimentItem> {
    let mut words = claims.unnamed().filter(|(name, _)| name.starts_with(PREFIX)).peekable();
    words.peek()?;
    let words: Vec<(&str, &str)> = words
        .filter_map(|(name, value)| Some((name.strip_prefix(PREFIX)?, text(value)?)))
        .collect();
    let word = |wanted: &str| {
        let found = words.iter().find(|(name, _)| *name == wanted);
        found.map(|(_, text)| (*text).to_owned())
    };
    let is_the_try = match word("item.root_observation_id") {
        Some(root) => root == span.id.to_string(),
        None => span.parent.is_none(),
    };
    if !is_the_try {
        return None;
    }
    Some(ExperimentItem {
        experiment: ExperimentWords {
            id: word("id")?,
            name: word("name"),
            description: word("description"),
            metadata: word("metadata").map(json),
            dataset: word("dataset.id"),
        },
        item: word("item.id")?,
        version: word("item.version").and_then(|time| Timestamp::parse(&time).ok()),
        expected_output: word("item.expected_output").map(json),
        metadata: word("item.metadata").map(json),
        trace: span.trace.clone(),
        observation: Some(span.id.clone()),
        ran: Some(Ran { start: span.start, end: span.end }),
        told_at: span.start,
    })
}

fn json(text: String) -> Json {
    Payload::Text(text.into()).to_json()
}
