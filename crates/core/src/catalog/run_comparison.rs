//! Which way each item of a dataset went from one run to another.

use std::collections::BTreeMap;

/// Scores of one item in one run, by name.
pub type ItemScores = BTreeMap<String, f64>;

/// One item in two runs; `None` where the run does not have it.
#[derive(Clone, Copy, Debug)]
pub struct ItemPair<'a> {
    pub before: Option<ItemRun<'a>>,
    pub after: Option<ItemRun<'a>>,
}

/// One item in one run.
#[derive(Clone, Copy, Debug)]
pub struct ItemRun<'a> {
    pub scores: &'a ItemScores,
    pub output: &'a str,
}

/// Which way an item went, in the order that people should look at them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemChange {
    /// A score fell from good to bad.
    Regressed,
    /// A score rose from bad to good, and none fell.
    Fixed,
    /// The output is another one, and no score says whether it is better.
    ChangedUnscored,
    /// No score in both runs, or only in one run.
    NotComparable,
    Unchanged,
}

/// From which value on a score is good, by its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PassThresholds(pub BTreeMap<String, f64>);

impl PassThresholds {
    /// Half-way between no and yes for scores from 0 to 1; a scale that goes further has its middle
    /// further out.
    pub fn of<'a>(scores: impl IntoIterator<Item = &'a ItemScores>) -> Self {
        let mut ends: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for (name, value) in scores.into_iter().flatten() {
            let (least, greatest) = ends.entry(name.clone()).or_insert((0.0, 1.0));
            (*least, *greatest) = (least.min(*value), greatest.max(*value));
        }
        let middles = ends.into_iter().map(|(name, (min, max))| (name, f64::midpoint(min, max)));
        Self(middles.collect())
    }

    fn is_good(&self, name: &str, value: f64) -> bool {
        self.0.get(name).is_none_or(|threshold| value >= *threshold)
    }

    /// Returns which way an item went. A score that fell counts more than one that rose.
    pub fn change(&self, pair: ItemPair<'_>) -> ItemChange {
        let (Some(before), Some(after)) = (pair.before, pair.after) else {
            return ItemChange::NotComparable;
        };
        let both = before.scores.iter().filter_map(|(name, was)| {
            let is = after.scores.get(name)?;
            Some((self.is_good(name, *was), self.is_good(name, *is)))
        });
        let crossed = both.map(|(was, is)| match (was, is) {
            (true, false) => ItemChange::Regressed,
            (false, true) => ItemChange::Fixed,
            (true, true) | (false, false) => ItemChange::Unchanged,
        });
        crossed.min().unwrap_or(if before.output == after.output {
            ItemChange::NotComparable
        } else {
            ItemChange::ChangedUnscored
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(scores: &[(&str, f64)]) -> ItemScores {
        scores.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[track_caller]
    fn check(before: &[(&str, f64)], after: &[(&str, f64)], expected: ItemChange) {
        let [before, after] = [scores(before), scores(after)];
        let thresholds = PassThresholds::of([&before, &after]);
        let run = |scores| Some(ItemRun { scores, output: "same" });
        let pair = ItemPair { before: run(&before), after: run(&after) };
        assert_eq!(thresholds.change(pair), expected);
    }

    #[test]
    fn a_score_that_crosses_its_threshold_changes_the_item() {
        check(&[("correct", 1.0)], &[("correct", 0.0)], ItemChange::Regressed);
        check(&[("correct", 0.0)], &[("correct", 1.0)], ItemChange::Fixed);
        check(&[("quality", 0.6)], &[("quality", 0.9)], ItemChange::Unchanged);
        // Five stars fell to one.
        check(&[("stars", 5.0)], &[("stars", 1.0)], ItemChange::Regressed);
        check(&[("stars", 5.0)], &[("stars", 4.0)], ItemChange::Unchanged);
    }

    #[test]
    fn a_regression_counts_more_than_a_fix() {
        check(&[("a", 1.0), ("b", 0.0)], &[("a", 0.0), ("b", 1.0)], ItemChange::Regressed);
    }

    #[test]
    fn without_a_common_score_nothing_is_claimed() {
        check(&[("a", 1.0)], &[("b", 0.0)], ItemChange::NotComparable);
        check(&[], &[], ItemChange::NotComparable);
        let none = ItemScores::new();
        let run = |output| Some(ItemRun { scores: &none, output });
        let thresholds = PassThresholds::default();
        let changed = ItemPair { before: run("a"), after: run("b") };
        assert_eq!(thresholds.change(changed), ItemChange::ChangedUnscored);
        let missing = ItemPair { before: None, after: run("b") };
        assert_eq!(thresholds.change(missing), ItemChange::NotComparable);
    }
}
