//! The form in which signals are written.

use std::collections::BTreeMap;

use regex::{Regex, RegexBuilder};
use serde::Deserialize;

use super::signals::{Signal, SignalSet, SignalsError, Words};

/// The most bytes a compiled pattern may take.
const MAX_COMPILED_BYTES: usize = 4 << 20;

/// How a dimension is marked.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Marking {
    /// The mark if nothing speaks for or against it.
    pub(super) base: f64,
    /// Where the next grade begins.
    #[serde(default)]
    pub(super) cuts: Vec<f64>,
    /// The least and the greatest confidence.
    pub(super) sure: [f64; 2],
    /// Signals without any of which nothing can be said.
    pub(super) needs: Vec<Signal>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Weighing {
    /// What is said of it when it was seen once.
    pub(super) one: String,
    /// What is said when it was seen more often.
    pub(super) many: String,
    /// How strongly it counts at most.
    pub(super) limit: f64,
    /// What it adds to each dimension's mark, for each unit of strength.
    pub(super) effects: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    dimension: BTreeMap<String, Marking>,
    signal: BTreeMap<Signal, Weighing>,
    words: BTreeMap<Words, String>,
    danger: Vec<Danger>,
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
    let dangers = document.danger.iter().map(|danger| compile(&danger.name, &danger.pattern));
    Ok(SignalSet {
        version: document.version,
        dimensions: document.dimension,
        signals: document.signal,
        words: words.collect::<Result<_, _>>()?,
        dangers: dangers.collect::<Result<_, _>>()?,
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
