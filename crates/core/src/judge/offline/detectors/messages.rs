use std::collections::HashSet;

use super::tokens::tokens;
use super::{Detections, DetectorInput};
use crate::judge::offline::signals::{Phrases, Signal};

/// The number of earlier user messages that a new one is compared with.
const COMPARED_MESSAGES: usize = 3;
/// Messages with fewer distinct tokens are similar by chance.
const MIN_TOKENS: usize = 5;
/// The fraction of common tokens of two messages that count as the same.
const SIMILARITY: (usize, usize) = (3, 5);

/// Detects signals in user and agent messages.
pub(super) fn detect(input: DetectorInput<'_>, detections: &mut Detections) {
    for (trace, _) in input.agents() {
        detections.count(Signal::AgentSaid, trace);
    }
    let mut before: Vec<HashSet<u64>> = Vec::new();
    for (nth, (trace, text)) in input.users().enumerate() {
        let is_closing = input.set.has(Phrases::UserCloses, text);
        // The first request cannot be a correction.
        if nth > 0 && !is_closing && input.set.has(Phrases::UserCorrects, text) {
            detections.count(Signal::UserCorrection, trace);
        }
        for (words, signal) in [
            (Phrases::UserFrustrated, Signal::UserFrustration),
            (Phrases::UserThanks, Signal::UserThanks),
        ] {
            if nth > 0 && input.set.has(words, text) {
                detections.count(signal, trace);
            }
        }
        let words: HashSet<u64> = tokens(text).collect();
        if before.iter().rev().take(COMPARED_MESSAGES).any(|earlier| are_alike(earlier, &words)) {
            detections.count(Signal::UserRepeats, trace);
        }
        before.push(words);
    }
}

fn are_alike(one: &HashSet<u64>, other: &HashSet<u64>) -> bool {
    let shared = one.intersection(other).count();
    let all = one.len() + other.len() - shared;
    one.len().min(other.len()) >= MIN_TOKENS && shared * SIMILARITY.1 >= all * SIMILARITY.0
}
