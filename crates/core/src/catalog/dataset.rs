//! Datasets: cases to try an agent on, and the runs over them.

/// Rows of a table as items.
pub mod upload;

use sha2::{Digest, Sha256};

const MAX_NAME_CHARS: usize = 1_000;
const MAX_ID_CHARS: usize = 255;

/// Whether a dataset item is tried in new runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DatasetStatus {
    #[default]
    Active,
    /// It is kept for the runs that had it.
    Archived,
}

impl DatasetStatus {
    pub const ALL: [Self; 2] = [Self::Active, Self::Archived];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "ACTIVE",
            Self::Archived => "ARCHIVED",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

/// Why a text cannot be the name of a dataset or a run, or the id of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("must not be empty")]
    Empty,
    #[error("must have at most {0} characters")]
    TooLong(usize),
    /// Line breaks, null bytes and the like.
    #[error("must not contain control characters")]
    Control,
}

/// Checks the name of a dataset or of a run.
///
/// # Errors
/// Says what is wrong with it.
pub fn check_name(name: &str) -> Result<(), NameError> {
    check(name, MAX_NAME_CHARS)
}

/// Checks the id of an item.
///
/// # Errors
/// Says what is wrong with it.
pub fn check_item_id(id: &str) -> Result<(), NameError> {
    check(id, MAX_ID_CHARS)
}

fn check(text: &str, most: usize) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty);
    }
    if text.chars().count() > most {
        return Err(NameError::TooLong(most));
    }
    if text.contains(char::is_control) { Err(NameError::Control) } else { Ok(()) }
}

/// Returns the id of a run over a dataset, which SDKs work out for themselves: the first 16
/// hexadecimal digits of a SHA-256. The same name in the same dataset is the same run.
pub fn run_id(project: &str, dataset: &str, run: &str) -> String {
    // Written as JSON so that no two lists of names give the same text.
    let names = serde_json::json!(["langfuse-experiment-v1", project, dataset, run]);
    let digest = Sha256::digest(names.to_string());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_the_id_that_sdks_work_out() {
        assert_eq!(run_id("shop", "ds-1", "run 1"), "da58efc20572d20c");
        assert_eq!(run_id("p", "d", "Läuf \"1\"\n/ü\u{2028}\u{7}"), "53b2dfb8c175a6eb");
    }

    #[test]
    fn names_say_something_on_one_line() {
        assert_eq!(check_name("folder/my set | ü"), Ok(()));
        assert_eq!(check_name(""), Err(NameError::Empty));
        assert_eq!(check_name("a\nb"), Err(NameError::Control));
        assert_eq!(check_item_id(&"x".repeat(256)), Err(NameError::TooLong(255)));
    }
}
