use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ratchet_core::issue::Issue;
use ratchet_remote::langfuse::wire::feedback::{FeedbackSaved, SubmitFeedback};
use ratchet_remote::langfuse::wire::wire_name::WireEnum;
use ratchet_store::catalog::ProductFeedback;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::json_fields::JsonFields;
use crate::app::App;
use crate::auth::Member;
use crate::error::{ApiError, ApiResult};

const MAX_TARGET_CHARS: usize = 200;
const MAX_FEEDBACK_CHARS: usize = 3_000;
const MAX_GOAL_CHARS: usize = 1_500;
const MAX_URL_CHARS: usize = 2_000;

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default().routes(routes!(submit))
}

/// `POST /api/public/feedback`: saves a user's feedback on the product, on this server.
#[utoipa::path(
    post,
    path = "/api/public/feedback",
    tag = "Feedback",
    request_body = SubmitFeedback,
    responses((status = 201, body = FeedbackSaved))
)]
pub(super) async fn submit(
    State(app): State<App>,
    Member(caller): Member,
    JsonFields(sent): JsonFields<SubmitFeedback>,
) -> ApiResult<(StatusCode, Json<FeedbackSaved>)> {
    let issues = issues(&sent);
    if !issues.is_empty() {
        return Err(ApiError::InvalidFields(issues));
    }
    let said = ProductFeedback {
        target_type: sent.target_type.0.wire_name().to_owned(),
        target: sent.target,
        feedback: sent.feedback,
        goal: sent.goal,
        reference_url: sent.reference_url,
    };
    let id = app.store.catalog.save_feedback(caller.project, said, app.clock.now()).await?;
    Ok((StatusCode::CREATED, Json(FeedbackSaved { id })))
}

fn issues(sent: &SubmitFeedback) -> Vec<Issue> {
    let texts = [
        ("target", Some(&sent.target), MAX_TARGET_CHARS),
        ("feedback", Some(&sent.feedback), MAX_FEEDBACK_CHARS),
        ("goal", sent.goal.as_ref(), MAX_GOAL_CHARS),
        ("referenceUrl", sent.reference_url.as_ref(), MAX_URL_CHARS),
    ];
    let too_long = texts.into_iter().filter_map(|(field, text, max)| {
        let fits = (1..=max).contains(&text?.chars().count());
        (!fits).then(|| Issue::at(field, format!("1 to {max} characters")))
    });
    let is_url = |url: &String| url.starts_with("https://") || url.starts_with("http://");
    let no_url = sent.reference_url.as_ref().filter(|url| !is_url(url));
    let no_url = no_url.map(|_| Issue::at("referenceUrl", "must begin with http:// or https://"));
    too_long.chain(no_url).collect()
}
