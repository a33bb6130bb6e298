use std::fmt;

/// Exit status of a process, with its last error output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaudeEnd {
    pub cause: EndCause,
    /// Exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// The last part of stderr.
    pub stderr: String,
    /// The last lines of stdout that are no JSON.
    pub noise: Vec<String>,
    /// Errors of its last result.
    pub errors: Vec<String>,
}

/// Cause of the end of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndCause {
    /// It exited by itself, or something else ended it.
    Exited,
    Requested,
    /// It wrote no output for too long while busy.
    IdleTimeout,
    /// The watchdog process was gone, so that it could have outlived us.
    Unsupervised,
}

impl ClaudeEnd {
    /// An end of unknown cause.
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
            EndCause::IdleTimeout => "claude sent no output for too long and was ended",
            EndCause::Unsupervised => "the supervisor process has exited, so claude was terminated",
        })?;
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, " with code {code}")?,
            (None, Some(signal)) => write!(f, " by signal {signal}")?,
            (None, None) => {}
        }
        let messages = self.errors.iter().map(String::as_str).chain([self.stderr.trim()]);
        let messages: Vec<&str> = messages.filter(|messages| !messages.is_empty()).collect();
        if messages.is_empty() {
            return Ok(());
        }
        write!(f, ": {}", messages.join("; "))
    }
}
