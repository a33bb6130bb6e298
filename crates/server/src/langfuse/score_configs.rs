use axum::Json;
use axum::extract::State;
use ratchet_core::issue::Issue;
use ratchet_core::record::score::config::{
    Category, ConfigValues, ScoreConfig, StatedValues, check_description, check_name,
};
use ratchet_core::record::score::rule::ScoreInvalid;
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::wire::maybe::Maybe;
use ratchet_remote::langfuse::wire::page::Paged;
use ratchet_remote::langfuse::wire::score_config::{
    ConfigCategory, CreateScoreConfig, ScoreConfigView, UpdateScoreConfig,
};
use ratchet_remote::langfuse::wire::wire_name::WireName;
use ratchet_store::catalog::StoredScoreConfig;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::json_fields::JsonFields;
use super::params::{PageParams, Params, meta};
use super::path::PathOf;
use crate::app::App;
use crate::auth::{Member, Reader};
use crate::error::{ApiError, ApiResult};

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default().routes(routes!(list, create)).routes(routes!(show, update))
}

/// `GET /api/public/score-configs`: the score configs, newest first.
#[utoipa::path(
    get,
    path = "/api/public/score-configs",
    tag = "Scores",
    params(
        PageParams,
    ),
    responses((status = 200, body = Paged<ScoreConfigView>))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    mut params: Params,
) -> ApiResult<Json<Paged<ScoreConfigView>>> {
    let page = params.page();
    params.finish()?;
    let found = app.store.catalog.score_configs(caller.project.clone(), page).await?;
    let data = found.rows.into_iter().map(|kept| view(kept, caller.project.as_str())).collect();
    Ok(Json(Paged { data, meta: meta(page, found.total) }))
}

/// `GET /api/public/score-configs/{id}`: one score config.
#[utoipa::path(
    get,
    path = "/api/public/score-configs/{id}",
    tag = "Scores",
    params(
        ("id" = String, Path, description = "The config's id."),
    ),
    responses((status = 200, body = ScoreConfigView))
)]
pub(super) async fn show(
    State(app): State<App>,
    Reader(caller): Reader,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<ScoreConfigView>> {
    let found = app.store.catalog.score_config(caller.project.clone(), id.clone()).await?;
    let found = found.ok_or_else(|| ApiError::NotFound(format!("Score config {id} not found")))?;
    Ok(Json(view(found, caller.project.as_str())))
}

/// `POST /api/public/score-configs`: creates a score config.
#[utoipa::path(
    post,
    path = "/api/public/score-configs",
    tag = "Scores",
    request_body = CreateScoreConfig,
    responses((status = 200, body = ScoreConfigView))
)]
pub(super) async fn create(
    State(app): State<App>,
    Member(caller): Member,
    JsonFields(sent): JsonFields<CreateScoreConfig>,
) -> ApiResult<Json<ScoreConfigView>> {
    let id = uuid::Uuid::new_v4().to_string();
    let kept = new_config(sent, id, app.clock.now()).map_err(refuse)?;
    let kept = caller.catalog(&app).create_score_config(caller.project.clone(), kept).await?;
    Ok(Json(view(kept, caller.project.as_str())))
}

/// `PATCH /api/public/score-configs/{id}`: changes a score config for future scores.
#[utoipa::path(
    patch,
    path = "/api/public/score-configs/{id}",
    tag = "Scores",
    params(
        ("id" = String, Path, description = "The config's id."),
    ),
    request_body = UpdateScoreConfig,
    responses((status = 200, body = ScoreConfigView))
)]
pub(super) async fn update(
    State(app): State<App>,
    Member(caller): Member,
    PathOf(id): PathOf<String>,
    JsonFields(sent): JsonFields<UpdateScoreConfig>,
) -> ApiResult<Json<ScoreConfigView>> {
    let now = app.clock.now();
    let change = move |kept| changed(kept, sent, now).map_err(refuse);
    let project = caller.project.clone();
    let kept = caller.catalog(&app).change_score_config(project, id, change).await?;
    Ok(Json(view(kept, caller.project.as_str())))
}

fn new_config(
    sent: CreateScoreConfig,
    id: String,
    now: Timestamp,
) -> Result<StoredScoreConfig, ScoreInvalid> {
    check_name(&sent.name)?;
    check_description(sent.description.as_deref())?;
    let stated = StatedValues {
        min: sent.min_value,
        max: sent.max_value,
        categories: sent.categories.map(categories),
    };
    let values = ConfigValues::new(sent.data_type.0, stated)?;
    Ok(StoredScoreConfig {
        config: ScoreConfig { id, name: sent.name, values, is_archived: false },
        description: sent.description,
        created_at: now,
        updated_at: now,
    })
}

fn changed(
    kept: StoredScoreConfig,
    sent: UpdateScoreConfig,
    now: Timestamp,
) -> Result<StoredScoreConfig, ScoreInvalid> {
    let ScoreConfig { id, name, values, is_archived } = kept.config;
    let name = sent.name.unwrap_or(name);
    check_name(&name)?;
    let description = or_kept(sent.description, kept.description);
    check_description(description.as_deref())?;
    let data_type = values.data_type();
    let (min, max, kept_categories) = match values {
        ConfigValues::Numeric { min, max } => (min, max, None),
        ConfigValues::Categorical(categories) => (None, None, Some(categories)),
        ConfigValues::Boolean | ConfigValues::Text => (None, None, None),
    };
    let stated = StatedValues {
        min: or_kept(sent.min_value, min),
        max: or_kept(sent.max_value, max),
        categories: sent.categories.map(categories).or(kept_categories),
    };
    let values = ConfigValues::new(data_type, stated)?;
    let is_archived = sent.is_archived.unwrap_or(is_archived);
    Ok(StoredScoreConfig {
        config: ScoreConfig { id, name, values, is_archived },
        description,
        created_at: kept.created_at,
        updated_at: now.max(kept.created_at),
    })
}

fn or_kept<T>(sent: Maybe<T>, kept: Option<T>) -> Option<T> {
    match sent {
        Maybe::Absent => kept,
        Maybe::Null => None,
        Maybe::Value(value) => Some(value),
    }
}

fn categories(sent: Vec<ConfigCategory>) -> Vec<Category> {
    sent.into_iter().map(Category::from).collect()
}

fn refuse(ScoreInvalid { field, why }: ScoreInvalid) -> ApiError {
    ApiError::InvalidFields(vec![Issue::at(field, why)])
}

fn view(kept: StoredScoreConfig, project: &str) -> ScoreConfigView {
    let StoredScoreConfig { config, description, created_at, updated_at } = kept;
    let (min_value, max_value) = match &config.values {
        ConfigValues::Numeric { min, max } => (*min, *max),
        ConfigValues::Boolean | ConfigValues::Categorical(_) | ConfigValues::Text => (None, None),
    };
    let categories = config.values.categories();
    ScoreConfigView {
        id: config.id,
        name: config.name,
        created_at: created_at.into(),
        updated_at: updated_at.into(),
        project_id: project.to_owned(),
        data_type: WireName(config.values.data_type()),
        is_archived: config.is_archived,
        min_value,
        max_value,
        categories: categories.map(|all| all.into_iter().map(ConfigCategory::from).collect()),
        description,
    }
}
