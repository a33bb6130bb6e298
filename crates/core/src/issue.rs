//! What is wrong with a submitted document, and where in it.

use std::fmt;

/// A validation issue: the path to a value and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Outermost first; empty if the document as a whole is wrong.
    pub path: Vec<PathStep>,
    pub message: String,
}

/// A segment of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathStep {
    Field(String),
    /// List index, from 0.
    Index(usize),
}

impl Issue {
    /// Creates an issue of a document as a whole.
    pub fn whole(message: impl Into<String>) -> Self {
        Self { path: Vec::new(), message: message.into() }
    }

    /// Creates an issue of a field.
    pub fn at(field: &str, message: impl Into<String>) -> Self {
        Self { path: vec![PathStep::Field(field.to_owned())], message: message.into() }
    }

    /// Creates an issue of a field of a list entry.
    pub fn in_list(list: &str, (entry, field): (usize, &str), message: impl Into<String>) -> Self {
        let step = |name: &str| PathStep::Field(name.to_owned());
        let path = vec![step(list), PathStep::Index(entry), step(field)];
        Self { path, message: message.into() }
    }

    /// Prepends a field to the path.
    #[must_use]
    pub fn inside(mut self, field: &str) -> Self {
        self.path.insert(0, PathStep::Field(field.to_owned()));
        self
    }
}

/// Prints `body.startTime: message`.
impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, step) in self.path.iter().enumerate() {
            match step {
                PathStep::Field(name) if depth == 0 => f.write_str(name)?,
                PathStep::Field(name) => write!(f, ".{name}")?,
                PathStep::Index(index) => write!(f, "[{index}]")?,
            }
        }
        let separator = if self.path.is_empty() { "" } else { ": " };
        write!(f, "{separator}{}", self.message)
    }
}
