//! Scores: create, read and delete.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ratchet_core::id::ScoreId;
use ratchet_core::issue::{Issue, PathStep};
use ratchet_remote::langfuse::events::{EventError, EventOutcome, EventPatches};
use ratchet_remote::langfuse::wire::ingestion::{
    Rejection, ScoreCreated, ScoresAccepted, ScoresRejected, SentScores,
};
use ratchet_remote::langfuse::wire::json::Raw;
use ratchet_remote::langfuse::wire::read::read;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::record::{Reading, deliver};
use crate::app::App;
use crate::auth::Scorer;
use crate::body::Received;
use crate::error::{ApiError, ApiResult};

/// Query parameters of lists.
mod query;
/// Restrictions of the first version of the API.
pub(super) mod v1;
mod list;
/// A single score.
mod one;
/// Scores with typed values and cursor pagination.
mod v3;

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(list::first, create))
        .routes(routes!(one::first, one::delete))
        .routes(routes!(list::second))
        .routes(routes!(one::second))
        .routes(routes!(v3::list))
}

/// Whether a body had one score or a list; the responses differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    One,
    Many,
}

/// `POST /api/public/scores`: records one score, or several as newer SDKs send them.
#[utoipa::path(
    post,
    path = "/api/public/scores",
    tag = "Scores",
    security(("basic" = []), ("publicKey" = [])),
    request_body = SentScores,
    responses(
        (status = 200, description = "One score is recorded", body = ScoreCreated),
        (status = 202, description = "All scores are recorded", body = ScoresAccepted),
        (status = 207, description = "Some scores are recorded", body = ScoresRejected),
    )
)]
pub(super) async fn create(
    State(app): State<App>,
    scorer: Scorer,
    received: Received,
) -> ApiResult<Response> {
    let (outcomes, sent) = deliver(&app, scorer, received, interpret).await?;
    match sent {
        Sent::One => answer_one(outcomes),
        Sent::Many => Ok(answer_many(outcomes)),
    }
}

fn interpret(text: &str, reading: &Reading) -> ApiResult<(EventPatches, Sent)> {
    let invalid = |issue: Issue| ApiError::InvalidFields(vec![issue]);
    let sent = if text.trim_ascii_start().starts_with('[') { Sent::Many } else { Sent::One };
    let bodies: Vec<Raw> = match sent {
        Sent::Many => read(text).map_err(invalid)?,
        Sent::One => vec![read(text).map_err(invalid)?],
    };
    reading.check_len(bodies.len())?;
    let mut scores = Vec::with_capacity(bodies.len());
    for body in bodies {
        scores.push((random_id()?, body));
    }
    let statements = EventPatches::from_scores(scores, &reading.rules, reading.received_at);
    Ok((statements, sent))
}

fn random_id() -> ApiResult<ScoreId> {
    let id = ScoreId::parse(&uuid::Uuid::new_v4().to_string());
    id.map_err(|why| ApiError::internal(why.to_string()))
}

fn answer_one(outcomes: Vec<EventOutcome>) -> ApiResult<Response> {
    let [outcome] = <[EventOutcome; 1]>::try_from(outcomes)
        .map_err(|_| ApiError::internal("one score gave several outcomes"))?;
    match outcome.result {
        Ok(id) => Ok(Json(ScoreCreated { id }).into_response()),
        Err(EventError::Invalid(issue)) => Err(ApiError::InvalidFields(vec![issue])),
        Err(refusal @ EventError::NotAllowed) => Err(ApiError::Forbidden(refusal.to_string())),
    }
}

fn answer_many(outcomes: Vec<EventOutcome>) -> Response {
    let total = outcomes.len();
    let refusals = outcomes.into_iter().enumerate().filter_map(|(place, outcome)| {
        let refusal = outcome.result.err()?;
        Some(Rejection { message: at_place(place, refusal) })
    });
    let errors: Vec<Rejection> = refusals.collect();
    if errors.is_empty() {
        let accepted = ScoresAccepted { message: "Accepted".to_owned() };
        return (StatusCode::ACCEPTED, Json(accepted)).into_response();
    }
    let rejected = errors.len();
    let body = ScoresRejected { accepted: total - rejected, rejected, errors };
    (StatusCode::MULTI_STATUS, Json(body)).into_response()
}

fn at_place(place: usize, refusal: EventError) -> String {
    match refusal {
        EventError::Invalid(mut issue) => {
            issue.path.insert(0, PathStep::Index(place));
            issue.to_string()
        }
        EventError::NotAllowed => refusal.to_string(),
    }
}
