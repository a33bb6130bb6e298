use axum::Json;
use axum::extract::State;
use ratchet_core::catalog::llm::ConnectionRequest;
use ratchet_core::issue::Issue;
use ratchet_core::payload::Json as JsonText;
use ratchet_core::secret::Secret;
use ratchet_remote::http;
use ratchet_remote::langfuse::wire::json::raw;
use ratchet_remote::langfuse::wire::llm_connection::{LlmConnectionRequest, LlmConnectionView};
use ratchet_remote::langfuse::wire::page::Paged;
use ratchet_remote::langfuse::wire::trace::Deleted;
use ratchet_remote::langfuse::wire::wire_name::WireName;
use ratchet_store::catalog::{LlmConnection, NewLlmConnection};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::json_fields::JsonFields;
use super::params::{self, PageParams, Params};
use super::path::PathOf;
use crate::app::App;
use crate::auth::{Owner, Reader};
use crate::error::{ApiError, ApiResult};

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default().routes(routes!(list, keep)).routes(routes!(delete))
}

/// `GET /api/public/llm-connections`: the LLM connections, without their secrets.
#[utoipa::path(
    get,
    path = "/api/public/llm-connections",
    tag = "LlmConnections",
    params(PageParams),
    responses((status = 200, body = Paged<LlmConnectionView>))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    mut params: Params,
) -> ApiResult<Json<Paged<LlmConnectionView>>> {
    let page = params.page();
    params.finish()?;
    let found = app.store.catalog.llm_connections(caller.project, page).await?;
    let data = found.rows.iter().map(view).collect();
    Ok(Json(Paged { data, meta: params::meta(page, found.total) }))
}

/// `PUT /api/public/llm-connections`: creates a connection, or replaces the one of the same
/// provider.
#[utoipa::path(
    put,
    path = "/api/public/llm-connections",
    tag = "LlmConnections",
    request_body = LlmConnectionRequest,
    responses((status = 200, body = LlmConnectionView))
)]
pub(super) async fn keep(
    State(app): State<App>,
    Owner(caller): Owner,
    JsonFields(request): JsonFields<LlmConnectionRequest>,
) -> ApiResult<Json<LlmConnectionView>> {
    let new = check(request)?;
    if let Some(entered) = &new.base_url {
        let allowed = http::check_entered_text(entered, &app.outbound);
        allowed
            .map_err(|why| ApiError::InvalidFields(vec![Issue::at("baseURL", why.to_string())]))?;
    }
    let (catalog, secrets) = (caller.catalog(&app), app.store.secrets.clone());
    let kept = catalog.save_llm_connection(caller.project, new, secrets, app.clock.now()).await?;
    Ok(Json(view(&kept)))
}

/// `DELETE /api/public/llm-connections/{id}`: deletes a connection and its secrets.
#[utoipa::path(
    delete,
    path = "/api/public/llm-connections/{id}",
    tag = "LlmConnections",
    params(("id" = String, Path, description = "The connection's id.")),
    responses((status = 200, body = Deleted))
)]
pub(super) async fn delete(
    State(app): State<App>,
    Owner(caller): Owner,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<Deleted>> {
    caller.catalog(&app).delete_llm_connection(caller.project, id, app.clock.now()).await?;
    Ok(Json(Deleted { message: "LLM connection successfully deleted".to_owned() }))
}

fn check(request: LlmConnectionRequest) -> ApiResult<NewLlmConnection> {
    let models = request.custom_models.unwrap_or_default();
    let headers = request.extra_headers.unwrap_or_default();
    let config = request.config.map(|config| JsonText::from_raw(&config));
    let config = config.filter(|config| config.as_str() != "null");
    let reach = ConnectionRequest {
        provider: &request.provider,
        adapter: request.adapter.0,
        secret: &request.secret_key,
        base_url: request.base_url.as_deref(),
        custom_models: &models,
        headers: &headers,
        config: config.as_ref(),
    };
    let issues = reach.faults().into_iter().map(|fault| Issue::at(fault.field, fault.problem));
    let issues: Vec<Issue> = issues.collect();
    if !issues.is_empty() {
        return Err(ApiError::InvalidFields(issues));
    }
    Ok(NewLlmConnection {
        provider: request.provider,
        adapter: request.adapter.0,
        secret: Secret::new(request.secret_key),
        base_url: request.base_url,
        custom_models: models,
        has_default_models: request.with_default_models.unwrap_or(true),
        headers: headers.into_iter().map(|(name, value)| (name, Secret::new(value))).collect(),
        config,
    })
}

fn view(kept: &LlmConnection) -> LlmConnectionView {
    LlmConnectionView {
        id: kept.id.clone(),
        provider: kept.provider.clone(),
        adapter: WireName(kept.adapter),
        display_secret_key: kept.secret_hint.clone(),
        base_url: kept.base_url.clone(),
        custom_models: kept.custom_models.clone(),
        with_default_models: kept.has_default_models,
        extra_header_keys: kept.header_names.clone(),
        config: kept.config.as_ref().map(raw),
        created_at: kept.created_at.into(),
        updated_at: kept.updated_at.into(),
    }
}
