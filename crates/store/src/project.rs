use std::fmt;

/// Id of a project. Every query and every record belongs to exactly one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProjectId(Box<str>);

/// Error for a malformed project id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a project id is 1 to 64 of a-z A-Z 0-9 - _")]
pub struct ProjectIdError;

impl ProjectId {
    /// Parses an id, which must be URL-safe.
    ///
    /// # Errors
    /// Rejects other characters and lengths.
    pub fn parse(text: &str) -> Result<Self, ProjectIdError> {
        let is_valid = (1..=64).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        is_valid.then(|| Self(text.into())).ok_or(ProjectIdError)
    }

    /// A new random id.
    pub fn random() -> Self {
        Self(uuid::Uuid::new_v4().to_string().into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
