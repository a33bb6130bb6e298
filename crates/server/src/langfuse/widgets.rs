use axum::Json;
use axum::extract::State;
use axum::middleware::from_fn;
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::wire::dashboard::{
    ChartConfig, ChartConfigRequest, ChartType, WidgetChange, WidgetRequest, WidgetView,
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

use super::documents::{self, Stamp, StoredDocument, set, with_code};
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
        Ok(WidgetView {
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
            chart_config: config(request.chart_type, request.chart_config)?,
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
    let alter = move |_: &Documents<'_>, kept: &mut WidgetView| {
        let chart_type = change.chart_type.unwrap_or(kept.chart_type);
        if change.chart_config.is_some() || chart_type != kept.chart_type {
            kept.chart_config = config(chart_type, change.chart_config)?;
            kept.chart_type = chart_type;
        }
        set(&mut kept.name, change.name);
        set(&mut kept.description, change.description);
        set(&mut kept.view, change.view);
        set(&mut kept.dimensions, change.dimensions);
        set(&mut kept.metrics, change.metrics);
        set(&mut kept.filters, change.filters);
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
    documents::delete::<WidgetView>(&app, caller, id).await?;
    Ok(Json(Deleted { message: "Dashboard widget successfully deleted".to_owned() }))
}

impl StoredDocument for WidgetView {
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
