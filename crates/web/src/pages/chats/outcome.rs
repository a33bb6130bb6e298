//! Results of form posts in a chat: JSON for a script, a page for a form.

use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use maud::html;
use ratchet_core::chat::transcript_view;
use ratchet_stages::chat::workspace_policy::WorkspacePolicyError;
use ratchet_stages::chat::{ChatError, ChatsError};

use super::conversation::Conversation;
use super::one::ChatContent;
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

/// An error that the user can correct.
#[derive(Debug)]
pub(super) struct ChatFormError {
    pub(super) status: StatusCode,
    pub(super) words: String,
}

impl ChatFormError {
    /// The input is invalid.
    pub(super) fn bad(words: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, words: words.into() }
    }

    fn conflict(words: impl Into<String>) -> Self {
        Self { status: StatusCode::CONFLICT, words: words.into() }
    }
}

/// Converts an error of a chat: to one that the page shows, or to an error page.
pub(super) fn form_error(error: ChatError) -> PageResult<ChatFormError> {
    let words = error.to_string();
    match error {
        ChatError::Busy { .. } => Ok(ChatFormError::conflict(
            "The agent is working on another message. Stop it, or wait until it is done.",
        )),
        ChatError::Answered { first, .. } => {
            let first = serde_json::from_str(&first).unwrap_or_default();
            Ok(ChatFormError::conflict(format!(
                "Already answered: {}.",
                transcript_view::outcome(&first)
            )))
        }
        ChatError::NoTurn
        | ChatError::NotOpen(_)
        | ChatError::Closed
        | ChatError::Budget { .. }
        | ChatError::OutOfPlace(_) => Ok(ChatFormError::conflict(words)),
        ChatError::AnswerMismatch(_) | ChatError::Setting(_) => Ok(ChatFormError::bad(words)),
        ChatError::Agent(_) => {
            Ok(ChatFormError { status: StatusCode::UNPROCESSABLE_ENTITY, words })
        }
        ChatError::Behind { .. } | ChatError::Stopping => {
            Ok(ChatFormError { status: StatusCode::SERVICE_UNAVAILABLE, words })
        }
        ChatError::NotFound(_) => Err(PageError::not_there("chat")),
        ChatError::Store(error) => Err(PageError::Store(error)),
    }
}

/// The same, always as an error page.
pub(super) fn refusal(error: ChatError) -> PageError {
    match form_error(error) {
        Ok(ChatFormError { words, .. }) => PageError::Bad(words),
        Err(refusal) => refusal,
    }
}

/// Converts an error of creating a chat or sending a message.
pub(super) fn create_error(error: ChatsError) -> PageResult<ChatFormError> {
    match error {
        ChatsError::Chat(error) => form_error(error),
        ChatsError::Policy(error @ WorkspacePolicyError::Folder(_)) => {
            Ok(ChatFormError::bad(format!("workspace: {error}")))
        }
        ChatsError::Policy(error) => Ok(ChatFormError::bad(error.to_string())),
        ChatsError::Store(error) => Err(error.into()),
    }
}

/// Whether the request comes from a script, which stays on its page, or from a form.
fn is_script(headers: &HeaderMap) -> bool {
    headers.contains_key("x-form-token")
}

/// Responds to a form post: without content to a script, which receives the events; with a redirect
/// to the chat to a form.
pub(super) async fn answer(
    (web, ctx): (&Web, &RequestContext),
    headers: &HeaderMap,
    id: &str,
    (went, text): (Result<Option<&'static str>, ChatFormError>, &str),
) -> PageResult<Response> {
    match went {
        Ok(_) if is_script(headers) => Ok(StatusCode::NO_CONTENT.into_response()),
        Ok(done) => {
            let back = ctx.to(&["chats", id]);
            let back = done.map_or(back.clone(), |done| back.with("done", done));
            Ok(Redirect::to(&format!("{back}#composer")).into_response())
        }
        Err(ChatFormError { status, words }) if is_script(headers) => {
            Ok((status, words).into_response())
        }
        Err(ChatFormError { status, words }) => {
            let problem = html! { p.problem role="alert" { bdi { (words) } } };
            let content = ChatContent { problem, text: text.to_owned() };
            let page = Conversation::read(web, ctx, id).await?.page(ctx, &content);
            Ok((status, page.show(ctx)).into_response())
        }
    }
}
