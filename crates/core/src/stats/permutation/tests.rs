use super::*;
use crate::stats::near_by;

fn column(values: &[f64]) -> Vec<Row> {
    values.iter().map(|value| vec![Some(*value)]).collect()
}

/// Of 2^5 sign changes only two leave all five on one side.
#[test]
fn five_of_five_can_be_chance() {
    near_by(paired(&column(&[0.2; 5]), 0)[0], 2.0 / 32.0, 1e-12);
    near_by(paired(&column(&[0.2; 12]), 0)[0], 2.0 / 4_096.0, 1e-12);
}

/// All 20 ways to split 1 to 6 into two groups of three: two are as far apart as 1, 2, 3 and
/// 4, 5, 6. Random splits come close to that.
#[test]
fn groups_that_do_not_overlap() {
    let p = two_groups(&column(&[1.0, 2.0, 3.0]), &column(&[4.0, 5.0, 6.0]), 1)[0];
    near_by(p, 0.1, 0.01);
}

#[test]
fn equal_and_missing_values_are_no_difference() {
    let nothing: Vec<Row> = (0..6).map(|_| vec![Some(0.0), None]).collect();
    assert_eq!(paired(&nothing, 0), [1.0, 1.0]);
    assert_eq!(two_groups(&nothing, &nothing, 0), [1.0, 1.0]);
    assert_eq!(paired(&[], 0), [0.0; 0]);
    assert_eq!(two_groups(&[], &[], 0), [0.0; 0]);
}

#[test]
fn more_measures_need_clearer_differences() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut noise = || f64::from(random.next_u32()) / f64::from(u32::MAX) - 0.5;
    let rows: Vec<Row> = (0..12)
        .map(|_| {
            let first = 0.25 + noise() * 0.8;
            std::iter::once(Some(first)).chain((0..8).map(|_| Some(noise()))).collect()
        })
        .collect();
    let alone: Vec<Row> = rows.iter().map(|row| row[..1].to_vec()).collect();
    assert!(paired(&alone, 0)[0] < paired(&rows, 0)[0]);
}

/// In weeks that do not differ, an alarm in any of eight measures at 5% is raised in about 5%.
#[test]
fn the_false_alarm_rate_is_that_of_all_measures_together() {
    let mut random = ChaCha8Rng::seed_from_u64(8);
    let mut week = || -> Vec<Row> {
        let mut mark = || match random.next_u32() % 10 {
            0 => 0.0,
            1 | 2 => 0.5,
            _ => 1.0,
        };
        (0..13).map(|_| (0..8).map(|_| Some(mark())).collect()).collect()
    };
    let differences = |one: &[Row], other: &[Row]| -> Vec<Row> {
        let minus = |(a, b): (&Option<f64>, &Option<f64>)| Some(a.as_ref()? - b.as_ref()?);
        let of = |(a, b): (&Row, &Row)| a.iter().zip(b).map(minus).collect();
        one.iter().zip(other).map(of).collect()
    };
    let is_alarm = |p_values: Vec<f64>| p_values.iter().any(|p| *p <= 0.05);
    let alarms = (0..60)
        .filter(|seed| {
            let (one, other) = (week(), week());
            is_alarm(paired(&differences(&one, &other), *seed))
        })
        .count();
    // With 60 cases 5% are 3; 9 and more have a probability below 0.3%.
    assert!(alarms < 9, "{alarms} of 60");
}
