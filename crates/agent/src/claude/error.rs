use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::exit::ClaudeEnd;

/// Why something did not work with the program. Each says what to do, or what the program said.
#[derive(Debug, thiserror::Error)]
pub enum ClaudeError {
    /// It does not start.
    #[error("{why}")]
    NotStarted {
        /// Which program, why, and what to do.
        why: String,
    },
    /// A folder or file that it needs cannot be made.
    #[error("cannot make {}", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("{0}")]
    Ended(Arc<ClaudeEnd>),
    /// It did not answer a request.
    #[error("claude did not answer {request} within {} s", .after.as_secs())]
    TooSlow {
        /// The subtype of the request.
        request: String,
        after: Duration,
    },
    /// It will not do what a request says.
    #[error("claude refuses {request}: {why}")]
    Refused {
        /// The subtype of the request.
        request: String,
        why: String,
        /// Its word for it, if it has one.
        code: Option<String>,
    },
    /// It does not ask, or not any more, what is answered.
    #[error("claude does not wait for an answer to {id}")]
    UnknownRequest {
        /// The id of the request.
        id: String,
    },
    /// What we would say cannot be written as JSON.
    #[error("cannot write it as JSON")]
    NotSerializable(#[from] serde_json::Error),
}
