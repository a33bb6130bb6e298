use axum::Json;
use axum::extract::State;
use axum::middleware::from_fn;
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::wire::dashboard::{
    DashboardChange, DashboardRequest, DashboardView, Placement, PlacementChange, PlacementRequest,
};
use ratchet_remote::langfuse::wire::dataset::Deleted;
use ratchet_remote::langfuse::wire::page::Paged;
use ratchet_store::catalog::{DocumentKind, Documents};
use ratchet_store::{StoreError, StoreResult};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::checks::{Checks, MAX_NAME_CHARS};
use super::documents::{self, with_code};
use super::params::{self, PageParams, Params};
use super::path::PathOf;
use super::sent::Sent;
use super::widgets::{MAX_DESCRIPTION_CHARS, check_filters, page_of};
use crate::app::App;
use crate::auth::{Member, Reader};
use crate::error::ApiResult;

/// The columns of the grid.
const COLUMNS: i64 = 12;
const MAX_ROWS: i64 = 10_000;
const MAX_PLACEMENTS: usize = 500;

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(list, create))
        .routes(routes!(show, change, delete))
        .routes(routes!(place))
        .routes(routes!(shift, displace))
        .layer(from_fn(with_code))
}

/// `GET /api/public/unstable/dashboards`: dashboards, the last changed first.
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
    mut params: Params,
) -> ApiResult<Json<Paged<DashboardView>>> {
    let page = params.page();
    params.finish()?;
    let work = move |documents: &Documents<'_>| documents.all(DocumentKind::Dashboard);
    let all = app.store.catalog.with_documents(caller.project, work).await?;
    let total = all.len() as u64;
    let data = page_of(&all, page)?;
    Ok(Json(Paged { data, meta: params::meta(page, Some(total)) }))
}

/// `POST /api/public/unstable/dashboards`: makes a dashboard.
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
    Sent(request): Sent<DashboardRequest>,
) -> ApiResult<Json<DashboardView>> {
    let now = app.clock.now();
    let view = DashboardView {
        id: Uuid::new_v4().to_string(),
        created_at: now.into(),
        updated_at: now.into(),
        name: request.name,
        description: request.description.unwrap_or_default(),
        definition: request.definition.unwrap_or_default(),
        filters: request.filters.unwrap_or_default(),
    };
    check(&view)?;
    let work = move |documents: &Documents<'_>| keep(documents, view, now);
    Ok(Json(app.store.catalog.with_documents(caller.project, work).await?))
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
    let work = move |documents: &Documents<'_>| find(documents, &id);
    Ok(Json(app.store.catalog.with_documents(caller.project, work).await?))
}

/// `PATCH /api/public/unstable/dashboards/{dashboardId}`: changes what is given.
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
    Sent(change): Sent<DashboardChange>,
) -> ApiResult<Json<DashboardView>> {
    let now = app.clock.now();
    let (catalog, project) = (&app.store.catalog, caller.project);
    let wanted = id.clone();
    let found = catalog.with_documents(project.clone(), move |documents| find(documents, &wanted));
    let found = found.await?;
    let view = DashboardView {
        name: change.name.unwrap_or(found.name),
        description: change.description.unwrap_or(found.description),
        definition: change.definition.unwrap_or(found.definition),
        filters: change.filters.unwrap_or(found.filters),
        ..found
    };
    check(&view)?;
    let work = move |documents: &Documents<'_>| {
        documents.find(DocumentKind::Dashboard, &id)?;
        keep(documents, view, now)
    };
    Ok(Json(catalog.with_documents(project, work).await?))
}

/// `DELETE /api/public/unstable/dashboards/{dashboardId}`: removes a dashboard, not its widgets.
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
    let work = move |documents: &Documents<'_>| documents.delete(DocumentKind::Dashboard, &id);
    app.store.catalog.with_documents(caller.project, work).await?;
    Ok(Json(Deleted { message: "Dashboard successfully deleted".to_owned() }))
}

/// `POST /api/public/unstable/dashboards/{dashboardId}/placements`: puts a tile on a dashboard.
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
    Sent(request): Sent<PlacementRequest>,
) -> ApiResult<Json<Placement>> {
    let now = app.clock.now();
    let work = move |documents: &Documents<'_>| {
        let mut view = find(documents, &id)?;
        let lower_edge = |tile: &Placement| tile.place().1.saturating_add(tile.place().3);
        let below = view.definition.widgets.iter().map(lower_edge).max().unwrap_or(0);
        let tile = request.into_placement(Uuid::new_v4().to_string(), below);
        if view.definition.widgets.iter().any(|known| known.id() == tile.id()) {
            return Err(StoreError::Exists(format!("a placement with the id {}", tile.id())));
        }
        view.definition.widgets.push(tile.clone());
        check_tiles(&view).map_err(StoreError::BadQuery)?;
        keep(documents, view, now)?;
        Ok(tile)
    };
    Ok(Json(app.store.catalog.with_documents(caller.project, work).await?))
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
    Sent(change): Sent<PlacementChange>,
) -> ApiResult<Json<Placement>> {
    let mut checks = Checks::default();
    checks.must(change != PlacementChange::default(), "x", "needs x, y, width or height");
    checks.finish()?;
    let now = app.clock.now();
    let work = move |documents: &Documents<'_>| {
        let mut view = find(documents, &id)?;
        let tile = view.definition.widgets.iter_mut().find(|tile| tile.id() == placement);
        let tile = tile.ok_or_else(|| StoreError::NotFound(format!("placement {placement}")))?;
        *tile = tile.clone().moved(change);
        let moved = tile.clone();
        check_tiles(&view).map_err(StoreError::BadQuery)?;
        keep(documents, view, now)?;
        Ok(moved)
    };
    Ok(Json(app.store.catalog.with_documents(caller.project, work).await?))
}

/// `DELETE /api/public/unstable/dashboards/{dashboardId}/placements/{placementId}`: takes a tile
/// off; its widget stays.
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
pub(super) async fn displace(
    State(app): State<App>,
    Member(caller): Member,
    PathOf((id, placement)): PathOf<(String, String)>,
) -> ApiResult<Json<Deleted>> {
    let now = app.clock.now();
    let work = move |documents: &Documents<'_>| {
        let mut view = find(documents, &id)?;
        let before = view.definition.widgets.len();
        view.definition.widgets.retain(|tile| tile.id() != placement);
        if view.definition.widgets.len() == before {
            return Err(StoreError::NotFound(format!("placement {placement}")));
        }
        keep(documents, view, now)
    };
    app.store.catalog.with_documents(caller.project, work).await?;
    Ok(Json(Deleted { message: "Placement successfully deleted".to_owned() }))
}

fn find(documents: &Documents<'_>, id: &str) -> StoreResult<DashboardView> {
    documents::read(&documents.find(DocumentKind::Dashboard, id)?)
}

fn keep(
    documents: &Documents<'_>,
    mut view: DashboardView,
    now: Timestamp,
) -> StoreResult<DashboardView> {
    for tile in &view.definition.widgets {
        if let Placement::Widget { widget_id, .. } = tile {
            documents.find(DocumentKind::Widget, widget_id)?;
        }
    }
    view.updated_at = now.into();
    let times = (view.created_at.0, now);
    documents::keep(documents, DocumentKind::Dashboard, (&view.id, &view), times)?;
    Ok(view)
}

fn check(view: &DashboardView) -> ApiResult<()> {
    let mut checks = Checks::default();
    checks.text("name", &view.name, 1..=MAX_NAME_CHARS);
    checks.text("description", &view.description, 0..=MAX_DESCRIPTION_CHARS);
    check_filters(&mut checks, &view.filters);
    if let Err(why) = check_tiles(view) {
        checks.must(false, "definition", &why);
    }
    checks.finish()
}

fn check_tiles(view: &DashboardView) -> Result<(), String> {
    let tiles = &view.definition.widgets;
    if tiles.len() > MAX_PLACEMENTS {
        return Err(format!("a dashboard has at most {MAX_PLACEMENTS} placements"));
    }
    for (at, tile) in tiles.iter().enumerate() {
        let (x, y, width, height) = tile.place();
        let is_inside = (0..COLUMNS).contains(&x)
            && (1..=COLUMNS).contains(&width)
            && (0..=MAX_ROWS).contains(&y)
            && (1..=MAX_ROWS).contains(&height);
        if !is_inside {
            return Err(format!("placement {} does not fit a grid of 12 columns", tile.id()));
        }
        if tiles.iter().skip(at + 1).any(|other| other.id() == tile.id()) {
            return Err(format!("two placements have the id {}", tile.id()));
        }
    }
    Ok(())
}
