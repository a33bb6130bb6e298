use axum::Json;
use axum::extract::State;
use axum::middleware::from_fn;
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::wire::dashboard::{
    ChartConfig, ChartConfigRequest, ChartType, DashboardView, Placement, WidgetChange,
    WidgetFilter, WidgetRequest, WidgetView,
};
use ratchet_remote::langfuse::wire::dataset::Deleted;
use ratchet_remote::langfuse::wire::page::Paged;
use ratchet_store::catalog::{Document, DocumentKind, Documents};
use ratchet_store::query::PageNumber;
use ratchet_store::{StoreError, StoreResult};
use serde::de::DeserializeOwned;
use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::checks::{Checks, MAX_NAME_CHARS};
use super::documents::{self, with_code};
use super::params::{self, PageParams, Params};
use super::path::PathOf;
use super::sent::Sent;
use crate::app::App;
use crate::auth::{Member, Reader};
use crate::error::ApiResult;

/// How long a description may be.
pub(super) const MAX_DESCRIPTION_CHARS: usize = 5_000;
const MAX_FILTERS: usize = 100;
const MAX_PARTS: usize = 50;
const MAX_ROWS: u32 = 1_000;
const MAX_BINS: u32 = 100;

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(list, create))
        .routes(routes!(show, change, delete))
        .layer(from_fn(with_code))
}

/// `GET /api/public/unstable/dashboard-widgets`: charts, the last changed first.
#[utoipa::path(
    get,
    path = "/api/public/unstable/dashboard-widgets",
    tag = "Dashboards",
    params(PageParams),
    responses((status = 200, body = Paged<WidgetView>))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    mut params: Params,
) -> ApiResult<Json<Paged<WidgetView>>> {
    let page = params.page();
    params.finish()?;
    let work = move |documents: &Documents<'_>| documents.all(DocumentKind::Widget);
    let all = app.store.catalog.with_documents(caller.project, work).await?;
    let total = all.len() as u64;
    let data = page_of(&all, page)?;
    Ok(Json(Paged { data, meta: params::meta(page, Some(total)) }))
}

/// `POST /api/public/unstable/dashboard-widgets`: makes a chart.
#[utoipa::path(
    post,
    path = "/api/public/unstable/dashboard-widgets",
    tag = "Dashboards",
    request_body = WidgetRequest,
    responses((status = 200, body = WidgetView))
)]
pub(super) async fn create(
    State(app): State<App>,
    Member(caller): Member,
    Sent(request): Sent<WidgetRequest>,
) -> ApiResult<Json<WidgetView>> {
    let now = app.clock.now();
    let chart_config = config(request.chart_type, request.chart_config)?;
    let view = WidgetView {
        id: Uuid::new_v4().to_string(),
        created_at: now.into(),
        updated_at: now.into(),
        name: request.name,
        description: request.description.unwrap_or_default(),
        view: request.view,
        dimensions: request.dimensions,
        metrics: request.metrics,
        filters: request.filters,
        chart_type: request.chart_type,
        chart_config,
    };
    check(&view)?;
    let work = move |documents: &Documents<'_>| keep(documents, view, now);
    Ok(Json(app.store.catalog.with_documents(caller.project, work).await?))
}

/// `GET /api/public/unstable/dashboard-widgets/{widgetId}`: one chart.
#[utoipa::path(
    get,
    path = "/api/public/unstable/dashboard-widgets/{widget}",
    tag = "Dashboards",
    params(("widget" = String, Path, description = "The widget's id.")),
    responses((status = 200, body = WidgetView))
)]
pub(super) async fn show(
    State(app): State<App>,
    Reader(caller): Reader,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<WidgetView>> {
    let work = move |documents: &Documents<'_>| find(documents, &id);
    Ok(Json(app.store.catalog.with_documents(caller.project, work).await?))
}

/// `PATCH /api/public/unstable/dashboard-widgets/{widgetId}`: changes what is given.
#[utoipa::path(
    patch,
    path = "/api/public/unstable/dashboard-widgets/{widget}",
    tag = "Dashboards",
    params(("widget" = String, Path, description = "The widget's id.")),
    request_body = WidgetChange,
    responses((status = 200, body = WidgetView))
)]
pub(super) async fn change(
    State(app): State<App>,
    Member(caller): Member,
    PathOf(id): PathOf<String>,
    Sent(change): Sent<WidgetChange>,
) -> ApiResult<Json<WidgetView>> {
    let now = app.clock.now();
    let (catalog, project) = (&app.store.catalog, caller.project);
    let wanted = id.clone();
    let found = catalog.with_documents(project.clone(), move |documents| find(documents, &wanted));
    let found = found.await?;
    let chart_type = change.chart_type.unwrap_or(found.chart_type);
    let keeps_config = change.chart_config.is_none() && chart_type == found.chart_type;
    let view = WidgetView {
        name: change.name.unwrap_or(found.name),
        description: change.description.unwrap_or(found.description),
        view: change.view.unwrap_or(found.view),
        dimensions: change.dimensions.unwrap_or(found.dimensions),
        metrics: change.metrics.unwrap_or(found.metrics),
        filters: change.filters.unwrap_or(found.filters),
        chart_type,
        chart_config: if keeps_config {
            found.chart_config
        } else {
            config(chart_type, change.chart_config)?
        },
        ..found
    };
    check(&view)?;
    let work = move |documents: &Documents<'_>| {
        documents.find(DocumentKind::Widget, &id)?;
        keep(documents, view, now)
    };
    Ok(Json(catalog.with_documents(project, work).await?))
}

/// `DELETE /api/public/unstable/dashboard-widgets/{widgetId}`: removes a chart that stands on no
/// dashboard.
#[utoipa::path(
    delete,
    path = "/api/public/unstable/dashboard-widgets/{widget}",
    tag = "Dashboards",
    params(("widget" = String, Path, description = "The widget's id.")),
    responses((status = 200, body = Deleted))
)]
pub(super) async fn delete(
    State(app): State<App>,
    Member(caller): Member,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<Deleted>> {
    let work = move |documents: &Documents<'_>| {
        documents.find(DocumentKind::Widget, &id)?;
        for dashboard in documents.all(DocumentKind::Dashboard)? {
            let dashboard: DashboardView = documents::read(&dashboard)?;
            let is_there = |tile: &Placement| matches!(tile, Placement::Widget { widget_id, .. } if *widget_id == id);
            if dashboard.definition.widgets.iter().any(is_there) {
                let what = format!("a placement of the widget on dashboard {}", dashboard.id);
                return Err(StoreError::Exists(what));
            }
        }
        documents.delete(DocumentKind::Widget, &id)
    };
    app.store.catalog.with_documents(caller.project, work).await?;
    Ok(Json(Deleted { message: "Dashboard widget successfully deleted".to_owned() }))
}

/// The documents of a page, read.
///
/// # Errors
/// Fails if one of them cannot be read.
pub(super) fn page_of<T: DeserializeOwned>(
    all: &[Document],
    page: PageNumber,
) -> StoreResult<Vec<T>> {
    let skipped = usize::try_from(page.offset()).unwrap_or(usize::MAX);
    let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
    all.iter().skip(skipped).take(limit).map(documents::read).collect()
}

fn find(documents: &Documents<'_>, id: &str) -> StoreResult<WidgetView> {
    documents::read(&documents.find(DocumentKind::Widget, id)?)
}

fn keep(
    documents: &Documents<'_>,
    mut view: WidgetView,
    now: Timestamp,
) -> StoreResult<WidgetView> {
    view.updated_at = now.into();
    let times = (view.created_at.0, now);
    documents::keep(documents, DocumentKind::Widget, (&view.id, &view), times)?;
    Ok(view)
}

fn config(chart: ChartType, asked: Option<ChartConfigRequest>) -> ApiResult<ChartConfig> {
    let mut checks = Checks::default();
    let asked_type = asked.as_ref().and_then(|config| config.chart);
    let is_same = asked_type.is_none_or(|asked| asked == chart);
    checks.must(is_same, "chartConfig", "its type must be the chartType");
    checks.finish()?;
    let plain = ChartConfig {
        chart,
        row_limit: None,
        show_value_labels: None,
        bins: None,
        default_sort: None,
    };
    Ok(match asked {
        None => plain,
        Some(ChartConfigRequest { row_limit, show_value_labels, bins, default_sort, .. }) => {
            ChartConfig { chart, row_limit, show_value_labels, bins, default_sort }
        }
    })
}

fn check(view: &WidgetView) -> ApiResult<()> {
    let mut checks = Checks::default();
    checks.text("name", &view.name, 1..=MAX_NAME_CHARS);
    checks.text("description", &view.description, 0..=MAX_DESCRIPTION_CHARS);
    checks.len("dimensions", view.dimensions.len(), 0..=MAX_PARTS);
    checks.len("metrics", view.metrics.len(), 1..=MAX_PARTS);
    for dimension in &view.dimensions {
        checks.text("dimensions", &dimension.field, 1..=MAX_NAME_CHARS);
    }
    for metric in &view.metrics {
        checks.text("metrics", &metric.measure, 1..=MAX_NAME_CHARS);
    }
    let is_within = |number: Option<u32>, most: u32| number.is_none_or(|n| (1..=most).contains(&n));
    let rows = format!("row_limit must be from 1 to {MAX_ROWS}");
    checks.must(is_within(view.chart_config.row_limit, MAX_ROWS), "chartConfig", &rows);
    let bins = format!("bins must be from 1 to {MAX_BINS}");
    checks.must(is_within(view.chart_config.bins, MAX_BINS), "chartConfig", &bins);
    check_filters(&mut checks, &view.filters);
    checks.finish()
}

/// Refuses conditions whose operator or value does not fit their type.
pub(super) fn check_filters(checks: &mut Checks, filters: &[WidgetFilter]) {
    checks.len("filters", filters.len(), 0..=MAX_FILTERS);
    for filter in filters {
        checks.text("filters", &filter.column, 1..=MAX_NAME_CHARS);
        if let Err(why) = check_filter(filter) {
            checks.must(false, "filters", &why);
        }
    }
}

fn check_filter(filter: &WidgetFilter) -> Result<(), String> {
    const TEXT: &[&str] = &["=", "contains", "does not contain", "starts with", "ends with"];
    const NUMBER: &[&str] = &["=", ">", "<", ">=", "<="];
    const TRUTH: &[&str] = &["=", "<>"];
    let is_texts =
        |value: &Value| value.as_array().is_some_and(|texts| texts.iter().all(Value::is_string));
    let value: Value = filter
        .value
        .as_ref()
        .map_or(Value::Null, |value| serde_json::from_str(value.get()).unwrap_or(Value::Null));
    let kind = filter.value_type.as_str();
    let (operators, fits): (&[&str], bool) = match kind {
        "string" | "stringObject" => (TEXT, value.is_string()),
        "number" | "numberObject" => (NUMBER, value.is_number()),
        "datetime" => {
            let time = value.as_str().and_then(|text| Timestamp::parse(text).ok());
            (&[">", "<", ">=", "<="], time.is_some())
        }
        "boolean" | "booleanObject" => (TRUTH, value.is_boolean()),
        "null" => (&["is null", "is not null"], true),
        "stringOptions" | "categoryOptions" => (&["any of", "none of"], is_texts(&value)),
        "arrayOptions" => (&["any of", "none of", "all of"], is_texts(&value)),
        other => return Err(format!("there is no type {other} of filter")),
    };
    if !operators.contains(&filter.operator.as_str()) {
        return Err(format!("a {kind} filter takes {}", operators.join(", ")));
    }
    let needs_key = kind.ends_with("Object") || kind == "categoryOptions";
    match (fits, needs_key && filter.key.as_deref().unwrap_or_default().is_empty()) {
        (false, _) => Err(format!("the value does not fit a {kind} filter")),
        (true, true) => Err(format!("a {kind} filter needs a key")),
        (true, false) => Ok(()),
    }
}
