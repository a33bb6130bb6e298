use std::time::Duration;

use crate::http::TlsError;
use crate::langfuse::wire::error::Issue;

/// Why a server could not be asked. Each names the request and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address makes no sense.
    #[error("{url} is no address of a Langfuse server: {why}")]
    Address {
        /// What was given, without any password.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// No HTTP client could be made.
    #[error("cannot start an HTTP client; are this machine's certificates readable?")]
    Start(#[source] reqwest::Error),
    #[error("{request} got no answer in {attempts} attempts; check the address and the network")]
    Silent {
        request: String,
        attempts: u32,
        /// What happened the last time.
        #[source]
        cause: reqwest::Error,
    },
    /// The server could not show that it is the right one.
    #[error("{request} was not sent")]
    Distrusted {
        /// What was to be asked.
        request: String,
        /// What TLS found, and what to do.
        #[source]
        cause: TlsError,
    },
    /// The server said no.
    #[error("{request} was refused with {status}: {message}; {advice}")]
    Refused {
        request: String,
        /// 400, 401 …
        status: u16,
        message: String,
        advice: &'static str,
    },
    /// The server asks for more patience than we have.
    #[error("{request} was refused with {status}, to be asked again in {} s; try again then",
            .wait.as_secs())]
    Later {
        request: String,
        /// 429 or 503.
        status: u16,
        /// How long the server asks to wait.
        wait: Duration,
    },
    /// The answer is longer than we take.
    #[error("{request} was answered with more than {limit} bytes; ask for a shorter time")]
    TooLong { request: String, limit: usize },
    /// The answer is not what the API promises.
    #[error("{request} was answered with something else: {issue}; is it a Langfuse server?")]
    Unreadable {
        request: String,
        /// What is wrong, and where.
        issue: Issue,
    },
    /// Neither era's route is there.
    #[error("{asked} can be read there by no route we know ({routes}); is it a Langfuse server?")]
    NoRoute { asked: &'static str, routes: String },
    /// Some of what was sent was not taken.
    #[error("{request}: {refused} of {sent} were not taken, the first because {first}")]
    Rejected {
        request: String,
        sent: usize,
        /// How many were not taken.
        refused: usize,
        /// Why not the first of them.
        first: String,
    },
}

impl ClientError {
    /// The status the server refused with, if it was one.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } | Self::Later { status, .. } => Some(*status),
            _ => None,
        }
    }
}

/// What to do about a refusal.
pub(super) fn advice(status: u16) -> &'static str {
    match status {
        300..=399 => "use the address it points to",
        401 => "check the public and the secret key",
        403 => "use a key that may do this",
        404 => "check the address, and that it is there",
        413 => "send less at once",
        429 => "try again later, or ask less often",
        500.. => "try again later, or look at the server's log",
        _ => "correct what was sent",
    }
}
