use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use super::file::{self, ScoringParameters, Weighing};
use crate::judge::notations::{Notations, hash};

/// The built-in signals, in a file for users to read.
const BUILTIN: &str = include_str!("../../../offline/signals.toml");

static SHIPPED: LazyLock<SignalSet> = LazyLock::new(|| {
    // A test validates the file.
    SignalSet::parse(BUILTIN).unwrap_or_default()
});

/// A signal in a session, defined in `docs/offline-judge.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    AgentSaid,
    ToolCall,
    /// Percentile rank by size among peers.
    AmongPeers,
    /// Percentile rank by cost among peers.
    CostAmongPeers,
    /// The cost is known, but there are no peers to compare with.
    CostAlone,
    /// Amount of activity, on a logarithmic scale.
    Length,
    ToolError,
    /// A failure that no later call of the same tool recovered from.
    OpenError,
    /// A failure that a later call of the same tool recovered from.
    Recovery,
    /// A failed call repeated unchanged, and failed again.
    BlindRetry,
    /// A call that repeats an earlier one with the same result.
    RepeatedCall,
    /// An identical call for the third time or more.
    Loop,
    /// Number of changes of external records, on a logarithmic scale.
    ChangeSize,
    /// A change without the user's confirmation, where the agent usually asks for one.
    Unconfirmed,
    /// A value in a change that neither the user nor a tool had mentioned.
    InventedValue,
    /// Several answers without a tool call, unless peers call none either.
    NoTools,
    /// Tools were called, but nothing was changed, refused or handed over.
    NothingDone,
    /// The agent investigated, refused, and changed nothing.
    RefusedAfterLooking,
    /// The last test run failed.
    TestsFailed,
    /// The last test run passed.
    TestsPassed,
    /// The agent claims what nothing supports: passing tests, finished work, a change.
    FalseClaim,
    /// The agent claims finished work that no test confirms.
    UnverifiedClaim,
    /// An edit was reverted.
    Revert,
    /// The user corrected, redirected or interrupted the agent.
    UserCorrection,
    /// The user repeated nearly the same message.
    UserRepeats,
    UserFrustration,
    /// The user thanked or praised.
    UserThanks,
    /// The agent's last message reports failure.
    GaveUp,
    /// The session was handed over to a person.
    Handover,
    /// The user's last request was not answered.
    Unanswered,
    /// The session ends with a tool call that the agent did not answer.
    Unfinished,
    /// A dangerous command was run.
    Danger,
    /// The agent wrote out a secret.
    Secret,
    /// The agent brought a secret into the conversation.
    NearLeak,
}

impl Signal {
    /// Returns the name as in the file.
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

/// Phrase lists, each for one source only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Phrases {
    /// A user corrects, redirects or interrupts.
    UserCorrects,
    UserFrustrated,
    /// A user thanks or praises.
    UserThanks,
    UserCloses,
    UserAgrees,
    UserRequests,
    /// A user asks to change records.
    UserAsksChange,
    /// An agent reports failure.
    AgentGaveUp,
    /// An agent refuses.
    AgentRefuses,
    /// An agent hands over to a person.
    AgentHandsOver,
    /// An agent asks for confirmation.
    AgentAsks,
    /// An agent claims that tests pass.
    AgentClaimsTests,
    /// An agent claims that the work is done.
    AgentClaimsDone,
    /// An agent claims that it changed a record.
    AgentClaimsChange,
    /// A sentence that negates, supposes or plans.
    AgentHedges,
    /// A tool that hands over to a person.
    ToolHandover,
    /// A tool that changes external records.
    ToolChange,
    /// A read-only tool.
    ToolLook,
    /// A tool that ends the work.
    ToolFinal,
    /// A tool that edits files.
    ToolFiles,
    /// A tool that runs commands.
    ToolShell,
    /// A command that runs tests.
    CommandTests,
    /// A command that reverts edits.
    CommandReverts,
    /// A command that ends the work.
    CommandFinal,
    /// A command that edits files.
    CommandEdits,
    /// A command that ends with a program whose exit code is an answer.
    CommandAnswers,
    /// Output of a failed test run.
    OutputFailed,
    /// Output of a passed test run.
    OutputPassed,
}

/// A set of signals with weights and phrases.
#[derive(Clone, Debug, Default)]
pub struct SignalSet {
    /// Version of the file.
    pub version: u32,
    /// Scoring parameters by dimension.
    pub(super) dimensions: BTreeMap<String, ScoringParameters>,
    pub(super) signals: BTreeMap<Signal, Weighing>,
    /// Phrases by source.
    pub(super) words: BTreeMap<Phrases, Regex>,
    /// Dangerous commands.
    pub(super) dangers: Vec<Regex>,
    /// Commands and files that show secrets.
    pub(super) near_leaks: Vec<Regex>,
    /// How results and speakers are recognised.
    pub(super) notations: Notations,
    /// Hash of the file.
    pub(super) hash: String,
}

impl SignalSet {
    /// Returns the rationale texts and the effects of each signal.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (Signal, &str, Vec<f64>)> {
        self.signals.iter().flat_map(|(signal, weighing)| {
            let effects: Vec<f64> = weighing.effects.values().copied().collect();
            let texts = [weighing.one.as_str(), weighing.many.as_str()];
            texts.map(|text| (*signal, text, effects.clone()))
        })
    }

    /// Returns the built-in signals.
    pub fn shipped() -> &'static Self {
        &SHIPPED
    }

    /// Parses a file of signals.
    ///
    /// # Errors
    /// Returns the first fault.
    pub fn parse(text: &str) -> Result<Self, SignalsError> {
        file::parse(text)
    }

    /// Returns the same signals with other notations.
    #[must_use]
    pub fn with_notations(self, notations: Notations) -> Self {
        Self { notations, ..self }
    }

    /// Returns how results and speakers are recognised.
    pub fn notations(&self) -> &Notations {
        &self.notations
    }

    /// Returns a hash of the signals and notations: other ones may give another verdict.
    pub fn fingerprint(&self) -> String {
        hash(&format!("{} {}", self.hash, self.notations.hash))
    }

    /// Returns where a text contains a phrase of a list.
    pub(super) fn find(&self, words: Phrases, text: &str) -> Option<std::ops::Range<usize>> {
        self.words.get(&words)?.find(text).map(|found| found.range())
    }

    /// Returns whether a text contains a phrase of a list.
    pub(super) fn has(&self, words: Phrases, text: &str) -> bool {
        self.words.get(&words).is_some_and(|words| words.is_match(text))
    }
}

/// Error of parsing a file of signals.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignalsError {
    /// Invalid TOML, or an unknown key.
    #[error("signals: {0}")]
    Shape(String),
    /// An invalid regular expression.
    #[error("signals: pattern of {name}: {why}")]
    Pattern { name: String, why: String },
    /// A number out of range.
    #[error("signals: {0}: base, cuts and sure are numbers from 0 to 1, effects from -1 to 1")]
    Number(String),
    /// A signal affects a dimension without scoring parameters.
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
    fn the_documentation_lists_every_signal() {
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
