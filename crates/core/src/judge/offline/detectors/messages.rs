use std::collections::HashSet;

use super::tokens::tokens;
use super::{Scene, Sightings};
use crate::judge::offline::signals::{Signal, Words};

/// How many earlier messages of a user a new one is compared with.
const LOOK_BACK: usize = 3;
/// Messages with fewer different words are alike by chance.
const FEWEST_WORDS: usize = 5;
/// The share of words two messages have in common that say the same.
const ALIKE: (usize, usize) = (3, 5);

/// Looks at what users and the agent say.
pub(super) fn look(scene: Scene<'_>, seen: &mut Sightings) {
    for (trace, _) in scene.agents() {
        seen.note(Signal::AgentSaid, trace);
    }
    let mut before: Vec<HashSet<u64>> = Vec::new();
    for (nth, (trace, text)) in scene.users().enumerate() {
        let is_closing = scene.set.has(Words::UserCloses, text);
        // What someone asks for first corrects nobody.
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
