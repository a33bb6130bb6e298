//! The rule on real outcomes: 13 coding agents, 80 tasks, 5 runs each.

use super::decision::{GateEvidence, GateRule, Look, Verdict, decide};
use super::outcomes::{ItemOutcomes, Trial};
use crate::stats::float;

/// Outcomes of each agent: by task, by run.
pub(super) fn agents() -> Vec<Vec<Vec<f64>>> {
    let digit = |digit: char| if digit == '1' { 1.0 } else { 0.0 };
    let task = |digits: &str| digits.chars().map(digit).collect();
    include_str!("replay/outcomes.txt")
        .lines()
        .map(|line| line.split(' ').skip(1).map(task).collect())
        .collect()
}

/// Means of each task over some runs.
pub(super) fn means_of(agent: &[Vec<f64>], runs: &[usize]) -> Vec<f64> {
    let n = float(runs.len());
    agent.iter().map(|task| runs.iter().map(|run| task[*run]).sum::<f64>() / n).collect()
}

fn outcomes(agent: &[Vec<f64>], runs: &[usize]) -> Vec<ItemOutcomes> {
    let item = |(index, task): (usize, &Vec<f64>)| ItemOutcomes {
        item: format!("t{index:02}"),
        version: None,
        trials: runs.iter().map(|run| Trial::scored(task[*run])).collect(),
    };
    agent.iter().enumerate().map(item).collect()
}

/// Two of five runs.
fn pairs() -> Vec<[usize; 2]> {
    (0..5).flat_map(|one| (one + 1..5).map(move |other| [one, other])).collect()
}

#[derive(Default)]
struct Tally {
    pass: f64,
    block: f64,
    all: f64,
}

impl Tally {
    fn count(&mut self, verdict: Verdict) {
        self.all += 1.0;
        match verdict {
            Verdict::Pass => self.pass += 1.0,
            Verdict::Block => self.block += 1.0,
            Verdict::Inconclusive => {}
        }
    }

    fn shares(&self) -> [f64; 2] {
        [self.pass / self.all, self.block / self.all]
    }
}

fn verdict(before: &[ItemOutcomes], after: &[ItemOutcomes], look: Look) -> Verdict {
    let evidence = GateEvidence { run: after, baseline: Some(before), ..GateEvidence::default() };
    decide(&GateRule::default(), look, &evidence).unwrap().verdict
}

/// One look, or two: a third run of the candidate where the first two do not decide.
fn gate(
    agent: &[Vec<f64>],
    (before, after): ([usize; 2], &[Vec<f64>]),
    runs: [usize; 2],
    third: Option<usize>,
) -> Verdict {
    let before = outcomes(agent, &before);
    let first = if third.is_some() { Look::First } else { Look::Only };
    match (verdict(&before, &outcomes(after, &runs), first), third) {
        (Verdict::Inconclusive, Some(third)) => {
            let extended = outcomes(after, &[runs[0], runs[1], third]);
            verdict(&before, &extended, Look::Second)
        }
        (verdict, _) => verdict,
    }
}

fn unchanged(extended: bool) -> Tally {
    let mut tally = Tally::default();
    for agent in agents() {
        for before in pairs() {
            for runs in
                pairs().into_iter().filter(|runs| runs.iter().all(|run| !before.contains(run)))
            {
                let third = (0..5).find(|run| !before.contains(run) && !runs.contains(run));
                tally.count(gate(&agent, (before, &agent), runs, third.filter(|_| extended)));
            }
        }
    }
    tally
}

fn dropped(extended: bool) -> Tally {
    let (agents, mut tally) = (agents(), Tally::default());
    let accuracy = |agent: &[Vec<f64>]| {
        let means = means_of(agent, &[0, 1, 2, 3, 4]);
        means.iter().sum::<f64>() / float(means.len())
    };
    for better in &agents {
        for worse in &agents {
            let drop = accuracy(better) - accuracy(worse);
            if !(0.1 - 1e-9..0.2).contains(&drop) {
                continue;
            }
            for before in pairs() {
                for runs in pairs() {
                    let third = (0..5).find(|run| !runs.contains(run));
                    let third = third.filter(|_| extended);
                    tally.count(gate(better, (before, worse), runs, third));
                }
            }
        }
    }
    tally
}

#[test]
fn an_unchanged_agent_passes_and_a_worse_one_is_blocked() {
    let [pass, block] = unchanged(false).shares();
    assert!(pass >= 0.90 && block <= 0.06, "unchanged: pass {pass}, block {block}");
    let [pass, block] = dropped(false).shares();
    assert!(block >= 0.95 && pass <= 0.01, "10 to 20 points worse: pass {pass}, block {block}");
}

/// Two looks at half the error rate each.
#[test]
fn an_extension_keeps_the_error_rates() {
    let [pass, block] = unchanged(true).shares();
    assert!(pass >= 0.80 && block <= 0.06, "unchanged: pass {pass}, block {block}");
    let [pass, block] = dropped(true).shares();
    assert!(block >= 0.90 && pass <= 0.01, "10 to 20 points worse: pass {pass}, block {block}");
}

/// "No item that passed may fail" blocks nearly every agent that did not change at all.
#[test]
fn the_literal_rule_blocks_unchanged_agents() {
    let (mut blocked, mut all) = (0, 0);
    for agent in agents() {
        for before in 0..5 {
            for after in (0..5).filter(|after| *after != before) {
                all += 1;
                let fell = agent.iter().any(|task| task[before] > task[after]);
                blocked += usize::from(fell);
            }
        }
    }
    assert_eq!((blocked, all), (255, 260));
}
