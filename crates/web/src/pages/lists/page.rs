use axum::extract::State;
use maud::{Markup, html};
use ratchet_core::time::Timestamp;
use ratchet_store::StoreError;
use ratchet_store::deadline_query::DeadlinePage;
use ratchet_store::query::Direction;

use super::column::ListColumn;
use super::facets::SearchedRows;
use super::row::ListedRow;
use super::score_columns;
use super::score_columns::Scored;
use super::search::{self, Searched};
use super::session_titles::{self, SessionTitles};
use super::state::{ListState, ROWS, here, sort_word};
use super::{bar, bulk, change, facets, panel, summary, views};
use crate::assets;
use crate::components::table::{self, Column, Order, Row, Sort, Table};
use crate::components::{copy, empty, figure};
use crate::filter::ListKind;
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

/// A page of rows, however they were found.
struct Found<R> {
    rows: Vec<R>,
    cursor: Option<String>,
    summary: Markup,
    /// How far was looked, if the time was over first.
    reached: Option<Timestamp>,
    /// Whether there were too many rows to sort.
    is_unsorted: bool,
    /// The rows, if a text was searched for.
    searched: Option<SearchedRows>,
}

/// A list: traces or observations.
pub(super) async fn show<R: ListedRow>(
    State(web): State<Web>,
    ctx: RequestContext,
) -> PageResult<Markup> {
    let mut state = ListState::load(&web, &ctx, R::ON).await?;
    // Before rows are read: what comes meanwhile is shown twice rather than never.
    let arrived = web.store.telemetry.arrived();
    let found = find::<R>(&web, &ctx, &state).await?;
    if found.is_unsorted {
        state = state.newest_first();
    }
    let among = (R::ON, found.searched.as_ref());
    let facets = facets::facets(&web.store.telemetry, &state.ask(&ctx), among).await?;
    let saved = views::of(&web, &ctx, R::ON).await?;
    let targets = bulk::targets(&web, &ctx).await?;
    let telemetry = &web.store.telemetry;
    let names = score_columns::names(telemetry, &state.ask(&ctx), R::ON).await?;
    if ctx.params.get("col").is_none() {
        state.scores.retain(|score| names.contains(score));
    }
    let scores = &state.scores;
    let scored =
        score_columns::scored(telemetry, ctx.project_id(), &found.rows, Some(scores)).await?;
    let titles = session_titles::of(telemetry, ctx.project_id(), (&state, &found.rows)).await?;
    let panel = panel::panel::<R>(&web, &ctx).await?;
    let section = match R::ON {
        ListKind::Traces => Section::Traces,
        ListKind::Observations => Section::Observations,
        ListKind::Sessions => Section::Sessions,
    };
    let mut page = Page::new(section, section.name());
    page.summary = found.summary.clone();
    page.body = html! {
        (change::done_toast(&ctx, R::ON))
        (bar::bar(&ctx, &state, &facets, &saved, &names))
        @if found.is_unsorted { (unsorted(&ctx)) }
        (panel)
        div.list data-arrived=(arrived) data-peek=(bar::served(&ctx, R::ON, "peek"))
                 data-panel=(bar::served(&ctx, R::ON, "panel")) {
            @if !found.rows.is_empty() {
                (table::table(&drawn(&ctx, &state, &found.rows, (&scored, &titles))))
            } @else if let Some(reached) = found.reached {
                (not_yet(reached, &ctx))
            } @else {
                (nothing(&ctx, &state))
            }
        }
        @if ctx.viewer.can_change() { (bulk::bar(&ctx, R::ON, &targets)) }
        (pager(&ctx, &state, &found))
        script type="module" src=(assets::address("lists.js")) {}
        script type="module" src=(assets::address("suggest.js")) {}
    };
    Ok(page.show(&ctx))
}

async fn find<R: ListedRow>(
    web: &Web,
    ctx: &RequestContext,
    state: &ListState,
) -> PageResult<Found<R>> {
    let (telemetry, ask) = (&web.store.telemetry, state.ask(ctx));
    if let Some(found) = search::search::<R>(telemetry, &ask).await? {
        let summary = summary::of_search(&found, ctx);
        let Searched { rows, cursor, .. } = found;
        let ids = rows.iter().map(|row: &R| row.facts().id).collect();
        let searched = Some(SearchedRows { ids, is_cut: cursor.is_some() || ask.cursor.is_some() });
        return Ok(Found { rows, cursor, summary, reached: None, is_unsorted: false, searched });
    }
    let (sought, is_unsorted) = match R::read(telemetry, &ask).await {
        Err(StoreError::TooSlow) if !state.is_newest_first() => {
            let newest = state.clone().newest_first();
            (R::read(telemetry, &newest.ask(ctx)).await?, true)
        }
        answer => (answer?, false),
    };
    let DeadlinePage { page, reached } = sought;
    let summary = summary::summary::<R>(telemetry, &ask, ctx).await?;
    let summary = html! {
        (summary)
        @if let Some(reached) = reached { ". Searched back to " (figure::when(reached, &ctx.time)) }
    };
    let (rows, cursor) = (page.rows, page.cursor);
    Ok(Found { rows, cursor, summary, reached, is_unsorted, searched: None })
}

/// The rows as a table.
pub(super) fn drawn<R: ListedRow>(
    ctx: &RequestContext,
    state: &ListState,
    rows: &[R],
    (scored, titles): (&Scored, &SessionTitles),
) -> Table {
    let row = |row: &R| {
        let facts = row.facts();
        let cells = state.columns.iter().map(|column| {
            let titled = titles.cell(*column, &facts, ctx);
            titled.unwrap_or_else(|| row.cell(*column, ctx))
        });
        let scores = state.scores.iter().map(|name| scored.cell(&facts.id, name));
        Row {
            link: Some(facts.link(R::ON, ctx)),
            failed: facts.failed,
            cells: cells.chain(scores).collect(),
            id: facts.id.clone(),
        }
    };
    let columns = state.columns.iter().map(|column| head(ctx, state, *column));
    let scores = state
        .scores
        .iter()
        .map(|name| Column::number(&ratchet_core::record::limit::elide(name, 40)));
    let caption = match R::ON {
        ListKind::Traces => "Traces",
        ListKind::Observations => "Observations",
        ListKind::Sessions => "Sessions",
    };
    Table {
        caption: caption.to_owned(),
        columns: columns.chain(scores).collect(),
        rows: rows.iter().map(row).collect(),
        select_for: ctx.viewer.can_change().then(|| bulk::FORM.to_owned()),
    }
}

fn head(ctx: &RequestContext, state: &ListState, column: ListColumn) -> Column {
    let head = Column { name: column.title().to_owned(), align: column.align(), sort: None };
    let is_searched = state.parsed.filter.texts().next().is_some();
    if !column.is_sortable(state.on) || is_searched {
        return head;
    }
    let now = match state.sort {
        (sorted, direction) if sorted == column => Some(direction),
        _ => None,
    };
    let next = match now {
        Some(Direction::Descending) => Direction::Ascending,
        Some(Direction::Ascending) | None => Direction::Descending,
    };
    let now = now.map(|direction| match direction {
        Direction::Ascending => Order::Ascending,
        Direction::Descending => Order::Descending,
    });
    head.sorted_by(Sort { link: here(ctx, state.on).with("sort", sort_word((column, next))), now })
}

fn pager<R>(ctx: &RequestContext, state: &ListState, found: &Found<R>) -> Markup {
    let is_searched = state.parsed.filter.texts().next().is_some() || found.reached.is_some();
    let goes_on = if is_searched { "Search older".to_owned() } else { format!("Next {ROWS}") };
    let mut list = here(ctx, state.on);
    if found.is_unsorted {
        list = list.without("sort");
    }
    let words = ("First page", goes_on.as_str());
    table::pager_saying(words, &list, state.cursor.is_some(), found.cursor.as_deref())
}

/// Said when there are too many rows to sort.
fn unsorted(ctx: &RequestContext) -> Markup {
    html! {
        p.notice role="status" {
            "Too many rows to sort within " (ctx.query_timeout.as_secs())
            " s; sorted only the newest. Choose a shorter time range or a narrower filter."
        }
    }
}

/// Said when nothing was found so far.
fn not_yet(reached: Timestamp, ctx: &RequestContext) -> Markup {
    empty::empty(
        "No matches yet",
        &html! {
            p { "Searched back to " (figure::when(reached, &ctx.time)) "; older data is not searched yet. "
                "Search older below, or choose a shorter time." }
        },
    )
}

/// What to do when there is nothing to see.
fn nothing(ctx: &RequestContext, state: &ListState) -> Markup {
    let is_narrowed = state.ask(ctx).is_narrowed() || state.cursor.is_some();
    if is_narrowed {
        let all = here(ctx, state.on).without("q").without("env").without("agent");
        return empty::empty(
            "No matches",
            &html! {
                p { "Remove a filter or choose a longer time range." }
                p {
                    a.button href=(all) { "Clear filters" } " "
                    a.button href=(here(ctx, state.on).with("range", "all")) { "Show all time" }
                }
            },
        );
    }
    if state.on == ListKind::Sessions {
        return no_sessions(ctx);
    }
    empty::empty(
        "No data in this time range",
        &html! {
            p { "Connect an SDK, or import the transcripts of Claude Code on your machine:" }
            (copy::snippet(&ctx.command("import claude-code --follow")))
            p {
                a.button href=(ctx.to(&[])) { "Connect an SDK" } " "
                a.button href=(here(ctx, state.on).with("range", "all")) { "Show all time" }
            }
        },
    )
}

fn no_sessions(ctx: &RequestContext) -> Markup {
    let how = html! {
        p { "Set a session ID on your traces to group them." }
        (copy::snippet(&ctx.sdk_code("from langfuse import get_client, propagate_attributes\n\nlangfuse = get_client()\nwith langfuse.start_as_current_observation(name=\"answer\"):\n    with propagate_attributes(session_id=\"chat-42\", user_id=\"ann\"):\n        ...")))
        p.muted { "OpenTelemetry spans with " code { "session.id" } " or "
            code { "gen_ai.conversation.id" } " do the same." }
        p {
            a.button href=(ctx.to(&[])) { "Connect an SDK" } " "
            a.button href=(here(ctx, ListKind::Sessions).with("range", "all")) { "Show all time" }
        }
    };
    empty::empty("No sessions in this time range", &how)
}
