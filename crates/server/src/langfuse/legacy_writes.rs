//! Single traces and observations, as clients wrote them before there were batches.
//!
//! Each body is equivalent to the event of the same name at its time of arrival, and is merged with
//! batches and spans. Some fields had other names then.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use ratchet_core::issue::Issue;
use ratchet_core::record::field::WriteKind;
use ratchet_core::record::observation::ObservationKind;
use ratchet_remote::langfuse::events::{EventContext, EventError, EventPatches};
use ratchet_remote::langfuse::wire::ingestion::{EventType, RecordCreated};
use ratchet_remote::langfuse::wire::json::Raw;
use ratchet_remote::langfuse::wire::read::read_object;
use serde_json::value::to_raw_value;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::record::{Reading, deliver};
use crate::app::App;
use crate::auth::{Caller, EventScope, Recorder, Scorer};
use crate::body::Received;
use crate::error::{ApiError, ApiResult};

/// The routes that write these resources.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(create_trace))
        .routes(routes!(create_span, update_span))
        .routes(routes!(create_generation, update_generation))
        .routes(routes!(create_event))
}

/// A legacy resource.
struct Form {
    kind: EventType,
    /// Old and new names of fields.
    renamed: &'static [(&'static str, &'static str)],
    /// The field with the id of the updated record.
    changes: Option<&'static str>,
}

const fn observation(kind: ObservationKind, act: WriteKind) -> EventType {
    EventType::Observation(Some(kind), act)
}

const TRACE: Form = Form { kind: EventType::Trace, renamed: &[], changes: None };
const EVENT: Form = Form {
    kind: observation(ObservationKind::Event, WriteKind::Create),
    renamed: &[],
    changes: None,
};
const SPAN: Form = Form {
    kind: observation(ObservationKind::Span, WriteKind::Create),
    renamed: &[],
    changes: None,
};
const SPAN_UPDATE: Form = Form {
    kind: observation(ObservationKind::Span, WriteKind::Update),
    renamed: &[("spanId", "id")],
    changes: Some("spanId"),
};
const GENERATION: Form = Form {
    kind: observation(ObservationKind::Generation, WriteKind::Create),
    renamed: &[("prompt", "input"), ("completion", "output")],
    changes: None,
};
const GENERATION_UPDATE: Form = Form {
    kind: observation(ObservationKind::Generation, WriteKind::Update),
    renamed: &[("generationId", "id"), ("prompt", "input"), ("completion", "output")],
    changes: Some("generationId"),
};

/// `POST /api/public/traces`: creates or updates a trace (legacy; use batches).
#[utoipa::path(
    post,
    path = "/api/public/traces",
    tag = "Ingestion",
    request_body = Raw,
    responses((status = 200, body = RecordCreated))
)]
async fn create_trace(
    State(app): State<App>,
    Recorder(caller): Recorder,
    received: Received,
) -> ApiResult<Json<RecordCreated>> {
    write(&app, caller, received, |text, reading| interpret(&TRACE, text, reading)).await
}

/// `POST /api/public/spans`: creates a span (legacy; use batches).
#[utoipa::path(
    post,
    path = "/api/public/spans",
    tag = "Ingestion",
    request_body = Raw,
    responses((status = 200, body = RecordCreated))
)]
async fn create_span(
    State(app): State<App>,
    Recorder(caller): Recorder,
    received: Received,
) -> ApiResult<Json<RecordCreated>> {
    write(&app, caller, received, |text, reading| interpret(&SPAN, text, reading)).await
}

/// `PATCH /api/public/spans`: updates the span with the id `spanId`.
#[utoipa::path(
    patch,
    path = "/api/public/spans",
    tag = "Ingestion",
    request_body = Raw,
    responses((status = 200, body = RecordCreated))
)]
async fn update_span(
    State(app): State<App>,
    Recorder(caller): Recorder,
    received: Received,
) -> ApiResult<Json<RecordCreated>> {
    write(&app, caller, received, |text, reading| interpret(&SPAN_UPDATE, text, reading)).await
}

/// `POST /api/public/generations`: creates a generation (legacy; use batches).
#[utoipa::path(
    post,
    path = "/api/public/generations",
    tag = "Ingestion",
    request_body = Raw,
    responses((status = 200, body = RecordCreated))
)]
async fn create_generation(
    State(app): State<App>,
    Recorder(caller): Recorder,
    received: Received,
) -> ApiResult<Json<RecordCreated>> {
    write(&app, caller, received, |text, reading| interpret(&GENERATION, text, reading)).await
}

/// `PATCH /api/public/generations`: updates the generation with the id `generationId`.
#[utoipa::path(
    patch,
    path = "/api/public/generations",
    tag = "Ingestion",
    request_body = Raw,
    responses((status = 200, body = RecordCreated))
)]
async fn update_generation(
    State(app): State<App>,
    Recorder(caller): Recorder,
    received: Received,
) -> ApiResult<Json<RecordCreated>> {
    write(&app, caller, received, |text, reading| interpret(&GENERATION_UPDATE, text, reading))
        .await
}

/// `POST /api/public/events`: creates an event (legacy; use batches).
#[utoipa::path(
    post,
    path = "/api/public/events",
    tag = "Ingestion",
    request_body = Raw,
    responses((status = 200, body = RecordCreated))
)]
async fn create_event(
    State(app): State<App>,
    Recorder(caller): Recorder,
    received: Received,
) -> ApiResult<Json<RecordCreated>> {
    write(&app, caller, received, |text, reading| interpret(&EVENT, text, reading)).await
}

async fn write(
    app: &App,
    caller: Caller,
    received: Received,
    interpret: fn(&str, &Reading) -> ApiResult<(EventPatches, ())>,
) -> ApiResult<Json<RecordCreated>> {
    let scorer = Scorer { caller, reach: EventScope::All };
    let (outcomes, ()) = deliver(app, scorer, received, interpret).await?;
    let outcome = outcomes.into_iter().next();
    let outcome = outcome.ok_or_else(|| ApiError::internal("a body gave no outcome"))?;
    match outcome.result {
        Ok(id) => Ok(Json(RecordCreated { id })),
        Err(EventError::Invalid(issue)) => Err(ApiError::InvalidFields(vec![issue])),
        Err(refusal @ EventError::NotAllowed) => Err(ApiError::Forbidden(refusal.to_string())),
    }
}

fn interpret(form: &Form, text: &str, reading: &Reading) -> ApiResult<(EventPatches, ())> {
    let body = read_body(form, text).map_err(|issue| ApiError::InvalidFields(vec![issue]))?;
    let context = EventContext { rules: &reading.rules, at: reading.received_at };
    let id = uuid::Uuid::new_v4().to_string();
    Ok((EventPatches::from_body(form.kind, &body, id, context), ()))
}

/// The body with its fields renamed. A new name takes precedence over the old one.
fn read_body(form: &Form, text: &str) -> Result<Raw, Issue> {
    let mut fields: BTreeMap<String, Raw> = read_object(text)?;
    for (old, new) in form.renamed {
        if let Some(value) = fields.remove(*old) {
            fields.entry((*new).to_owned()).or_insert(value);
        }
    }
    let is_named = fields.get("id").is_some_and(|id| id.get() != "null");
    if let Some(name) = form.changes.filter(|_| !is_named) {
        return Err(Issue::at(name, "required: the id of the record to change"));
    }
    let written = to_raw_value(&fields).map(Raw::from);
    written.map_err(|why| Issue::at("body", why.to_string()))
}
