use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{EXPLANATION, SCORE, SessionFeatures};
use crate::judge::offline::signals::{Signal, SignalSet};
use crate::stats::logistic::{Logistic, Standardisation};

/// The version of the file format.
const FORMAT: u32 = 1;
/// Signals that move the odds by less than this factor (as a logarithm) are not named.
const MIN_NAMED: f64 = 0.1;
/// The maximum number of signals that are named on each side.
const MAX_NAMED: usize = 2;

/// A fitted model, as it is kept in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuccessModel {
    format: u32,
    /// The rubric whose labels it was fitted to.
    pub rubric: String,
    /// The fingerprint of the signals that it was fitted to.
    pub signals: String,
    /// How many labelled sessions it was fitted to, and how many of them were a success.
    pub labels: u64,
    pub successes: u64,
    /// What cross-validation has shown, in a sentence.
    pub checked: String,
    intercept: f64,
    #[serde(default)]
    feature: BTreeMap<String, Feature>,
}

/// A feature of a model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Feature {
    pub(super) mean: f64,
    pub(super) deviation: f64,
    /// The change of the log odds by one deviation.
    pub(super) weight: f64,
}

/// Error of parsing a file of a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SuccessModelError {
    #[error("success model: {0}")]
    Shape(String),
    #[error(
        "success model: format {0} is not known; run `ratchet calibrate --apply` to fit it again"
    )]
    Format(u32),
    #[error("success model: {0} must be a finite number, and a deviation above 0")]
    Number(String),
}

/// The probability that a session was a success.
#[derive(Clone, Debug, PartialEq)]
pub struct SuccessEstimate {
    pub probability: f64,
    /// How many labels the model was fitted to.
    pub labels: u64,
    /// What speaks for success and against it, in words, strongest first.
    pub raised_by: Vec<String>,
    pub lowered_by: Vec<String>,
}

impl SuccessModel {
    /// Creates a model from a fit of standardised features.
    pub(super) fn new(
        fit: &Logistic,
        features: impl IntoIterator<Item = (String, Standardisation)>,
        set: &SignalSet,
        rubric: &str,
    ) -> Self {
        let feature = features.into_iter().zip(&fit.weights).map(|((name, standard), weight)| {
            let Standardisation { mean, deviation } = standard;
            (name, Feature { mean, deviation, weight: *weight })
        });
        Self {
            format: FORMAT,
            rubric: rubric.to_owned(),
            signals: set.fingerprint(),
            labels: 0,
            successes: 0,
            checked: String::new(),
            intercept: fit.intercept,
            feature: feature.collect(),
        }
    }

    /// Parses a file.
    ///
    /// # Errors
    /// Returns the first fault.
    pub fn parse(text: &str) -> Result<Self, SuccessModelError> {
        let model: Self =
            toml::from_str(text).map_err(|why| SuccessModelError::Shape(why.to_string()))?;
        if model.format != FORMAT {
            return Err(SuccessModelError::Format(model.format));
        }
        if !model.intercept.is_finite() {
            return Err(SuccessModelError::Number("intercept".to_owned()));
        }
        let is_valid = |feature: &Feature| {
            feature.mean.is_finite()
                && feature.weight.is_finite()
                && feature.deviation.is_finite()
                && feature.deviation > 0.0
        };
        match model.feature.iter().find(|(_, feature)| !is_valid(feature)) {
            Some((name, _)) => Err(SuccessModelError::Number(name.clone())),
            None => Ok(model),
        }
    }

    /// Formats the model as a file.
    pub fn to_toml(&self) -> String {
        let head = "# P(success) of the offline judge, fitted to the labels of this project by\n\
                    # `ratchet calibrate --apply`. Delete the file to go back to uncalibrated levels.\n\n";
        // Numbers, texts and tables have a form in TOML.
        head.to_owned() + &toml::to_string(self).unwrap_or_default()
    }

    /// Returns whether the model is about the scores of these signals and this rubric.
    pub fn fits(&self, set: &SignalSet, rubric: &str) -> bool {
        self.signals == set.fingerprint() && self.rubric == rubric
    }

    /// Returns how much each feature that was fitted counts, strongest first: by how much one
    /// standard deviation more changes the log odds of success.
    pub fn weights(&self) -> Vec<(&str, f64)> {
        let mut weights: Vec<(&str, f64)> =
            self.feature.iter().map(|(name, feature)| (name.as_str(), feature.weight)).collect();
        weights
            .sort_by(|one, other| other.1.abs().total_cmp(&one.1.abs()).then(one.0.cmp(other.0)));
        weights
    }

    /// Estimates the probability of success of a session.
    pub fn estimate(&self, session: &SessionFeatures) -> SuccessEstimate {
        let mut effects: Vec<(&str, f64)> = self
            .feature
            .iter()
            .map(|(name, feature)| {
                let standard = Standardisation { mean: feature.mean, deviation: feature.deviation };
                (name.as_str(), feature.weight * standard.apply(session.values.get(name).copied()))
            })
            .collect();
        effects.sort_by(|one, other| other.1.abs().total_cmp(&one.1.abs()));
        let log_odds = self.intercept + effects.iter().map(|(_, effect)| effect).sum::<f64>();
        let named = |is_raising: bool| -> Vec<String> {
            let side = effects
                .iter()
                .filter(|(_, effect)| effect.abs() >= MIN_NAMED && (*effect > 0.0) == is_raising);
            side.take(MAX_NAMED).map(|(name, _)| in_words(name, session)).collect()
        };
        SuccessEstimate {
            probability: 1.0 / (1.0 + (-log_odds).exp()),
            labels: self.labels,
            raised_by: named(true),
            lowered_by: named(false),
        }
    }
}

/// Describes what a session has of a feature.
fn in_words(name: &str, session: &SessionFeatures) -> String {
    if name == SCORE {
        let score = session.values.get(SCORE).copied().unwrap_or_default();
        return format!("a score of {score:.2} without labels");
    }
    let words = session.words.get(name).cloned();
    words.unwrap_or_else(|| format!("no {}", name.replace('_', " ")))
}

/// Describes a feature of a model in general.
pub fn feature_name(name: &str) -> String {
    match name {
        SCORE => "the judge's score without labels".to_owned(),
        name if name == Signal::Length.name() => "length (steps)".to_owned(),
        name if name == Signal::AmongPeers.name() => "length against peers".to_owned(),
        name if name == Signal::CostAmongPeers.name() => "cost against peers".to_owned(),
        name => name.replace('_', " "),
    }
}

impl SuccessEstimate {
    /// Formats the estimate as a sentence.
    pub fn sentence(&self) -> String {
        let percent = self.probability * 100.0;
        let mut text = format!(
            "{EXPLANATION} {percent:.0}%, fitted to {} labels of this project",
            self.labels
        );
        for (side, named) in [("for it", &self.raised_by), ("against it", &self.lowered_by)] {
            if !named.is_empty() {
                text += &format!("; {side}: {}", named.join(", "));
            }
        }
        text + "."
    }
}
