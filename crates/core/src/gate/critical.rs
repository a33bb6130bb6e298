use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::outcomes::{ItemOutcomes, Trial};

/// Trials that must all have been right before an item can block alone.
pub const HISTORY: usize = 5;

/// A pinned item with its history before this run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedItem {
    pub item: String,
    /// Right trials of the same version in earlier runs, and all of them.
    pub history: (usize, usize),
}

/// How a pinned item did in this run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CriticalState {
    /// All trials are right.
    Right,
    /// It failed in a planned trial and was not run again since.
    FailedOnce,
    /// It failed in a planned trial, and was right when it was run again.
    RightAgain,
    /// It failed in a planned trial, and failed again when it was run again.
    FailedAgain,
    /// It failed, and its history is too short or not all right: it is not reliable enough to
    /// block alone.
    Unreliable,
    /// This run does not have it.
    NotRun,
}

/// A pinned item in this run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriticalItem {
    pub item: String,
    pub state: CriticalState,
    pub history_right: usize,
    pub history_trials: usize,
    pub failures: usize,
    pub trials: usize,
}

/// Returns the state of each pinned item. `planned` is the number of trials that every item of the
/// run has: only those beyond it are re-runs.
pub fn check(pinned: &[PinnedItem], run: &[ItemOutcomes], planned: usize) -> Vec<CriticalItem> {
    let of = |pin: &PinnedItem| run.iter().find(|item| item.item == pin.item);
    pinned.iter().map(|pin| state(pin, of(pin), planned)).collect()
}

/// Returns the number of trials that most items of a run have, for runs whose plan is not known.
pub fn usual_repeats(run: &[ItemOutcomes]) -> usize {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for item in run {
        *counts.entry(item.trials.len()).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, items)| *items).map_or(1, |(trials, _)| trials)
}

fn state(pin: &PinnedItem, outcomes: Option<&ItemOutcomes>, planned: usize) -> CriticalItem {
    let all = outcomes.map_or(&[][..], |item| &item.trials);
    let (first, again) = all.split_at(planned.max(1).min(all.len()));
    let count = |trials: &[Trial]| trials.iter().filter(|trial| trial.value < 0.5).count();
    let (failures, failures_again) = (count(all), count(again));
    let trials = all.len();
    let (right, of) = pin.history;
    let is_reliable = of >= HISTORY && right == of;
    let state = match failures {
        _ if trials == 0 => CriticalState::NotRun,
        0 => CriticalState::Right,
        _ if !is_reliable => CriticalState::Unreliable,
        _ if again.is_empty() => CriticalState::FailedOnce,
        _ if failures_again == 0 => CriticalState::RightAgain,
        // The planned trials were right: this is its first failure.
        1 if count(first) == 0 => CriticalState::FailedOnce,
        _ => CriticalState::FailedAgain,
    };
    CriticalItem {
        item: pin.item.clone(),
        state,
        history_right: right,
        history_trials: of,
        failures,
        trials,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn is(history: (usize, usize), (planned, trials): (usize, &[f64]), expected: CriticalState) {
        let pinned = [PinnedItem { item: "a".to_owned(), history }];
        let trials = trials.iter().copied().map(Trial::scored).collect();
        let run = [ItemOutcomes { item: "a".to_owned(), version: None, trials }];
        assert_eq!(check(&pinned, &run, planned)[0].state, expected);
    }

    #[test]
    fn only_a_reliable_item_that_fails_again_blocks() {
        is((5, 5), (2, &[1.0, 1.0]), CriticalState::Right);
        is((5, 5), (1, &[0.0]), CriticalState::FailedOnce);
        is((5, 5), (2, &[1.0, 0.0]), CriticalState::FailedOnce);
        is((5, 5), (1, &[0.0, 1.0]), CriticalState::RightAgain);
        is((5, 5), (2, &[1.0, 0.0, 1.0]), CriticalState::RightAgain);
        is((5, 5), (2, &[1.0, 0.0, 0.0]), CriticalState::FailedAgain);
        is((5, 5), (1, &[0.0, 0.0]), CriticalState::FailedAgain);
        is((4, 4), (1, &[0.0, 0.0]), CriticalState::Unreliable);
        is((8, 9), (1, &[0.0, 0.0]), CriticalState::Unreliable);
        is((5, 5), (2, &[]), CriticalState::NotRun);
    }

    #[test]
    fn planned_repeats_are_no_re_run() {
        is((5, 5), (2, &[0.0, 0.0]), CriticalState::FailedOnce);
        is((5, 5), (4, &[0.0, 1.0]), CriticalState::FailedOnce);
        is((5, 5), (2, &[0.0, 0.0, 1.0]), CriticalState::RightAgain);
        is((5, 5), (2, &[0.0, 0.0, 0.0]), CriticalState::FailedAgain);
        is((5, 5), (1, &[1.0, 0.0]), CriticalState::FailedOnce);
    }

    #[test]
    fn usual_repeats_are_those_of_most_items() {
        let item = |trials: usize| ItemOutcomes {
            item: trials.to_string(),
            version: None,
            trials: vec![Trial::scored(1.0); trials],
        };
        assert_eq!(usual_repeats(&[item(2), item(3), item(2)]), 2);
        assert_eq!(usual_repeats(&[]), 1);
    }
}
