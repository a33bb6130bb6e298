use super::interval::{Estimate, Interval, Z_95};

/// What a judge says of all items, and how well it does on labelled ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgedPrevalence {
    /// Share of items that the judge calls positive.
    pub judged: f64,
    /// Number of judged items.
    pub n: f64,
    /// Share of true positives that the judge calls positive.
    pub sensitivity: f64,
    /// Labelled true positives, or their effective number where labels have weights.
    pub positives: f64,
    /// Share of true negatives that the judge calls negative.
    pub specificity: f64,
    /// Labelled true negatives, or their effective number.
    pub negatives: f64,
}

/// Returns the true prevalence behind the judge's (Rogan–Gladen), with the adjusted interval of Lee
/// et al.; `None` where the judge is no better than chance.
///
/// Sensitivity and specificity must be weighted by inclusion probability where labels are a
/// stratified sample.
pub fn corrected(of: JudgedPrevalence) -> Option<Estimate> {
    let better = of.sensitivity + of.specificity - 1.0;
    if better <= 0.0 {
        return None;
    }
    let value = ((of.judged + of.specificity - 1.0) / better).clamp(0.0, 1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of items, rounded down"
    )]
    Some(Estimate { value, interval: interval(of), n: of.n as u64 })
}

fn interval(of: JudgedPrevalence) -> Option<Interval> {
    let z2 = Z_95 * Z_95;
    let (n, m0, m1) = (of.n + z2, of.negatives + 2.0, of.positives + 2.0);
    let judged = (of.n * of.judged + z2 / 2.0) / n;
    let specificity = (of.negatives * of.specificity + 1.0) / m0;
    let sensitivity = (of.positives * of.sensitivity + 1.0) / m1;
    let better = specificity + sensitivity - 1.0;
    if better <= 0.0 {
        return None;
    }
    let centre = (judged + specificity - 1.0) / better;
    let of_negatives = specificity * (1.0 - specificity) / m0;
    let of_positives = sensitivity * (1.0 - sensitivity) / m1;
    let shift = 2.0 * z2 * (centre * of_positives - (1.0 - centre) * of_negatives);
    let variance = judged * (1.0 - judged) / n
        + (1.0 - centre).powi(2) * of_negatives
        + centre.powi(2) * of_positives;
    let half = Z_95 * variance.sqrt() / better;
    let end = |at: f64| at.clamp(0.0, 1.0);
    Some(Interval { lower: end(centre + shift - half), upper: end(centre + shift + half) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::near;

    #[track_caller]
    fn check(judged: [f64; 3], counts: [f64; 3], want: [f64; 3]) {
        let [judged, specificity, sensitivity] = judged;
        let [n, negatives, positives] = counts;
        let of = JudgedPrevalence { judged, n, sensitivity, positives, specificity, negatives };
        let found = corrected(of).unwrap();
        near(found.value, want[0]);
        near(found.interval.unwrap().lower, want[1]);
        near(found.interval.unwrap().upper, want[2]);
    }

    /// Reference values of the published formula.
    #[test]
    fn a_judges_errors_are_taken_out_of_its_count() {
        check(
            [0.4, 0.7, 0.9],
            [1000.0, 200.0, 200.0],
            [0.166_666_666_666_666_8, 0.056_350_724_841_608_94, 0.262_733_025_785_958_8],
        );
        check(
            [0.84, 0.8, 0.95],
            [1000.0, 60.0, 190.0],
            [0.853_333_333_333_333_5, 0.801_400_185_413_110_9, 0.906_330_833_799_116_6],
        );
        check(
            [0.9, 0.6, 0.97],
            [5000.0, 40.0, 160.0],
            [0.877_192_982_456_140_6, 0.824_454_431_586_803_4, 0.937_672_949_524_367_9],
        );
        check([0.05, 0.9, 0.9], [500.0, 50.0, 50.0], [0.0, 0.0, 0.026_902_140_365_776_11]);
    }

    /// 40 of 45 correct and 46 of 55 wrong labels are judged right, and 620 of 1,000 records as good.
    /// The interval of reference is a bootstrap's, stated to two points.
    #[test]
    fn the_worked_example_of_a_bootstrap_gives_the_same_value() {
        let of = JudgedPrevalence {
            judged: 0.62,
            n: 1_000.0,
            sensitivity: 40.0 / 45.0,
            positives: 45.0,
            specificity: 46.0 / 55.0,
            negatives: 55.0,
        };
        let found = corrected(of).unwrap();
        near(found.value, 0.629_247_910_863_509_6);
        let Interval { lower, upper } = found.interval.unwrap();
        assert!((lower - 0.538_387_581_168_831_3).abs() < 0.02, "{lower}");
        assert!((upper - 0.737_173_501_577_273_7).abs() < 0.02, "{upper}");
    }

    #[test]
    fn a_judge_no_better_than_chance_says_nothing() {
        let of = JudgedPrevalence {
            judged: 0.5,
            n: 100.0,
            sensitivity: 0.6,
            positives: 50.0,
            specificity: 0.4,
            negatives: 50.0,
        };
        assert_eq!(corrected(of), None);
    }
}
