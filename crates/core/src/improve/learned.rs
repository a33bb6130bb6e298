use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::diagnosis::{Cause, Component};
use super::features::GroupFeatures;
use crate::stats::float;

/// Confirmed diagnoses that a model needs.
const MIN_LABELS: usize = 20;
/// Of a component, for it to be predicted.
const MIN_OF_COMPONENT: usize = 4;
/// Probability from which on a prediction replaces the diagnosis by rules.
const SURE: f64 = 0.7;
const FOLDS: usize = 5;
const ROUNDS: usize = 500;
const RATE: f64 = 1.0;
const SHRINKAGE: f64 = 0.01;

/// A diagnosis that a person accepted or corrected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfirmedDiagnosis {
    /// [`GroupFeatures::numbers`] of the group.
    pub features: Vec<f64>,
    /// What the report said.
    pub diagnosed: Component,
    /// What the person said.
    pub confirmed: Component,
}

/// The component by the features of a group, learned from confirmed diagnoses: multinomial logistic
/// regression.
#[derive(Clone, Debug, PartialEq)]
pub struct DiagnosisModel {
    /// For each component the weights of the features, the last one without a feature.
    weights: BTreeMap<Component, Vec<f64>>,
}

impl DiagnosisModel {
    /// Fits a model. `None` where there are too few labels, or where in cross-validation it agrees with
    /// people no more often than the diagnosis by rules did.
    pub fn fit(labels: &[ConfirmedDiagnosis]) -> Option<Self> {
        let width = labels.first()?.features.len();
        let is_usable = |label: &&ConfirmedDiagnosis| {
            label.features.len() == width
                && label.features.iter().all(|value| value.is_finite())
                // The judge is recognised by whom it disagrees with, not by features.
                && label.confirmed != Component::Judge
        };
        let usable: Vec<&ConfirmedDiagnosis> = labels.iter().filter(is_usable).collect();
        if usable.len() < MIN_LABELS {
            return None;
        }
        let by_rules = usable.iter().filter(|label| label.diagnosed == label.confirmed).count();
        let mut learned = 0;
        for fold in 0..FOLDS {
            let part = |is_held_out: bool| {
                let of_fold = usable
                    .iter()
                    .enumerate()
                    .filter(move |(at, _)| (at % FOLDS == fold) == is_held_out);
                of_fold.map(|(_, label)| *label).collect::<Vec<_>>()
            };
            let model = Self::of(&part(false));
            let is_right = |label: &&ConfirmedDiagnosis| {
                model.decide(&label.features, label.diagnosed) == label.confirmed
            };
            learned += part(true).iter().filter(|label| is_right(label)).count();
        }
        (learned > by_rules).then(|| Self::of(&usable))
    }

    fn of(labels: &[&ConfirmedDiagnosis]) -> Self {
        let mut counts: BTreeMap<Component, usize> = BTreeMap::new();
        for label in labels {
            *counts.entry(label.confirmed).or_default() += 1;
        }
        counts.retain(|_, count| *count >= MIN_OF_COMPONENT);
        let width = labels.first().map_or(0, |label| label.features.len()) + 1;
        let weights = counts.into_keys().map(|component| (component, vec![0.0; width])).collect();
        let mut model = Self { weights };
        for _ in 0..ROUNDS {
            model.step(labels);
        }
        model
    }

    /// One step of gradient descent on all labels.
    fn step(&mut self, labels: &[&ConfirmedDiagnosis]) {
        let mut gradients: BTreeMap<Component, Vec<f64>> = self
            .weights
            .iter()
            .map(|(component, own)| (*component, vec![0.0; own.len()]))
            .collect();
        for label in labels {
            let expected = self.probabilities(&label.features);
            for (component, gradient) in &mut gradients {
                let wanted = f64::from(u8::from(*component == label.confirmed));
                let error = expected.get(component).copied().unwrap_or(0.0) - wanted;
                let inputs = label.features.iter().chain(&[1.0]);
                gradient.iter_mut().zip(inputs).for_each(|(sum, input)| *sum += error * input);
            }
        }
        let total = float(labels.len().max(1));
        for (component, weights) in &mut self.weights {
            let gradient = gradients.get(component).into_iter().flatten();
            for (weight, slope) in weights.iter_mut().zip(gradient) {
                *weight -= RATE * (slope / total + SHRINKAGE * *weight);
            }
        }
    }

    fn probabilities(&self, features: &[f64]) -> BTreeMap<Component, f64> {
        let score = |weights: &Vec<f64>| {
            weights.iter().zip(features.iter().chain(&[1.0])).map(|(a, b)| a * b).sum::<f64>()
        };
        let scores: Vec<(Component, f64)> =
            self.weights.iter().map(|(component, weights)| (*component, score(weights))).collect();
        let most = scores.iter().map(|(_, score)| *score).fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = scores.iter().map(|(_, score)| (score - most).exp()).sum();
        scores
            .into_iter()
            .map(|(component, score)| (component, (score - most).exp() / sum))
            .collect()
    }

    /// The component: what was learned where it is sure, else what the rules say.
    fn decide(&self, features: &[f64], by_rules: Component) -> Component {
        let probabilities = self.probabilities(features);
        let best = probabilities.into_iter().max_by(|one, other| one.1.total_cmp(&other.1));
        best.filter(|(_, probability)| *probability >= SURE).map_or(by_rules, |(best, _)| best)
    }

    /// Returns the cause of a group: that of the rules, unless people corrected such diagnoses.
    pub fn cause(&self, features: &GroupFeatures, by_rules: Cause) -> Cause {
        let component = self.decide(&features.numbers(), by_rules.component());
        if component == by_rules.component() {
            return by_rules;
        }
        let tool = features.tool.clone();
        match (component, tool) {
            (Component::Prompt, _) => Cause::Behaviour(None),
            (Component::Knowledge, _) => Cause::Unanswered,
            (Component::Tool, Some(tool)) => Cause::WrongData(tool),
            (Component::Tool, None) => Cause::MissingTool(None),
            (Component::Model, Some(tool)) => Cause::Ungrounded(tool),
            // Without a tool nothing shows that the model had the right data.
            (Component::Model, None) | (Component::Judge, _) => by_rules,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups whose answers repeat data: the rules say tool, people say model where a second feature
    /// is high.
    fn labels(count: usize) -> Vec<ConfirmedDiagnosis> {
        let label = |n: usize| {
            let noise = float(n % 7) / 20.0;
            let is_model = n.is_multiple_of(2);
            let features = GroupFeatures {
                tool: Some("price".to_owned()),
                repeats_data: 0.6 + noise,
                differs_from_data: if is_model { 0.4 - noise / 2.0 } else { noise / 4.0 },
                ..GroupFeatures::default()
            };
            ConfirmedDiagnosis {
                features: features.numbers(),
                diagnosed: Component::Tool,
                confirmed: if is_model { Component::Model } else { Component::Tool },
            }
        };
        (0..count).map(label).collect()
    }

    fn features(differs_from_data: f64) -> GroupFeatures {
        let tool = Some("price".to_owned());
        GroupFeatures { tool, repeats_data: 0.7, differs_from_data, ..GroupFeatures::default() }
    }

    #[test]
    fn corrections_teach_and_few_of_them_do_not() {
        assert_eq!(DiagnosisModel::fit(&labels(MIN_LABELS - 1)), None);
        assert_eq!(DiagnosisModel::fit(&[]), None);
        let model = DiagnosisModel::fit(&labels(400)).unwrap();
        let rules = || Cause::WrongData("price".to_owned());
        assert_eq!(model.cause(&features(0.4), rules()), Cause::Ungrounded("price".to_owned()));
        assert_eq!(model.cause(&features(0.0), rules()), rules());
    }

    #[test]
    fn labels_that_confirm_the_rules_or_nothing_leave_the_rules() {
        let mut confirmed = labels(60);
        confirmed.iter_mut().for_each(|label| label.diagnosed = label.confirmed);
        assert_eq!(DiagnosisModel::fit(&confirmed), None);
        let mut damaged = labels(60);
        damaged.iter_mut().for_each(|label| label.features = vec![f64::NAN]);
        assert_eq!(DiagnosisModel::fit(&damaged), None);
    }
}
