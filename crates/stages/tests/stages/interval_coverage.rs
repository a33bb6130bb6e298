//! How often the intervals of reports contain the true mean, for each dimension of the rubrics that
//! ship: short in `make test`, long in `make soak`.

use ratchet_core::judge::rubric::{Dimension, Scale, shipped};
use ratchet_core::stats::bounded::mean_of_scores;
use ratchet_testkit::soak::scaled;

use crate::alarm_rates::Noise;

/// The share of intervals that must contain the mean. The stated one is 95%; few bounded values
/// cannot have exactly that.
const LEAST: f64 = 0.92;
/// A short simulation may miss the share by this much: more than four standard errors.
const NOISE: f64 = 0.03;

/// Marks and how often each occurs, in parts of 100: what the judge gives in most weeks, and weeks in
/// which nearly all, few or half of the sessions are good.
fn weeks_of(dimension: &Dimension) -> Vec<Vec<(f64, u32)>> {
    match &dimension.scale {
        Scale::Ordered(grades) => {
            let values: Vec<f64> = grades.iter().map(|grade| grade.value).collect();
            let others = u32::try_from(values.len()).unwrap() - 1;
            let mostly = |most: usize, share: u32| {
                let rest = (100 - share) / others;
                let part = |at: usize| if at == most { 100 - rest * others } else { rest };
                values.iter().enumerate().map(|(at, value)| (*value, part(at))).collect()
            };
            (0..values.len())
                .flat_map(|most| [97, 80, 50].map(|share| mostly(most, share)))
                .collect()
        }
        Scale::Numeric => vec![
            vec![(0.9, 50), (0.95, 40), (0.2, 10)],
            vec![(0.6, 20), (0.65, 20), (0.7, 20), (0.75, 20), (0.8, 20)],
            vec![(0.0, 15), (0.95, 30), (1.0, 55)],
            vec![(1.0, 97), (0.3, 3)],
            vec![(0.0, 50), (1.0, 50)],
        ],
    }
}

fn drawn(week: &[(f64, u32)], noise: &mut Noise) -> f64 {
    let mut rest = noise.next() * 100.0;
    for (value, part) in week {
        rest -= f64::from(*part);
        if rest < 0.0 {
            return *value;
        }
    }
    week[0].0
}

#[test]
fn intervals_of_every_dimension_contain_the_mean() {
    let (tries, least) = scaled((1_000_u32, LEAST - NOISE), (50_000, LEAST));
    let mut noise = Noise::new(15);
    for dimension in shipped().flat_map(|rubric| &rubric.dimensions) {
        for week in weeks_of(dimension) {
            let truth: f64 =
                week.iter().map(|(value, part)| value * f64::from(*part) / 100.0).sum();
            for n in [5, 8, 12, 20] {
                let covers = |noise: &mut Noise| {
                    let marks: Vec<f64> = (0..n).map(|_| drawn(&week, noise)).collect();
                    let interval = mean_of_scores(&marks).unwrap().interval.unwrap();
                    (interval.lower - 1e-9..=interval.upper + 1e-9).contains(&truth)
                };
                let covered = (0..tries).map(|_| u32::from(covers(&mut noise))).sum::<u32>();
                let share = f64::from(covered) / f64::from(tries);
                let name = &dimension.name;
                assert!(share >= least, "{share} for {name}, {week:?}, n = {n}");
            }
        }
    }
}
