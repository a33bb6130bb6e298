use axum::extract::{Path, State};
use axum::response::Redirect;
use maud::{Markup, html};
use ratchet_core::catalog::dashboard::Dashboard;
use ratchet_core::catalog::dashboard::widget::Widget;
use ratchet_stages::dashboards::definitions;
use ratchet_store::StoreResult;
use ratchet_store::catalog::{DocumentKind, Documents};
use uuid::Uuid;

use super::change::{back, keep, place_widget};
use super::done::Done;
use super::form::Draft;
use super::tile;
use crate::assets;
use crate::components::plot::PlotHeight;
use crate::form::PageForm;
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::request_context::{Link, RequestContext};
use crate::web::Web;

/// A chart that is created or edited, and its dashboard.
struct ChartEditor {
    dashboard: Dashboard,
    /// The stored chart, and the number of dashboards that show it.
    kept: Option<(Widget, usize)>,
    draft: Draft,
}

/// Makes a chart for a dashboard.
pub(super) async fn new(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, id)): Path<(String, String)>,
) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    let find = move |documents: &Documents<'_>| definitions::dashboard(documents, &id);
    let dashboard = web.store.catalog.with_documents(ctx.project_id(), find).await?;
    let draft = Draft::read(&ctx.params);
    show(&web, &ctx, ChartEditor { dashboard, kept: None, draft }).await
}

pub(super) async fn edit(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, id, widget)): Path<(String, String, String)>,
) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    let find = move |documents: &Documents<'_>| -> StoreResult<_> {
        let dashboard = definitions::dashboard(documents, &id)?;
        let found = definitions::widget(documents, &widget)?;
        let shown_on = definitions::shown_on(documents, &widget)?.len();
        Ok((dashboard, found, shown_on))
    };
    let (dashboard, found, shown_on) =
        web.store.catalog.with_documents(ctx.project_id(), find).await?;
    let is_changed = ctx.params.get("measure").is_some();
    let draft = if is_changed { Draft::read(&ctx.params) } else { Draft::of(&found) };
    show(&web, &ctx, ChartEditor { dashboard, kept: Some((found, shown_on)), draft }).await
}

async fn show(web: &Web, ctx: &RequestContext, editor: ChartEditor) -> PageResult<Markup> {
    let title = if editor.kept.is_some() { "Edit chart" } else { "New chart" };
    let mut page = Page::new(Section::Dashboards, title);
    let dashboard = &editor.dashboard;
    page.crumbs = vec![
        ("Dashboards".to_owned(), Section::Dashboards.link(ctx)),
        (dashboard.name.clone(), ctx.to(&["dashboards", &dashboard.id])),
    ];
    page.summary = html! {
        "Live preview, " (ctx.scope.span.within()) "."
    };
    page.body = html! {
        div.make-chart {
            (fields(ctx, &editor))
            section aria-label="Preview" data-drawn { (preview(web, ctx, &editor).await?) }
        }
        (delete(ctx, &editor))
        script type="module" src=(assets::address("dashboards.js")) {}
    };
    Ok(page.show(ctx))
}

/// The chart as it would be.
fn drawn(editor: &ChartEditor, ctx: &RequestContext) -> Result<Widget, String> {
    let mut widget = match &editor.kept {
        Some((kept, _)) => {
            let mut widget = kept.clone();
            editor.draft.write(&mut widget)?;
            widget
        }
        None => editor.draft.new_widget("preview".to_owned(), ctx.now)?,
    };
    if widget.name.is_empty() {
        widget.name = "Preview".to_owned();
    }
    Ok(widget)
}

async fn preview(web: &Web, ctx: &RequestContext, editor: &ChartEditor) -> PageResult<Markup> {
    match drawn(editor, ctx) {
        Ok(widget) => {
            tile::draw(web, ctx, &widget, &editor.dashboard.filters, PlotHeight::High).await
        }
        Err(why) => Ok(html! {
            figure.chart { p.lead { "The filter is not valid yet." } p { (why) } }
        }),
    }
}

fn fields(ctx: &RequestContext, editor: &ChartEditor) -> Markup {
    let here = ctx.here();
    let scope = ["env", "agent", "range"];
    html! {
        form.chart-form method="get" data-inline-errors action=(here.path()) data-preview {
            @for (name, value) in here.pairs().filter(|(name, _)| scope.contains(name)) {
                input type="hidden" name=(name) value=(value);
            }
            (editor.draft.fields())
            @if let Some((_, shown_on)) = editor.kept.as_ref().filter(|(_, shown_on)| *shown_on > 1) {
                p.muted.wide { "Used on " (shown_on) " dashboards; changes apply to all of them." }
            }
            div.row.wide {
                button.button type="submit" data-show { "Preview" }
                // The token goes with this button alone: a preview's address must not hold it.
                button.button.primary type="submit" formmethod="post"
                    formaction=(Link::new(here.path()).in_scope(&ctx.scope))
                    name="form_token" value=(ctx.viewer.form_token.expose()) { "Save" }
            }
        }
    }
}

fn delete(ctx: &RequestContext, editor: &ChartEditor) -> Markup {
    let Some((widget, _)) = &editor.kept else { return html! {} };
    let to = ["dashboards", &editor.dashboard.id, "widgets", &widget.id];
    html! {
        details.remove {
            summary.bad { "Delete chart" }
            form method="post" action=(Link::to_project(&ctx.project.id, &to).in_scope(&ctx.scope)) {
                (ctx.viewer.form_token.field())
                input type="hidden" name="do" value="delete";
                p { "The chart is removed from this dashboard, and deleted if no other dashboard uses it." }
                button.button.danger type="submit" { "Delete" }
            }
        }
    }
}

/// Keeps a new chart and places it.
pub(super) async fn create(
    State(web): State<Web>,
    Path((_, id)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let draft = Draft::read(&form);
    let widget = draft.new_widget(Uuid::new_v4().to_string(), ctx.now).map_err(PageError::Bad)?;
    let (to, now) = (id.clone(), ctx.now);
    keep(&web, &ctx, move |documents| {
        let widget = definitions::save_widget(documents, widget, now)?;
        place_widget(documents, (&id, widget.id), now)
    })
    .await?;
    Ok(back(&ctx, &to, Done::Placed, false))
}

/// Keeps a changed chart, or deletes it.
pub(super) async fn save(
    State(web): State<Web>,
    Path((_, id, widget)): Path<(String, String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Redirect> {
    let (to, now) = (id.clone(), ctx.now);
    if form.get("do") == Some("delete") {
        keep(&web, &ctx, move |documents| {
            let mut dashboard = definitions::dashboard(documents, &id)?;
            dashboard.layout.tiles.retain(|tile| !tile.is_of(&widget));
            definitions::save_dashboard(documents, dashboard, now)?;
            if definitions::shown_on(documents, &widget)?.is_empty() {
                documents.delete(DocumentKind::Widget, &widget, now)?;
            }
            Ok(())
        })
        .await?;
        return Ok(back(&ctx, &to, Done::Deleted, false));
    }
    let draft = Draft::read(&form);
    keep(&web, &ctx, move |documents| {
        let mut changed = definitions::widget(documents, &widget)?;
        let bad = ratchet_store::StoreError::BadQuery;
        draft.write(&mut changed).map_err(bad)?;
        definitions::save_widget(documents, changed, now)
    })
    .await?;
    Ok(back(&ctx, &to, Done::Changed, false))
}
