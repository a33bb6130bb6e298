use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ratchet_core::major::workspace::BoundaryError;
use ratchet_stages::major::ground::GroundError;
use ratchet_stages::major::work_folder::WorkFolderError;
use ratchet_stages::major::{ChatsError, MajorError};
use serde::Serialize;
use serde_json::value::RawValue;
use std::time::Duration;

use crate::error::ApiError;

/// The class of a 409, as in all other answers.
const CONFLICT: &str = "LangfuseConflictError";

/// The result of a handler here.
pub(super) type ChatResult<T> = Result<T, ChatRefusal>;

/// Why a session does not do what a client wants.
#[derive(Debug)]
pub(super) enum ChatRefusal {
    /// One turn at a time: that one is under way. 409.
    Busy { message: String, turn: String },
    /// Someone was quicker, and decided that. 409.
    Answered { message: String, first: Option<Box<RawValue>> },
    /// Anything else.
    Api(ApiError),
}

/// A 409 that says what is in the way.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InTheWay {
    message: String,
    error: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    running: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Box<RawValue>>,
}

impl From<MajorError> for ChatRefusal {
    fn from(error: MajorError) -> Self {
        let message = error.to_string();
        let api = match error {
            MajorError::Busy { turn } => return Self::Busy { message, turn: turn.to_string() },
            MajorError::Answered { first, .. } => {
                let first = RawValue::from_string(first.to_string()).ok();
                return Self::Answered { message, first };
            }
            MajorError::NotFound(_) => ApiError::NotFound(message),
            MajorError::NoTurn
            | MajorError::NotOpen(_)
            | MajorError::Closed
            | MajorError::Budget { .. }
            | MajorError::OutOfPlace(_) => ApiError::Conflict(message),
            MajorError::Misfit(_) | MajorError::Setting(_) => ApiError::Invalid(message),
            MajorError::Agent(_) => ApiError::Unprocessable(message),
            MajorError::Behind { .. } | MajorError::Stopping => {
                ApiError::Unavailable { why: message, retry_after: Duration::from_secs(1) }
            }
            MajorError::Store(error) => error.into(),
        };
        Self::Api(api)
    }
}

impl From<GroundError> for ChatRefusal {
    fn from(error: GroundError) -> Self {
        let message = error.to_string();
        Self::Api(match error {
            GroundError::Folder(WorkFolderError::Boundary(why)) => match why {
                BoundaryError::NoRoots
                | BoundaryError::Outside
                | BoundaryError::System(_)
                | BoundaryError::DataFolder => ApiError::Forbidden(message),
                BoundaryError::BadRoot(_) | BoundaryError::LeadsOut => ApiError::Invalid(message),
            },
            GroundError::Folder(_) => ApiError::Invalid(format!("workspace: {message}")),
            // What whoever runs the server has to put right.
            GroundError::Given(_) | GroundError::Prompt(_) => ApiError::Unprocessable(message),
            GroundError::File(_)
            | GroundError::NoFile(_)
            | GroundError::Attachment(_)
            | GroundError::NoText(_) => ApiError::Invalid(message),
        })
    }
}

impl From<ChatsError> for ChatRefusal {
    fn from(error: ChatsError) -> Self {
        match error {
            ChatsError::Ground(error) => error.into(),
            ChatsError::Major(error) => error.into(),
            ChatsError::Thread(error) => Self::Api(ApiError::Internal(Box::new(error))),
        }
    }
}

impl From<ApiError> for ChatRefusal {
    fn from(error: ApiError) -> Self {
        Self::Api(error)
    }
}

impl IntoResponse for ChatRefusal {
    fn into_response(self) -> Response {
        let (message, running, answer) = match self {
            Self::Api(error) => return error.into_response(),
            Self::Busy { message, turn } => (message, Some(turn), None),
            Self::Answered { message, first } => (message, None, first),
        };
        let told = InTheWay { message, error: CONFLICT, running, answer };
        (StatusCode::CONFLICT, Json(told)).into_response()
    }
}
