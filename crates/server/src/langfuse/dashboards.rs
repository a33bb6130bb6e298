use axum::Json;
use axum::extract::State;
use axum::middleware::from_fn;
use ratchet_core::catalog::dashboard::Dashboard;
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::wire::dashboard::{
    DashboardChange, DashboardRequest, DashboardView, Placement, PlacementChange, PlacementRequest,
};
use ratchet_remote::langfuse::wire::dataset::Deleted;
use ratchet_remote::langfuse::wire::page::Paged;
use ratchet_stages::dashboards::dashboard;
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
use crate::error::{ApiError, ApiResult};

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(list, create))
        .routes(routes!(show, change, delete))
        .routes(routes!(place))
        .routes(routes!(shift, move_widget))
        .layer(from_fn(with_code))
}

/// `GET /api/public/unstable/dashboards`: dashboards, last changed first.
#[utoipa::path(
    get,
    path = "/api/public/unstable/dashboards",
    tag = "Dashboards",
    params(PageParams),
    responses((status = 200, body = Paged<DashboardView>))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    params: Params,
) -> ApiResult<Json<Paged<DashboardView>>> {
    documents::list(&app, caller.project, params).await
}

/// `POST /api/public/unstable/dashboards`: creates a dashboard.
#[utoipa::path(
    post,
    path = "/api/public/unstable/dashboards",
    tag = "Dashboards",
    request_body = DashboardRequest,
    responses((status = 200, body = DashboardView))
)]
pub(super) async fn create(
    State(app): State<App>,
    Member(caller): Member,
    JsonFields(request): JsonFields<DashboardRequest>,
) -> ApiResult<Json<DashboardView>> {
    let make = move |_: &Documents<'_>, now: Timestamp| {
        let mut checks = Checks::default();
        let filters = conditions(&mut checks, request.filters.unwrap_or_default());
        checks.finish()?;
        Ok(Dashboard {
            id: Uuid::new_v4().to_string(),
            created_at: now,
            updated_at: now,
            name: request.name,
            description: request.description.unwrap_or_default(),
            layout: request.definition.unwrap_or_default().into(),
            filters,
        })
    };
    documents::create(&app, caller, make).await
}

/// `GET /api/public/unstable/dashboards/{dashboardId}`: one dashboard.
#[utoipa::path(
    get,
    path = "/api/public/unstable/dashboards/{dashboard}",
    tag = "Dashboards",
    params(("dashboard" = String, Path, description = "The dashboard's id.")),
    responses((status = 200, body = DashboardView))
)]
pub(super) async fn show(
    State(app): State<App>,
    Reader(caller): Reader,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<DashboardView>> {
    documents::show(&app, caller.project, id).await
}

/// `PATCH /api/public/unstable/dashboards/{dashboardId}`: changes the given fields.
#[utoipa::path(
    patch,
    path = "/api/public/unstable/dashboards/{dashboard}",
    tag = "Dashboards",
    params(("dashboard" = String, Path, description = "The dashboard's id.")),
    request_body = DashboardChange,
    responses((status = 200, body = DashboardView))
)]
pub(super) async fn change(
    State(app): State<App>,
    Member(caller): Member,
    PathOf(id): PathOf<String>,
    JsonFields(change): JsonFields<DashboardChange>,
) -> ApiResult<Json<DashboardView>> {
    let alter = move |_: &Documents<'_>, kept: &mut Dashboard| {
        let mut checks = Checks::default();
        let filters = change.filters.map(|filters| conditions(&mut checks, filters));
        checks.finish()?;
        set(&mut kept.name, change.name);
        set(&mut kept.description, change.description);
        set(&mut kept.layout, change.definition.map(Into::into));
        set(&mut kept.filters, filters);
        Ok(())
    };
    documents::change(&app, caller, id, alter).await
}

/// `DELETE /api/public/unstable/dashboards/{dashboardId}`: deletes a dashboard, not its widgets.
#[utoipa::path(
    delete,
    path = "/api/public/unstable/dashboards/{dashboard}",
    tag = "Dashboards",
    params(("dashboard" = String, Path, description = "The dashboard's id.")),
    responses((status = 200, body = Deleted))
)]
pub(super) async fn delete(
    State(app): State<App>,
    Member(caller): Member,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<Deleted>> {
    documents::delete::<Dashboard>(&app, caller, id).await?;
    Ok(Json(Deleted { message: "Dashboard successfully deleted".to_owned() }))
}

/// `POST /api/public/unstable/dashboards/{dashboardId}/placements`: adds a tile to a dashboard.
#[utoipa::path(
    post,
    path = "/api/public/unstable/dashboards/{dashboard}/placements",
    tag = "Dashboards",
    params(("dashboard" = String, Path, description = "The dashboard's id.")),
    request_body = PlacementRequest,
    responses((status = 200, body = Placement))
)]
pub(super) async fn place(
    State(app): State<App>,
    Member(caller): Member,
    PathOf(id): PathOf<String>,
    JsonFields(request): JsonFields<PlacementRequest>,
) -> ApiResult<Json<Placement>> {
    let alter = move |kept: &mut Dashboard| {
        let tiles = &mut kept.layout.tiles;
        let tile = request.into_tile(Uuid::new_v4().to_string(), dashboard::below(tiles));
        if tiles.iter().any(|known| known.id == tile.id) {
            let what = format!("a placement with the id {}", tile.id);
            return Err(StoreError::Exists(what).into());
        }
        tiles.push(tile.clone());
        Ok(Placement::from(tile))
    };
    documents::change_part(&app, caller, id, alter).await.map(Json)
}

/// `PATCH /api/public/unstable/dashboards/{dashboardId}/placements/{placementId}`: moves a tile.
#[utoipa::path(
    patch,
    path = "/api/public/unstable/dashboards/{dashboard}/placements/{placement}",
    tag = "Dashboards",
    params(
        ("dashboard" = String, Path, description = "The dashboard's id."),
        ("placement" = String, Path, description = "The tile's id."),
    ),
    request_body = PlacementChange,
    responses((status = 200, body = Placement))
)]
pub(super) async fn shift(
    State(app): State<App>,
    Member(caller): Member,
    PathOf((id, placement)): PathOf<(String, String)>,
    JsonFields(change): JsonFields<PlacementChange>,
) -> ApiResult<Json<Placement>> {
    let mut checks = Checks::default();
    checks.must(change != PlacementChange::default(), "x", "needs x, y, width or height");
    checks.finish()?;
    let alter = move |kept: &mut Dashboard| {
        let tiles = &mut kept.layout.tiles;
        let tile = tiles.iter_mut().find(|tile| tile.id == placement);
        let tile = tile.ok_or_else(|| missing_placement(&placement))?;
        tile.at = change.of(tile.at);
        Ok(Placement::from(tile.clone()))
    };
    documents::change_part(&app, caller, id, alter).await.map(Json)
}

/// `DELETE /api/public/unstable/dashboards/{dashboardId}/placements/{placementId}`: removes a tile;
/// its widget stays.
#[utoipa::path(
    delete,
    path = "/api/public/unstable/dashboards/{dashboard}/placements/{placement}",
    tag = "Dashboards",
    params(
        ("dashboard" = String, Path, description = "The dashboard's id."),
        ("placement" = String, Path, description = "The tile's id."),
    ),
    responses((status = 200, body = Deleted))
)]
pub(super) async fn move_widget(
    State(app): State<App>,
    Member(caller): Member,
    PathOf((id, placement)): PathOf<(String, String)>,
) -> ApiResult<Json<Deleted>> {
    let alter = move |kept: &mut Dashboard| {
        let tiles = &mut kept.layout.tiles;
        let before = tiles.len();
        tiles.retain(|tile| tile.id != placement);
        if tiles.len() == before { Err(missing_placement(&placement)) } else { Ok(()) }
    };
    documents::change_part(&app, caller, id, alter).await?;
    Ok(Json(Deleted { message: "Placement successfully deleted".to_owned() }))
}

fn missing_placement(id: &str) -> ApiError {
    StoreError::NotFound(format!("placement {id}")).into()
}

impl StoredDocument for Dashboard {
    const KIND: DocumentKind = DocumentKind::Dashboard;

    fn stamp(&mut self) -> Stamp<'_> {
        let Self { id, created_at, updated_at, .. } = self;
        Stamp { id, created_at: *created_at, updated_at }
    }

    fn check(&self, documents: &Documents<'_>) -> ApiResult<()> {
        Ok(dashboard::check(self, documents)?)
    }
}

impl View for DashboardView {
    type Of = Dashboard;

    fn all(_: &Documents<'_>, kept: Vec<Dashboard>) -> ApiResult<Vec<Self>> {
        Ok(kept.into_iter().map(Self::from).collect())
    }
}
