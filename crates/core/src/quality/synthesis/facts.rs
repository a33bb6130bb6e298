use std::collections::{BTreeMap, BTreeSet};

use super::{JudgeVersion, Mark};
use crate::environment::Environment;
use crate::id::SessionId;
use crate::money::Money;
use crate::time::Timestamp;

/// The scores of one session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionMarks {
    pub session: SessionId,
    /// Overall score, from 0 to 1.
    pub overall: f64,
    pub marks: BTreeMap<String, Mark>,
    pub judge: JudgeVersion,
    pub facts: RecordedFacts,
}

/// What is recorded of a session besides its scores.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedFacts {
    /// The agent of its first trace.
    pub agent: Option<String>,
    pub environment: Environment,
    /// Releases of its traces.
    pub releases: BTreeSet<String>,
    /// Versions of the prompts that its model calls name.
    pub prompts: BTreeMap<String, BTreeSet<u64>>,
    pub user: Option<String>,
    pub tags: BTreeSet<String>,
    /// Start of its last trace.
    pub last_at: Timestamp,
    /// The day of that in the report's time zone, such as `2026-11-08`; empty if unknown.
    pub day: String,
    /// `None` where no cost is known.
    pub cost: Option<Money>,
}

impl RecordedFacts {
    /// Returns the release of all its traces; `None` where there is none or more than one.
    pub fn release(&self) -> Option<&str> {
        only(&self.releases).map(String::as_str)
    }

    /// Returns the version of a prompt that all its model calls with that prompt name.
    pub fn prompt_version(&self, prompt: &str) -> Option<u64> {
        self.prompts.get(prompt).and_then(only).copied()
    }

    /// Returns whether a model call names a version of a prompt, such as `support v3`.
    pub fn has_prompt(&self, wanted: &str) -> bool {
        let versions = |(name, versions): (&String, &BTreeSet<u64>)| {
            versions.iter().any(|version| prompt_words(name, *version) == wanted)
        };
        self.prompts.iter().any(versions)
    }
}

/// `support v3`.
pub(super) fn prompt_words(name: &str, version: u64) -> String {
    format!("{name} v{version}")
}

fn only<T: Ord>(set: &BTreeSet<T>) -> Option<&T> {
    set.first().filter(|_| set.len() == 1)
}
