use axum::extract::{Path, State};
use futures_util::future::try_join_all;
use maud::{Markup, html};
use ratchet_core::catalog::dashboard::widget::Widget;
use ratchet_core::catalog::dashboard::{Dashboard, Tile, TileArea, TileContent};
use ratchet_stages::dashboards::dashboard::{COLUMNS, MAX_TILE_HEIGHT, Shift, in_reading_order};
use ratchet_stages::dashboards::definitions;
use ratchet_store::StoreResult;
use ratchet_store::catalog::{DocumentKind, Documents};

use super::all::MAX_NAME;
use super::{done, reading, tile};
use crate::assets;
use crate::components::plot::PlotHeight;
use crate::components::{empty, figure};
use crate::filter::Filter;
use crate::filter::saved::{Counted, in_words};
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
use crate::request_context::{Link, RequestContext};
use crate::web::Web;

/// Charts that are offered to be placed.
const OFFERED: usize = 200;
/// Maximum number of charts on a page.
const DRAWN: usize = 60;

/// Charts to begin with: a name, and the fields of the form.
const STARTS: [(&str, &[(&str, &str)]); 3] = [
    (
        "Cost by model",
        &[("measure", "totalCost"), ("agg", "sum"), ("by", "providedModelName"), ("chart", "bars")],
    ),
    (
        "Slowest observations",
        &[("measure", "latency"), ("agg", "p95"), ("by", "name"), ("chart", "lying")],
    ),
    ("Errors", &[("q", "level:error"), ("by", "name"), ("chart", "bars")]),
];

/// A dashboard and all charts of the project.
struct Found {
    dashboard: Dashboard,
    widgets: Vec<Widget>,
}

pub(super) async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, id)): Path<(String, String)>,
) -> PageResult<Markup> {
    let edits = ctx.viewer.can_change() && ctx.params.get("edit").is_some();
    let found = web.store.catalog.with_documents(ctx.project_id(), find(id)).await?;
    let dashboard = &found.dashboard;
    let mut page = Page::new(Section::Dashboards, dashboard.name.clone());
    page.crumbs = vec![
        ("Dashboards".to_owned(), Section::Dashboards.link(&ctx)),
        ("Your dashboards".to_owned(), ctx.to(&["dashboards", "all"])),
    ];
    let count = dashboard.layout.tiles.len();
    page.summary = html! {
        @if !dashboard.description.is_empty() { bdi { (dashboard.description) } " · " }
        (count) @if count == 1 { " chart" } @else { " charts" } ", " (ctx.scope.span.label())
        (conditions(dashboard))
    };
    page.action = actions(&ctx, dashboard, edits);
    page.body = html! {
        (done::done_toast(&ctx))
        @if count == 0 { (nothing(&ctx, dashboard)) } @else { (tiles(&web, &ctx, &found, edits).await?) }
        @if edits { (edit(&ctx, &found)) }
        script type="module" src=(assets::address("dashboards.js")) {}
    };
    Ok(page.show(&ctx))
}

fn find(id: String) -> impl FnOnce(&Documents<'_>) -> StoreResult<Found> + Send + 'static {
    move |documents| {
        let dashboard = definitions::dashboard(documents, &id)?;
        let widgets = documents.all(DocumentKind::Widget)?;
        // One that a newer program wrote is left out, not the page.
        let widgets = widgets.iter().filter_map(|widget| definitions::read(widget).ok()).collect();
        Ok(Found { dashboard, widgets })
    }
}

/// What holds for all charts of the page.
fn conditions(dashboard: &Dashboard) -> Markup {
    let (filter, others) = Filter::from_stored(&dashboard.filters, Counted::Observations);
    html! {
        @if !dashboard.filters.is_empty() {
            " · filter: " code { (filter) @for other in &others { " " (in_words(other)) } }
        }
    }
}

fn actions(ctx: &RequestContext, dashboard: &Dashboard, edits: bool) -> Markup {
    let here = ctx.here().without("done");
    html! {
        @if ctx.viewer.can_change() {
            @if edits {
                a.button href=(here.without("edit")) { "Done" }
            } @else {
                a.button href=(here.with("edit", "1")) { "Edit" }
            }
            a.button.primary href=(ctx.to(&["dashboards", &dashboard.id, "widgets"])) {
                "Add chart"
            }
        }
    }
}

fn nothing(ctx: &RequestContext, dashboard: &Dashboard) -> Markup {
    let how = html! {
        p {
            "Add charts side by side. Start with a question you ask every week, such as "
            "“what does each model cost?” or “which observations are slowest?”."
        }
        @if ctx.viewer.can_change() {
            @let new = ctx.to(&["dashboards", &dashboard.id, "widgets"]);
            p.starts {
                @for (name, fields) in STARTS {
                    @let link = fields.iter().fold(new.clone(), |link, (name, value)| link.with(name, *value));
                    a.button href=(link.with("name", name)) { (name) } " "
                }
            }
        }
    };
    empty::empty("No charts yet.", &how)
}

async fn tiles(web: &Web, ctx: &RequestContext, found: &Found, edits: bool) -> PageResult<Markup> {
    let mut all: Vec<&Tile> = found.dashboard.layout.tiles.iter().collect();
    all.sort_by_key(|tile| in_reading_order(tile));
    let left_out = all.len().saturating_sub(DRAWN);
    all.truncate(DRAWN);
    let drawn = all.iter().map(|tile| async { chart(web, ctx, found, tile).await });
    let drawn = try_join_all(drawn).await?;
    Ok(html! {
        div.tiles.editing[edits] {
            @for (tile, drawn) in all.iter().zip(&drawn) {
                article class=(classes(tile)) {
                    (drawn)
                    @if edits { (handles(ctx, &found.dashboard, tile)) }
                }
            }
        }
        @if left_out > 0 {
            p.muted { (left_out) " more charts are not shown (limit " (DRAWN) " per page)." }
        }
    })
}

async fn chart(web: &Web, ctx: &RequestContext, found: &Found, tile: &Tile) -> PageResult<Markup> {
    let widget_id = match &tile.shows {
        TileContent::Widget { id } => id,
        TileContent::Preset { id } => {
            return Ok(html! {
                figure.chart {
                    figcaption { bdi { (id) } }
                    p.muted { "Built-in chart of another server. See Overview for the same numbers." }
                }
            });
        }
    };
    let Some(widget) = found.widgets.iter().find(|widget| widget.id == *widget_id) else {
        return Ok(html! { figure.chart { p.muted { "This chart could not be loaded." } } });
    };
    tile::draw(web, ctx, widget, &found.dashboard.filters, tall(tile)).await
}

/// CSS classes of a tile in a grid of twelve columns; tiles move up into free space.
fn classes(tile: &Tile) -> String {
    let TileArea { x, width, height, .. } = tile.at;
    let x = x.clamp(0, COLUMNS - 1);
    let width = width.clamp(1, COLUMNS - x);
    format!("tile x-{x} w-{width} h-{}", height.clamp(1, MAX_TILE_HEIGHT))
}

/// As tall as the tile leaves room for.
fn tall(tile: &Tile) -> PlotHeight {
    let height = tile.at.height;
    match height {
        ..=4 => PlotHeight::Low,
        5 => PlotHeight::Usual,
        6 | 7 => PlotHeight::High,
        _ => PlotHeight::Higher,
    }
}

fn handles(ctx: &RequestContext, dashboard: &Dashboard, tile: &Tile) -> Markup {
    let to = |segments: &[&str]| Link::to_project(&ctx.project.id, segments);
    let action = to(&["dashboards", &dashboard.id, "tiles", &tile.id]).in_scope(&ctx.scope);
    html! {
        form.handles method="post" action=(action) {
            (ctx.viewer.form_token.field())
            @for shift in Shift::ALL {
                button.quiet type="submit" name="do" value=(shift.as_str()) { (shift.as_str()) }
            }
            @if let TileContent::Widget { id: widget_id } = &tile.shows {
                a.quiet href=(ctx.to(&["dashboards", &dashboard.id, "widgets", widget_id])) { "edit" }
                button.quiet type="submit" name="do" value="clone" { "duplicate" }
            }
            button.quiet.bad type="submit" name="do" value="off" { "remove" }
        }
    }
}

fn edit(ctx: &RequestContext, found: &Found) -> Markup {
    let dashboard = &found.dashboard;
    let to = |segments: &[&str]| Link::to_project(&ctx.project.id, segments).in_scope(&ctx.scope);
    let action = to(&["dashboards", &dashboard.id]);
    let (filter, _) = Filter::from_stored(&dashboard.filters, Counted::Observations);
    html! {
        section.edit-dashboard {
            @if !found.widgets.is_empty() {
                form method="post" data-inline-errors action=(to(&["dashboards", &dashboard.id, "tiles"])) {
                    h2 { "Add an existing chart" }
                    (ctx.viewer.form_token.field())
                    label { "Chart"
                        select name="widget" {
                            @for widget in found.widgets.iter().take(OFFERED) {
                                option value=(widget.id) {
                                    (ratchet_core::record::limit::elide(&widget.name, 80)) " (" (reading::about(widget)) ")"
                                }
                            }
                        }
                    }
                    button.button type="submit" { "Add" }
                }
            }
            form method="post" data-inline-errors action=(action) {
                h2 { "Dashboard settings" }
                (ctx.viewer.form_token.field())
                label { "Name" input type="text" name="name" required maxlength=(MAX_NAME) value=(dashboard.name); }
                label { "Description" input type="text" name="description" maxlength="5000" value=(dashboard.description); }
                label { "Filter for all charts"
                    input type="text" name="q" value=(filter) placeholder="env:production -user:test*";
                }
                div.row {
                    button.button.primary type="submit" name="do" value="change" { "Save" }
                    button.button type="submit" name="do" value="clone" { "Duplicate" }
                }
            }
            details {
                summary.bad { "Delete dashboard" }
                form method="post" action=(action) {
                    (ctx.viewer.form_token.field())
                    p { "Its " (figure::grouped(dashboard.layout.tiles.len() as u64))
                        " charts are not deleted and can be added to other dashboards." }
                    button.button.danger type="submit" name="do" value="remove" { "Delete" }
                }
            }
        }
    }
}
