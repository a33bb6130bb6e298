use axum::Json;
use axum::extract::State;
use axum::middleware::from_fn;
use ratchet_core::catalog::dashboard::widget::{ChartKind, ChartSettings, Widget};
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::wire::dashboard::{
    ChartConfigRequest, WidgetChange, WidgetRequest, WidgetView,
};
use ratchet_remote::langfuse::wire::dataset::Deleted;
use ratchet_remote::langfuse::wire::page::Paged;
use ratchet_stages::dashboards::{definitions, widget};
use ratchet_stages::validation::Checks;
use ratchet_store::StoreError;
use ratchet_store::catalog::{DocumentKind, Documents};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::documents::{self, Stamp, StoredDocument, View, set, with_code};
use super::filter::conditions;
use super::json_fields::JsonFields;
use super::params::{PageParams, Params};
use super::path::PathOf;
use crate::app::App;
use crate::auth::{Member, Reader};
use crate::error::ApiResult;

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(list, create))
        .routes(routes!(show, change, delete))
        .layer(from_fn(with_code))
}

/// `GET /api/public/unstable/dashboard-widgets`: widgets, last changed first.
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
    params: Params,
) -> ApiResult<Json<Paged<WidgetView>>> {
    documents::list(&app, caller.project, params).await
}

/// `POST /api/public/unstable/dashboard-widgets`: creates a widget.
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
    JsonFields(request): JsonFields<WidgetRequest>,
) -> ApiResult<Json<WidgetView>> {
    let make = move |_: &Documents<'_>, now: Timestamp| {
        let mut checks = Checks::default();
        let filters = conditions(&mut checks, request.filters);
        let chart = request.chart_type.0;
        let settings = settings(&mut checks, chart, request.chart_config);
        checks.finish()?;
        Ok(Widget {
            id: Uuid::new_v4().to_string(),
            created_at: now,
            updated_at: now,
            name: request.name,
            description: request.description.unwrap_or_default(),
            view: request.view.0,
            dimensions: all_into(request.dimensions),
            metrics: all_into(request.metrics),
            filters,
            chart,
            settings,
        })
    };
    documents::create(&app, caller, make).await
}

/// `GET /api/public/unstable/dashboard-widgets/{widgetId}`: one widget.
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
    documents::show(&app, caller.project, id).await
}

/// `PATCH /api/public/unstable/dashboard-widgets/{widgetId}`: changes the given fields.
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
    JsonFields(change): JsonFields<WidgetChange>,
) -> ApiResult<Json<WidgetView>> {
    let alter = move |_: &Documents<'_>, kept: &mut Widget| {
        let mut checks = Checks::default();
        let filters = change.filters.map(|filters| conditions(&mut checks, filters));
        let chart = change.chart_type.map_or(kept.chart, |name| name.0);
        if change.chart_config.is_some() || chart != kept.chart {
            kept.settings = settings(&mut checks, chart, change.chart_config);
            kept.chart = chart;
        }
        checks.finish()?;
        set(&mut kept.name, change.name);
        set(&mut kept.description, change.description);
        set(&mut kept.view, change.view.map(|name| name.0));
        set(&mut kept.dimensions, change.dimensions.map(all_into));
        set(&mut kept.metrics, change.metrics.map(all_into));
        set(&mut kept.filters, filters);
        Ok(())
    };
    documents::change(&app, caller, id, alter).await
}

/// `DELETE /api/public/unstable/dashboard-widgets/{widgetId}`: deletes a widget that is on no
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
    documents::delete::<Widget>(&app, caller, id).await?;
    Ok(Json(Deleted { message: "Dashboard widget successfully deleted".to_owned() }))
}

impl StoredDocument for Widget {
    const KIND: DocumentKind = DocumentKind::Widget;

    fn stamp(&mut self) -> Stamp<'_> {
        let Self { id, created_at, updated_at, .. } = self;
        Stamp { id, created_at: *created_at, updated_at }
    }

    fn check(&self, _: &Documents<'_>) -> ApiResult<()> {
        Ok(widget::check(self)?)
    }

    fn check_unused(&self, documents: &Documents<'_>) -> ApiResult<()> {
        match definitions::shown_on(documents, &self.id)?.first() {
            None => Ok(()),
            Some(dashboard) => {
                let what = format!("a placement of the widget on dashboard {}", dashboard.id);
                Err(StoreError::Exists(what).into())
            }
        }
    }
}

impl View for WidgetView {
    type Of = Widget;

    fn all(_: &Documents<'_>, kept: Vec<Widget>) -> ApiResult<Vec<Self>> {
        Ok(kept.into_iter().map(Self::from).collect())
    }
}

fn all_into<T: Into<U>, U>(list: Vec<T>) -> Vec<U> {
    list.into_iter().map(Into::into).collect()
}

fn settings(
    checks: &mut Checks,
    chart: ChartKind,
    asked: Option<ChartConfigRequest>,
) -> ChartSettings {
    let Some(asked) = asked else { return ChartSettings::new(chart) };
    let ChartConfigRequest { chart: named, row_limit, show_value_labels, bins, default_sort } =
        asked;
    let is_same = named.is_none_or(|named| named.0 == chart);
    checks.must(is_same, "chartConfig", "its type must be the chartType");
    let default_sort = default_sort.map(Into::into);
    ChartSettings { chart, row_limit, show_value_labels, bins, default_sort }
}
