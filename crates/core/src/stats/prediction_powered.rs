use super::float;
use super::interval::{Estimate, Interval, Z_95, float as count};
use super::undefined::Undefined;

/// A stratum with labels of a few items and predictions of all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PredictedStratum {
    /// Labels with their predictions.
    pub labelled: Vec<LabelledPrediction>,
    /// Predictions of the other items.
    pub unlabelled: Moments,
}

/// A label of a person with the judge's prediction of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LabelledPrediction {
    pub label: f64,
    pub prediction: f64,
}

/// Count, sum and sum of squares of values: enough for their mean and variance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    pub count: u64,
    pub sum: f64,
    pub squares: f64,
}

impl Moments {
    /// Counts a value.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        self.squares += value * value;
    }

    /// Returns the moments without values that were counted.
    #[must_use]
    pub fn without(mut self, values: impl Iterator<Item = f64>) -> Self {
        for value in values {
            self.count = self.count.saturating_sub(1);
            self.sum -= value;
            self.squares -= value * value;
        }
        self
    }

    fn mean(&self) -> f64 {
        self.sum / count(self.count)
    }

    /// Sample variance; `None` of fewer than two values.
    fn variance(&self) -> Option<f64> {
        let centred = (self.squares - self.sum * self.mean()).max(0.0);
        (self.count > 1).then(|| centred / (count(self.count) - 1.0))
    }

    fn with(mut self, values: impl Iterator<Item = f64>) -> Self {
        values.for_each(|value| self.add(value));
        self
    }
}

impl PredictedStratum {
    fn size(&self) -> f64 {
        float(self.labelled.len()) + count(self.unlabelled.count)
    }

    /// The weight of predictions (PPI++): covariance with labels by variance, between 0 and 1. It
    /// is 0 where predictions do not vary.
    fn lambda(&self) -> f64 {
        let n = float(self.labelled.len());
        let predictions = || self.labelled.iter().map(|one| one.prediction);
        let pooled = self.unlabelled.with(predictions()).variance().unwrap_or(0.0);
        if self.labelled.len() < 2 || self.unlabelled.count == 0 || pooled <= f64::EPSILON {
            return 0.0;
        }
        let label = self.labelled.iter().map(|one| one.label).sum::<f64>() / n;
        let prediction = predictions().sum::<f64>() / n;
        let product =
            |one: &LabelledPrediction| (one.label - label) * (one.prediction - prediction);
        let covariance = self.labelled.iter().map(product).sum::<f64>() / (n - 1.0);
        let ratio = 1.0 + n / count(self.unlabelled.count);
        (covariance / (ratio * pooled)).clamp(0.0, 1.0)
    }

    /// Mean and its variance; the variance is `None` where too few labels show it.
    fn estimate(&self) -> (f64, Option<f64>) {
        let lambda = self.lambda();
        let rest = |one: &LabelledPrediction| one.label - lambda * one.prediction;
        let rests = Moments::default().with(self.labelled.iter().map(rest));
        if self.unlabelled.count == 0 {
            return (rests.mean(), Some(0.0));
        }
        let predicted = if lambda > 0.0 { lambda * self.unlabelled.mean() } else { 0.0 };
        let labelled = rests.variance().map(|variance| variance / count(rests.count));
        let spread = self.unlabelled.variance().unwrap_or(0.0) / count(self.unlabelled.count);
        (predicted + rests.mean(), labelled.map(|labelled| labelled + lambda * lambda * spread))
    }
}

/// Returns the mean of strata weighted by their size, with predictions used as far as they follow
/// the labels (stratified PPI++). The interval is normal, which is wrong for few labels: there is
/// none where a stratum has unlabelled items and fewer than `enough` labels, or equal ones only.
///
/// # Errors
/// A stratum has no labels.
pub fn mean(strata: &[PredictedStratum], enough: usize) -> Result<Estimate, Undefined> {
    Undefined::check(strata.len(), 1)?;
    let all: f64 = strata.iter().map(PredictedStratum::size).sum();
    let (mut value, mut variance, mut n) = (0.0, Some(0.0), 0);
    for stratum in strata {
        Undefined::check(stratum.labelled.len(), 1)?;
        let share = stratum.size() / all;
        let (mean, own) = stratum.estimate();
        let first = stratum.labelled[0].label;
        let varies = stratum.labelled.iter().any(|one| (one.label - first).abs() > f64::EPSILON);
        let known = stratum.unlabelled.count == 0 || (varies && stratum.labelled.len() >= enough);
        value += share * mean;
        variance = variance
            .zip(own.filter(|_| known))
            .map(|(variance, own): (f64, f64)| variance + share * share * own);
        n += stratum.labelled.len() as u64;
    }
    let interval = variance.map(|variance| {
        let half = Z_95 * variance.sqrt();
        Interval { lower: value - half, upper: value + half }
    });
    Ok(Estimate { value, interval, n })
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::stats::near;

    #[derive(Deserialize)]
    struct Vectors {
        labels: Vec<f64>,
        predictions: Vec<f64>,
        group_of_labels: Vec<u8>,
        unlabelled: Vec<f64>,
        group_of_unlabelled: Vec<u8>,
    }

    fn stratum(vectors: &Vectors, of: impl Fn(u8) -> bool) -> PredictedStratum {
        let labelled = vectors.labels.iter().zip(&vectors.predictions);
        let labelled = labelled
            .zip(&vectors.group_of_labels)
            .filter(|(_, group)| of(**group))
            .map(|((label, prediction), _)| LabelledPrediction {
                label: *label,
                prediction: *prediction,
            })
            .collect();
        let rest = vectors.unlabelled.iter().zip(&vectors.group_of_unlabelled);
        let rest = rest.filter(|(_, group)| of(**group)).map(|(value, _)| *value);
        PredictedStratum { labelled, unlabelled: Moments::default().with(rest) }
    }

    fn vectors() -> Vectors {
        let text = include_str!("../../../testkit/fixtures/stats/prediction_powered.json");
        serde_json::from_str(text).unwrap()
    }

    /// Reference values of glide-py, with the weight of predictions kept between 0 and 1.
    #[test]
    fn predictions_count_as_far_as_they_follow_labels() {
        let vectors = vectors();
        let whole = stratum(&vectors, |_| true);
        near(whole.lambda(), 0.912_037_782_831_456_6);
        let estimate = mean(&[whole], 2).unwrap();
        near(estimate.value, 0.791_215_840_429_465_6);
        near(estimate.interval.unwrap().lower, 0.701_639_969_174_143_1);
        near(estimate.interval.unwrap().upper, 0.880_791_711_684_788_1);
        let groups = [stratum(&vectors, |group| group == 0), stratum(&vectors, |group| group == 1)];
        near(groups[0].lambda(), 0.793_699_646_810_459_5);
        near(groups[1].lambda(), 0.972_911_740_213_109_7);
        let estimate = mean(&groups, 2).unwrap();
        near(estimate.value, 0.791_069_175_125_151_1);
        near(estimate.interval.unwrap().lower, 0.670_783_004_928_354_5);
        near(estimate.interval.unwrap().upper, 0.911_355_345_321_947_6);
        assert_eq!(mean(&groups, 30).unwrap().interval, None, "ten labels are too few");
    }

    #[test]
    fn a_constant_prediction_changes_nothing() {
        let label = |label| LabelledPrediction { label, prediction: 1.0 };
        let unlabelled = Moments::default().with(std::iter::repeat_n(1.0, 90));
        let same = PredictedStratum {
            labelled: vec![label(1.0), label(0.0), label(1.0), label(1.0)],
            unlabelled,
        };
        near(same.lambda(), 0.0);
        near(mean(&[same], 2).unwrap().value, 0.75);
        assert_eq!(mean(&[], 2), Err(Undefined::Empty));
        let none = PredictedStratum { labelled: Vec::new(), unlabelled };
        assert_eq!(mean(&[none], 2), Err(Undefined::Empty));
        let equal = PredictedStratum { labelled: vec![label(1.0); 40], unlabelled };
        assert_eq!(mean(&[equal], 30).unwrap().interval, None, "equal labels show no error");
    }
}
