use proptest::prelude::*;

use super::*;
use crate::stats::near;

const EXAMPLE: [u64; 6] = [20, 10, 20, 150, 120, 680];
const UNPLANNED: SamplePlan =
    SamplePlan { capacity: 250, half_width: None, flagged_share: FLAGGED_SHARE, spot_share: 0.0 };

fn counts(populations: &[u64]) -> Counts {
    Category::ALL.into_iter().zip(populations.iter().copied()).collect()
}

fn allocated(plan: SamplePlan, populations: &[u64]) -> Vec<u64> {
    let taken = plan.allocate(&counts(populations));
    let of = |category: &Category| taken.get(category).copied().unwrap_or(0);
    Category::ALL.iter().take(populations.len()).map(of).collect()
}

#[track_caller]
fn check(capacity: usize, populations: [u64; 6], want: [u64; 6]) {
    let plan = SamplePlan { capacity, ..UNPLANNED };
    assert_eq!(allocated(plan, &populations), want, "capacity {capacity}");
}

/// The documents' worked example, its edges, and the floor of two in every category.
#[test]
fn places_go_to_disagreements_then_feedback_then_flags() {
    check(250, EXAMPLE, [20, 10, 20, 150, 40, 10]);
    check(205, EXAMPLE, [20, 10, 20, 150, 3, 2]);
    check(100, EXAMPLE, [20, 10, 20, 46, 2, 2]);
    check(25, EXAMPLE, [2, 10, 7, 2, 2, 2]);
    check(250, [20, 10, 20, 150, 10, 680], [20, 10, 20, 150, 10, 40]);
    check(250, [20, 10, 20, 150, 120, 5], [20, 10, 20, 150, 45, 5]);
    check(30, [0, 0, 0, 0, 120, 680], [0, 0, 0, 0, 24, 6]);
    check(5_000, EXAMPLE, EXAMPLE);
    check(50, [0; 6], [0; 6]);
    check(4, EXAMPLE, [1, 1, 1, 1, 0, 0]);
}

#[test]
fn quiet_traffic_gets_what_the_half_width_needs_before_feedback_does() {
    let plan = SamplePlan { capacity: 50, half_width: Some(0.1), ..UNPLANNED };
    assert_eq!(allocated(plan, &EXAMPLE), [7, 10, 20, 2, 2, 9]);
    let plan = SamplePlan { half_width: Some(0.1), ..UNPLANNED };
    assert_eq!(allocated(plan, &EXAMPLE), [20, 10, 20, 150, 40, 10], "the split gives more");
    let spots = SamplePlan { capacity: 60, spot_share: 0.1, half_width: Some(0.1), ..UNPLANNED };
    assert_eq!(spots.allocate(&counts(&EXAMPLE)).values().sum::<u64>(), 54);
}

#[test]
fn traces_without_a_verdict_are_sampled_by_their_feedback() {
    let plan = SamplePlan { capacity: 50, ..UNPLANNED };
    let outage = [0, 0, 0, 0, 0, 0, 10, 30, 400];
    assert_eq!(allocated(plan, &outage), [0, 0, 0, 0, 0, 0, 10, 30, 10]);
    let half = allocated(plan, &[0, 0, 0, 0, 100, 300, 0, 0, 100]);
    assert_eq!(half, [0, 0, 0, 0, 40, 8, 0, 0, 2], "quiet traffic shares by its size");
}

fn planned(population: u64, taken: u64, accuracy: f64) -> PlannedStratum {
    PlannedStratum { population, taken, accuracy }
}

/// Reference values of the frontier between failures found and precision.
#[test]
fn a_plan_states_its_half_width() {
    let tier_1 = planned(200, 200, 0.855);
    let split = |w5, w6| half_width(&[tier_1, planned(120, w5, 0.2), planned(680, w6, 0.95)]);
    near(split(45, 5).unwrap(), 0.129_997_348_052_910_22);
    near(split(40, 10).unwrap(), 0.092_055_940_042_681_92);
    near(split(25, 25).unwrap(), 0.059_483_516_602_179_17);
    near(split(12, 38).unwrap(), 0.052_618_947_719_590_75);
    assert_eq!(split(50, 0), None, "a category without samples leaves the accuracy unknown");
    let w6 = |wanted| needed(planned(680, 0, 0.95), &[tier_1, planned(120, 40, 0.2)], wanted);
    let table = [(0.1, 9), (0.08, 14), (0.06, 24), (0.05, 35), (0.04, 54), (0.03, 97)];
    for (wanted, n) in table {
        assert_eq!(w6(wanted), n, "±{wanted}");
    }
}

proptest! {
    #[test]
    fn no_place_is_wasted_and_no_category_is_left_out(
        populations in prop::collection::vec(prop_oneof![Just(0), 1..6_u64, 1..400_u64], 9),
        capacity in 0..300_usize,
        half_width in prop::option::of(0.02..0.3_f64),
        flagged_share in 0.0..=1.0_f64,
    ) {
        let plan = SamplePlan { capacity, half_width, flagged_share, spot_share: 0.0 };
        let taken = plan.allocate(&counts(&populations));
        let all: u64 = populations.iter().sum();
        prop_assert_eq!(taken.values().sum::<u64>(), all.min(capacity as u64));
        let floors: u64 = populations.iter().map(|n| (*n).min(FLOOR)).sum();
        let of = |category: Category| taken.get(&category).copied().unwrap_or(0);
        let population = |category: Category| populations[category as usize];
        for category in Category::ALL {
            prop_assert!(of(category) <= population(category));
            if floors <= capacity as u64 {
                prop_assert!(of(category) >= population(category).min(FLOOR), "{}", category);
            }
        }
        // Feedback is filled up in its order: a later category gets more than its floor only
        // where the earlier one is reviewed in full.
        for pair in TIER_1.windows(2) {
            let [first, second] = [pair[0], pair[1]];
            if of(second) > FLOOR {
                prop_assert_eq!(of(first), population(first), "{} before {}", first, second);
            }
        }
    }
}
