//! File format of signals.

use std::collections::BTreeMap;

use regex::{Regex, RegexBuilder};
use serde::Deserialize;

use crate::judge::notations::{Notations, hash};

use super::signals::{Phrases, Signal, SignalSet, SignalsError};

/// The maximum size of a compiled regular expression.
const MAX_COMPILED_BYTES: usize = 4 << 20;

/// Scoring parameters of a dimension.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScoringParameters {
    /// The score without any signal.
    pub(super) base: f64,
    /// Thresholds between grades.
    #[serde(default)]
    pub(super) cuts: Vec<f64>,
    /// Minimum and maximum confidence.
    pub(super) sure: [f64; 2],
    /// Signals of which at least one is required for a score.
    pub(super) needs: Vec<Signal>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Weighing {
    /// Rationale text for one occurrence.
    pub(super) one: String,
    /// Rationale text for several occurrences.
    pub(super) many: String,
    /// Maximum strength.
    pub(super) limit: f64,
    /// Effect on each dimension's score per unit of strength.
    pub(super) effects: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    dimension: BTreeMap<String, ScoringParameters>,
    signal: BTreeMap<Signal, Weighing>,
    words: BTreeMap<Phrases, String>,
    danger: Vec<Danger>,
    near_leak: Vec<Danger>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Danger {
    name: String,
    pattern: String,
}

pub(super) fn parse(text: &str) -> Result<SignalSet, SignalsError> {
    let document: Document =
        toml::from_str(text).map_err(|why| SignalsError::Shape(why.to_string()))?;
    check(&document)?;
    let words = document.words.into_iter();
    let words =
        words.map(|(words, pattern)| Ok((words, compile(&format!("{words:?}"), &pattern)?)));
    let compile_all = |dangers: &[Danger]| -> Result<Vec<Regex>, SignalsError> {
        dangers.iter().map(|danger| compile(&danger.name, &danger.pattern)).collect()
    };
    Ok(SignalSet {
        version: document.version,
        dimensions: document.dimension,
        signals: document.signal,
        words: words.collect::<Result<_, _>>()?,
        dangers: compile_all(&document.danger)?,
        near_leaks: compile_all(&document.near_leak)?,
        notations: Notations::shipped().clone(),
        hash: hash(text),
    })
}

fn check(document: &Document) -> Result<(), SignalsError> {
    for (name, marking) in &document.dimension {
        let mut numbers = marking.sure.iter().chain(&marking.cuts).chain([&marking.base]);
        if !numbers.all(|number| (0.0..=1.0).contains(number)) {
            return Err(SignalsError::Number(name.clone()));
        }
    }
    for (signal, weighing) in &document.signal {
        let is_bounded = |number: &f64| (-1.0..=1.0).contains(number);
        if !weighing.effects.values().all(is_bounded) || !(0.0..=1e6).contains(&weighing.limit) {
            return Err(SignalsError::Number(signal.name()));
        }
        let is_marked = |name: &&String| document.dimension.contains_key(*name);
        if let Some(name) = weighing.effects.keys().find(|name| !is_marked(name)) {
            return Err(SignalsError::Dimension(name.clone()));
        }
    }
    Ok(())
}

fn compile(name: &str, pattern: &str) -> Result<Regex, SignalsError> {
    let built = RegexBuilder::new(pattern).size_limit(MAX_COMPILED_BYTES).build();
    built.map_err(|why| SignalsError::Pattern { name: name.to_owned(), why: why.to_string() })
}
