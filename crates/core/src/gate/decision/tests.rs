use super::*;
use crate::gate::outcomes::Trial;

/// `right` of `n` items are right, each tried twice.
fn run(n: usize, right: usize) -> Vec<ItemOutcomes> {
    (0..n)
        .map(|index| ItemOutcomes {
            item: format!("item-{index:03}"),
            version: None,
            trials: vec![Trial::scored(if index < right { 1.0 } else { 0.0 }); 2],
        })
        .collect()
}

fn at_least(least: f64) -> GateRule {
    GateRule { min_accuracy: Some(least), ..GateRule::default() }
}

fn verdict(rule: &GateRule, evidence: &GateEvidence<'_>) -> Verdict {
    decide(rule, Look::Only, evidence).unwrap().verdict
}

#[test]
fn accuracy_alone_has_three_verdicts() {
    let is = |right| {
        verdict(&at_least(0.7), &GateEvidence { run: &run(40, right), ..GateEvidence::default() })
    };
    assert_eq!(is(36), Verdict::Pass);
    assert_eq!(is(30), Verdict::Inconclusive, "75% of 40 may be 70% of all");
    assert_eq!(is(20), Verdict::Block);
}

#[test]
fn a_comparison_has_three_verdicts() {
    let baseline = run(50, 45);
    let is = |right| {
        let run = run(50, right);
        verdict(
            &GateRule::default(),
            &GateEvidence { run: &run, baseline: Some(&baseline), ..GateEvidence::default() },
        )
    };
    assert_eq!(is(45), Verdict::Pass);
    assert_eq!(is(44), Verdict::Pass, "2 points less are within the margin of 10");
    assert_eq!(is(42), Verdict::Inconclusive);
    assert_eq!(is(35), Verdict::Block);
}

#[test]
fn a_baseline_without_common_items_decides_nothing() {
    let mut other = run(30, 30);
    other.iter_mut().for_each(|item| item.item.insert(0, 'x'));
    let run = run(30, 30);
    let evidence = GateEvidence { run: &run, baseline: Some(&other), ..GateEvidence::default() };
    let decision = decide(&GateRule::default(), Look::Only, &evidence).unwrap();
    assert_eq!(decision.reasons, [Reason::NothingToCompare]);
    assert_eq!(decision.verdict, Verdict::Inconclusive);
}

/// Each step is within the margin of the last; the sum is not.
#[test]
fn quality_cannot_creep_down_by_steps() {
    let (best, baseline, candidate) = (run(100, 95), run(100, 83), run(100, 80));
    let step =
        GateEvidence { run: &candidate, baseline: Some(&baseline), ..GateEvidence::default() };
    assert_eq!(verdict(&GateRule::default(), &step), Verdict::Pass);
    let held = GateEvidence { best: Some(&best), ..step };
    assert_ne!(verdict(&GateRule::default(), &held), Verdict::Pass);
    let far = run(100, 70);
    let held = GateEvidence { run: &far, best: Some(&best), ..GateEvidence::default() };
    assert_eq!(verdict(&GateRule::default(), &held), Verdict::Block);
}

#[test]
fn a_critical_item_that_fails_again_blocks_alone() {
    let pinned = [PinnedItem { item: "item-039".to_owned(), history: (6, 6) }];
    let run = run(40, 39);
    // Two trials each, of which one was planned.
    let evidence = GateEvidence {
        run: &run,
        pinned: &pinned,
        planned_repeats: Some(1),
        ..GateEvidence::default()
    };
    assert_eq!(verdict(&at_least(0.7), &evidence), Verdict::Block);
    let planned = GateEvidence { planned_repeats: None, ..evidence };
    assert_eq!(verdict(&at_least(0.7), &planned), Verdict::Inconclusive, "no re-run yet");
    assert_eq!(verdict(&at_least(0.7), &GateEvidence { pinned: &[], ..evidence }), Verdict::Pass);
}

#[test]
fn a_broken_target_is_no_verdict() {
    let mut broken = run(20, 20);
    let mut fail = |count: usize| {
        for item in broken.iter_mut().take(count) {
            item.trials[0] = Trial { is_fault: true, ..Trial::scored(0.0) };
        }
        decide(
            &at_least(0.5),
            Look::Only,
            &GateEvidence { run: &broken, ..GateEvidence::default() },
        )
    };
    assert!(fail(4).is_ok(), "4 of 40 trials");
    let said = fail(5).unwrap_err().to_string();
    assert!(said.contains("5 of 40 trials") && said.contains("(item-000, item-001, "), "{said}");
    let none = decide(&GateRule::default(), Look::Only, &GateEvidence::default());
    assert_eq!(none, Err(CouldNotRun::NoItems));
}

#[test]
fn a_second_look_is_planned_only_where_repeats_differ() {
    let mut items = run(10, 10);
    assert_eq!(Look::first(&items), Look::Only);
    items[0].trials[0].value = 0.0;
    assert_eq!(Look::first(&items), Look::First);
    items.iter_mut().for_each(|item| item.trials.truncate(1));
    assert_eq!(Look::first(&items), Look::First, "one trial does not show whether it varies");
}

#[test]
fn rules_are_checked() {
    for rule in [
        at_least(70.0),
        GateRule { confidence: 95.0, ..GateRule::default() },
        GateRule { margin: 10.0, ..GateRule::default() },
        GateRule { margin: f64::NAN, ..GateRule::default() },
    ] {
        rule.validated().unwrap_err();
    }
    GateRule::default().validated().unwrap();
}
