use axum::Json;
use axum::extract::State;
use ratchet_core::id::TraceId;
use ratchet_core::issue::{Issue, PathStep};
use ratchet_core::record::trace::Trace;
use ratchet_remote::langfuse::wire::read::read;
use ratchet_remote::langfuse::wire::trace::{DeleteTraces, Deleted};
use ratchet_store::catalog::AuditObject;

use crate::app::App;
use crate::auth::{Caller, Member};
use crate::body::{Received, Weight};
use crate::error::{ApiError, ApiResult};
use crate::langfuse::path::PathId;

/// `DELETE /api/public/traces/{id}`: deletes a trace with its observations and scores.
///
/// Idempotent: deleting an unknown trace is no error, so that a client can retry.
#[utoipa::path(
    delete,
    path = "/api/public/traces/{*id}",
    tag = "Traces",
    params(("id" = String, Path, description = "The trace's id.")),
    responses((status = 200, body = Deleted))
)]
pub(in crate::langfuse) async fn one(
    State(app): State<App>,
    Member(caller): Member,
    PathId(id): PathId<Trace>,
) -> ApiResult<Json<Deleted>> {
    let deleted = noted(&app, caller, vec![id]).await?;
    let message = match deleted {
        0 => "There was no such trace, nothing to delete",
        _ => "Trace deleted successfully",
    };
    Ok(Json(Deleted { message: message.to_owned() }))
}

/// `DELETE /api/public/traces`: deletes the traces listed in the body.
#[utoipa::path(
    delete,
    path = "/api/public/traces",
    tag = "Traces",
    request_body = DeleteTraces,
    responses((status = 200, body = Deleted))
)]
pub(in crate::langfuse) async fn many(
    State(app): State<App>,
    Member(caller): Member,
    received: Received,
) -> ApiResult<Json<Deleted>> {
    let limit = app.settings.limits.batch_len;
    let ids = received.parse_json(&app, Weight::Texts, move |text| read_ids(text, limit)).await?;
    let asked = ids.len();
    let deleted = noted(&app, caller, ids).await?;
    let message = format!("Traces deleted successfully: {deleted} of {asked}");
    Ok(Json(Deleted { message }))
}

/// Deletes traces with an audit entry, and returns the number deleted.
async fn noted(app: &App, caller: Caller, ids: Vec<TraceId>) -> ApiResult<u64> {
    let telemetry = &app.store.telemetry;
    let known = telemetry.find_traces(caller.project.clone(), ids.clone()).await?;
    if !known.is_empty() {
        let named = known.into_iter().map(|trace| trace.id.to_string()).collect();
        let (project, now) = (caller.project.clone(), app.clock.now());
        caller.catalog(app).note_deletion(project, AuditObject::Traces, named, now).await?;
    }
    Ok(telemetry.delete_traces(caller.project, ids).await?)
}

fn read_ids(text: &str, limit: usize) -> ApiResult<Vec<TraceId>> {
    let sent: DeleteTraces = read(text).map_err(|issue| ApiError::InvalidFields(vec![issue]))?;
    let len = sent.trace_ids.len();
    if len > limit {
        let why = format!("{len} trace ids in one request, at most {limit} are allowed");
        return Err(ApiError::TooLarge(why));
    }
    if len == 0 {
        let issue = Issue::at("traceIds", "must name at least one trace");
        return Err(ApiError::InvalidFields(vec![issue]));
    }
    let read = sent.trace_ids.iter().enumerate().map(|(place, id)| {
        TraceId::parse(id).map_err(|why| Issue {
            path: vec![PathStep::Field("traceIds".to_owned()), PathStep::Index(place)],
            message: why.to_string(),
        })
    });
    read.collect::<Result<_, _>>().map_err(|issue| ApiError::InvalidFields(vec![issue]))
}
