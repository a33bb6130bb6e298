use std::collections::BTreeMap;

use crate::stats::float;
use crate::time::Timestamp;

/// Share of trials with target faults above which a run says nothing about the agent.
pub const MAX_FAULTS: f64 = 0.1;

/// Returns whether so many trials without an answer mean that a run says nothing about the agent.
#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
pub fn has_too_many_faults(faults: u64, trials: u64) -> bool {
    faults as f64 > MAX_FAULTS * trials as f64
}

/// One run of one item.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The evaluator's score, from 0 to 1.
    pub value: f64,
    /// A person's score, from 0 to 1.
    pub corrected: Option<f64>,
    /// The target failed instead of answering; `value` is 0.
    pub is_fault: bool,
    /// Digest of the output, if it is known.
    pub output: Option<String>,
    /// The trace to look at.
    pub trace: Option<String>,
}

impl Trial {
    /// A trial with a score and nothing else.
    pub const fn scored(value: f64) -> Self {
        Self { value, corrected: None, is_fault: false, output: None, trace: None }
    }

    /// A trial as it counts: a fault is wrong, and where only a person judged, that is the score;
    /// `None` without any score.
    pub fn counted(judged: Option<f64>, corrected: Option<f64>, is_fault: bool) -> Option<Self> {
        let value = if is_fault { 0.0 } else { judged.or(corrected)? };
        Some(Self { corrected, is_fault, ..Self::scored(value) })
    }
}

/// The trials of one item in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemOutcomes {
    /// Id of the dataset item.
    pub item: String,
    /// Version of the dataset item; `None` if the run did not record it.
    pub version: Option<Timestamp>,
    pub trials: Vec<Trial>,
}

impl ItemOutcomes {
    /// Returns the mean of the item's trials; 0 without any.
    pub fn mean(&self) -> f64 {
        let n = float(self.trials.len().max(1));
        self.trials.iter().map(|trial| trial.value).sum::<f64>() / n
    }

    /// Returns whether trials differ, so that more of them would tell more.
    pub fn varies(&self) -> bool {
        self.trials.windows(2).any(|pair| (pair[0].value - pair[1].value).abs() > f64::EPSILON)
    }
}

/// Returns the means of items.
pub fn means(items: &[ItemOutcomes]) -> Vec<f64> {
    items.iter().map(ItemOutcomes::mean).collect()
}

/// Returns how many trials failed in the target, and how many there were.
pub fn faults(items: &[ItemOutcomes]) -> (usize, usize) {
    let trials = || items.iter().flat_map(|item| &item.trials);
    (trials().filter(|trial| trial.is_fault).count(), trials().count())
}

/// An item of two runs with the same version.
#[derive(Clone, Copy, Debug)]
pub struct PairedItem<'a> {
    pub before: &'a ItemOutcomes,
    pub after: &'a ItemOutcomes,
}

/// Items of two runs, matched.
#[derive(Clone, Debug, Default)]
pub struct Pairing<'a> {
    /// In the order of the later run.
    pub pairs: Vec<PairedItem<'a>>,
    /// Items of both runs whose version changed in between.
    pub changed: usize,
    /// Items of the later run that the earlier does not have.
    pub added: usize,
    /// Items of the earlier run that the later does not have.
    pub removed: usize,
}

/// Matches the items of two runs. Items whose version is known for both and differs are left out:
/// another question cannot say whether the agent became worse.
pub fn pair<'a>(before: &'a [ItemOutcomes], after: &'a [ItemOutcomes]) -> Pairing<'a> {
    let mut earlier: BTreeMap<&str, &ItemOutcomes> =
        before.iter().map(|item| (item.item.as_str(), item)).collect();
    let mut pairing = Pairing::default();
    for after in after {
        match earlier.remove(after.item.as_str()) {
            None => pairing.added += 1,
            Some(before) if is_changed(before, after) => pairing.changed += 1,
            Some(before) => pairing.pairs.push(PairedItem { before, after }),
        }
    }
    pairing.removed = earlier.len();
    pairing
}

fn is_changed(before: &ItemOutcomes, after: &ItemOutcomes) -> bool {
    before.version.zip(after.version).is_some_and(|(before, after)| before != after)
}

impl Pairing<'_> {
    /// Returns the differences of item means, later minus earlier.
    pub fn differences(&self) -> Vec<f64> {
        self.pairs.iter().map(|pair| pair.after.mean() - pair.before.mean()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(name: &str, version: Option<i64>, trials: &[f64]) -> ItemOutcomes {
        ItemOutcomes {
            item: name.to_owned(),
            version: version.map(Timestamp::from_nanos),
            trials: trials.iter().copied().map(Trial::scored).collect(),
        }
    }

    #[test]
    fn only_unchanged_items_are_paired() {
        let before =
            [item("a", Some(1), &[1.0]), item("b", Some(1), &[1.0]), item("d", None, &[1.0])];
        let after = [
            item("a", Some(1), &[0.0, 1.0]),
            item("b", Some(2), &[0.0]),
            item("c", Some(1), &[0.0]),
        ];
        let pairing = pair(&before, &after);
        assert_eq!((pairing.changed, pairing.added, pairing.removed), (1, 1, 1));
        assert_eq!(pairing.differences(), [-0.5]);
    }
}
