use serde::{Deserialize, Serialize};

use crate::catalog::run_comparison::{ItemChange, ItemRun, RunComparison, ScoreScale};
use crate::gate::bounds::Bounds;

/// Two runs by each of their scores, by the rules of the gate: the unit is the item, people's scores
/// outweigh those of evaluators, and only unchanged items are compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScoreComparison {
    /// Items of both runs, and their mean scores.
    pub items: Vec<ComparedItem>,
    /// Items that only one of them has, by score.
    pub unpaired: usize,
    /// Paired differences over the items that did not change.
    pub scores: Vec<ComparedScore>,
}

/// One score in two runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ComparedScore {
    pub score: String,
    /// Later minus earlier, with a 95% interval; `None` without items. On another scale than 0 to 1
    /// it is the share of that scale.
    pub difference: Option<Bounds>,
    /// Items that changed between the runs, and are not part of it.
    pub changed: usize,
    /// Items whose score a person changed.
    pub corrected: usize,
    /// Items that a person corrected in one run only; they are no part of the difference.
    pub corrected_once: usize,
}

/// One score of one item in two runs, as people corrected it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ComparedItem {
    pub item: String,
    pub score: String,
    pub before: f64,
    pub after: f64,
    /// Whether the item changed between the runs.
    pub is_changed: bool,
}

/// The items of two runs by one score.
#[derive(Clone, Debug)]
pub struct ScoredRuns {
    pub score: String,
    pub scale: ScoreScale,
    /// The earlier and the later run.
    pub runs: [Vec<ItemRun>; 2],
}

impl ScoreComparison {
    /// Compares two runs by each score.
    pub fn of(scores: &[ScoredRuns]) -> Self {
        let mut compared = Self::default();
        scores.iter().for_each(|score| compared.add(score));
        compared
    }

    fn add(&mut self, ScoredRuns { score, scale, runs: [before, after] }: &ScoredRuns) {
        let found = RunComparison::of(before, after);
        let (mut changed, mut both) = (0, 0);
        let [earlier, later] = &found.means;
        for (item, mean) in earlier {
            let Some(then) = later.get(item) else { continue };
            let change = found.changes.get(item);
            both += 1;
            let is_changed = change == Some(&ItemChange::NotComparable);
            changed += usize::from(is_changed);
            self.items.push(ComparedItem {
                item: item.clone(),
                score: score.clone(),
                before: scale.value(*mean),
                after: scale.value(*then),
                is_changed,
            });
        }
        let once = found.count(ItemChange::CorrectedOnce);
        let once = usize::try_from(once).unwrap_or(usize::MAX);
        // The earlier run is without the items that were corrected in one run only.
        self.unpaired += (earlier.len() + later.len()).saturating_sub(2 * both + once);
        self.scores.push(ComparedScore {
            score: score.clone(),
            difference: found.difference,
            changed,
            corrected: found.corrected,
            corrected_once: once,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::outcomes::{ItemOutcomes, Trial};
    use crate::time::Timestamp;

    fn item(name: &str, version: i64, (value, corrected): (f64, Option<f64>)) -> ItemRun {
        let output = Some(format!("{name} {value}"));
        let trial = Trial { corrected, output: output.clone(), ..Trial::scored(value) };
        let version = Some(Timestamp::from_nanos(version));
        let outcomes = ItemOutcomes { item: name.to_owned(), version, trials: vec![trial] };
        ItemRun { outcomes, outputs: output.into_iter().collect() }
    }

    #[test]
    fn corrections_count_and_changed_items_do_not() {
        let before = vec![
            item("same", 1, (1.0, None)),
            item("fixed", 1, (0.0, Some(0.0))),
            item("once", 1, (1.0, None)),
            item("changed", 1, (1.0, None)),
            item("gone", 1, (1.0, None)),
        ];
        let after = vec![
            item("same", 1, (1.0, None)),
            item("fixed", 1, (0.5, Some(1.0))),
            item("once", 1, (0.0, Some(1.0))),
            item("changed", 2, (0.0, None)),
        ];
        let scale = ScoreScale { least: 0.0, greatest: 1.0 };
        let scored = ScoredRuns { score: "exact".to_owned(), scale, runs: [before, after] };
        let compared = ScoreComparison::of(&[scored]);
        let means: Vec<(&str, f64, f64, bool)> = compared
            .items
            .iter()
            .map(|one| (one.item.as_str(), one.before, one.after, one.is_changed))
            .collect();
        let expected =
            [("changed", 1.0, 0.0, true), ("fixed", 0.0, 1.0, false), ("same", 1.0, 1.0, false)];
        assert_eq!(means, expected);
        let score = &compared.scores[0];
        assert_eq!((score.changed, score.corrected, score.corrected_once), (1, 2, 1));
        let difference = score.difference.unwrap();
        assert_eq!((difference.value, difference.n), (0.5, 2));
        assert_eq!(compared.unpaired, 1, "the item that is gone");
    }
}
