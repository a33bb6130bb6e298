use std::collections::HashSet;

use super::tokens::tokens;
use super::{Scene, Sightings};
use crate::judge::offline::signals::{Signal, Words};

/// The number of earlier user messages that a new one is compared with.
const LOOK_BACK: usize = 3;
/// Messages with fewer distinct tokens are similar by chance.
const FEWEST_WORDS: usize = 5;
/// The fraction of common tokens of two messages that count as the same.
const ALIKE: (usize, usize) = (3, 5);

/// Detects signals in user and agent messages.
pub(super) fn look(scene: Scene<'_>, seen: &mut Sightings) {
    for (trace, _) in scene.agents() {
        seen.note(Signal::AgentSaid, trace);
    }
    let mut before: Vec<HashSet<u64>> = Vec::new();
    for (nth, (trace, text)) in scene.users().enumerate() {
        let is_closing = scene.set.has(Words::UserCloses, text);
        // The first request cannot be a correction.
        if nth > 0 && !is_closing && scene.set.has(Words::UserCorrects, text) {
            seen.note(Signal::UserCorrection, trace);
        }
        for (words, signal) in [
            (Words::UserFrustrated, Signal::UserFrustration),
            (Words::UserThanks, Signal::UserThanks),
        ] {
            if nth > 0 && scene.set.has(words, text) {
                seen.note(signal, trace);
            }
        }
        let words: HashSet<u64> = tokens(text).collect();
        if before.iter().rev().take(LOOK_BACK).any(|earlier| are_alike(earlier, &words)) {
            seen.note(Signal::UserRepeats, trace);
        }
        before.push(words);
    }
}

fn are_alike(one: &HashSet<u64>, other: &HashSet<u64>) -> bool {
    let shared = one.intersection(other).count();
    let all = one.len() + other.len() - shared;
    one.len().min(other.len()) >= FEWEST_WORDS && shared * ALIKE.1 >= all * ALIKE.0
}
