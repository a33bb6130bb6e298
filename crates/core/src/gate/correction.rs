use std::collections::{BTreeMap, BTreeSet};

use super::outcomes::ItemOutcomes;

/// Two runs as people corrected them.
#[derive(Clone, Debug, PartialEq)]
pub struct Corrected {
    pub before: Vec<ItemOutcomes>,
    pub after: Vec<ItemOutcomes>,
    /// Items with at least one changed score.
    pub items: usize,
    /// Items that were left out of the comparison: a person corrected one run only, and the other
    /// run's output is another one.
    pub one_sided: usize,
}

/// Applies people's scores. One about an output counts for the same output in both runs. People
/// look at what fell, not at what seemed right: an item that was corrected in one run only, with
/// other outputs in the other, therefore leaves the comparison instead of favouring one side.
pub fn apply(before: &[ItemOutcomes], after: &[ItemOutcomes]) -> Corrected {
    let known = known(before.iter().chain(after));
    let (earlier, later) = (correct(before, &known), correct(after, &known));
    let both = names(before).intersection(&names(after)).cloned().collect::<BTreeSet<_>>();
    let touched: BTreeSet<String> = earlier.touched.union(&later.touched).cloned().collect();
    let one_sided: BTreeSet<String> = touched
        .iter()
        .filter(|item| both.contains(*item))
        .filter(|item| !(earlier.complete.contains(*item) && later.complete.contains(*item)))
        .cloned()
        .collect();
    let without = |items: Vec<ItemOutcomes>| -> Vec<ItemOutcomes> {
        items.into_iter().filter(|item| !one_sided.contains(&item.item)).collect()
    };
    Corrected {
        before: without(earlier.items),
        // Accuracy is about this run alone: nothing leaves it.
        after: later.items,
        items: touched.len(),
        one_sided: one_sided.len(),
    }
}

/// Returns outcomes as people corrected them, there or in another run with the same output.
pub fn corrected(items: &[ItemOutcomes], other: &[ItemOutcomes]) -> Vec<ItemOutcomes> {
    correct(items, &known(items.iter().chain(other))).items
}

type Known = BTreeMap<(String, String), f64>;

/// People's scores by item and output.
fn known<'a>(items: impl Iterator<Item = &'a ItemOutcomes>) -> Known {
    let of_item = |item: &'a ItemOutcomes| {
        item.trials.iter().filter_map(|trial| {
            Some(((item.item.clone(), trial.output.clone()?), trial.corrected?))
        })
    };
    items.flat_map(of_item).collect()
}

fn names(items: &[ItemOutcomes]) -> BTreeSet<String> {
    items.iter().map(|item| item.item.clone()).collect()
}

struct CorrectedRun {
    items: Vec<ItemOutcomes>,
    /// Items with a changed score.
    touched: BTreeSet<String>,
    /// Items of which a person's word exists for every trial.
    complete: BTreeSet<String>,
}

fn correct(items: &[ItemOutcomes], known: &Known) -> CorrectedRun {
    let mut items = items.to_vec();
    let (mut touched, mut complete) = (BTreeSet::new(), BTreeSet::new());
    for item in &mut items {
        let mut said = 0;
        for trial in &mut item.trials {
            let same = || known.get(&(item.item.clone(), trial.output.clone()?)).copied();
            if let Some(value) = trial.corrected.or_else(same) {
                said += 1;
                if (value - trial.value).abs() > f64::EPSILON {
                    touched.insert(item.item.clone());
                }
                trial.value = value;
            }
        }
        if said == item.trials.len() {
            complete.insert(item.item.clone());
        }
    }
    CorrectedRun { items, touched, complete }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::outcomes::Trial;

    fn item(name: &str, value: f64, output: &str, corrected: Option<f64>) -> ItemOutcomes {
        let trial = Trial { corrected, output: Some(output.to_owned()), ..Trial::scored(value) };
        ItemOutcomes { item: name.to_owned(), version: None, trials: vec![trial] }
    }

    #[test]
    fn the_same_output_is_corrected_in_both_runs() {
        let before = [item("a", 0.0, "paris", None)];
        let after = [item("a", 0.0, "paris", Some(1.0))];
        let corrected = apply(&before, &after);
        assert_eq!((corrected.items, corrected.one_sided), (1, 0));
        assert_eq!((corrected.before[0].mean(), corrected.after[0].mean()), (1.0, 1.0));
    }

    #[test]
    fn a_correction_of_one_side_favours_neither() {
        let before = [item("a", 1.0, "paris", None)];
        let after = [item("a", 0.0, "Paris, France", Some(1.0))];
        let corrected = apply(&before, &after);
        assert_eq!((corrected.items, corrected.one_sided), (1, 1));
        assert!(corrected.before.is_empty(), "no pair is left");
        assert_eq!(corrected.after[0].mean(), 1.0);
    }

    #[test]
    fn a_history_is_corrected_by_what_people_say_of_the_same_output_elsewhere() {
        let history = [
            item("a", 1.0, "rome", Some(0.0)),
            item("a", 1.0, "rome", None),
            item("a", 0.0, "paris", None),
            item("a", 1.0, "oslo", None),
        ];
        let corrected = corrected(&history, &[item("a", 0.0, "paris", Some(1.0))]);
        let means: Vec<f64> = corrected.iter().map(ItemOutcomes::mean).collect();
        assert_eq!(means, [0.0, 0.0, 1.0, 1.0]);
    }

    #[test]
    fn a_person_who_agrees_changes_nothing() {
        let before = [item("a", 1.0, "paris", None)];
        let after = [item("a", 0.0, "rome", Some(0.0))];
        let corrected = apply(&before, &after);
        assert_eq!((corrected.items, corrected.one_sided), (0, 0));
        assert_eq!(corrected.before, before);
    }
}
