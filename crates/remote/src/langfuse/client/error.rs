use std::time::Duration;

use crate::http::TlsError;
use ratchet_core::issue::Issue;

/// Error of the client. Each text names the request and suggests a remedy.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// An invalid URL.
    #[error("{url} is not the URL of a Langfuse server: {why}")]
    Address {
        /// Without its password.
        url: String,
        why: String,
    },
    /// The HTTP client cannot be created.
    #[error("cannot start an HTTP client; are this machine's certificates readable?")]
    Start(#[source] reqwest::Error),
    #[error("{request} got no answer in {attempts} attempts; check the address and the network")]
    Silent {
        request: String,
        attempts: u32,
        /// The error of the last attempt.
        #[source]
        cause: reqwest::Error,
    },
    /// TLS verification failed.
    #[error("{request} was not sent")]
    Distrusted {
        request: String,
        /// The TLS error and its remedy.
        #[source]
        cause: TlsError,
    },
    /// The server responded with an error status.
    #[error("{request} was refused with {status}: {message}; {advice}")]
    Refused {
        request: String,
        /// For example 400 or 401.
        status: u16,
        message: String,
        advice: &'static str,
    },
    /// The server's `Retry-After` exceeds the limit.
    #[error("{request} was refused with {status}; try again in {} s",
            .wait.as_secs())]
    Later {
        request: String,
        /// 429 or 503.
        status: u16,
        /// The server's `Retry-After`.
        wait: Duration,
    },
    /// The response exceeds the size limit.
    #[error("the response to {request} has more than {limit} bytes; request a shorter time range")]
    TooLong { request: String, limit: usize },
    /// The response does not follow the API.
    #[error("the response to {request} is not as specified: {issue}; is it a Langfuse server?")]
    Unreadable { request: String, issue: Issue },
    /// The server supports neither generation's route.
    #[error("the server supports no known route for {list} ({routes}); is it a Langfuse server?")]
    NoRoute { list: &'static str, routes: String },
    /// Some ingestion events were rejected.
    #[error("{request}: {refused} of {sent} were rejected, the first because {first}")]
    Rejected {
        request: String,
        sent: usize,
        /// The number of rejected events.
        refused: usize,
        /// The error of the first rejected event.
        first: String,
    },
}

impl ClientError {
    /// Returns the HTTP status, if the server sent one.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } | Self::Later { status, .. } => Some(*status),
            _ => None,
        }
    }
}

/// Returns a remedy for an error status.
pub(super) fn advice(status: u16) -> &'static str {
    match status {
        300..=399 => "use the address it points to",
        401 => "check the public and the secret key",
        403 => "use a key that may do this",
        404 => "check the address, and that it is there",
        413 => "send less at once",
        429 => "try again later, or send fewer requests",
        500.. => "try again later, or look at the server's log",
        _ => "correct what was sent",
    }
}
