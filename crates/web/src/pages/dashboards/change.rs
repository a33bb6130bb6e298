use axum::extract::{Path, State};
use axum::response::Redirect;
use ratchet_core::catalog::dashboard::widget::{ChartKind, Widget};
use ratchet_core::catalog::dashboard::{Dashboard, DashboardLayout, Tile, TileArea, TileContent};
use ratchet_core::time::Timestamp;
use ratchet_stages::dashboards::dashboard::{self, Shift};
use ratchet_stages::dashboards::definitions::{self, SaveError};
use ratchet_store::StoreError;
use ratchet_store::catalog::{DocumentKind, Documents};
use uuid::Uuid;

use super::done::Done;
use crate::filter::saved::Counted;
use crate::filter::{Filter, ListKind};
use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::request_context::{Params, RequestContext};
use crate::web::Web;

/// How large a chart is when it is placed: columns and rows.
const LARGE: (i64, i64) = (6, 6);
/// The same for one number.
const SMALL: (i64, i64) = (3, 3);

/// Redirects to a dashboard with a toast.
pub(super) fn back(ctx: &RequestContext, id: &str, done: Done, edits: bool) -> Redirect {
    let link = ctx.to(&["dashboards", id]).with("done", done.word());
    let link = if edits { link.with("edit", "1") } else { link };
    Redirect::to(&link.to_string())
}

pub(super) async fn create(
    State(web): State<Web>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let now = ctx.now;
    let new = Dashboard {
        id: Uuid::new_v4().to_string(),
        created_at: now,
        updated_at: now,
        name: form.get("name").unwrap_or_default().trim().to_owned(),
        description: form.get("description").unwrap_or_default().trim().to_owned(),
        layout: DashboardLayout::default(),
        filters: Vec::new(),
    };
    let id = new.id.clone();
    keep(&web, &ctx, move |documents| definitions::save_dashboard(documents, new, now)).await?;
    Ok(back(&ctx, &id, Done::Created, false))
}

/// Works with the project's documents; nothing stays if it fails.
pub(super) async fn keep<T: Send + 'static>(
    web: &Web,
    ctx: &RequestContext,
    work: impl FnOnce(&Documents<'_>) -> Result<T, SaveError> + Send + 'static,
) -> PageResult<T> {
    let catalog = ctx.viewer.catalog(web);
    Ok(catalog.with_documents(ctx.project_id(), work).await?)
}

/// Changes, copies or removes a dashboard.
pub(super) async fn change(
    State(web): State<Web>,
    Path((_, id)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let now = ctx.now;
    match form.get("do") {
        Some("remove") => {
            keep(&web, &ctx, move |documents| {
                Ok(documents.delete(DocumentKind::Dashboard, &id, now)?)
            })
            .await?;
            let all = ctx.to(&["dashboards", "all"]).with("done", Done::Removed.word());
            Ok(Redirect::to(&all.to_string()))
        }
        Some("clone") => {
            let new_id = Uuid::new_v4().to_string();
            let copy = new_id.clone();
            keep(&web, &ctx, move |documents| {
                let mut copied = definitions::dashboard(documents, &id)?;
                copied.id = copy;
                copied.created_at = now;
                copied.name = format!("{} (copy)", copied.name);
                definitions::save_dashboard(documents, copied, now)
            })
            .await?;
            Ok(back(&ctx, &new_id, Done::Cloned, true))
        }
        _ => {
            let to = id.clone();
            rename(&web, &ctx, id, form).await?;
            Ok(back(&ctx, &to, Done::Changed, true))
        }
    }
}

async fn rename(web: &Web, ctx: &RequestContext, id: String, form: Params) -> PageResult<()> {
    let now = ctx.now;
    let text = |name: &str| form.get(name).unwrap_or_default().trim().to_owned();
    let (name, description) = (text("name"), text("description"));
    let parsed = Filter::parse(ListKind::Observations, &text("q"));
    if let Some(problem) = parsed.problems.first() {
        return Err(PageError::Bad(problem.message.clone()));
    }
    let wanted = parsed.filter.to_stored(Counted::Observations);
    let wanted = wanted.map_err(|problems| PageError::Bad(problems.join("; ")))?;
    keep(web, ctx, move |documents| {
        let mut changed = definitions::dashboard(documents, &id)?;
        let (_, others) = Filter::from_stored(&changed.filters, Counted::Observations);
        changed.filters = wanted.into_iter().chain(others).collect();
        (changed.name, changed.description) = (name, description);
        definitions::save_dashboard(documents, changed, now)
    })
    .await?;
    Ok(())
}

/// Places a chart that there is.
pub(super) async fn add(
    State(web): State<Web>,
    Path((_, id)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let widget = form.get("widget").unwrap_or_default().to_owned();
    let (to, now) = (id.clone(), ctx.now);
    keep(&web, &ctx, move |documents| place_widget(documents, (&id, widget), now)).await?;
    Ok(back(&ctx, &to, Done::Placed, true))
}

/// Puts a chart below all others of a dashboard, or beside the last one if there is room.
pub(super) fn place_widget(
    documents: &Documents<'_>,
    (dashboard, widget_id): (&str, String),
    now: Timestamp,
) -> Result<(), SaveError> {
    let mut changed = definitions::dashboard(documents, dashboard)?;
    let is_number = definitions::widget(documents, &widget_id)?.chart == ChartKind::Number;
    let (width, height) = if is_number { SMALL } else { LARGE };
    let tiles = &mut changed.layout.tiles;
    let (x, y) = room(tiles, width);
    tiles.push(Tile {
        id: Uuid::new_v4().to_string(),
        shows: TileContent::Widget { id: widget_id },
        at: TileArea { x, y, width, height },
    });
    definitions::save_dashboard(documents, changed, now)?;
    Ok(())
}

/// Beside the last tile of the lowest row, or below all of them.
fn room(tiles: &[Tile], wanted: i64) -> (i64, i64) {
    let below = (0, dashboard::below(tiles));
    let Some(last) = tiles.iter().max_by_key(|tile| dashboard::in_reading_order(tile)) else {
        return below;
    };
    let TileArea { x, y, width, .. } = last.at;
    let is_lowest = tiles.iter().all(|tile| tile.id == last.id || tile.at.y <= y);
    let fits = is_lowest && x + width + wanted <= dashboard::COLUMNS;
    if fits { (x + width, y) } else { below }
}

/// Moves, resizes, copies or takes off a tile.
pub(super) async fn shift(
    State(web): State<Web>,
    Path((_, id, tile)): Path<(String, String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let action = form.get("do").unwrap_or_default().to_owned();
    let (to, now) = (id.clone(), ctx.now);
    let done = match action.as_str() {
        "off" => Done::TakenOff,
        "clone" => Done::Cloned,
        _ => Done::Changed,
    };
    keep(&web, &ctx, move |documents| {
        let mut changed = definitions::dashboard(documents, &id)?;
        let missing = || StoreError::NotFound(format!("placement {tile}"));
        let tiles = &mut changed.layout.tiles;
        let at = tiles.iter().position(|known| known.id == tile).ok_or_else(missing)?;
        match (action.as_str(), Shift::parse(&action)) {
            (_, Some(shift)) => {
                dashboard::shift(tiles, &tile, shift);
            }
            ("off", _) => {
                tiles.remove(at);
            }
            ("clone", _) => {
                let TileContent::Widget { id: widget } = &tiles[at].shows else {
                    return Err(missing().into());
                };
                let copied = clone_widget(documents, widget, now)?;
                return place_widget(documents, (&id, copied.id), now);
            }
            _ => {
                let why = "do: one of earlier, later, wider, narrower, taller, shorter, clone, off";
                return Err(StoreError::BadQuery(why.to_owned()).into());
            }
        }
        definitions::save_dashboard(documents, changed, now)?;
        Ok(())
    })
    .await?;
    Ok(back(&ctx, &to, done, true))
}

fn clone_widget(documents: &Documents<'_>, id: &str, now: Timestamp) -> Result<Widget, SaveError> {
    let mut copied = definitions::widget(documents, id)?;
    copied.id = Uuid::new_v4().to_string();
    copied.created_at = now;
    copied.name = format!("{} (copy)", copied.name);
    definitions::save_widget(documents, copied, now)
}
