//! Prompts in the first version of the API: one at a time, by name in the query.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use ratchet_core::catalog::prompt::PRODUCTION;
use ratchet_core::issue::Issue;
use ratchet_remote::langfuse::wire::prompt::{CreatePromptV1, PromptView};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::json_fields::LongJsonFields;
use super::params::Params;
use super::prompts;
use crate::app::App;
use crate::auth::{Member, Reader};
use crate::error::ApiResult;

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default().routes(routes!(show, create))
}

/// `GET /api/public/prompts`: the version of a prompt with a number or a label, `production` by
/// default.
#[utoipa::path(
    get,
    path = "/api/public/prompts",
    tag = "Prompts",
    params(
        ("name" = String, Query, description = "The prompt's name."),
        ("version" = Option<u32>, Query, description = "The version with this number."),
        ("label" = Option<String>, Query, description = "The version with this label."),
    ),
    responses((status = 200, body = PromptView))
)]
async fn show(
    State(app): State<App>,
    Reader(caller): Reader,
    mut params: Params,
) -> ApiResult<Response> {
    let name = params.text("name");
    if name.is_none() {
        params.report([Issue::at("name", "required: the name of the prompt")]);
    }
    prompts::find(&app, caller.project, name.unwrap_or_default(), params).await
}

/// `POST /api/public/prompts`: creates the next version of a prompt, with the label `production` if
/// `isActive` is set.
#[utoipa::path(
    post,
    path = "/api/public/prompts",
    tag = "Prompts",
    request_body = CreatePromptV1,
    responses((status = 201, body = PromptView))
)]
async fn create(
    State(app): State<App>,
    Member(caller): Member,
    sent: LongJsonFields<CreatePromptV1>,
) -> ApiResult<(StatusCode, Response)> {
    let sent = sent.map(|sent| sent.with_label(PRODUCTION));
    Ok((StatusCode::CREATED, prompts::make(&app, caller, sent).await?))
}
