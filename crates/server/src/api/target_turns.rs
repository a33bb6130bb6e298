use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use ratchet_core::experiment::conversation::{self, Exchange, History};
use ratchet_core::id::SessionId;
use ratchet_core::money::Money;
use ratchet_remote::ratchet::target_turns::{TargetTurnRequest, TargetTurnView};
use ratchet_stages::experiment::target_chat::{self, TargetTurn, TurnError, TurnHost, TurnRequest};
use ratchet_stages::record::scores::ScoreWriteError;
use ratchet_stages::sink::LocalSink;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::experiments::{service, worker};
use crate::app::App;
use crate::auth::Member;
use crate::body::JsonBody;
use crate::error::{ApiError, ApiResult};

/// After which a chat that waits for an answer may be tried again.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default().routes(routes!(say))
}

/// `POST /api/v1/projects/{project}/targets/{target}/turns`: sends a message to a target of the
/// server, and returns its answer. The turn is a trace of the session whose id is the chat's.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/targets/{target}/turns",
    tag = "Experiments",
    params(
        ("project" = String, Path, description = "The project's id."),
        ("target" = String, Path, description = "Name of the target."),
    ),
    request_body = TargetTurnRequest,
    responses((status = 200, body = TargetTurnView))
)]
pub(super) async fn say(
    State(app): State<App>,
    Member(caller): Member,
    Path((project, target)): Path<(String, String)>,
    JsonBody(request): JsonBody<TargetTurnRequest>,
) -> ApiResult<Json<TargetTurnView>> {
    let service = service(&app, &caller, &project)?;
    let targets = worker(&app)?.targets();
    if targets.is_program(&target) {
        caller.clone().may_chat()?;
    }
    let invalid = |why: String| ApiError::Invalid(format!("chat: {why}"));
    let chat = SessionId::parse(&request.chat).map_err(|why| invalid(why.to_string()))?;
    let busy = |_| ApiError::TooManyRequests { retry_after: RETRY_AFTER };
    let _permit = app.target_turns().take(Some(chat.to_string())).map_err(busy)?;
    let now = app.clock.now();
    let open = targets.open(&service, (&target, request.environment.as_deref()), now).await?;
    let turns = target_chat::turns(&app.store, &service.project, &chat).await?;
    let before: Vec<Exchange> = turns.iter().filter_map(TargetTurn::exchange).collect();
    let history = History::of_kind(&open.identity.kind);
    let sent = conversation::input(&before, &request.text, history)
        .map_err(|why| ApiError::Invalid(why.to_string()))?;
    let host = TurnHost::Store(Box::new(LocalSink {
        telemetry: app.store.telemetry.clone(),
        catalog: service.catalog.clone(),
        project: service.project.clone(),
    }));
    let message = TurnRequest { chat: &chat, before, text: &request.text, person: None };
    let turn = target_chat::send(&host, &open, message, (&app.clock, &|_| {})).await;
    let turn = turn.map_err(refused)?;
    Ok(Json(TargetTurnView {
        trace: turn.trace.to_string(),
        answer: turn.answer,
        fault: turn.fault,
        sent,
        started_at: turn.started.to_string(),
        ended_at: turn.ended.map(|at| at.to_string()),
        cost: turn.cost.map(Money::dollars),
    }))
}

fn refused(error: TurnError) -> ApiError {
    match error {
        TurnError::Store(error) | TurnError::Record(ScoreWriteError::Store(error)) => error.into(),
        other => ApiError::Invalid(other.to_string()),
    }
}
