use super::*;
use crate::stats::near_by;

/// One contrast of two groups.
fn two_groups(earlier: &[Row], later: &[Row], seed: u64) -> Vec<f64> {
    let subjects: Vec<Row> = earlier.iter().chain(later).cloned().collect();
    let (first, all) = (earlier.len(), subjects.len());
    let contrast = Contrast { earlier: (0..first).collect(), later: (first..all).collect() };
    contrasts(&subjects, &[(0..all).collect()], &[contrast], seed).remove(0)
}

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
/// 4, 5, 6. Random splits come close to that; the stopping rule errs on the side of no alarm.
#[test]
fn groups_that_do_not_overlap() {
    let (low, high) = (column(&[1.0, 2.0, 3.0]), column(&[4.0, 5.0, 6.0]));
    let mean = (0..100).map(|seed| two_groups(&low, &high, seed)[0] / 100.0).sum::<f64>();
    near_by(mean, 0.11, 0.01);
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

/// Two strata of different levels, unequally spread over the groups: the groups differ, but not
/// within a stratum.
#[test]
fn a_different_mix_of_strata_is_no_difference() {
    let level = |index: usize| if index.is_multiple_of(4) { 0.2 } else { 0.8 };
    let noise = |index: usize| f64::from(u32::try_from(index * 7 % 10).unwrap()) / 100.0;
    let subjects: Vec<Row> = (0..80).map(|index| vec![Some(level(index) + noise(index))]).collect();
    let (low, high): (Vec<usize>, Vec<usize>) = (0..80).partition(|index| level(*index) < 0.5);
    // All of the low level but one, and a few of the high level.
    let earlier: Vec<usize> = low[1..].iter().chain(&high[..5]).copied().collect();
    let later: Vec<usize> = low[..1].iter().chain(&high[5..]).copied().collect();
    let contrast = [Contrast { earlier, later }];
    let p = |strata: &[Vec<usize>]| contrasts(&subjects, strata, &contrast, 1)[0][0];
    assert!(p(&[(0..80).collect()]) < 0.001);
    assert!(p(&[low, high]) > 0.1);
}

#[test]
fn contrasts_are_corrected_for_their_number() {
    let rows: Vec<Row> = (0..48_u32).map(|at| vec![Some(f64::from(at * 29 % 48))]).collect();
    let split = |from: usize| Contrast {
        earlier: (from..from + 6).collect(),
        later: (from + 6..from + 12).collect(),
    };
    let strata: Vec<Vec<usize>> = (0..4).map(|at| (at * 12..at * 12 + 12).collect()).collect();
    let all = contrasts(&rows, &strata, &[0, 12, 24, 36].map(split), 5);
    let alone = [0, 12, 24, 36].map(|from| contrasts(&rows, &strata, &[split(from)], 5)[0][0]);
    let least = |values: &[f64]| values.iter().copied().fold(1.0, f64::min);
    let all: Vec<f64> = all.iter().map(|found| found[0]).collect();
    assert!(least(&all) > least(&alone) * 2.0, "{all:?} {alone:?}");
    assert_eq!(contrasts(&[], &[], &[], 0), Vec::<Vec<f64>>::new());
}

/// A clear difference does not hide another one: what is found next is held against the rest alone.
#[test]
fn a_second_difference_is_held_against_what_is_left() {
    let noise = |at: usize, seed: usize| f64::from(u32::try_from((at * seed) % 23).unwrap()) / 23.0;
    let rows: Vec<Row> = (0..24)
        .map(|at| {
            let is_later = f64::from(u8::from(at >= 12));
            vec![Some(noise(at, 7) + 9.0 * is_later), Some(noise(at, 5) + 0.33 * is_later)]
        })
        .collect();
    let second: Vec<Row> = rows.iter().map(|row| row[1..].to_vec()).collect();
    let (both, alone) =
        (two_groups(&rows[..12], &rows[12..], 2), two_groups(&second[..12], &second[12..], 2));
    assert!(both[0] <= both[1], "{both:?}");
    near_by(both[1], alone[0], 0.02);
}
