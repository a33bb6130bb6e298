//! Reference tables for several agreement statistics at once. Kappa and alpha are from scikit-learn
//! and krippendorff, proportions from Wilson's formula, AC1 exact or from irrCAC, which rounds to
//! five places.

use super::alpha::{Distance, alpha};
use super::categories::{Confusion, Weighting};
use super::interval::{Estimate, Interval, share};
use super::undefined::Undefined;
use super::{agreement, near, near_by};

/// Expands a table to pairs of categories: the person's and the judge's.
fn verdicts(rows: &[&[u64]]) -> Vec<(usize, usize)> {
    let cell = |row: usize, column: usize, count: u64| (0..count).map(move |_| (row, column));
    let row = |(row, counts): (usize, &&[u64])| -> Vec<(usize, usize)> {
        counts.iter().enumerate().flat_map(|(column, count)| cell(row, column, *count)).collect()
    };
    rows.iter().enumerate().flat_map(row).collect()
}

fn alpha_of(rows: &[&[u64]], distance: Distance) -> f64 {
    let value = |category: usize| f64::from(u8::try_from(category).unwrap());
    let things: Vec<_> =
        verdicts(rows).into_iter().map(|(one, other)| vec![value(one), value(other)]).collect();
    alpha(&things, distance).unwrap().value
}

#[track_caller]
fn within(estimate: Estimate, [value, lower, upper]: [f64; 3]) {
    let interval = estimate.interval.unwrap();
    near(estimate.value, value);
    near(interval.lower, lower);
    near(interval.upper, upper);
}

/// Two people on the same runs of web agents (AgentRewardBench): the human ceiling.
#[test]
fn people_who_looked_at_the_same_runs() {
    #[track_caller]
    fn check(rows: &[&[u64]], same: [f64; 3], kappa: f64, alpha: f64, ac1: f64) {
        let table = Confusion::of(rows.len(), verdicts(rows));
        within(table.agreement().unwrap(), same);
        near(table.kappa(Weighting::Same).unwrap().value, kappa);
        near(alpha_of(rows, Distance::Nominal), alpha);
        near_by(table.ac1().unwrap().value, ac1, 1e-5);
    }
    check(
        &[&[60, 6], &[6, 33]],
        [0.885_714_285_714_285_7, 0.810_798_732_119_048_5, 0.933_402_979_964_209_5],
        0.755_244_755_244_755_2,
        0.756_410_256_410_256_4,
        0.7856,
    );
    check(
        &[&[98, 3], &[1, 4]],
        [0.962_264_150_943_396_2, 0.906_965_843_891_179, 0.985_229_152_899_384_4],
        0.647_254_575_707_154_8,
        0.648_333_333_333_333_3,
        0.957_75,
    );
    check(
        &[&[64, 4], &[7, 31]],
        [0.896_226_415_094_339_6, 0.823_678_156_615_894_3, 0.941_060_412_061_731_5],
        0.770_382_040_173_296_6,
        0.771_262_442_101_113_6,
        0.810_79,
    );
    let optimality: [&[u64]; 4] = [&[18, 5, 0, 0], &[15, 11, 4, 0], &[1, 4, 6, 6], &[0, 2, 4, 29]];
    check(
        &optimality,
        [0.609_523_809_523_809_6, 0.513_924_452_919_677_1, 0.697_392_082_610_137],
        0.469_827_586_206_896_6,
        0.469_181_688_657_622_55,
        0.483_47,
    );
    let table = Confusion::of(4, verdicts(&optimality));
    near(table.kappa(Weighting::Quadratic).unwrap().value, 0.837_158_808_933_002_4);
    near(alpha_of(&optimality, Distance::Ordinal), 0.825_887_660_840_935_7);
}

/// Binary ratings, with the intervals of all statistics shown beside kappa.
#[test]
fn right_or_wrong() {
    #[track_caller]
    fn check(rows: &[&[u64]], alpha: f64, same: [f64; 2], found: [f64; 2], spared: [f64; 2]) {
        let table = Confusion::of(2, verdicts(rows));
        near(alpha_of(rows, Distance::Nominal), alpha);
        let shares =
            [(table.agreement(), same), (table.found(0), found), (table.spared(0), spared)];
        for (share, [lower, upper]) in shares {
            let interval = share.unwrap().interval.unwrap();
            near(interval.lower, lower);
            near(interval.upper, upper);
        }
    }
    check(
        &[&[40, 5], &[9, 46]],
        0.720_393_416_298_675_1,
        [0.778_628_117_890_361_6, 0.914_736_563_400_608_6],
        [0.765_009_030_042_314, 0.951_595_282_054_328_1],
        [0.717_362_542_609_428_3, 0.911_445_796_639_077_2],
    );
    check(
        &[&[90, 4], &[5, 1]],
        0.138_528_138_528_138_5,
        [0.837_737_871_472_836_8, 0.951_927_459_997_434_9],
        [0.895_643_542_181_182_7, 0.983_329_451_849_957_2],
        [0.030_053_369_748_306_635, 0.563_502_822_186_470_3],
    );
    check(
        &[&[171, 15], &[9, 55]],
        0.755_811_108_392_463_9,
        [0.861_134_174_786_402_8, 0.934_638_119_221_278],
        [0.871_217_333_427_727_6, 0.950_520_978_999_288_1],
        [0.753_837_182_584_229_7, 0.924_214_274_439_691_4],
    );
    check(
        &[&[29, 1], &[1, 1]],
        0.475,
        [0.798_528_768_558_454_1, 0.982_689_432_968_359_1],
        [0.833_296_090_085_908_1, 0.994_091_409_618_387_5],
        [0.094_531_205_734_230_68, 0.905_468_794_265_769_3],
    );
}

#[test]
fn ac1_to_the_last_digit() {
    let ac1 = |rows: &[&[u64]]| Confusion::of(rows.len(), verdicts(rows)).ac1().unwrap().value;
    near(ac1(&[&[46, 9], &[5, 40]]), 0.721_004_384_216_819_4);
    near(ac1(&[&[1, 5], &[4, 90]]), 0.899_559_176_385_246_3);
    near(ac1(&[&[55, 9], &[15, 171]]), 0.842_013_797_461_688_4);
    let five: [&[u64]; 5] =
        [&[1, 1, 0, 0, 0], &[0, 2, 2, 0, 0], &[0, 1, 3, 1, 0], &[0, 0, 0, 3, 2], &[0, 0, 0, 1, 3]];
    near(ac1(&five), 0.503_298_409_002_716_3);
}

#[test]
fn shares_to_the_last_digit() {
    #[track_caller]
    fn check(successes: u64, tries: u64, [lower, upper]: [f64; 2]) {
        let interval = share(successes, tries).unwrap().interval.unwrap();
        near(interval.lower, lower);
        near(interval.upper, upper);
    }
    check(26, 30, [0.703_186_733_179_637, 0.946_903_445_159_452_6]);
    check(30, 30, [0.886_486_606_826_031_1, 1.0]);
    check(90, 100, [0.825_634_338_495_086_5, 0.944_770_862_939_324_9]);
    check(85, 100, [0.767_164_404_091_676_3, 0.906_940_147_163_433_7]);
}

/// Each statistic on edge-case input: a number, or why it is undefined.
#[test]
fn edges() {
    struct Edge {
        pearson: Result<f64, Undefined>,
        kappa: Result<f64, Undefined>,
        alpha: Result<f64, Undefined>,
        error: Result<f64, Undefined>,
        bias: Result<f64, Undefined>,
    }
    #[track_caller]
    fn same(is: Result<Estimate, Undefined>, want: Result<f64, Undefined>) {
        match (is.map(|estimate| estimate.value), want) {
            (Ok(is), Ok(want)) => near(is, want),
            (is, want) => assert_eq!(is, want),
        }
    }
    #[track_caller]
    fn check(human: &[u8], judge: &[u8], want: &Edge) {
        let both = || human.iter().copied().zip(judge.iter().copied());
        let rated: Vec<agreement::RatingPair> = both()
            .map(|(human, judge)| agreement::RatingPair {
                human: human.into(),
                judge: judge.into(),
            })
            .collect();
        same(agreement::pearson(&rated), want.pearson);
        same(agreement::spearman(&rated), want.pearson);
        let table = Confusion::of(6, both().map(|(human, judge)| (human.into(), judge.into())));
        same(table.kappa(Weighting::Same), want.kappa);
        let things: Vec<Vec<f64>> =
            both().map(|(human, judge)| vec![human.into(), judge.into()]).collect();
        same(alpha(&things, Distance::Interval), want.alpha);
        same(agreement::mean_absolute_error(&rated), want.error);
        let apart: Vec<f64> = rated.iter().map(|pair| pair.judge - pair.human).collect();
        same(super::interval::mean(&apart), want.bias);
    }
    let constant = Err(Undefined::ConstantInput);
    let one = Err(Undefined::TooFew { have: 1, needed: 2 });
    let all = |pearson, kappa, alpha, error, bias| Edge { pearson, kappa, alpha, error, bias };
    let edge = all(constant, Ok(0.0), Ok(0.1), Ok(1.2), Ok(0.0));
    check(&[1, 2, 3, 4, 5], &[3; 5], &edge);
    check(&[5; 6], &[5; 6], &all(constant, constant, constant, Ok(0.0), Ok(0.0)));
    let edge = all(constant, Ok(0.0), Ok(-0.833_333_333_333_333_3), Ok(1.0), Ok(-1.0));
    check(&[5; 6], &[4; 6], &edge);
    check(&[1], &[1], &all(one, one, constant, Ok(0.0), Ok(0.0)));
    check(&[0, 1], &[0, 1], &all(Ok(1.0), Ok(1.0), Ok(1.0), Ok(0.0), Ok(0.0)));
    let kappa = Ok(-0.333_333_333_333_333_3);
    check(&[1, 2, 3, 4], &[4, 3, 2, 1], &all(Ok(-1.0), kappa, Ok(-0.75), Ok(2.0), Ok(0.0)));
    let empty = Err(Undefined::Empty);
    check(&[], &[], &all(empty, empty, empty, empty, empty));
}

/// Coverage: on the documented sampling design, MOVER's interval contains the true value in
/// nineteen of twenty weeks, where an unweighted interval fails.
#[test]
fn intervals_of_weighted_shares_hold_the_truth() {
    use super::stratified::{Stratum, share};
    const POPULATION: [u64; 6] = [20, 10, 20, 150, 120, 680];
    const RIGHT: [u64; 6] = [3, 2, 16, 150, 24, 646];
    const SAMPLED: [u64; 6] = [20, 10, 20, 150, 40, 10];
    let mut seed = 0x2026_1115_u64;
    // Marsaglia's xorshift generator: the same numbers each time.
    let mut chance = |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    let mut held = 0_u32;
    for _ in 0..2_000 {
        let strata: Vec<Stratum> = (0..6)
            .map(|kind| {
                let (mut right, mut left) = (RIGHT[kind], POPULATION[kind]);
                let values = (0..SAMPLED[kind]).map(|_| {
                    let is_right = chance(left) < right;
                    left -= 1;
                    right -= u64::from(is_right);
                    f64::from(u8::from(is_right))
                });
                Stratum { population: POPULATION[kind], values: values.collect() }
            })
            .collect();
        let Interval { lower, upper } = share(&strata).unwrap().interval.unwrap();
        held += u32::from((lower..=upper).contains(&0.841));
    }
    let coverage = f64::from(held) / 2_000.0;
    assert!((0.92..0.96).contains(&coverage), "{coverage}");
}
