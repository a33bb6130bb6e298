use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::file::{self, Marking, Weighing};

/// The signals that come with Ratchet, in a file that people read.
const BUILTIN: &str = include_str!("../../../offline/signals.toml");

static SHIPPED: LazyLock<SignalSet> = LazyLock::new(|| {
    // A test holds the file to its shape.
    SignalSet::parse(BUILTIN).unwrap_or_default()
});

/// Something that can be seen in a session. `docs/offline-judge.md` says how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    AgentSaid,
    ToolCall,
    /// How much the session took among its peers, from 0 to 1.
    AmongPeers,
    /// How much the session cost among its peers, from 0 to 1.
    CostAmongPeers,
    /// What the session cost is known, and nothing to hold it against.
    CostAlone,
    /// How much happened, on a scale of logarithms.
    Length,
    ToolError,
    /// A failure that no later call of the same tool made good.
    OpenError,
    /// A failure that a later call of the same tool made good.
    Recovery,
    /// A call that failed, made again just so, failed again.
    BlindRetry,
    /// A call that repeats an earlier one and gives the same.
    RepeatedCall,
    /// A call made for the third time or more.
    Loop,
    /// How much was changed in other people's records, on a scale of logarithms.
    ChangeSize,
    /// A change without a yes from a user who is asked for one.
    Unconfirmed,
    /// A value in a change that neither the user nor a tool had mentioned.
    InventedValue,
    /// Several answers, and no tool was called, unless peers do without them too.
    NoTools,
    /// Tools were called, but nothing was changed, refused or handed over.
    NothingDone,
    /// The agent looked into it, refused, and changed nothing.
    RefusedAfterLooking,
    /// The last test run failed.
    TestsFailed,
    /// The last test run passed.
    TestsPassed,
    /// An edit was taken back.
    Revert,
    /// The user corrected, redirected or interrupted the agent.
    UserCorrection,
    /// The user said nearly the same again.
    UserRepeats,
    UserFrustration,
    /// The user thanked or praised.
    UserThanks,
    /// The agent's last words say that it did not manage.
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

impl Signal {
    /// The word for it, as the file writes it.
    pub fn name(self) -> String {
        let mut words = String::new();
        for letter in format!("{self:?}").chars() {
            if letter.is_uppercase() && !words.is_empty() {
                words.push('_');
            }
            words.extend(letter.to_lowercase());
        }
        words
    }
}

/// Words that are looked for, each in one mouth only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Words {
    /// A user corrects, redirects or interrupts.
    UserCorrects,
    UserFrustrated,
    /// A user thanks or praises.
    UserThanks,
    UserCloses,
    UserAgrees,
    UserRequests,
    /// An agent did not manage.
    AgentGaveUp,
    /// An agent will not or may not.
    AgentRefuses,
    /// An agent hands over to a person.
    AgentHandsOver,
    /// An agent asks for a yes.
    AgentAsks,
    /// A tool that hands over to a person.
    ToolHandover,
    /// A tool that changes something.
    ToolChange,
    /// A tool that only looks.
    ToolLook,
    /// A tool that edits files.
    ToolFiles,
    /// A tool that runs commands.
    ToolShell,
    /// A command that runs tests.
    CommandTests,
    /// A command that takes edits back.
    CommandReverts,
    /// What a test run prints that failed.
    OutputFailed,
    /// What a test run prints that passed.
    OutputPassed,
}

/// Signals, what they count, and the words they look for.
#[derive(Clone, Debug, Default)]
pub struct SignalSet {
    /// Which version of the file.
    pub version: u32,
    /// How each dimension is marked, by name.
    pub(super) dimensions: BTreeMap<String, Marking>,
    pub(super) signals: BTreeMap<Signal, Weighing>,
    /// What is looked for in whose mouth.
    pub(super) words: BTreeMap<Words, Regex>,
    /// Commands that can do harm.
    pub(super) dangers: Vec<Regex>,
}

impl SignalSet {
    /// What is said of each signal, and what it adds to marks.
    #[cfg(test)]
    pub(crate) fn texts(&self) -> impl Iterator<Item = (Signal, &str, Vec<f64>)> {
        self.signals.iter().flat_map(|(signal, weighing)| {
            let effects: Vec<f64> = weighing.effects.values().copied().collect();
            let texts = [weighing.one.as_str(), weighing.many.as_str()];
            texts.map(|text| (*signal, text, effects.clone()))
        })
    }

    /// The signals that come with Ratchet.
    pub fn shipped() -> &'static Self {
        &SHIPPED
    }

    /// Reads a file of signals.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn parse(text: &str) -> Result<Self, SignalsError> {
        file::parse(text)
    }

    /// Whether a text has such words.
    pub(super) fn has(&self, words: Words, text: &str) -> bool {
        self.words.get(&words).is_some_and(|words| words.is_match(text))
    }
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
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// A number is out of its bounds.
    #[error("signals: {0}: base, cuts and sure are numbers from 0 to 1, effects from -1 to 1")]
    Number(String),
    /// A signal counts for a dimension that is not marked.
    #[error("signals: {0} is not a dimension of this file")]
    Dimension(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_that_ships_has_its_shape() {
        let set = SignalSet::parse(BUILTIN).unwrap();
        assert!(set.version > 0 && !set.dangers.is_empty());
        for signal in set.dimensions.values().flat_map(|marking| &marking.needs) {
            assert!(set.signals.contains_key(signal), "{signal:?}");
        }
    }

    #[test]
    fn the_page_tells_every_signal() {
        let page = include_str!("../../../../../docs/offline-judge.md");
        for signal in SignalSet::shipped().signals.keys() {
            let name = signal.name();
            assert!(page.contains(&format!("| `{name}` |")), "{name} is not on the page");
        }
        let version = format!("version {}", SignalSet::shipped().version);
        assert!(page.contains(&version), "the page is not of {version}");
    }

    #[test]
    fn a_file_that_is_wrong_says_why() {
        let wrong = BUILTIN.replace("[signal.secret]", "[signal.secrets]");
        assert!(matches!(SignalSet::parse(&wrong), Err(SignalsError::Shape(_))));
        let head = "[dimension.security_compliance]\nbase = ";
        let wrong = BUILTIN.replace(&format!("{head}1.0"), &format!("{head}1.5"));
        let number = SignalsError::Number("security_compliance".to_owned());
        assert_eq!(SignalSet::parse(&wrong).unwrap_err(), number);
        let wrong = BUILTIN.replace("security_compliance = -", "charm = -");
        let dimension = SignalsError::Dimension("charm".to_owned());
        assert_eq!(SignalSet::parse(&wrong).unwrap_err(), dimension);
        let wrong = BUILTIN.replace("(?:thank you|", "((?:thank you|");
        assert!(matches!(SignalSet::parse(&wrong), Err(SignalsError::Pattern { .. })));
    }
}
