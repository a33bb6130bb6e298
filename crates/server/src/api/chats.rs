//! Sessions with agents that run on this server: `/api/v1/sessions`.
//!
//! Whoever may read may watch; to say something, to answer and to stop takes a member's key with
//! the permission to chat.

mod wire;
mod view;
/// What is in the way.
mod error;
/// What happens, as it happens.
mod events;

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
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
use crate::auth::{Caller, Chatter, Reader};
use crate::body::JsonBody;
use crate::error::{ApiError, ApiResult};
use error::ChatResult;
pub use view::{ChatView, ChatsView, RewindView, SentView};
pub use wire::{
    AnswerRequest, AttachmentRequest, ForkRequest, MessageRequest, ModeRequest, PastWordsRequest,
    RewindRequest, SessionRequest, TitleRequest,
};

/// Sessions of one answer, unless it is said how many.
const USUAL: u64 = 50;
/// Sessions of one answer at most.
const MOST: u64 = 100;

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

/// Which sessions are wanted, as clients ask for them.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ChatsRequest {
    /// The page's number, from 1.
    pub page: Option<u64>,
    /// How many, from 1 to 100; 50 unless it is said.
    pub limit: Option<u64>,
}

/// The agents that this server runs, for whoever only looks on.
fn chats(app: &App) -> ApiResult<Arc<Chats>> {
    let none = || ApiError::NotFound("this server runs no agents".to_owned());
    app.chats().ok_or_else(none)
}

fn session_id(text: &str) -> ApiResult<SessionId> {
    SessionId::parse(text).map_err(|_| ApiError::NotFound(format!("session {text} not found")))
}

/// The session that a path names, if the caller's project has it: what else is wrong with a request
/// is nobody's business who may not know the session.
async fn known(chats: &Chats, caller: &Caller, session: &str) -> ChatResult<SessionId> {
    let id = session_id(session)?;
    chats.major.chat(caller.project.clone(), id.clone()).await?;
    Ok(id)
}

/// Who someone is to the others in a session.
fn name_of(caller: &Caller) -> Option<String> {
    Some(caller.actor.name().to_owned()).filter(|name| !name.is_empty())
}

async fn seen(app: &App, project: &ProjectId, chat: Chat) -> ApiResult<Json<ChatView>> {
    let last = app.store.telemetry.last_event(project.clone(), chat.id.clone()).await?;
    Ok(Json(ChatView::new(chat, last)))
}

async fn as_it_stands(app: &App, caller: &Caller, id: SessionId) -> ChatResult<Json<ChatView>> {
    let chat = chats(app)?.major.chat(caller.project.clone(), id).await?;
    Ok(seen(app, &caller.project, chat).await?)
}

/// `GET /api/v1/sessions`: the project's sessions with agents, those that changed last first.
#[utoipa::path(
    get,
    path = "/api/v1/sessions",
    tag = "Sessions",
    params(ChatsRequest),
    responses((status = 200, body = ChatsView))
)]
async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    uri: Uri,
) -> ChatResult<Json<ChatsView>> {
    let request: ChatsRequest = asked(&uri)?;
    let (page, limit) = (request.page.unwrap_or(1), request.limit.unwrap_or(USUAL));
    if page == 0 || !(1..=MOST).contains(&limit) {
        return Err(ApiError::Invalid(format!("page: from 1; limit: 1 to {MOST}")).into());
    }
    let page = PageNumber { page, limit };
    let found = chats(&app)?.major.chats(caller.project.clone(), page).await?;
    let mut sessions = Vec::with_capacity(found.rows.len());
    for chat in found.rows {
        sessions.push(seen(&app, &caller.project, chat).await?.0);
    }
    Ok(Json(ChatsView { sessions, total: found.total.unwrap_or_default() }))
}

/// `POST /api/v1/sessions`: begins a session. Its agent starts with the first message.
#[utoipa::path(
    post,
    path = "/api/v1/sessions",
    tag = "Sessions",
    request_body = SessionRequest,
    responses((status = 201, body = ChatView))
)]
async fn create(
    State(app): State<App>,
    Chatter { caller, chats, exposure }: Chatter,
    JsonBody(request): JsonBody<SessionRequest>,
) -> ChatResult<(StatusCode, Json<ChatView>)> {
    let (folder, title, wish) = (request.folder()?, request.title()?, request.wish()?);
    let wish = ChatRequest { exposure, ..wish };
    let new = NewChatRequest { id: Uuid::new_v4(), folder, title, wish };
    let (chat, notes) = chats.begin(caller.project.clone(), new).await?;
    let Json(view) = seen(&app, &caller.project, chat).await?;
    Ok((StatusCode::CREATED, Json(ChatView { notes, ..view })))
}

/// `GET /api/v1/sessions/{session}`: how a session stands.
#[utoipa::path(
    get,
    path = "/api/v1/sessions/{session}",
    tag = "Sessions",
    params(("session" = String, Path, description = "The session's id.")),
    responses((status = 200, body = ChatView))
)]
async fn show(
    State(app): State<App>,
    Reader(caller): Reader,
    Path(session): Path<String>,
) -> ChatResult<Json<ChatView>> {
    as_it_stands(&app, &caller, session_id(&session)?).await
}

/// `PATCH /api/v1/sessions/{session}`: has people call a session otherwise.
#[utoipa::path(
    patch,
    path = "/api/v1/sessions/{session}",
    tag = "Sessions",
    params(("session" = String, Path, description = "The session's id.")),
    request_body = TitleRequest,
    responses((status = 200, body = ChatView))
)]
async fn rename(
    State(app): State<App>,
    Chatter { caller, chats, .. }: Chatter,
    Path(session): Path<String>,
    JsonBody(request): JsonBody<TitleRequest>,
) -> ChatResult<Json<ChatView>> {
    let id = known(&chats, &caller, &session).await?;
    let title = wire::title(request.title.as_deref())?;
    chats.major.rename(caller.project.clone(), id.clone(), title).await?;
    as_it_stands(&app, &caller, id).await
}

/// `DELETE /api/v1/sessions/{session}`: ends a session for good; what was said in it stays.
#[utoipa::path(
    delete,
    path = "/api/v1/sessions/{session}",
    tag = "Sessions",
    params(("session" = String, Path, description = "The session's id.")),
    responses((status = 200, body = ChatView))
)]
async fn close(
    State(app): State<App>,
    Chatter { caller, chats, .. }: Chatter,
    Path(session): Path<String>,
) -> ChatResult<Json<ChatView>> {
    let id = session_id(&session)?;
    chats.major.close(caller.project.clone(), id.clone()).await?;
    as_it_stands(&app, &caller, id).await
}

/// `POST /api/v1/sessions/{session}/messages`: says something to the agent, which begins a turn.
///
/// One turn at a time: 409 names the one that is `running`.
#[utoipa::path(
    post,
    path = "/api/v1/sessions/{session}/messages",
    tag = "Sessions",
    params(("session" = String, Path, description = "The session's id.")),
    request_body = MessageRequest,
    responses((status = 202, body = SentView))
)]
async fn send(
    Chatter { caller, chats, .. }: Chatter,
    Path(session): Path<String>,
    JsonBody(request): JsonBody<MessageRequest>,
) -> ChatResult<(StatusCode, Json<SentView>)> {
    let session = known(&chats, &caller, &session).await?;
    let text = request.words()?.to_owned();
    let attached = AttachmentRequest::read_all(&request.attachments)?;
    let (id, by) = (Uuid::new_v4(), name_of(&caller));
    let said = ChatMessageInput { id, text, attached, by };
    let turn = chats.say(caller.project, session, said).await?;
    let sent = SentView { message: id.to_string(), turn: turn.to_string() };
    Ok((StatusCode::ACCEPTED, Json(sent)))
}

/// `POST /api/v1/sessions/{session}/interrupt`: stops the turn that is under way.
#[utoipa::path(
    post,
    path = "/api/v1/sessions/{session}/interrupt",
    tag = "Sessions",
    params(("session" = String, Path, description = "The session's id.")),
    responses((status = 200, body = ChatView))
)]
async fn interrupt(
    State(app): State<App>,
    Chatter { caller, chats, .. }: Chatter,
    Path(session): Path<String>,
) -> ChatResult<Json<ChatView>> {
    let id = session_id(&session)?;
    chats.major.interrupt(caller.project.clone(), id.clone()).await?;
    as_it_stands(&app, &caller, id).await
}

/// `POST /api/v1/sessions/{session}/answers`: answers what the agent asked.
///
/// The first answer counts: 409 tells the one that was given, as `answer`.
#[utoipa::path(
    post,
    path = "/api/v1/sessions/{session}/answers",
    tag = "Sessions",
    params(("session" = String, Path, description = "The session's id.")),
    request_body = AnswerRequest,
    responses((status = 200, body = ChatView))
)]
async fn answer(
    State(app): State<App>,
    Chatter { caller, chats, .. }: Chatter,
    Path(session): Path<String>,
    JsonBody(request): JsonBody<AnswerRequest>,
) -> ChatResult<Json<ChatView>> {
    let id = known(&chats, &caller, &session).await?;
    let ask = PermissionPromptId::new(request.id.clone());
    let decision = request.decision()?;
    let by = name_of(&caller);
    chats.major.answer(caller.project.clone(), id.clone(), (ask, decision), by).await?;
    as_it_stands(&app, &caller, id).await
}

/// `POST /api/v1/sessions/{session}/fork`: begins a session that goes on where this one is, or was
/// after one of its messages.
#[utoipa::path(
    post,
    path = "/api/v1/sessions/{session}/fork",
    tag = "Sessions",
    params(("session" = String, Path, description = "The session's id.")),
    request_body = ForkRequest,
    responses((status = 201, body = ChatView))
)]
async fn fork(
    State(app): State<App>,
    Chatter { caller, chats, .. }: Chatter,
    Path(session): Path<String>,
    JsonBody(request): JsonBody<ForkRequest>,
) -> ChatResult<(StatusCode, Json<ChatView>)> {
    let id = known(&chats, &caller, &session).await?;
    let at = request.at.as_deref().map(|at| message_id("at", at)).transpose()?;
    let chat = chats.major.fork(caller.project.clone(), id, Uuid::new_v4(), at).await?;
    Ok((StatusCode::CREATED, seen(&app, &caller.project, chat).await?))
}

fn message_id(field: &str, text: &str) -> ApiResult<Uuid> {
    let odd = |_| ApiError::Invalid(format!("{field}: the id of a message"));
    Uuid::parse_str(text).map_err(odd)
}

/// `POST /api/v1/sessions/{session}/rewind`: puts files back as they were before a message, or
/// tells what that would change.
#[utoipa::path(
    post,
    path = "/api/v1/sessions/{session}/rewind",
    tag = "Sessions",
    params(("session" = String, Path, description = "The session's id.")),
    request_body = RewindRequest,
    responses((status = 200, body = RewindView))
)]
async fn rewind(
    Chatter { caller, chats, .. }: Chatter,
    Path(session): Path<String>,
    JsonBody(request): JsonBody<RewindRequest>,
) -> ChatResult<Json<RewindView>> {
    let id = known(&chats, &caller, &session).await?;
    let message = message_id("message", &request.message)?;
    let way = if request.dry_run { Rewind::Try } else { Rewind::Do };
    let done = chats.major.rewind(caller.project, id, message, way).await?;
    Ok(Json(RewindView {
        can_rewind: done.can_rewind,
        files_changed: done.files_changed,
        insertions: done.insertions,
        deletions: done.deletions,
    }))
}

/// `POST /api/v1/sessions/{session}/mode`: sets what the agent may do without asking, which model
/// answers, what the conversation may spend, and whether its workspace is trusted no more: all that
/// is named, or nothing when the agent refuses one.
///
/// Budget and trust hold from the next message on.
#[utoipa::path(
    post,
    path = "/api/v1/sessions/{session}/mode",
    tag = "Sessions",
    params(("session" = String, Path, description = "The session's id.")),
    request_body = ModeRequest,
    responses((status = 200, body = ChatView))
)]
async fn set_mode(
    State(app): State<App>,
    Chatter { caller, chats, .. }: Chatter,
    Path(session): Path<String>,
    JsonBody(request): JsonBody<ModeRequest>,
) -> ChatResult<Json<ChatView>> {
    let id = known(&chats, &caller, &session).await?;
    let change = request.change()?;
    chats.major.change(caller.project.clone(), id.clone(), change).await?;
    as_it_stands(&app, &caller, id).await
}
