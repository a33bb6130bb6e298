//! Datasets: test cases for an agent, and the runs over them.

/// Mapping of table rows to dataset items.
pub mod upload;

use sha2::{Digest, Sha256};

const MAX_NAME_CHARS: usize = 1_000;
const MAX_ID_CHARS: usize = 255;

/// Whether new runs use a dataset item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DatasetStatus {
    #[default]
    Active,
    /// Stored for earlier runs only.
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

    /// Parses the API name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }
}

/// Error of validating a dataset name, run name or item id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("must not be empty")]
    Empty,
    #[error("must have at most {0} characters")]
    TooLong(usize),
    /// Line breaks, null bytes and other control characters.
    #[error("must not contain control characters")]
    Control,
}

/// Validates the name of a dataset or run.
///
/// # Errors
/// Rejects empty or too long names and control characters.
pub fn check_name(name: &str) -> Result<(), NameError> {
    check(name, MAX_NAME_CHARS)
}

/// Validates the id of an item.
///
/// # Errors
/// Rejects empty or too long ids and control characters.
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

/// Returns the id of a run over a dataset, computed as SDKs compute it: the first 16 hexadecimal
/// digits of a SHA-256. The same name in the same dataset is the same run.
pub fn run_id(project: &str, dataset: &str, run: &str) -> String {
    // Serialized as JSON so that different lists of names never give the same text.
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
