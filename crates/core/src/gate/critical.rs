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
    /// It failed once and was not run again since.
    FailedOnce,
    /// It failed once, and was right when it was run again.
    RightAgain,
    /// It failed, and failed again on a re-run.
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

/// Returns the state of each pinned item.
pub fn check(pinned: &[PinnedItem], run: &[ItemOutcomes]) -> Vec<CriticalItem> {
    pinned.iter().map(|pin| state(pin, run.iter().find(|item| item.item == pin.item))).collect()
}

fn state(pin: &PinnedItem, outcomes: Option<&ItemOutcomes>) -> CriticalItem {
    let trials = outcomes.map_or(0, |item| item.trials.len());
    let is_failure = |trial: &Trial| trial.value < 0.5;
    let failed = |item: &ItemOutcomes| item.trials.iter().filter(|one| is_failure(one)).count();
    let failures = outcomes.map_or(0, failed);
    let last = outcomes.and_then(|item| item.trials.last());
    let is_right_at_last = last.is_some_and(|trial| !is_failure(trial));
    let (right, of) = pin.history;
    let is_reliable = of >= HISTORY && right == of;
    let state = match failures {
        _ if trials == 0 => CriticalState::NotRun,
        0 => CriticalState::Right,
        _ if !is_reliable => CriticalState::Unreliable,
        1 if is_right_at_last => CriticalState::RightAgain,
        1 => CriticalState::FailedOnce,
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
    fn is(history: (usize, usize), trials: &[f64], expected: CriticalState) {
        let pinned = [PinnedItem { item: "a".to_owned(), history }];
        let trials = trials.iter().copied().map(Trial::scored).collect();
        let run = [ItemOutcomes { item: "a".to_owned(), version: None, trials }];
        assert_eq!(check(&pinned, &run)[0].state, expected);
    }

    #[test]
    fn only_a_reliable_item_that_fails_again_blocks() {
        is((5, 5), &[1.0, 1.0], CriticalState::Right);
        is((5, 5), &[0.0], CriticalState::FailedOnce);
        is((5, 5), &[1.0, 0.0], CriticalState::FailedOnce);
        is((5, 5), &[0.0, 1.0], CriticalState::RightAgain);
        is((5, 5), &[1.0, 0.0, 1.0], CriticalState::RightAgain);
        is((5, 5), &[1.0, 0.0, 0.0], CriticalState::FailedAgain);
        is((5, 5), &[0.0, 0.0], CriticalState::FailedAgain);
        is((4, 4), &[0.0, 0.0], CriticalState::Unreliable);
        is((8, 9), &[0.0, 0.0], CriticalState::Unreliable);
        is((5, 5), &[], CriticalState::NotRun);
    }
}
