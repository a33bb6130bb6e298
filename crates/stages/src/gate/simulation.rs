//! Simulated gates: how often the decision is wrong, with items that are alike and repeats that
//! depend on their item.

use ratchet_core::gate::decision::{GateEvidence, GateRule, Look, Verdict, decide};
use ratchet_core::gate::outcomes::{ItemOutcomes, Trial};
use ratchet_testkit::seeded_random::SeededRandom;
use ratchet_testkit::soak::scaled;

const ITEMS: usize = 60;

fn unit(random: &mut SeededRandom) -> f64 {
    f64::from(u32::try_from(random.number() >> 32).unwrap()) / (f64::from(u32::MAX) + 1.0)
}

/// Probabilities of being right, by item: most are nearly always right or wrong, as real agents'
/// are. `drop` is taken from every item.
fn difficulties(random: &mut SeededRandom, drop: f64) -> Vec<f64> {
    let one = |random: &mut SeededRandom| match unit(random) {
        kind if kind < 0.45 => 0.97,
        kind if kind < 0.75 => 0.05,
        _ => 0.15 + 0.7 * unit(random),
    };
    (0..ITEMS).map(|_| (one(random) - drop).max(0.0)).collect()
}

fn run(random: &mut SeededRandom, difficulties: &[f64], repeats: usize) -> Vec<ItemOutcomes> {
    let item = |(index, p): (usize, &f64)| ItemOutcomes {
        item: index.to_string(),
        version: None,
        trials: (0..repeats)
            .map(|_| Trial::scored(if unit(random) < *p { 1.0 } else { 0.0 }))
            .collect(),
    };
    difficulties.iter().enumerate().map(item).collect()
}

/// A gate with its planned extension, as the program runs it.
fn gate(random: &mut SeededRandom, before: &[f64], after: &[f64]) -> Verdict {
    let baseline = run(random, before, 2);
    let mut candidate = run(random, after, 2);
    let verdict = |candidate: &[ItemOutcomes], look| {
        let evidence =
            GateEvidence { run: candidate, baseline: Some(&baseline), ..GateEvidence::default() };
        decide(&GateRule::default(), look, &evidence).unwrap().verdict
    };
    let look = Look::first(&candidate);
    let first = verdict(&candidate, look);
    if first != Verdict::Inconclusive || look == Look::Only {
        return first;
    }
    for (item, more) in candidate.iter_mut().zip(run(random, after, 2)) {
        item.trials.extend(more.trials);
    }
    verdict(&candidate, Look::Second)
}

fn share(wanted: Verdict, seed: u64, drop: f64) -> f64 {
    let mut random = SeededRandom::new(seed);
    let tries: u32 = scaled(400, 20_000);
    let hits = (0..tries).filter(|_| {
        let mut same = random.clone();
        let before = difficulties(&mut random, 0.0);
        let after = difficulties(&mut same, drop);
        gate(&mut random, &before, &after) == wanted
    });
    f64::from(u32::try_from(hits.count()).unwrap()) / f64::from(tries)
}

/// Three standard errors of a simulated share of 5%.
fn slack() -> f64 {
    3.0 * (0.05 * 0.95 / f64::from(scaled(400_u32, 20_000))).sqrt()
}

#[test]
fn an_unchanged_agent_is_blocked_no_more_often_than_stated() {
    let blocked = share(Verdict::Block, 18, 0.0);
    assert!(blocked <= 0.05 + slack(), "blocked {blocked}");
}

/// Items that are at zero cannot fall: the true drop is smaller than what is taken from each.
#[test]
fn a_drop_beyond_the_margin_passes_no_more_often_than_stated() {
    let passed = share(Verdict::Pass, 19, 0.16);
    assert!(passed <= 0.05 + slack(), "passed {passed}");
}

#[test]
fn a_large_drop_is_blocked() {
    let blocked = share(Verdict::Block, 20, 0.4);
    assert!(blocked >= 0.9, "blocked {blocked}");
}
