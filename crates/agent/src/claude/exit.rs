use std::fmt;

/// How a process ended, and what it complained about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaudeEnd {
    pub cause: EndCause,
    /// What it ended with; `None` when a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The last of what it complained about.
    pub stderr: String,
    /// The last of what it said that is no JSON, a line each.
    pub noise: Vec<String>,
    /// What it said of errors in its last result.
    pub errors: Vec<String>,
}

/// Whose will it was that a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndCause {
    /// Its own, or somebody else's.
    Exited,
    Requested,
    /// It said nothing for too long while it should have worked.
    IdleTimeout,
    /// The process that ends it with us was gone, so that it could have outlived us.
    Unsupervised,
}

impl ClaudeEnd {
    /// An end that nobody saw.
    pub(super) fn unknown() -> Self {
        let (stderr, noise, errors) = Default::default();
        Self { cause: EndCause::Exited, code: None, signal: None, stderr, noise, errors }
    }
}

impl fmt::Display for ClaudeEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.cause {
            EndCause::Exited => "claude ended",
            EndCause::Requested => "claude was ended",
            EndCause::IdleTimeout => "claude said nothing for too long and was ended",
            EndCause::Unsupervised => "the supervisor of claude is gone, so claude was ended",
        })?;
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, " with code {code}")?,
            (None, Some(signal)) => write!(f, " by signal {signal}")?,
            (None, None) => {}
        }
        let told = self.errors.iter().map(String::as_str).chain([self.stderr.trim()]);
        let told: Vec<&str> = told.filter(|told| !told.is_empty()).collect();
        if told.is_empty() {
            return Ok(());
        }
        write!(f, ": {}", told.join("; "))
    }
}
