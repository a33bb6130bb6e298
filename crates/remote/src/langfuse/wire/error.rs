use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What is answered when something is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// What is wrong.
    pub message: String,
    /// The kind of error, or each thing that is wrong with the request.
    pub error: ErrorDetail,
}

/// The second half of an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum ErrorDetail {
    /// A name that clients compare: `LangfuseNotFoundError`, `UnauthorizedError` …
    Kind(String),
    /// What is wrong, and where.
    Issues(Vec<Issue>),
}

/// One thing that is wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Issue {
    /// Where, from the outside in.
    pub path: Vec<Step>,
    /// What.
    pub message: String,
}

/// One step on the way to a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Step {
    /// Into a field.
    Field(String),
    /// Into a list, counted from 0.
    Index(usize),
}

impl Issue {
    /// An issue with one field.
    pub fn at(field: &str, message: impl Into<String>) -> Self {
        Self { path: vec![Step::Field(field.to_owned())], message: message.into() }
    }

    /// An issue with a field of one entry of a list.
    pub fn in_list(list: &str, (entry, field): (usize, &str), message: impl Into<String>) -> Self {
        let step = |name: &str| Step::Field(name.to_owned());
        Self { path: vec![step(list), Step::Index(entry), step(field)], message: message.into() }
    }

    /// The same issue, seen from one level further out.
    #[must_use]
    pub fn inside(mut self, field: &str) -> Self {
        self.path.insert(0, Step::Field(field.to_owned()));
        self
    }
}

/// Prints `body.startTime: what is wrong`.
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
