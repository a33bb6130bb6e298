//! Reference values of scipy and statsmodels, to 1e-9.

use super::bounds;
use super::mcnemar::McNemar;
use super::plan::{detectable_drop, planned_error};
use super::replay::{agents, means_of};
use crate::stats::near;

#[test]
fn exact_mcnemar() {
    let cases = [
        (0, 0, 1.0, 1.0),
        (1, 0, 0.5, 1.0),
        (3, 0, 0.125, 0.25),
        (5, 0, 0.031_25, 0.062_5),
        (6, 0, 0.015_625, 0.031_25),
        (5, 1, 0.109_375, 0.218_75),
        (8, 2, 0.054_687_5, 0.109_375),
        (10, 10, 0.588_098_526_000_976_6, 1.0),
        (12, 5, 0.071_731_567_382_812_5, 0.143_463_134_765_625),
        (20, 9, 0.030_714_172_869_920_73, 0.061_428_345_739_841_46),
        (1, 6, 0.992_187_5, 0.125),
    ];
    for (b, c, one_sided, two_sided) in cases {
        let test = McNemar::of(b, c);
        near(test.p_one_sided, one_sided);
        near(test.p_two_sided, two_sided);
    }
}

/// One-sided 95% lower bounds, and whether a point estimate at the threshold is enough.
#[test]
fn wilson_bounds_of_accuracy() {
    let cases = [
        (27, 30, 0.9, 0.774_497_520_509_151_4, false),
        (28, 30, 0.9, 0.817_284_437_124_912_4, false),
        (30, 30, 0.9, 0.917_275_691_874_900_8, true),
        (46, 50, 0.9, 0.833_302_105_279_853_5, false),
        (90, 100, 0.9, 0.839_644_490_388_907_8, false),
        (95, 100, 0.9, 0.900_838_914_720_947_1, true),
        (186, 200, 0.9, 0.894_230_078_517_694_4, false),
        (465, 500, 0.9, 0.908_825_171_274_554_4, true),
    ];
    for (right, n, least, lower, passes) in cases {
        let means: Vec<f64> = (0..n).map(|at| f64::from(u8::from(at < right))).collect();
        let bounds = bounds::accuracy(&means, 0.05).unwrap();
        near(bounds.lower(), lower);
        assert_eq!(bounds.lower() >= least, passes, "{right} of {n}");
    }
}

/// Two-sided 5%, as in the reference.
#[test]
fn smallest_detectable_drops() {
    let cases = [
        (30, 0.5, 0.0, 0.361_683_096_424_413_3),
        (30, 0.5, 0.5, 0.255_748_570_122_250_6),
        (30, 0.5, 0.8, 0.161_749_597_983_519_84),
        (30, 0.9, 0.0, 0.217_009_857_854_648),
        (30, 0.9, 0.5, 0.153_449_142_073_350_36),
        (30, 0.9, 0.8, 0.097_049_758_790_111_9),
        (50, 0.5, 0.0, 0.280_158_521_811_296_86),
        (50, 0.5, 0.5, 0.198_101_990_579_967_27),
        (50, 0.5, 0.8, 0.125_290_699_849_183_42),
        (50, 0.9, 0.0, 0.168_095_113_086_778_1),
        (50, 0.9, 0.5, 0.118_861_194_347_980_36),
        (50, 0.9, 0.8, 0.075_174_419_909_510_06),
        (1000, 0.9, 0.0, 0.037_587_209_954_755_03),
        (1000, 0.9, 0.5, 0.026_578_171_044_889_784),
        (1000, 0.9, 0.8, 0.016_809_511_308_677_805),
    ];
    for (n, p, correlation, drop) in cases {
        near(detectable_drop(planned_error(p, correlation, n), 0.025), drop);
    }

    near(detectable_drop(0.040_030_773_963_039_92, 0.05), 0.099_535_513_106_432_91);
    near(detectable_drop(0.028_336_967_865_796_536, 0.05), 0.070_459_158_221_790_45);
}

/// Accuracy and its standard error of real agents over five runs of 80 tasks.
#[test]
fn errors_are_clustered_by_item() {
    // The reference has other outcomes for the agent at 14.5%.
    let mut found: Vec<[f64; 2]> = agents()
        .iter()
        .filter(|agent| {
            (bounds::accuracy(&means_of(agent, &[0, 1, 2, 3, 4]), 0.05).unwrap().value - 0.145)
                .abs()
                > 1e-9
        })
        .map(|agent| {
            let bounds = bounds::accuracy(&means_of(agent, &[0, 1, 2, 3, 4]), 0.05).unwrap();
            [bounds.value, bounds.standard_error]
        })
        .collect();
    let mut expected = [
        [0.412_5, 0.049_917_901_348_113_64],
        [0.262_5, 0.041_622_372_289_431_13],
        [0.452_5, 0.050_589_493_721_522_91],
        [0.412_5, 0.050_167_687_558_826_21],
        [0.36, 0.043_069_710_934_716_11],
        [0.192_5, 0.033_808_976_248_919_5],
        [0.397_5, 0.045_893_048_220_836_3],
        [0.492_5, 0.049_110_048_615_329_284],
        [0.587_5, 0.049_287_897_855_356],
        [0.505, 0.049_620_434_298_784_67],
        [0.525, 0.048_137_173_784_924_33],
        [0.567_5, 0.052_254_634_961_886_454],
    ];
    let order = |one: &[f64; 2], other: &[f64; 2]| {
        // Two agents have the same accuracy except for its last bits.
        (one[0] - one[1]).total_cmp(&(other[0] - other[1]))
    };
    found.sort_by(order);
    expected.sort_by(order);
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        near(found[0], expected[0]);
        near(found[1], expected[1]);
    }
}

/// Paired differences of agents: the standard error over items.
#[test]
fn differences_are_paired_by_item() {
    let agents = agents();
    let expected = [
        [-0.082_499_999_999_999_99, 0.030_542_303_097_196_397],
        [0.02, 0.032_724_395_730_851_424],
        [1.3877787807814458e-18, 0.043_282_995_754_903_415],
    ];
    let all = [0, 1, 2, 3, 4];
    for [value, error] in expected {
        let is_it = |before: &Vec<Vec<f64>>, after: &Vec<Vec<f64>>| {
            let pairs = means_of(before, &all).into_iter().zip(means_of(after, &all));
            let differences: Vec<f64> = pairs.map(|(before, after)| after - before).collect();
            let found = bounds::difference(&differences, 0.05).unwrap();
            (found.value - value).abs() < 1e-9 && (found.standard_error - error).abs() < 1e-9
        };
        let found = agents.iter().any(|before| agents.iter().any(|after| is_it(before, after)));
        assert!(found, "no two agents differ by {value} with an error of {error}");
    }
}
