//! Two runs of a dataset, item by item, by the rules of the gate: the unit is the item, its trials
//! are averaged, and people's scores outweigh those of evaluators.

use std::collections::{BTreeMap, BTreeSet};

use crate::gate::bounds::{self, Bounds};
use crate::gate::correction;
use crate::gate::flip::{FlipKind, flips};
use crate::gate::mcnemar::McNemar;
use crate::gate::outcomes::{ItemOutcomes, means, pair};

/// Scores of one item in one run, by name.
pub type ItemScores = BTreeMap<String, f64>;

/// Error rate of each bound: both together are a 95% interval.
const TAIL: f64 = 0.025;

/// One item in one run.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemRun {
    /// The trials that have the score, with values from 0 to 1.
    pub outcomes: ItemOutcomes,
    /// Digests of the outputs of all trials.
    pub outputs: BTreeSet<String>,
}

/// Which way an item went, in the order that people should look at them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemChange {
    /// Its mean fell by half or more.
    Regressed,
    /// Its mean rose by half or more.
    Fixed,
    /// A person corrected it in one run only, and the other run's output is another one: it would
    /// favour one side, and is left out until both are corrected.
    CorrectedOnce,
    /// The output is another one, and no score says whether it is better.
    ChangedUnscored,
    /// No score in both runs, only in one run, or the item changed in between.
    NotComparable,
    Unchanged,
}

/// The scale of a score: from 0 to 1, unless values lie further out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreScale {
    pub least: f64,
    pub greatest: f64,
}

impl ScoreScale {
    /// Returns the scale that values are on.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let unit = Self { least: 0.0, greatest: 1.0 };
        values.into_iter().filter(|value| value.is_finite()).fold(unit, |scale, value| Self {
            least: scale.least.min(value),
            greatest: scale.greatest.max(value),
        })
    }

    /// Returns where on the scale a value is, from 0 to 1.
    pub fn share(&self, value: f64) -> f64 {
        ((value - self.least) / (self.greatest - self.least)).clamp(0.0, 1.0)
    }

    /// Returns the value that is so far up the scale, from 0 to 1.
    pub fn value(&self, share: f64) -> f64 {
        self.least + share * (self.greatest - self.least)
    }
}

/// What became of a run against another one.
#[derive(Clone, Debug, PartialEq)]
pub struct RunComparison {
    /// By the item's id; items of either run.
    pub changes: BTreeMap<String, ItemChange>,
    /// Accuracy of the earlier and of the later run, each over all its scored items.
    pub accuracy: [Option<Bounds>; 2],
    /// Paired difference over the items that can be compared.
    pub difference: Option<Bounds>,
    /// Only where each item ran once with a score of 0 or 1.
    pub mcnemar: Option<McNemar>,
    /// Items with a score that a person changed.
    pub corrected: usize,
    /// Means of the items of the earlier and of the later run, as people corrected them; the earlier
    /// run is without the items that were corrected in one run only.
    pub means: [BTreeMap<String, f64>; 2],
}

impl RunComparison {
    /// Compares two runs. Intervals are 95% ones.
    pub fn of(before: &[ItemRun], after: &[ItemRun]) -> Self {
        let (earlier, later) = (scored(before), scored(after));
        let corrected = correction::apply(&earlier, &later);
        let pairing = pair(&corrected.before, &corrected.after);
        let paired: BTreeSet<&str> =
            pairing.pairs.iter().map(|pair| pair.after.item.as_str()).collect();
        let flipped: BTreeMap<String, FlipKind> =
            flips(&pairing).into_iter().map(|flip| (flip.item, flip.kind)).collect();
        let left: BTreeSet<&str> = names(&corrected.before);
        let (had, has) = (names(&earlier), names(&later));
        let change = |item: &ItemRun, other: Option<&ItemRun>| {
            let name = item.outcomes.item.as_str();
            match (flipped.get(name), other) {
                (Some(FlipKind::Regressed), _) => ItemChange::Regressed,
                (Some(FlipKind::Fixed), _) => ItemChange::Fixed,
                _ if paired.contains(name) => ItemChange::Unchanged,
                _ if had.contains(name) && has.contains(name) && !left.contains(name) => {
                    ItemChange::CorrectedOnce
                }
                (None, Some(other)) if is_unscored(item, other) => ItemChange::ChangedUnscored,
                (None, _) => ItemChange::NotComparable,
            }
        };
        let mut others: BTreeMap<&str, &ItemRun> =
            before.iter().map(|item| (item.outcomes.item.as_str(), item)).collect();
        let mut changes = BTreeMap::new();
        for item in after {
            let name = item.outcomes.item.as_str();
            changes.insert(name.to_owned(), change(item, others.remove(name)));
        }
        changes
            .extend(others.into_iter().map(|(name, item)| (name.to_owned(), change(item, None))));
        let own = correction::apply(&[], &earlier).after;
        Self {
            accuracy: [&own, &corrected.after].map(|run| bounds::accuracy(&means(run), TAIL)),
            difference: bounds::difference(&pairing.differences(), TAIL),
            mcnemar: McNemar::of_pairing(&pairing),
            corrected: corrected.items,
            means: [&corrected.before, &corrected.after].map(|run| item_means(run)),
            changes,
        }
    }

    /// Returns how many items went one way.
    pub fn count(&self, change: ItemChange) -> u64 {
        self.changes.values().filter(|known| **known == change).count() as u64
    }
}

fn scored(items: &[ItemRun]) -> Vec<ItemOutcomes> {
    let with_trials = items.iter().filter(|item| !item.outcomes.trials.is_empty());
    with_trials.map(|item| item.outcomes.clone()).collect()
}

fn item_means(items: &[ItemOutcomes]) -> BTreeMap<String, f64> {
    items.iter().map(|item| (item.item.clone(), item.mean())).collect()
}

fn names(items: &[ItemOutcomes]) -> BTreeSet<&str> {
    items.iter().map(|item| item.item.as_str()).collect()
}

fn is_unscored(item: &ItemRun, other: &ItemRun) -> bool {
    let no_common_score = item.outcomes.trials.is_empty() || other.outcomes.trials.is_empty();
    no_common_score && item.outputs != other.outputs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::outcomes::Trial;
    use crate::time::Timestamp;

    fn item(name: &str, trials: &[(f64, &str, Option<f64>)]) -> ItemRun {
        let trial = |(value, output, corrected): &(f64, &str, Option<f64>)| Trial {
            corrected: *corrected,
            output: Some((*output).to_owned()),
            ..Trial::scored(*value)
        };
        let trials: Vec<Trial> = trials.iter().map(trial).collect();
        let outputs = trials.iter().filter_map(|trial| trial.output.clone()).collect();
        let outcomes = ItemOutcomes { item: name.to_owned(), version: None, trials };
        ItemRun { outcomes, outputs }
    }

    #[track_caller]
    fn check(
        before: &[(f64, &str, Option<f64>)],
        after: &[(f64, &str, Option<f64>)],
        expected: ItemChange,
    ) {
        let compared = RunComparison::of(&[item("a", before)], &[item("a", after)]);
        assert_eq!(compared.changes["a"], expected);
    }

    #[test]
    fn an_item_whose_mean_moves_by_half_changes() {
        check(&[(1.0, "x", None)], &[(0.0, "y", None)], ItemChange::Regressed);
        check(&[(0.0, "x", None)], &[(1.0, "y", None)], ItemChange::Fixed);
        check(&[(0.6, "x", None)], &[(0.9, "y", None)], ItemChange::Unchanged);
        let twice = [(1.0, "y", None), (0.0, "z", None)];
        check(&[(1.0, "x", None)], &twice, ItemChange::Regressed);
    }

    #[test]
    fn a_persons_score_outweighs_the_evaluators() {
        check(&[(1.0, "x", Some(0.0))], &[(0.0, "y", Some(0.0))], ItemChange::Unchanged);
        check(&[(0.0, "x", None)], &[(0.0, "x", Some(1.0))], ItemChange::Unchanged);
        check(&[(1.0, "x", None)], &[(0.0, "y", Some(1.0))], ItemChange::CorrectedOnce);
        check(&[(1.0, "x", Some(1.0))], &[(0.0, "y", Some(1.0))], ItemChange::Unchanged);
    }

    #[test]
    fn without_a_common_score_nothing_is_claimed() {
        check(&[], &[(1.0, "x", None)], ItemChange::ChangedUnscored);
        check(&[], &[], ItemChange::NotComparable);
        let only = RunComparison::of(&[item("a", &[(1.0, "x", None)])], &[]);
        assert_eq!(only.changes["a"], ItemChange::NotComparable);
        assert_eq!(only.difference, None);
    }

    #[test]
    fn an_item_that_changed_in_between_is_not_compared() {
        let at = |nanos, value| {
            let mut item = item("a", &[(value, "x", None)]);
            item.outcomes.version = Some(Timestamp::from_nanos(nanos));
            item
        };
        let compared = RunComparison::of(&[at(1, 1.0)], &[at(2, 0.0)]);
        assert_eq!(compared.changes["a"], ItemChange::NotComparable);
    }

    #[test]
    fn a_scale_that_goes_further_has_its_middle_further_out() {
        let stars = ScoreScale::of([5.0, 1.0]);
        assert_eq!((stars.share(5.0), stars.share(2.5)), (1.0, 0.5));
        assert_eq!(ScoreScale::of([0.2]).share(0.2), 0.2);
    }

    #[test]
    fn the_interval_is_over_items() {
        let run = |right: usize| -> Vec<ItemRun> {
            (0..10)
                .map(|at| item(&format!("i{at}"), &[(f64::from(u8::from(at < right)), "x", None)]))
                .collect()
        };
        let compared = RunComparison::of(&run(9), &run(3));
        let difference = compared.difference.unwrap();
        assert_eq!((difference.n, compared.count(ItemChange::Regressed)), (10, 6));
        assert!(difference.upper() < 0.0, "{difference:?}");
        assert_eq!(compared.mcnemar.map(|test| (test.b, test.c)), Some((6, 0)));
    }
}
