//! Overrides of signals: what they count in a project, drafted from its labels and applied by a
//! person.

/// Drafts from labels, checked by cross-validation.
pub mod draft;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::signals::{Signal, SignalSet};
use crate::judge::notations::hash;

/// The version of the file format.
const FORMAT: u32 = 1;

/// Overrides of the signals of a project, as they are kept in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignalOverrides {
    format: u32,
    /// Counts the overrides that were applied in the project.
    pub version: u32,
    /// The rubric whose labels they were drafted from.
    pub rubric: String,
    /// The fingerprint of the signals that they override. They are not used with others.
    pub signals: String,
    /// By dimension.
    pub dimension: BTreeMap<String, DimensionOverride>,
}

/// The overrides of a dimension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DimensionOverride {
    /// What the labels have shown, in a sentence.
    pub checked: String,
    /// The score without any signal.
    pub base: f64,
    /// Effects on the dimension, by signal.
    pub effects: BTreeMap<Signal, f64>,
}

/// Error of parsing a file of overrides.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverridesError {
    #[error("signal overrides: {0}")]
    Shape(String),
    #[error(
        "signal overrides: format {0} is not known; run `ratchet calibrate --apply` to draft them again"
    )]
    Format(u32),
    #[error("signal overrides: {0}: base is a number from 0 to 1, effects from -1 to 1")]
    Number(String),
}

impl SignalOverrides {
    /// Creates overrides of these signals from drafts; those of other dimensions are kept from
    /// `earlier`.
    pub fn new(
        set: &SignalSet,
        rubric: &str,
        drafts: &[draft::OverrideDraft],
        earlier: Option<&Self>,
    ) -> Self {
        let mut dimension = earlier.map(|earlier| earlier.dimension.clone()).unwrap_or_default();
        dimension.extend(drafts.iter().map(|draft| {
            let change = DimensionOverride {
                checked: draft.checked(),
                base: draft.base[1],
                effects: draft
                    .effects
                    .iter()
                    .map(|(signal, [_, after])| (*signal, *after))
                    .collect(),
            };
            (draft.dimension.clone(), change)
        }));
        Self {
            format: FORMAT,
            version: earlier.map_or(0, |earlier| earlier.version).saturating_add(1),
            rubric: rubric.to_owned(),
            signals: earlier.map_or_else(|| set.fingerprint(), |earlier| earlier.signals.clone()),
            dimension,
        }
    }

    /// Parses a file.
    ///
    /// # Errors
    /// Returns the first fault.
    pub fn parse(text: &str) -> Result<Self, OverridesError> {
        let parsed: Self =
            toml::from_str(text).map_err(|why| OverridesError::Shape(why.to_string()))?;
        if parsed.format != FORMAT {
            return Err(OverridesError::Format(parsed.format));
        }
        let is_valid = |change: &DimensionOverride| {
            let is_effect = |effect: &f64| (-1.0..=1.0).contains(effect);
            (0.0..=1.0).contains(&change.base) && change.effects.values().all(is_effect)
        };
        match parsed.dimension.iter().find(|(_, change)| !is_valid(change)) {
            Some((name, _)) => Err(OverridesError::Number(name.clone())),
            None => Ok(parsed),
        }
    }

    /// Formats the overrides as a file.
    pub fn to_toml(&self) -> String {
        let head = "# What the signals of the offline judge count in this project, drafted from its \
                    labels by\n# `ratchet calibrate` and applied by a person. Delete the file to go \
                    back to the signals\n# as they are.\n\n";
        // Numbers, texts and tables have a form in TOML.
        head.to_owned() + &toml::to_string(self).unwrap_or_default()
    }

    /// Returns whether the overrides are about these signals and this rubric.
    pub fn fits(&self, set: &SignalSet) -> bool {
        self.signals == set.fingerprint()
    }
}

impl SignalSet {
    /// Returns the signals with overrides; `text` is their file.
    #[must_use]
    pub fn with_overrides(&self, overrides: &SignalOverrides, text: &str) -> Self {
        let mut set = self.clone();
        for (name, change) in &overrides.dimension {
            let Some(marking) = set.dimensions.get_mut(name) else { continue };
            marking.base = change.base;
            for (signal, effect) in &change.effects {
                if let Some(weighing) = set.signals.get_mut(signal) {
                    weighing.effects.insert(name.clone(), *effect);
                }
            }
        }
        set.hash = hash(&format!("{} {text}", self.hash));
        set
    }
}

#[cfg(test)]
mod tests;
