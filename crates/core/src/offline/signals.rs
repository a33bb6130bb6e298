use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};
use serde::Deserialize;

/// The signals that come with Ratchet, in a file that people read.
const BUILTIN: &str = include_str!("../../offline/signals.toml");
/// The most bytes a compiled pattern may take.
const MAX_COMPILED_BYTES: usize = 4 << 20;

static SHIPPED: LazyLock<SignalSet> = LazyLock::new(|| {
    // A test holds the file to its shape.
    SignalSet::parse(BUILTIN).unwrap_or_default()
});

/// Something that can be seen in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// The agent said something.
    AgentSaid,
    /// A tool was called.
    ToolCall,
    /// How much the session took among its peers.
    AmongPeers,
    /// A tool call failed.
    ToolError,
    /// A failure that no later call of the same tool made good.
    OpenError,
    /// A failure that a later call of the same tool made good.
    Recovery,
    /// A call that repeats an earlier one and gives the same.
    RepeatedCall,
    /// The user corrected or redirected the agent.
    UserCorrection,
    /// The user thanked or praised.
    UserThanks,
    /// The agent's last words say that it could not do it.
    GaveUp,
    /// The session was handed over to a person.
    Handover,
    /// The user's last request has no answer.
    Unanswered,
    /// A dangerous command was run.
    Danger,
    /// The agent wrote out a secret.
    Secret,
}

/// Signals, what they count, and the words they look for.
#[derive(Clone, Debug, Default)]
pub struct SignalSet {
    /// Which version of the file.
    pub version: u32,
    /// How each dimension is marked, by name.
    pub(super) dimensions: BTreeMap<String, Marking>,
    /// What each signal counts.
    pub(super) signals: BTreeMap<Signal, Weighing>,
    /// What people and agents say.
    pub(super) words: BTreeMap<Signal, Regex>,
    /// Tools by what they are for.
    pub(super) tools: Option<Tools>,
    /// Commands that can do harm.
    pub(super) dangers: Vec<Regex>,
}

/// How a dimension is marked.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Marking {
    pub(super) base: f64,
    #[serde(default)]
    pub(super) cuts: Vec<f64>,
    pub(super) sure: [f64; 2],
    pub(super) needs: Vec<Signal>,
}

/// What a signal counts.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Weighing {
    pub(super) one: String,
    pub(super) many: String,
    pub(super) limit: f64,
    pub(super) effects: BTreeMap<String, f64>,
}

/// Tools by what they are for.
#[derive(Clone, Debug)]
pub(super) struct Tools {
    pub(super) handover: Regex,
    pub(super) shell: Regex,
}

/// Why a file of signals cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignalsError {
    /// It is not TOML of the right shape.
    #[error("signals: {0}")]
    Shape(String),
    /// A pattern is not a regular expression.
    #[error("signals: pattern of {name}: {why}")]
    Pattern {
        /// Whose.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// A number is out of its bounds.
    #[error("signals: {0} must be a number from 0 to 1")]
    Number(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    dimension: BTreeMap<String, Marking>,
    signal: BTreeMap<Signal, Weighing>,
    words: BTreeMap<Signal, String>,
    tools: ToolPatterns,
    danger: Vec<Danger>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolPatterns {
    handover: String,
    shell: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Danger {
    name: String,
    pattern: String,
}

impl SignalSet {
    /// The signals that come with Ratchet.
    pub fn shipped() -> &'static Self {
        &SHIPPED
    }

    /// Reads a file of signals.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn parse(text: &str) -> Result<Self, SignalsError> {
        let document: Document =
            toml::from_str(text).map_err(|why| SignalsError::Shape(why.to_string()))?;
        for (name, marking) in &document.dimension {
            let numbers = marking.sure.iter().chain(&marking.cuts).chain([&marking.base]);
            if !numbers.clone().all(|number| (0.0..=1.0).contains(number)) {
                return Err(SignalsError::Number(name.clone()));
            }
        }
        let words = document.words.into_iter();
        let words =
            words.map(|(signal, words)| Ok((signal, compile(&format!("{signal:?}"), &words)?)));
        let dangers = document.danger.iter().map(|danger| compile(&danger.name, &danger.pattern));
        Ok(Self {
            version: document.version,
            dimensions: document.dimension,
            signals: document.signal,
            words: words.collect::<Result<_, _>>()?,
            tools: Some(Tools {
                handover: compile("tools.handover", &document.tools.handover)?,
                shell: compile("tools.shell", &document.tools.shell)?,
            }),
            dangers: dangers.collect::<Result<_, _>>()?,
        })
    }

    /// Whether words are such that a signal looks for.
    pub(super) fn says(&self, signal: Signal, text: &str) -> bool {
        self.words.get(&signal).is_some_and(|words| words.is_match(text))
    }
}

fn compile(name: &str, pattern: &str) -> Result<Regex, SignalsError> {
    let built = RegexBuilder::new(pattern).size_limit(MAX_COMPILED_BYTES).build();
    built.map_err(|why| SignalsError::Pattern { name: name.to_owned(), why: why.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_that_ships_has_its_shape() {
        let set = SignalSet::parse(BUILTIN).unwrap();
        assert!(set.version > 0);
        for dimension in set.signals.values().flat_map(|weighing| weighing.effects.keys()) {
            assert!(set.dimensions.contains_key(dimension), "{dimension}");
        }
        for signal in set.dimensions.values().flat_map(|marking| &marking.needs) {
            assert!(set.signals.contains_key(signal), "{signal:?}");
        }
    }

    #[test]
    fn a_file_that_is_wrong_says_why() {
        let wrong = BUILTIN.replace("[signal.secret]", "[signal.secrets]");
        assert!(matches!(SignalSet::parse(&wrong), Err(SignalsError::Shape(_))));
        let wrong = BUILTIN.replace("base = 1.0", "base = 1.5");
        let number = SignalsError::Number("security_compliance".to_owned());
        assert_eq!(SignalSet::parse(&wrong).unwrap_err(), number);
    }
}
