use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use ratchet_core::issue::Issue;
use ratchet_core::payload::Json as JsonText;
use ratchet_core::record::price::{ModelDefinition, OwnModel, PricingTier};
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::wire::model::{
    ModelOrigin, ModelRequest, ModelView, TierConditionView,
};
use ratchet_remote::langfuse::wire::page::Paged;
use ratchet_stages::validation::{Checks, MAX_NAME_CHARS};
use ratchet_store::catalog::StoredModel;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::client::is_python_3;
use super::json_fields::JsonFields;
use super::params::{self, PageParams, Params};
use super::path::PathOf;
use crate::app::App;
use crate::auth::{Caller, Member, Reader};
use crate::error::{ApiError, ApiResult};

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default().routes(routes!(list, create)).routes(routes!(show, replace, delete))
}

/// `GET /api/public/models`: the project's custom models, then the built-in ones.
#[utoipa::path(
    get,
    path = "/api/public/models",
    tag = "Models",
    params(PageParams),
    responses((status = 200, body = Paged<ModelView>))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    headers: HeaderMap,
    mut params: Params,
) -> ApiResult<Json<Paged<ModelView>>> {
    let page = params.page();
    params.finish()?;
    let own = app.store.catalog.models(caller.project).await?;
    let built_in = app.prices.definitions();
    let total = own.len() + built_in.len();
    let views = own.iter().map(own_view).chain(built_in.iter().map(built_in_view));
    let skipped = usize::try_from(page.offset()).unwrap_or(usize::MAX);
    let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
    let data = views.skip(skipped).take(limit).map(|view| for_client(view, &headers)).collect();
    Ok(Json(Paged { data, meta: params::meta(page, Some(total as u64)) }))
}

/// `GET /api/public/models/{id}`: one model.
#[utoipa::path(
    get,
    path = "/api/public/models/{id}",
    tag = "Models",
    params(("id" = String, Path, description = "The model's id.")),
    responses((status = 200, body = ModelView))
)]
pub(super) async fn show(
    State(app): State<App>,
    Reader(caller): Reader,
    headers: HeaderMap,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<ModelView>> {
    if let Some(own) = app.store.catalog.model(caller.project, id.clone()).await? {
        return Ok(Json(for_client(own_view(&own), &headers)));
    }
    let built_in = app.prices.definitions().into_iter().find(|model| model.name == id);
    let built_in = built_in.ok_or_else(|| ApiError::NotFound(format!("model {id} not found")))?;
    Ok(Json(for_client(built_in_view(&built_in), &headers)))
}

/// `POST /api/public/models`: creates a model; observations recorded from now on are priced by it.
#[utoipa::path(
    post,
    path = "/api/public/models",
    tag = "Models",
    request_body = ModelRequest,
    responses((status = 200, body = ModelView))
)]
pub(super) async fn create(
    State(app): State<App>,
    Member(caller): Member,
    JsonFields(request): JsonFields<ModelRequest>,
) -> ApiResult<Json<ModelView>> {
    keep(&app, caller, Uuid::new_v4().to_string(), request).await
}

/// `PUT /api/public/models/{id}`: creates or replaces a model with an id chosen by the client.
#[utoipa::path(
    put,
    path = "/api/public/models/{id}",
    tag = "Models",
    params(("id" = String, Path, description = "The model's id.")),
    request_body = ModelRequest,
    responses((status = 200, body = ModelView))
)]
pub(super) async fn replace(
    State(app): State<App>,
    Member(caller): Member,
    PathOf(id): PathOf<String>,
    JsonFields(request): JsonFields<ModelRequest>,
) -> ApiResult<Json<ModelView>> {
    refuse_built_in(&app, &id)?;
    let mut checks = Checks::default();
    checks.text("id", &id, 1..=MAX_NAME_CHARS);
    checks.finish()?;
    keep(&app, caller, id, request).await
}

/// `DELETE /api/public/models/{id}`: deletes a custom model.
#[utoipa::path(
    delete,
    path = "/api/public/models/{id}",
    tag = "Models",
    params(("id" = String, Path, description = "The model's id.")),
    responses((status = 204))
)]
pub(super) async fn delete(
    State(app): State<App>,
    Member(caller): Member,
    PathOf(id): PathOf<String>,
) -> ApiResult<StatusCode> {
    refuse_built_in(&app, &id)?;
    caller.catalog(&app).delete_model(caller.project, id, app.clock.now()).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn refuse_built_in(app: &App, id: &str) -> ApiResult<()> {
    if app.prices.definitions().iter().any(|model| model.name == id) {
        let message =
            format!("{id} is built in; define a custom model with the same pattern instead");
        return Err(ApiError::Invalid(message));
    }
    Ok(())
}

async fn keep(
    app: &App,
    caller: Caller,
    id: String,
    request: ModelRequest,
) -> ApiResult<Json<ModelView>> {
    let definition = check(request)?;
    let wrong = |field, problem: String| ApiError::InvalidFields(vec![Issue::at(field, problem)]);
    OwnModel::new(id.clone(), &definition).map_err(|why| wrong(why.field, why.problem))?;
    let kept = StoredModel { id, definition, created_at: app.clock.now() };
    let kept = caller.catalog(app).save_model(caller.project, kept, app.clock.now()).await?;
    Ok(Json(own_view(&kept)))
}

fn check(request: ModelRequest) -> ApiResult<ModelDefinition> {
    let mut checks = Checks::default();
    let tokenizer = request.tokenizer_id.as_deref();
    let is_known = tokenizer.is_none_or(|id| ["openai", "claude"].contains(&id));
    checks.must(is_known, "tokenizerId", "must be openai or claude");
    let flat: BTreeMap<String, f64> = [
        ("input", request.input_price),
        ("output", request.output_price),
        ("total", request.total_price),
    ]
    .into_iter()
    .filter_map(|(kind, price)| Some((kind.to_owned(), price?)))
    .collect();
    let is_total_alone = request.total_price.is_none() || flat.len() == 1;
    checks.must(is_total_alone, "totalPrice", "cannot be combined with inputPrice or outputPrice");
    let is_one_way = flat.is_empty() != request.pricing_tiers.is_none();
    checks.must(is_one_way, "pricingTiers", "either these or the flat prices must be given");
    checks.finish()?;
    let id = || Uuid::new_v4().to_string();
    let tiers = match request.pricing_tiers {
        Some(tiers) => tiers.into_iter().map(|tier| tier.into_tier(id())).collect(),
        None => vec![PricingTier::standard(id(), flat)],
    };
    Ok(ModelDefinition {
        name: request.model_name,
        pattern: request.match_pattern,
        start: request.start_date.map(|time| time.0),
        unit: request.unit.map(|unit| unit.0).unwrap_or_default(),
        tiers,
        tokenizer: request.tokenizer_id,
        tokenizer_config: request.tokenizer_config.map(|config| JsonText::from_raw(&config)),
    })
}

/// Omits the pricing tiers that a client cannot parse.
fn for_client(mut view: ModelView, headers: &HeaderMap) -> ModelView {
    if is_python_3(headers) {
        let is_usage = |one: &TierConditionView| matches!(one, TierConditionView::Usage(_));
        view.pricing_tiers.retain(|tier| tier.conditions.iter().all(is_usage));
    }
    view
}

fn own_view(kept: &StoredModel) -> ModelView {
    ModelView::new(kept.id.clone(), &kept.definition, ModelOrigin::Project, kept.created_at)
}

fn built_in_view(model: &ModelDefinition) -> ModelView {
    ModelView::new(model.name.clone(), model, ModelOrigin::Ratchet, Timestamp::default())
}
