use proptest::prelude::*;

use super::*;
use crate::stats::{near, near_by};

/// Rows of three measures and outcomes that depend on the first two.
fn table() -> (Vec<Vec<f64>>, Vec<bool>) {
    let row = |nth: usize| {
        let part =
            |factor: usize, modulus: usize, scale: f64| float(nth * factor % modulus) / scale - 1.0;
        let row = vec![part(7, 11, 5.0), part(5, 13, 6.0), part(3, 7, 3.0)];
        let outcome = 1.3 * row[0] - 0.7 * row[1] + part(9, 10, 5.0) > 0.0;
        (row, outcome)
    };
    (0..24).map(row).unzip()
}

/// Reference values of scikit-learn 1.9, `LogisticRegression(C=1/penalty)`.
#[test]
fn coefficients_are_those_of_the_reference() {
    let (rows, outcomes) = table();
    let probe = [0.3, -0.2, 0.9];
    let fit = |penalty| Logistic::fit(&rows, &outcomes, &[penalty; 3]).unwrap();
    let weak = fit(0.5);
    near(weak.intercept, -0.357_890_945_473_651_5);
    near(weak.weights[0], 2.156_073_785_714_566);
    near(weak.weights[1], -1.146_936_036_085_016_5);
    near(weak.weights[2], -0.266_836_665_040_052_4);
    near(weak.probability(&probe), 0.569_096_389_774_990_7);
    let strong = fit(4.0);
    near(strong.intercept, -0.331_574_152_454_955_03);
    near(strong.weights[0], 0.761_172_721_383_502_3);
    near(strong.probability(&probe), 0.460_981_549_047_085_16);
}

#[test]
fn outcomes_that_are_all_the_same_cannot_be_fitted() {
    let rows = vec![vec![1.0], vec![2.0]];
    assert_eq!(Logistic::fit(&rows, &[true, true], &[1.0]), Err(Undefined::ConstantInput));
    assert_eq!(Logistic::fit(&[], &[], &[1.0]), Err(Undefined::Empty));
}

#[test]
fn separable_outcomes_have_finite_coefficients() {
    let rows: Vec<Vec<f64>> = (0..10).map(|nth| vec![float(nth)]).collect();
    let outcomes: Vec<bool> = (0..10).map(|nth| nth >= 5).collect();
    let fit = Logistic::fit(&rows, &outcomes, &[1e-3]).unwrap();
    assert!(fit.weights[0].is_finite() && fit.probability(&[9.0]) > 0.99);
}

#[test]
fn a_missing_value_is_at_the_mean() {
    let standard = Standardisation::of([1.0, 3.0].into_iter());
    near(standard.apply(Some(3.0)), 1.0);
    near(standard.apply(None), 0.0);
    near(Standardisation::of([2.0, 2.0].into_iter()).apply(Some(2.0)), 0.0);
}

fn any_table() -> impl Strategy<Value = (Vec<Vec<f64>>, Vec<bool>)> {
    let row = (prop::collection::vec(-3.0..3.0_f64, 3), any::<bool>());
    prop::collection::vec(row, 4..30).prop_map(|rows| rows.into_iter().unzip())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// At the minimum the gradient is zero: the mean probability is the share of outcomes, and each
    /// weight is held by its penalty.
    #[test]
    fn a_fit_is_at_the_minimum((rows, outcomes) in any_table(), penalty in 0.1..50.0_f64) {
        let Ok(fit) = Logistic::fit(&rows, &outcomes, &[penalty; 3]) else { return Ok(()) };
        let errors: Vec<f64> = rows
            .iter()
            .zip(&outcomes)
            .map(|(row, outcome)| f64::from(u8::from(*outcome)) - fit.probability(row))
            .collect();
        near_by(errors.iter().sum(), 0.0, 1e-6);
        for (place, weight) in fit.weights.iter().enumerate() {
            let slope: f64 = rows.iter().zip(&errors).map(|(row, error)| row[place] * error).sum();
            near_by(slope, penalty * weight, 1e-6);
        }
    }

    #[test]
    fn a_stronger_penalty_gives_smaller_weights((rows, outcomes) in any_table()) {
        let size = |penalty| {
            let fit = Logistic::fit(&rows, &outcomes, &[penalty; 3]).ok()?;
            Some(fit.weights.iter().map(|weight| weight * weight).sum::<f64>())
        };
        if let (Some(weak), Some(strong)) = (size(0.5), size(5.0)) {
            prop_assert!(strong <= weak + 1e-9);
        }
    }

    #[test]
    fn the_opposite_outcome_has_the_opposite_weights((rows, outcomes) in any_table()) {
        let opposite: Vec<bool> = outcomes.iter().map(|outcome| !outcome).collect();
        let (one, other) =
            (Logistic::fit(&rows, &outcomes, &[1.0; 3]), Logistic::fit(&rows, &opposite, &[1.0; 3]));
        if let (Ok(one), Ok(other)) = (one, other) {
            for (one, other) in one.weights.iter().zip(&other.weights) {
                near_by(*one, -other, 1e-6);
            }
        }
    }
}
