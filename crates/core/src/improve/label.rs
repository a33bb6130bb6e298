use std::collections::BTreeMap;

use super::terms::counts;
use crate::stats::float;

/// Returns the weight of each term in each class by c-TF-IDF: `tf · ln(1 + A / f)`, where `tf` is the
/// term's share of the class, `f` its count in all classes and `A` the mean number of terms of a
/// class (Grootendorst 2022).
pub fn class_weights<'a>(classes: &'a [Vec<String>]) -> Vec<BTreeMap<&'a str, f64>> {
    let counted: Vec<BTreeMap<&'a str, usize>> =
        classes.iter().map(|terms| counts(terms)).collect();
    let mut frequency: BTreeMap<&str, usize> = BTreeMap::new();
    for (term, count) in counted.iter().flatten() {
        *frequency.entry(term).or_default() += count;
    }
    let mean = float(classes.iter().map(Vec::len).sum()) / float(classes.len().max(1));
    let weights = |(class, terms): (&BTreeMap<&'a str, usize>, &Vec<String>)| {
        let weight = |(term, count): (&&'a str, &usize)| {
            let all = frequency.get(term).copied().unwrap_or(1);
            (*term, float(*count) / float(terms.len()) * (1.0 + mean / float(all)).ln())
        };
        class.iter().map(weight).collect()
    };
    counted.iter().zip(classes).map(weights).collect()
}

/// Returns the terms that distinguish each class, the strongest first.
pub fn labels(classes: &[Vec<String>], most: usize) -> Vec<Vec<String>> {
    let strongest = |weights: BTreeMap<&str, f64>| {
        let mut terms: Vec<(&str, f64)> = weights.into_iter().collect();
        terms.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(other.0)));
        terms.into_iter().take(most).map(|(term, _)| term.to_owned()).collect()
    };
    class_weights(classes).into_iter().map(strongest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::near;

    /// The vectors of `c_tf_idf` in the golden file of clusters.
    fn classes() -> Vec<Vec<String>> {
        let split = |text: &str| text.split(' ').map(str::to_owned).collect();
        [
            "git push rejected non fast forward git push",
            "test timeout exceeded test runner timeout",
            "file not found path file missing",
        ]
        .map(split)
        .to_vec()
    }

    #[test]
    fn weights_are_those_of_the_reference() {
        let classes = classes();
        let weights = class_weights(&classes);
        near(weights[0]["git"], 0.366_584_267_198_356_8);
        near(weights[0]["fast"], 0.254_610_240_907_63);
        near(weights[1]["timeout"], 0.488_779_022_931_142_4);
        near(weights[2]["found"], 0.339_480_321_210_173_35);
        assert!(!weights[2].contains_key("git"));
    }

    #[test]
    fn labels_are_the_strongest_terms_in_a_fixed_order() {
        let labels = labels(&classes(), 3);
        assert_eq!(labels[0], ["git", "push", "fast"]);
        assert_eq!(labels[1], ["test", "timeout", "exceeded"]);
        assert_eq!(labels[2], ["file", "found", "missing"]);
    }
}
