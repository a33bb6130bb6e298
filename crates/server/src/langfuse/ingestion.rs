use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ratchet_remote::langfuse::events::{EventError, EventOutcome, EventPatches};
use ratchet_remote::langfuse::wire::ingestion::{
    EventAccepted, EventRefused, IngestionBatch, IngestionResult,
};
use ratchet_remote::langfuse::wire::read::read_object;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::record::{Reading, deliver};
use crate::app::App;
use crate::auth::Scorer;
use crate::body::Received;
use crate::error::{ApiError, ApiResult};

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default().routes(routes!(ingest))
}

/// `POST /api/public/ingestion`: records a batch of events, with a status for each.
#[utoipa::path(
    post,
    path = "/api/public/ingestion",
    tag = "Ingestion",
    security(("basic" = []), ("publicKey" = [])),
    request_body = IngestionBatch,
    responses((status = 207, body = IngestionResult))
)]
pub(super) async fn ingest(
    State(app): State<App>,
    scorer: Scorer,
    received: Received,
) -> ApiResult<(StatusCode, Json<IngestionResult>)> {
    let (outcomes, ()) = deliver(&app, scorer, received, interpret).await?;
    let mut result = IngestionResult::default();
    for outcome in outcomes {
        match answer(outcome) {
            Ok(accepted) => result.successes.push(accepted),
            Err(refused) => result.errors.push(refused),
        }
    }
    Ok((StatusCode::MULTI_STATUS, Json(result)))
}

fn interpret(text: &str, reading: &Reading) -> ApiResult<(EventPatches, ())> {
    let body: IngestionBatch =
        read_object(text).map_err(|issue| ApiError::InvalidFields(vec![issue]))?;
    reading.check_len(body.batch.len())?;
    Ok((EventPatches::from_batch(&body.batch, &reading.rules), ()))
}

fn answer(outcome: EventOutcome) -> Result<EventAccepted, EventRefused> {
    let Err(refusal) = outcome.result else {
        return Ok(EventAccepted { id: outcome.event, status: StatusCode::CREATED.as_u16() });
    };
    let (status, message) = match refusal {
        EventError::Invalid(_) => (StatusCode::BAD_REQUEST, "Invalid request data"),
        EventError::NotAllowed => (StatusCode::UNAUTHORIZED, "Authentication error"),
    };
    Err(EventRefused {
        id: outcome.event,
        status: status.as_u16(),
        message: Some(message.to_owned()),
        error: Some(refusal.to_string()),
    })
}
