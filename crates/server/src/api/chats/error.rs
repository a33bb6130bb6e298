use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ratchet_core::chat::workspace::BoundaryError;
use ratchet_stages::chat::work_folder::WorkFolderError;
use ratchet_stages::chat::workspace_policy::WorkspacePolicyError;
use ratchet_stages::chat::{ChatError, ChatsError};
use serde::Serialize;
use serde_json::value::RawValue;
use std::time::Duration;

use crate::error::ApiError;

/// Error class of a 409, as in Langfuse's responses.
const CONFLICT: &str = "LangfuseConflictError";

pub(super) type ChatResult<T> = Result<T, ChatRefusal>;

/// Why a request about a chat is refused.
#[derive(Debug)]
pub(super) enum ChatRefusal {
    /// Another turn is running. 409.
    Busy {
        message: String,
        turn: String,
    },
    /// The prompt was answered before, by the answer `first`. 409.
    Answered {
        message: String,
        first: Option<Box<RawValue>>,
    },
    Api(ApiError),
}

/// Body of a 409, with the running turn or the first answer.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ConflictBody {
    message: String,
    error: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    running: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Box<RawValue>>,
}

impl From<ChatError> for ChatRefusal {
    fn from(error: ChatError) -> Self {
        let message = error.to_string();
        let api = match error {
            ChatError::Busy { turn } => return Self::Busy { message, turn: turn.to_string() },
            ChatError::Answered { first, .. } => {
                let first = RawValue::from_string(first.to_string()).ok();
                return Self::Answered { message, first };
            }
            ChatError::NotFound(_) => ApiError::NotFound(message),
            ChatError::NoTurn
            | ChatError::NotOpen(_)
            | ChatError::Closed
            | ChatError::Budget { .. }
            | ChatError::OutOfPlace(_) => ApiError::Conflict(message),
            ChatError::AnswerMismatch(_) | ChatError::Setting(_) => ApiError::Invalid(message),
            ChatError::Agent(_) => ApiError::Unprocessable(message),
            ChatError::Behind { .. } | ChatError::Stopping => {
                ApiError::Unavailable { why: message, retry_after: Duration::from_secs(1) }
            }
            ChatError::Store(error) => error.into(),
        };
        Self::Api(api)
    }
}

impl From<WorkspacePolicyError> for ChatRefusal {
    fn from(error: WorkspacePolicyError) -> Self {
        let message = error.to_string();
        Self::Api(match error {
            WorkspacePolicyError::Folder(WorkFolderError::Boundary(why)) => match why {
                BoundaryError::NoRoots
                | BoundaryError::Outside
                | BoundaryError::System(_)
                | BoundaryError::DataFolder => ApiError::Forbidden(message),
                BoundaryError::BadRoot(_) | BoundaryError::LeadsOut => ApiError::Invalid(message),
            },
            WorkspacePolicyError::Folder(_) => ApiError::Invalid(format!("workspace: {message}")),
            // For the operator of the server to fix.
            WorkspacePolicyError::AgentFiles(_) | WorkspacePolicyError::Prompt(_) => {
                ApiError::Unprocessable(message)
            }
            WorkspacePolicyError::File(_)
            | WorkspacePolicyError::NoFile(_)
            | WorkspacePolicyError::Attachment(_)
            | WorkspacePolicyError::NoText(_) => ApiError::Invalid(message),
        })
    }
}

impl From<ChatsError> for ChatRefusal {
    fn from(error: ChatsError) -> Self {
        match error {
            ChatsError::Policy(error) => error.into(),
            ChatsError::Chat(error) => error.into(),
            ChatsError::Store(error) => Self::Api(error.into()),
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
        let body = ConflictBody { message, error: CONFLICT, running, answer };
        (StatusCode::CONFLICT, Json(body)).into_response()
    }
}
