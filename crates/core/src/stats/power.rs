use statrs::distribution::{ContinuousCDF, Normal};

use super::float;

/// The probability with which a difference of the detectable size is found.
const POWER: f64 = 0.8;

/// Returns the smallest difference that a two-sided test finds with a probability of 80%, by its
/// standard error. The level is shared among the number of measures.
pub fn detectable(error: f64, level: f64, measures: usize) -> f64 {
    let quantile = |part: f64| Normal::standard().inverse_cdf(part);
    let level = level / float(measures.max(1));
    (quantile(1.0 - level / 2.0) + quantile(POWER)) * error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_measures_need_a_larger_difference() {
        let one = detectable(0.1, 0.05, 1);
        assert!((one - 0.280_16).abs() < 1e-4, "1.96 + 0.84 standard errors, not {one}");
        assert!(detectable(0.1, 0.05, 7) > one);
    }
}
