use super::*;
use crate::review::estimate::TraceReview;
use crate::stats::near;
use crate::stats::prediction_powered::Moments;

fn stratum(category: Category, population: u64, taken: u64, correct: u64) -> ReviewedStratum {
    let review = |n| TraceReview { correct: n < correct, quality: None, in_dataset: false };
    let reviews = (0..taken).map(review).collect();
    ReviewedStratum { category, population, quality: Moments::default(), reviews }
}

/// The documents' worked example.
fn example() -> WeekFacts {
    let sizes =
        [(20, 20, 3), (10, 10, 2), (20, 20, 16), (150, 150, 150), (120, 40, 8), (680, 10, 9)];
    let strata: Vec<_> = Category::ALL
        .into_iter()
        .zip(sizes)
        .map(|(category, (population, taken, correct))| {
            stratum(category, population, taken, correct)
        })
        .collect();
    let reviewed = strata
        .iter()
        .flat_map(|stratum| {
            let judged_good = stratum.category.judged_good();
            let one =
                move |review: &TraceReview| ReviewedTrace { correct: review.correct, judged_good };
            stratum.reviews.iter().map(one)
        })
        .collect();
    WeekFacts {
        traces: 1_000,
        strata,
        basis: Basis::Drawn,
        drawn: 250,
        drawn_reviewed: 250,
        reviewed,
        thumbs_up: 170,
        thumbs_down: 30,
        items_added: 12,
        targets: AgentTargets::default(),
        new_patterns: Some(Vec::new()),
        ..WeekFacts::default()
    }
}

#[test]
fn metrics_are_raw_weighted_and_against_their_target() {
    let metrics = example().metrics(None);
    let names: Vec<&str> = metrics.iter().map(|metric| metric.name.as_str()).collect();
    let want = [
        "agent_accuracy",
        "judge_accuracy",
        "user_satisfaction",
        "traces_reviewed",
        "dataset_growth",
    ];
    assert_eq!(names, want);
    let agent = &metrics[0];
    near(agent.raw.value.unwrap(), 0.752);
    near(agent.weighted.value.unwrap(), 0.807);
    assert_eq!((agent.raw.n, agent.weighted.n), (250, 250));
    assert_eq!(agent.standing, Standing::NotMet, "the interval ends at 0.865");
    near(metrics[1].raw.value.unwrap(), 0.856);
    near(metrics[1].weighted.value.unwrap(), 0.881);
    assert_eq!(metrics[1].standing, Standing::CannotTell);
    near(metrics[2].weighted.value.unwrap(), 0.85);
    assert_eq!(metrics[3].standing, Standing::Met);
    assert_eq!(metrics[4].weighted.interval, Some([12.0, 12.0]));
}

#[test]
fn targets_are_met_by_bounds_and_not_by_estimates() {
    let of = |lower, upper| Standing::of(Some(Interval { lower, upper }), 0.9);
    // 27 of 30 are 90%, and say little.
    assert_eq!(of(0.744, 0.965), Standing::CannotTell);
    assert_eq!(of(0.917, 1.0), Standing::Met);
    assert_eq!(of(0.5, 0.89), Standing::NotMet);
    assert_eq!(Standing::of(None, 0.9), Standing::CannotTell);
}

#[test]
fn an_empty_week_says_why_and_invents_nothing() {
    let metrics = WeekFacts::default().metrics(None);
    assert_eq!(metrics[0].raw, RawValue { value: None, n: 0 });
    assert_eq!(metrics[0].weighted.value, None);
    assert_eq!(metrics[0].weighted.reason.as_deref(), Some("no traces in this week"));
    assert_eq!(metrics[2].weighted.reason.as_deref(), Some("no thumbs in this week"));
    assert_eq!(metrics[3].standing, Standing::NotMet);
    assert!(metrics[..3].iter().all(|metric| metric.standing == Standing::CannotTell));
    let states: Vec<_> = WeekFacts::default().signals().iter().map(|one| one.state).collect();
    assert_eq!(states, [RuleState::Unknown; 6]);
}

#[test]
fn a_change_is_compared_with_the_week_before() {
    let (now, mut before) = (example(), example());
    before.strata[5] = stratum(Category::W6, 680, 10, 10);
    let metrics = now.metrics(Some(&before));
    near(metrics[0].change.unwrap().value, -0.068);
    assert!(!metrics[0].change.unwrap().signal, "one trace more or less is chance");
    before.strata[5] = stratum(Category::W6, 680, 680, 0);
    assert!(now.metrics(Some(&before))[0].change.unwrap().signal);
    assert!(now.metrics(None)[0].change.is_none());
}

#[test]
fn rules_say_when_to_go_back() {
    let signals = example().signals();
    let states: Vec<_> = signals.iter().map(|signal| signal.state).collect();
    use RuleState::{Off, On};
    assert_eq!(states, [Off, On, Off, Off, Off, On], "{signals:?}");
    let patterns = vec!["find_order failed".to_owned()];
    let found = WeekFacts { new_patterns: Some(patterns.clone()), ..example() }.signals();
    assert_eq!((found[4].state, &found[4].found), (On, &patterns));
}

#[test]
fn every_estimate_says_which_share_of_traffic_it_stands_for() {
    // Half of the traffic is that of agents without a sample.
    let half = WeekFacts { traces: 2_000, ..example() };
    let agent = &half.metrics(None)[0];
    near(agent.weighted.represents.unwrap(), 0.5);
    near(agent.prediction_powered.as_ref().unwrap().represents.unwrap(), 0.5);
}
