use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An error response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// Error message.
    pub message: String,
    /// Error type, or all validation issues of the request.
    pub error: ErrorDetail,
}

/// The details of an error response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum ErrorDetail {
    /// An error type that clients compare: `LangfuseNotFoundError`, `UnauthorizedError`, …
    Kind(String),
    /// Validation issues.
    Issues(Vec<Issue>),
}

/// A validation issue of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Issue {
    /// Path to the value, outermost first.
    pub path: Vec<Step>,
    /// Message.
    pub message: String,
}

/// A segment of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Step {
    /// Field name.
    Field(String),
    /// List index, from 0.
    Index(usize),
}

impl Issue {
    /// Creates an issue of a field.
    pub fn at(field: &str, message: impl Into<String>) -> Self {
        Self { path: vec![Step::Field(field.to_owned())], message: message.into() }
    }

    /// Creates an issue of a field of a list entry.
    pub fn in_list(list: &str, (entry, field): (usize, &str), message: impl Into<String>) -> Self {
        let step = |name: &str| Step::Field(name.to_owned());
        Self { path: vec![step(list), Step::Index(entry), step(field)], message: message.into() }
    }

    /// Prepends a field to the path.
    #[must_use]
    pub fn inside(mut self, field: &str) -> Self {
        self.path.insert(0, Step::Field(field.to_owned()));
        self
    }
}

/// Prints `body.startTime: message`.
impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, step) in self.path.iter().enumerate() {
            match step {
                Step::Field(name) if depth == 0 => f.write_str(name)?,
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        let separator = if self.path.is_empty() { "" } else { ": " };
        write!(f, "{separator}{}", self.message)
    }
}
