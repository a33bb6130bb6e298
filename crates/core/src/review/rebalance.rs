use super::allocation::{PlannedStratum, half_width};
use crate::stats::interval::float;

/// Fewer reviews of a category say nothing about its spread.
const FLOOR: u64 = 2;

/// What reviews of some weeks measured in a category of tier 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Traces in a usual week.
    pub population: u64,
    pub reviewed: u64,
    /// Reviewed traces that were wrong.
    pub failed: u64,
}

impl Measured {
    /// Returns the expected share of failures (Jeffreys): neither 0 nor 1 after a few reviews.
    pub fn failure_rate(&self) -> f64 {
        (float(self.failed) + 0.5) / (float(self.reviewed) + 1.0)
    }

    fn planned(&self, taken: u64) -> PlannedStratum {
        let accuracy = 1.0 - self.failure_rate();
        PlannedStratum { population: self.population, taken, accuracy }
    }
}

/// Tier 2 of a usual week.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tier2 {
    /// Places for it.
    pub capacity: u64,
    /// Traces that the judge flagged.
    pub flagged: Measured,
    /// Traces that it did not.
    pub quiet: Measured,
    /// Traces of tier 1, which is reviewed in full.
    pub tier_1: u64,
}

/// A split of tier 2 with what it is expected to give.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    pub flagged: u64,
    pub quiet: u64,
    pub half_width: f64,
    pub expected_failures: f64,
}

impl Split {
    /// Returns the share of flagged traces.
    pub fn flagged_share(&self) -> f64 {
        float(self.flagged) / float(self.flagged + self.quiet)
    }
}

impl Tier2 {
    /// Returns what a split is expected to give; `None` if a category would get no place.
    pub fn split(&self, flagged: u64) -> Option<Split> {
        let quiet = self.capacity.checked_sub(flagged)?;
        let tier_1 = PlannedStratum { population: self.tier_1, taken: self.tier_1, accuracy: 0.5 };
        let strata = [tier_1, self.flagged.planned(flagged), self.quiet.planned(quiet)];
        let failures =
            float(flagged) * self.flagged.failure_rate() + float(quiet) * self.quiet.failure_rate();
        let half_width = half_width(&strata)?;
        Some(Split { flagged, quiet, half_width, expected_failures: failures })
    }

    /// Returns the splits that are possible, from few flagged traces to many.
    pub fn splits(&self) -> impl Iterator<Item = Split> {
        let most = self.flagged.population.min(self.capacity.saturating_sub(FLOOR));
        let least = FLOOR.max(self.capacity.saturating_sub(self.quiet.population));
        (least..=most).filter_map(|flagged| self.split(flagged))
    }

    /// Proposes the split that finds the most failures within a half-width; `None` where none is
    /// as precise.
    pub fn propose(&self, wanted: f64) -> Option<Split> {
        let precise = self.splits().filter(|split| split.half_width <= wanted);
        precise.max_by(|one, other| one.expected_failures.total_cmp(&other.expected_failures))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::near;

    fn tier_2(capacity: u64, failed: u64) -> Tier2 {
        Tier2 {
            capacity,
            flagged: Measured { population: 120, reviewed: 480, failed },
            quiet: Measured { population: 680, reviewed: 120, failed: 6 },
            tier_1: 200,
        }
    }

    #[track_caller]
    fn check(tier_2: Tier2, wanted: f64, counts: (u64, u64), half_width: f64, failures: f64) {
        let split = tier_2.propose(wanted).unwrap();
        assert_eq!((split.flagged, split.quiet), counts);
        near(split.half_width, half_width);
        near(split.expected_failures, failures);
    }

    /// Reference values.
    #[test]
    fn the_split_finds_the_most_failures_within_the_half_width() {
        near(tier_2(50, 384).flagged.failure_rate(), 0.799_376_299_376_299_4);
        check(tier_2(50, 384), 0.06, (23, 27), 0.059_418_811_624_704_145, 19.836_068_108_795_384);
        check(tier_2(50, 384), 0.1, (40, 10), 0.095_178_161_395_244_43, 32.512_242_057_696_604);
        check(tier_2(50, 96), 0.06, (23, 27), 0.059_418_811_624_704_145, 6.064_758_337_485_61);
        check(tier_2(100, 384), 0.05, (64, 36), 0.049_438_125_313_750_36, 53.093_967_457_603_824);
        assert_eq!(tier_2(50, 384).propose(0.03), None, "no split is that precise");
        near(tier_2(50, 384).propose(0.06).unwrap().flagged_share(), 0.46);
    }
}
