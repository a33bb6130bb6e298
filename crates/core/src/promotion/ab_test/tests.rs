use super::comparison::UnitMarks;
use super::*;
use crate::promotion::policy::{PromotionPolicy, SignerKind};
use crate::stats::interval::Interval;

const NOW: Timestamp = Timestamp::from_nanos(1_000_000_000_000);
const LABELS: Labels = Labels { control: Some(1), candidate: Some(2) };

fn spec() -> AbSpec {
    AbSpec {
        agent: "shop".to_owned(),
        prompt: "shop".to_owned(),
        control: "production".to_owned(),
        candidate: "next".to_owned(),
        share: 50,
        primary: Mark::Quality,
        max_units: 400,
        max_days: 14,
        window_hours: 24,
    }
}

fn ann() -> Signer {
    Signer { kind: SignerKind::Person, name: "ann@example.com".to_owned() }
}

fn test() -> AbTest {
    AbTest::start(spec(), LABELS, (ann(), NOW), &Responsible::default()).unwrap()
}

fn units(n: usize, control: f64, candidate: f64) -> AbSample {
    let unit = |index: usize| {
        let arm = if index.is_multiple_of(2) { Arm::Control } else { Arm::Candidate };
        let quality = if arm == Arm::Control { control } else { candidate };
        UnitMarks { arm, marks: [Some(quality), None, Some(1.0), None, None], as_assigned: true }
    };
    AbSample { units: (0..n).map(unit).collect(), ..AbSample::default() }
}

#[test]
fn an_error_names_its_field() {
    let with = |change: fn(&mut AbSpec)| {
        let mut one = spec();
        change(&mut one);
        one.checked().map_err(|invalid| invalid.field)
    };
    assert!(with(|_| ()).is_ok());
    assert_eq!(with(|spec| spec.candidate = "production".to_owned()), Err("candidate"));
    assert_eq!(with(|spec| spec.candidate = "latest".to_owned()), Err("candidate"));
    assert_eq!(with(|spec| spec.control = "Not plain".to_owned()), Err("control"));
    assert_eq!(with(|spec| spec.share = 100), Err("share"));
    assert_eq!(with(|spec| spec.max_units = 0), Err("maxUnits"));
    assert_eq!(with(|spec| spec.max_days = 91), Err("maxDays"));
    assert_eq!(with(|spec| spec.window_hours = 999), Err("windowHours"));
}

#[test]
fn the_assignment_stays_has_its_share_and_differs_between_tests() {
    let mut test = test();
    test.spec.share = 20;
    let users: Vec<String> = (0..10_000).map(|number| format!("user-{number}")).collect();
    let arms = |id: &str| users.iter().map(|user| test.arm(id, user)).collect::<Vec<_>>();
    let one = arms("one");
    assert_eq!(one, arms("one"));
    let candidates = one.iter().filter(|arm| **arm == Arm::Candidate).count();
    assert!((1_850..=2_150).contains(&candidates), "{candidates}");
    // Independent: 4% are candidates in both.
    let both = one.iter().zip(arms("two")).filter(|(a, b)| **a == Arm::Candidate && **a == *b);
    assert!((330..=470).contains(&both.count()));
}

#[test]
fn a_test_needs_two_versions_and_whoever_may_approve_where_promotion_is_required() {
    let start = |labels: Labels, author: Signer, responsible: &Responsible| {
        AbTest::start(spec(), labels, (author, NOW), responsible).map_err(|why| why.to_string())
    };
    let free = Responsible::default();
    let missing = start(Labels { candidate: None, ..LABELS }, ann(), &free).unwrap_err();
    assert!(
        missing.contains("candidate: no version of prompt shop has the label next"),
        "{missing}"
    );
    let same = start(Labels { candidate: Some(1), ..LABELS }, ann(), &free).unwrap_err();
    assert!(same.contains("both labels are at version 1"), "{same}");
    let policy = PromotionPolicy {
        is_required: true,
        approvers: vec!["ben@example.com".to_owned()],
        ..PromotionPolicy::default()
    };
    let strict = Responsible { owner: None, policy };
    let refused = start(LABELS, ann(), &strict).unwrap_err();
    assert!(refused.contains("ben@example.com"), "{refused}");
    let ben = Signer { name: "ben@example.com".to_owned(), ..ann() };
    assert!(start(LABELS, ben, &strict).is_ok());
}

#[test]
fn stop_rules_end_a_test_and_everybody_gets_the_control_again() {
    let ended = |units: &AbSample, labels: Labels, now: Timestamp| {
        let mut test = test();
        test.look(units, labels, (ann(), now));
        test
    };
    let end = |test: &AbTest| test.outcome.as_ref().map(|outcome| outcome.end);
    let harm = ended(&units(200, 0.9, 0.4), LABELS, NOW);
    assert_eq!(end(&harm), Some(AbEnd::Harm));
    assert_eq!(harm.served(Arm::Candidate), ("production", 1));
    assert_eq!(end(&ended(&units(200, 0.4, 0.9), LABELS, NOW)), Some(AbEnd::Winner));
    assert_eq!(end(&ended(&units(399, 0.9, 0.9), LABELS, NOW)), None);
    assert_eq!(end(&ended(&units(400, 0.9, 0.9), LABELS, NOW)), Some(AbEnd::NoDifference));
    let later = NOW.plus_nanos(14 * 24 * NANOS_PER_HOUR);
    assert_eq!(end(&ended(&AbSample::default(), LABELS, later)), Some(AbEnd::NoDifference));
    let moved = Labels { candidate: Some(3), ..LABELS };
    assert_eq!(end(&ended(&units(200, 0.4, 0.9), moved, NOW)), Some(AbEnd::LabelMoved));
    let mut running = ended(&units(20, 0.9, 0.9), LABELS, NOW);
    assert_eq!(running.served(Arm::Candidate), ("next", 2));
    running.stop("enough", (ann(), NOW)).unwrap();
    assert!(running.stop("again", (ann(), NOW)).is_err());
    running.look(&units(200, 0.4, 0.9), LABELS, (ann(), NOW));
    assert_eq!(end(&running), Some(AbEnd::Stopped));
}

#[test]
fn intervals_hold_the_means_and_exclude_zero_where_a_version_wins() {
    let compared = |control: f64, candidate: f64| {
        let units = units(200, control, candidate).units;
        AbResult::compare(&units, 50, Mark::Quality).with_intervals(&units, 50)
    };
    let result = compared(0.4, 0.9);
    let quality = &result.marks[0];
    let holds = |interval: Option<Interval>, value: f64| {
        interval.is_some_and(|one| one.lower <= value && value <= one.upper)
    };
    assert!(holds(quality.control_interval, 0.4) && holds(quality.candidate_interval, 0.9));
    let difference = quality.difference_interval.unwrap();
    assert!(difference.lower > 0.0 && difference.upper >= 0.5, "{difference:?}");
    let same = compared(0.7, 0.7);
    assert!(holds(same.marks[0].difference_interval, 0.0));
    // Nobody thumbed, and latency has no highest value.
    assert_eq!(result.marks[1].difference_interval, None);
    assert_eq!(result.marks[3].control_interval, None);
}
