//! Every error that a client can see, and its HTTP response.
//!
//! Bodies are Langfuse's: `{"message": …, "error": "<class name>"}`. Its SDKs distinguish some
//! errors by the class name, so these names are part of the API.
//!
//! A full disk or a read-only folder is 503, not 507: OpenTelemetry exporters retry on 503 and drop
//! the spans on any status they do not know.

use axum::Json;
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use ratchet_core::catalog::validation::Invalid;
use ratchet_core::issue::Issue;
use ratchet_remote::langfuse::wire::error::{ErrorBody, ErrorDetail};
use ratchet_stages::dashboards::definitions::SaveError;
use ratchet_store::StoreError;
use std::time::Duration;

/// The result of a handler.
pub type ApiResult<T> = Result<T, ApiError>;

/// An error of a request. Messages tell the client what to do.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// No valid credentials. 401.
    #[error("{0}")]
    Unauthorized(String),
    /// Not allowed. 403.
    #[error("{0}")]
    Forbidden(String),
    /// The request is invalid; the message names the field. 400.
    #[error("{0}")]
    Invalid(String),
    /// Fields or parameters are invalid, each with its own message. 400.
    #[error("Invalid request data")]
    InvalidFields(Vec<Issue>),
    /// 404.
    #[error("{0}")]
    NotFound(String),
    /// 405.
    #[error("{0}")]
    MethodNotAllowed(String),
    /// The client stopped sending. 408.
    #[error("{0}")]
    TooSlow(String),
    /// It exists already, or the current state forbids it. 409.
    #[error("{0}")]
    Conflict(String),
    /// A limit is exceeded. 413.
    #[error("{0}")]
    TooLarge(String),
    /// Unsupported content type or encoding. 415.
    #[error("{0}")]
    UnsupportedMediaType(String),
    /// Valid, but impossible in the current state. 422.
    #[error("{0}")]
    Unprocessable(String),
    /// The key's rate limit is exceeded. 429.
    #[error("the rate limit of this key is exceeded; retry in {} s", seconds(*.retry_after))]
    TooManyRequests {
        /// Until the next request is allowed.
        retry_after: Duration,
    },
    /// Temporarily unavailable. 503.
    #[error("{why}; nothing was recorded, retry later")]
    Unavailable {
        /// The reason.
        why: String,
        retry_after: Duration,
    },
    /// An internal error. 500; the client sees only an id, the log has the rest.
    #[error("internal error")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl ApiError {
    /// An internal error with a message for the log.
    pub fn internal(what: impl Into<String>) -> Self {
        Self::Internal(what.into().into())
    }

    pub fn status(&self) -> StatusCode {
        self.status_and_class().0
    }

    fn status_and_class(&self) -> (StatusCode, &'static str) {
        match self {
            Self::Unauthorized(_) => (StatusCode::UNAUTHORIZED, "UnauthorizedError"),
            Self::Forbidden(_) => (StatusCode::FORBIDDEN, "ForbiddenError"),
            Self::Invalid(_) | Self::InvalidFields(_) => {
                (StatusCode::BAD_REQUEST, "InvalidRequestError")
            }
            Self::NotFound(_) => (StatusCode::NOT_FOUND, "LangfuseNotFoundError"),
            Self::MethodNotAllowed(_) => (StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowedError"),
            Self::TooSlow(_) => (StatusCode::REQUEST_TIMEOUT, "RequestTimeoutError"),
            Self::Conflict(_) => (StatusCode::CONFLICT, "LangfuseConflictError"),
            Self::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "PayloadTooLargeError"),
            Self::UnsupportedMediaType(_) => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaTypeError")
            }
            Self::Unprocessable(_) => {
                (StatusCode::UNPROCESSABLE_ENTITY, "UnprocessableContentError")
            }
            Self::TooManyRequests { .. } => (StatusCode::TOO_MANY_REQUESTS, "TooManyRequestsError"),
            Self::Unavailable { .. } => {
                (StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailableError")
            }
            Self::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, "InternalServerError"),
        }
    }

    /// The message for the client. An internal error is logged here, once, with the id it shows.
    pub fn client_message(&self) -> String {
        let Self::Internal(cause) = self else {
            return self.to_string();
        };
        let id = uuid::Uuid::new_v4();
        tracing::error!(error.id = %id, error.cause = %chain(cause.as_ref()), "request failed");
        format!("internal server error; see the server log for error id {id}")
    }

    /// When to retry, if that makes sense.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::TooManyRequests { retry_after } | Self::Unavailable { retry_after, .. } => {
                Some(*retry_after)
            }
            _ => None,
        }
    }

    /// The headers of the response.
    pub fn headers(&self) -> Vec<(axum::http::HeaderName, HeaderValue)> {
        let challenge = matches!(self, Self::Unauthorized(_))
            .then(|| (WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"ratchet\"")));
        let retry = self.retry_after().map(|wait| (RETRY_AFTER, HeaderValue::from(seconds(wait))));
        challenge.into_iter().chain(retry).collect()
    }
}

/// Whole seconds, rounded up: an early retry would be rejected again.
fn seconds(wait: Duration) -> u64 {
    wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0)).max(1)
}

fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

impl From<Vec<Issue>> for ApiError {
    fn from(issues: Vec<Issue>) -> Self {
        Self::InvalidFields(issues)
    }
}

impl From<SaveError> for ApiError {
    fn from(error: SaveError) -> Self {
        match error {
            SaveError::Invalid(issues) => issues.into(),
            SaveError::Store(error) => error.into(),
        }
    }
}

impl From<Invalid> for ApiError {
    fn from(why: Invalid) -> Self {
        Self::Invalid(why.to_string())
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let later = |seconds| Self::Unavailable {
            why: error.to_string(),
            retry_after: Duration::from_secs(seconds),
        };
        match error {
            StoreError::QueueFull => later(1),
            StoreError::Closing => later(5),
            StoreError::DiskFull
            | StoreError::DiskLow { .. }
            | StoreError::Unsettled(_)
            | StoreError::TooSlow => later(30),
            // The client need not know the path, only that it may retry.
            StoreError::ReadOnly(_) => {
                tracing::error!(error.cause = %error, "cannot write");
                Self::Unavailable {
                    why: "the data folder cannot be written".to_owned(),
                    retry_after: Duration::from_secs(30),
                }
            }
            StoreError::BadQuery(what) => Self::Invalid(what),
            StoreError::Exists(_) | StoreError::Conflict(_) => Self::Conflict(error.to_string()),
            StoreError::Denied(why) => Self::Forbidden(why),
            StoreError::NotFound(_) => Self::NotFound(error.to_string()),
            StoreError::Locked { .. }
            | StoreError::TooNew { .. }
            | StoreError::Corrupt { .. }
            | StoreError::Backup(_)
            | StoreError::Sealed(_)
            | StoreError::Random(_)
            | StoreError::Panicked(_)
            | StoreError::Database(_)
            | StoreError::File { .. } => Self::Internal(Box::new(error)),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, class) = self.status_and_class();
        let message = self.client_message();
        let headers = self.headers();
        let error = match self {
            Self::InvalidFields(issues) => {
                ErrorDetail::Issues(issues.into_iter().map(Into::into).collect())
            }
            _ => ErrorDetail::Kind(class.to_owned()),
        };
        let mut response = (status, Json(ErrorBody { message, error })).into_response();
        response.headers_mut().extend(headers);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(error: StoreError, status: u16, retry_after: Option<u64>) {
        let error = ApiError::from(error);
        assert_eq!(error.status().as_u16(), status);
        assert_eq!(error.retry_after().map(|wait| wait.as_secs()), retry_after);
    }

    #[test]
    fn what_passes_by_itself_asks_to_come_back() {
        check(StoreError::QueueFull, 503, Some(1));
        check(StoreError::Closing, 503, Some(5));
        check(StoreError::DiskFull, 503, Some(30));
        check(StoreError::DiskLow { free: 1, reserve: 2 }, 503, Some(30));
        check(StoreError::TooSlow, 503, Some(30));
        check(StoreError::Unsettled("a rule cannot be used".into()), 503, Some(30));
        check(StoreError::ReadOnly("/srv/ratchet".into()), 503, Some(30));
    }

    #[test]
    fn the_rest_says_whose_fault_it_is() {
        check(StoreError::BadQuery("cursor: not ours".into()), 400, None);
        check(StoreError::Exists("project a".into()), 409, None);
        check(StoreError::NotFound("key b".into()), 404, None);
    }

    #[test]
    fn internals_stay_inside() {
        let message = ApiError::internal("/srv/secret is broken").client_message();
        assert!(!message.contains("secret"), "{message}");
    }

    #[test]
    fn paths_of_the_server_stay_inside() {
        let message = ApiError::from(StoreError::ReadOnly("/srv/ratchet".into())).client_message();
        assert!(!message.contains("/srv"), "{message}");
    }

    #[test]
    fn waits_are_rounded_up() {
        assert_eq!(seconds(Duration::from_millis(1)), 1);
        assert_eq!(seconds(Duration::from_millis(1_500)), 2);
        assert_eq!(seconds(Duration::ZERO), 1);
    }
}
