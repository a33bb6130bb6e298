//! Chats with agents that run on this server: `/api/v1/chats`.
//!
//! A reader's key may list and follow chats. Sending, answering and interrupting require a member's
//! key with the permission `chat`.

mod wire;
mod view;
mod error;
mod events;

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use ratchet_agent::claude::control::Rewind;
use ratchet_core::chat::state::PermissionPromptId;
use ratchet_core::id::SessionId;
use ratchet_stages::chat::workspace_policy::ChatRequest;
use ratchet_stages::chat::{ChatMessageInput, Chats, NewChatRequest};
use ratchet_store::catalog::Chat;
use ratchet_store::project::ProjectId;
use ratchet_store::query::PageNumber;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::query::asked;
use crate::app::App;
use crate::auth::{Caller, ChatCaller, Reader};
use crate::body::JsonBody;
use crate::error::{ApiError, ApiResult};
use crate::path_alias::DeprecatedPath;
use error::ChatResult;
use view::OldChatsView;
pub use view::{ChatView, ChatsView, RewindView, SentView};
pub use wire::{
    AnswerRequest, AttachmentRequest, CreateChatRequest, ForkRequest, MessageRequest, ModeRequest,
    PastMessageRequest, RewindRequest, TitleRequest,
};

const DEFAULT_LIMIT: u64 = 50;
const MAX_LIMIT: u64 = 100;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(list, create))
        .routes(routes!(show, rename, close))
        .routes(routes!(send))
        .routes(routes!(interrupt))
        .routes(routes!(answer))
        .routes(routes!(fork))
        .routes(routes!(rewind))
        .routes(routes!(set_mode))
        .routes(routes!(events::follow))
}

/// Query parameters of the list of chats.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ChatsRequest {
    /// Page number, from 1.
    pub page: Option<u64>,
    /// Chats per page, 1 to 100 [default: 50].
    pub limit: Option<u64>,
}

/// The chats of this server, for reading.
fn chats(app: &App) -> ApiResult<Arc<Chats>> {
    let none = || ApiError::NotFound("this server runs no agents".to_owned());
    app.chats().cloned().ok_or_else(none)
}

fn chat_id(text: &str) -> ApiResult<SessionId> {
    SessionId::parse(text).map_err(|_| ApiError::NotFound(format!("chat {text} not found")))
}

/// Id of the chat in the path, if the caller's project has it. Checked before the body is validated,
/// so that errors do not reveal chats of other projects.
async fn known(chats: &Chats, caller: &Caller, chat: &str) -> ChatResult<SessionId> {
    let id = chat_id(chat)?;
    chats.service.chat(caller.project.clone(), id.clone()).await?;
    Ok(id)
}

/// Name of the caller as other clients of the chat see it.
fn name_of(caller: &Caller) -> Option<String> {
    Some(caller.actor.name().to_owned()).filter(|name| !name.is_empty())
}

async fn view_of(app: &App, project: &ProjectId, chat: Chat) -> ApiResult<Json<ChatView>> {
    let last = app.store.telemetry.last_event(project.clone(), chat.id.clone()).await?;
    Ok(Json(ChatView::new(chat, last)))
}

async fn current_view(app: &App, caller: &Caller, id: SessionId) -> ChatResult<Json<ChatView>> {
    let chat = chats(app)?.service.chat(caller.project.clone(), id).await?;
    Ok(view_of(app, &caller.project, chat).await?)
}

/// `GET /api/v1/chats`: lists the chats of the project, last changed first.
#[utoipa::path(
    get,
    path = "/api/v1/chats",
    tag = "Chats",
    params(ChatsRequest),
    responses((status = 200, body = ChatsView))
)]
async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    deprecated: Option<Extension<DeprecatedPath>>,
    uri: Uri,
) -> ChatResult<Response> {
    let request: ChatsRequest = asked(&uri)?;
    let (page, limit) = (request.page.unwrap_or(1), request.limit.unwrap_or(DEFAULT_LIMIT));
    if page == 0 || !(1..=MAX_LIMIT).contains(&limit) {
        return Err(ApiError::Invalid(format!("page: from 1; limit: 1 to {MAX_LIMIT}")).into());
    }
    let page = PageNumber { page, limit };
    let found = chats(&app)?.service.chats(caller.project.clone(), page).await?;
    let mut chats = Vec::with_capacity(found.rows.len());
    for chat in found.rows {
        chats.push(view_of(&app, &caller.project, chat).await?.0);
    }
    let list = ChatsView { chats, total: found.total.unwrap_or_default() };
    Ok(match deprecated {
        Some(_) => Json(OldChatsView::from(list)).into_response(),
        None => Json(list).into_response(),
    })
}

/// `POST /api/v1/chats`: creates a chat. Its agent starts with the first message.
#[utoipa::path(
    post,
    path = "/api/v1/chats",
    tag = "Chats",
    request_body = CreateChatRequest,
    responses((status = 201, body = ChatView))
)]
async fn create(
    State(app): State<App>,
    ChatCaller { caller, chats, workspace_source }: ChatCaller,
    JsonBody(request): JsonBody<CreateChatRequest>,
) -> ChatResult<(StatusCode, Json<ChatView>)> {
    let (folder, title) = (request.folder()?, request.title()?);
    let request = ChatRequest { workspace_source, ..request.chat_request()? };
    let new = NewChatRequest { id: Uuid::new_v4(), folder, title, request };
    let (chat, notes) = chats.create(caller.project.clone(), new).await?;
    let Json(view) = view_of(&app, &caller.project, chat).await?;
    Ok((StatusCode::CREATED, Json(ChatView { notes, ..view })))
}

/// `GET /api/v1/chats/{chat}`: a chat and its current state.
#[utoipa::path(
    get,
    path = "/api/v1/chats/{chat}",
    tag = "Chats",
    params(("chat" = String, Path, description = "Id of the chat.")),
    responses((status = 200, body = ChatView))
)]
async fn show(
    State(app): State<App>,
    Reader(caller): Reader,
    Path(chat): Path<String>,
) -> ChatResult<Json<ChatView>> {
    current_view(&app, &caller, chat_id(&chat)?).await
}

/// `PATCH /api/v1/chats/{chat}`: renames a chat.
#[utoipa::path(
    patch,
    path = "/api/v1/chats/{chat}",
    tag = "Chats",
    params(("chat" = String, Path, description = "Id of the chat.")),
    request_body = TitleRequest,
    responses((status = 200, body = ChatView))
)]
async fn rename(
    State(app): State<App>,
    ChatCaller { caller, chats, .. }: ChatCaller,
    Path(chat): Path<String>,
    JsonBody(request): JsonBody<TitleRequest>,
) -> ChatResult<Json<ChatView>> {
    let id = known(&chats, &caller, &chat).await?;
    let title = wire::title(request.title.as_deref())?;
    chats.service.rename(caller.project.clone(), id.clone(), title).await?;
    current_view(&app, &caller, id).await
}

/// `DELETE /api/v1/chats/{chat}`: closes a chat for good. Its events and traces are kept.
#[utoipa::path(
    delete,
    path = "/api/v1/chats/{chat}",
    tag = "Chats",
    params(("chat" = String, Path, description = "Id of the chat.")),
    responses((status = 200, body = ChatView))
)]
async fn close(
    State(app): State<App>,
    ChatCaller { caller, chats, .. }: ChatCaller,
    Path(chat): Path<String>,
) -> ChatResult<Json<ChatView>> {
    let id = chat_id(&chat)?;
    chats.service.close(caller.project.clone(), id.clone()).await?;
    current_view(&app, &caller, id).await
}

/// `POST /api/v1/chats/{chat}/messages`: sends a message to the agent, which starts a turn.
///
/// One turn at a time: a 409 response names the `running` one.
#[utoipa::path(
    post,
    path = "/api/v1/chats/{chat}/messages",
    tag = "Chats",
    params(("chat" = String, Path, description = "Id of the chat.")),
    request_body = MessageRequest,
    responses((status = 202, body = SentView))
)]
async fn send(
    ChatCaller { caller, chats, .. }: ChatCaller,
    Path(chat): Path<String>,
    JsonBody(request): JsonBody<MessageRequest>,
) -> ChatResult<(StatusCode, Json<SentView>)> {
    let chat = known(&chats, &caller, &chat).await?;
    let text = request.text()?.to_owned();
    let attached = AttachmentRequest::read_all(&request.attachments)?;
    let (id, by) = (Uuid::new_v4(), name_of(&caller));
    let message = ChatMessageInput { id, text, attached, by };
    let turn = chats.send(caller.project, chat, message).await?;
    let sent = SentView { message: id.to_string(), turn: turn.to_string() };
    Ok((StatusCode::ACCEPTED, Json(sent)))
}

/// `POST /api/v1/chats/{chat}/interrupt`: interrupts the running turn.
#[utoipa::path(
    post,
    path = "/api/v1/chats/{chat}/interrupt",
    tag = "Chats",
    params(("chat" = String, Path, description = "Id of the chat.")),
    responses((status = 200, body = ChatView))
)]
async fn interrupt(
    State(app): State<App>,
    ChatCaller { caller, chats, .. }: ChatCaller,
    Path(chat): Path<String>,
) -> ChatResult<Json<ChatView>> {
    let id = chat_id(&chat)?;
    chats.service.interrupt(caller.project.clone(), id.clone()).await?;
    current_view(&app, &caller, id).await
}

/// `POST /api/v1/chats/{chat}/answers`: answers a question or permission prompt of the agent.
///
/// The first answer counts: a 409 response contains it as `answer`.
#[utoipa::path(
    post,
    path = "/api/v1/chats/{chat}/answers",
    tag = "Chats",
    params(("chat" = String, Path, description = "Id of the chat.")),
    request_body = AnswerRequest,
    responses((status = 200, body = ChatView))
)]
async fn answer(
    State(app): State<App>,
    ChatCaller { caller, chats, .. }: ChatCaller,
    Path(chat): Path<String>,
    JsonBody(request): JsonBody<AnswerRequest>,
) -> ChatResult<Json<ChatView>> {
    let id = known(&chats, &caller, &chat).await?;
    let prompt = PermissionPromptId::new(request.id.clone());
    let decision = request.decision()?;
    let by = name_of(&caller);
    chats.service.answer(caller.project.clone(), id.clone(), (prompt, decision), by).await?;
    current_view(&app, &caller, id).await
}

/// `POST /api/v1/chats/{chat}/fork`: creates a chat that continues from this one, or from one of
/// its messages.
#[utoipa::path(
    post,
    path = "/api/v1/chats/{chat}/fork",
    tag = "Chats",
    params(("chat" = String, Path, description = "Id of the chat.")),
    request_body = ForkRequest,
    responses((status = 201, body = ChatView))
)]
async fn fork(
    State(app): State<App>,
    ChatCaller { caller, chats, .. }: ChatCaller,
    Path(chat): Path<String>,
    JsonBody(request): JsonBody<ForkRequest>,
) -> ChatResult<(StatusCode, Json<ChatView>)> {
    let id = known(&chats, &caller, &chat).await?;
    let at = request.at.as_deref().map(|at| message_id("at", at)).transpose()?;
    let chat = chats.service.fork(caller.project.clone(), id, Uuid::new_v4(), at).await?;
    Ok((StatusCode::CREATED, view_of(&app, &caller.project, chat).await?))
}

fn message_id(field: &str, text: &str) -> ApiResult<Uuid> {
    let invalid = |_| ApiError::Invalid(format!("{field}: the id of a message"));
    Uuid::parse_str(text).map_err(invalid)
}

/// `POST /api/v1/chats/{chat}/rewind`: restores files to their state before a message, or
/// reports what that would change (`dryRun`).
#[utoipa::path(
    post,
    path = "/api/v1/chats/{chat}/rewind",
    tag = "Chats",
    params(("chat" = String, Path, description = "Id of the chat.")),
    request_body = RewindRequest,
    responses((status = 200, body = RewindView))
)]
async fn rewind(
    ChatCaller { caller, chats, .. }: ChatCaller,
    Path(chat): Path<String>,
    JsonBody(request): JsonBody<RewindRequest>,
) -> ChatResult<Json<RewindView>> {
    let id = known(&chats, &caller, &chat).await?;
    let message = message_id("message", &request.message)?;
    let action = if request.dry_run { Rewind::DryRun } else { Rewind::Apply };
    let done = chats.service.rewind(caller.project, id, message, action).await?;
    Ok(Json(RewindView {
        can_rewind: done.can_rewind,
        files_changed: done.files_changed,
        insertions: done.insertions,
        deletions: done.deletions,
    }))
}

/// `POST /api/v1/chats/{chat}/mode`: changes permission mode, model, budget and trust in the
/// workspace: all fields that are present, or none if the agent refuses one.
///
/// Budget and trust apply from the next message on.
#[utoipa::path(
    post,
    path = "/api/v1/chats/{chat}/mode",
    tag = "Chats",
    params(("chat" = String, Path, description = "Id of the chat.")),
    request_body = ModeRequest,
    responses((status = 200, body = ChatView))
)]
async fn set_mode(
    State(app): State<App>,
    ChatCaller { caller, chats, .. }: ChatCaller,
    Path(chat): Path<String>,
    JsonBody(request): JsonBody<ModeRequest>,
) -> ChatResult<Json<ChatView>> {
    let id = known(&chats, &caller, &chat).await?;
    let change = request.change()?;
    chats.service.change(caller.project.clone(), id.clone(), change).await?;
    current_view(&app, &caller, id).await
}
