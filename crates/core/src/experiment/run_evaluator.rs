use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::run_summary::TrialFacts;
use crate::stats::float;

/// The least score of an item that passed.
const PASS: f64 = 0.5;

/// An evaluator of a whole run: a figure over its items, or a command that reads all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEvaluator {
    name: String,
    rule: RunRule,
}

/// What an evaluator of runs goes by.
#[derive(Clone, Debug, PartialEq)]
pub enum RunRule {
    /// A figure over the items' means of a score, by its name.
    Figure(RunFigure, String),
    /// A command of the operator, by name.
    Command(String),
}

/// A figure over the items of a run, each with the mean of its trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunFigure {
    Mean,
    /// That of the worst item.
    Least,
    /// The share of items with at least a half.
    Passed,
}

impl RunFigure {
    const ALL: [(Self, &str); 3] =
        [(Self::Mean, "mean"), (Self::Least, "least"), (Self::Passed, "passed")];

    fn word(self) -> &'static str {
        Self::ALL.iter().find(|(figure, _)| *figure == self).map_or("mean", |(_, word)| word)
    }

    /// Returns the figure over the scored trials; `None` without any.
    pub fn of(self, score: &str, trials: &[TrialFacts]) -> Option<f64> {
        let mut items: BTreeMap<&str, (f64, usize)> = BTreeMap::new();
        for trial in trials {
            let of_score = trial.scores.iter().filter(|(name, _)| name == score);
            for (_, value) in of_score {
                let sum = items.entry(&trial.item).or_default();
                *sum = (sum.0 + value, sum.1 + 1);
            }
        }
        let means: Vec<f64> = items.values().map(|(sum, n)| sum / float(*n)).collect();
        let n = float(means.len());
        let found = match self {
            Self::Mean => means.iter().sum::<f64>() / n,
            Self::Least => means.iter().copied().fold(f64::INFINITY, f64::min),
            Self::Passed => float(means.iter().filter(|mean| **mean >= PASS).count()) / n,
        };
        (!means.is_empty()).then_some(found)
    }
}

impl RunEvaluator {
    /// The forms that are known.
    pub const FORMS: &str = "run:mean:SCORE, run:least:SCORE, run:passed:SCORE, run:command:NAME";

    /// Returns the name of its score on the run.
    pub fn score_name(&self) -> &str {
        &self.name
    }

    /// Returns what it goes by.
    pub const fn rule(&self) -> &RunRule {
        &self.rule
    }
}

impl FromStr for RunEvaluator {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (kind, of) = text.split_once(':').ok_or(())?;
        let of = of.trim().to_owned();
        if of.is_empty() {
            return Err(());
        }
        if kind == "command" {
            return Ok(Self { name: of.clone(), rule: RunRule::Command(of) });
        }
        let figure = RunFigure::ALL.into_iter().find(|(_, word)| *word == kind).ok_or(())?.0;
        Ok(Self { name: format!("{kind}-{of}"), rule: RunRule::Figure(figure, of) })
    }
}

impl fmt::Display for RunEvaluator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.rule {
            RunRule::Figure(figure, score) => write!(f, "{}:{score}", figure.word()),
            RunRule::Command(name) => write!(f, "command:{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(item: &str, value: f64) -> TrialFacts {
        let scores = vec![("exact".to_owned(), value)];
        TrialFacts { item: item.to_owned(), scores, ..TrialFacts::default() }
    }

    #[test]
    fn figures_are_over_items_not_trials() {
        let trials = [trial("a", 1.0), trial("a", 1.0), trial("a", 0.0), trial("b", 0.0)];
        let third = 2.0 / 3.0;
        for (figure, expected) in
            [(RunFigure::Mean, third / 2.0), (RunFigure::Least, 0.0), (RunFigure::Passed, 0.5)]
        {
            assert!((figure.of("exact", &trials).unwrap() - expected).abs() < 1e-12, "{figure:?}");
            assert_eq!(figure.of("other", &trials), None);
        }
    }
}
