//! Notations: how families of agents write down results of calls, and messages in the role of the
//! user that no user wrote.
//!
//! They are data (`Notations::shipped`, documented in `docs/offline-judge.md`), so that an agent
//! nobody thought of needs a file and no new version of the program.

/// File format.
mod file;
/// Results of calls.
mod results;
/// Messages in the role of the user, and calls in text.
mod speakers;

use std::sync::LazyLock;

use regex::Regex;
use sha2::{Digest, Sha256};

pub(crate) use results::ReadResult;
pub(crate) use speakers::UserRole;

/// The built-in notations, in a file for users to read.
const BUILTIN: &str = include_str!("../../offline/notations.toml");

static SHIPPED: LazyLock<Notations> = LazyLock::new(|| {
    // A test validates the file.
    Notations::parse(BUILTIN).unwrap_or_default()
});

/// What came of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    Passed,
    Failed,
    /// Nothing that was recorded tells.
    #[default]
    Unknown,
}

/// The notations of all known agent families.
#[derive(Clone, Debug, Default)]
pub struct Notations {
    /// Version of the file.
    pub version: u32,
    /// What stands before and after a result.
    wrapper: Option<[Regex; 2]>,
    object: file::ObjectKeys,
    results: Vec<results::ResultNotation>,
    user_roles: Vec<speakers::UserRoleNotation>,
    calls: Vec<speakers::CallNotation>,
    /// Hash of the file.
    pub(crate) hash: String,
}

/// Returns a short hash of a file.
pub(crate) fn hash(text: &str) -> String {
    Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

impl Notations {
    /// Returns the built-in notations.
    pub fn shipped() -> &'static Self {
        &SHIPPED
    }

    /// Returns a hash of the file, where it is not the built-in one.
    pub fn own_hash(&self) -> Option<&str> {
        (self.hash != SHIPPED.hash).then_some(self.hash.as_str())
    }

    /// Parses a file of notations.
    ///
    /// # Errors
    /// Returns the first fault.
    pub fn parse(text: &str) -> Result<Self, NotationsError> {
        file::parse(text)
    }
}

/// Error of parsing a file of notations.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotationsError {
    /// Invalid TOML, or an unknown key.
    #[error("notations: {0}")]
    Shape(String),
    /// An invalid regular expression.
    #[error("notations: pattern of {family}: {why}")]
    Pattern { family: String, why: String },
    /// A result without a group `code` needs an outcome.
    #[error("notations: a result of {0} has neither an outcome nor a group named code")]
    Outcome(String),
}

#[cfg(test)]
pub(crate) mod golden;
#[cfg(test)]
mod tests;
