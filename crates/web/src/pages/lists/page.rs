use axum::extract::State;
use maud::{Markup, html};
use ratchet_store::query::Direction;

use super::column::ListColumn;
use super::row::ListedRow;
use super::search::{self, Searched};
use super::state::{ListState, ROWS, here, sort_word};
use super::{bar, bulk, change, facets, summary, views};
use crate::assets;
use crate::components::table::{self, Column, Order, Row, Sort, Table};
use crate::components::{copy, empty};
use crate::filter::On;
use crate::frame::{Page, Section};
use crate::place::Place;
use crate::refusal::PageResult;
use crate::web::Web;

/// A page of rows, however they were found.
struct Found<R> {
    rows: Vec<R>,
    cursor: Option<String>,
    summary: Markup,
}

/// A list: traces or observations.
pub(super) async fn show<R: ListedRow>(State(web): State<Web>, place: Place) -> PageResult<Markup> {
    let state = ListState::read(R::ON, &place.params);
    let found = find::<R>(&web, &place, &state).await?;
    let facets = facets::facets(&web.store.telemetry, &state.ask(&place), R::ON).await?;
    let saved = views::of(&web, &place, R::ON).await?;
    let targets = bulk::targets(&web, &place).await?;
    let section = match R::ON {
        On::Traces => Section::Traces,
        On::Observations => Section::Observations,
    };
    let mut page = Page::new(section, section.name());
    page.summary = found.summary.clone();
    page.body = html! {
        (change::told(&place, R::ON))
        (bar::bar(&place, &state, &facets, &saved))
        @if found.rows.is_empty() {
            (nothing(&place, &state))
        } @else {
            div.list data-newest=[newest(&found.rows)] data-peek=(bar::served(&place, R::ON, "peek")) {
                (table::table(&drawn(&place, &state, &found.rows)))
            }
        }
        @if place.visitor.can_change() { (bulk::bar(&place, R::ON, &targets)) }
        (pager(&place, &state, found.cursor.as_deref()))
        script type="module" src=(assets::address("lists.js")) {}
    };
    Ok(page.show(&place))
}

async fn find<R: ListedRow>(web: &Web, place: &Place, state: &ListState) -> PageResult<Found<R>> {
    let (telemetry, ask) = (&web.store.telemetry, state.ask(place));
    if let Some(found) = search::search::<R>(telemetry, &ask).await? {
        let summary = summary::of_search(&found);
        let Searched { rows, cursor, .. } = found;
        return Ok(Found { rows, cursor, summary });
    }
    let page = R::read(telemetry, &ask).await?;
    let summary = summary::summary::<R>(telemetry, &ask, place).await?;
    Ok(Found { rows: page.rows, cursor: page.cursor, summary })
}

/// The moment after which rows are new.
fn newest<R: ListedRow>(rows: &[R]) -> Option<i64> {
    rows.iter().map(|row| row.facts().at.nanos()).max()
}

/// The rows as a table.
pub(super) fn drawn<R: ListedRow>(place: &Place, state: &ListState, rows: &[R]) -> Table {
    let row = |row: &R| {
        let facts = row.facts();
        Row {
            link: Some(facts.link(R::ON, place)),
            failed: facts.failed,
            id: facts.id,
            cells: state.columns.iter().map(|column| row.cell(*column, place)).collect(),
        }
    };
    let caption = match R::ON {
        On::Traces => "Traces",
        On::Observations => "Observations",
    };
    Table {
        caption: caption.to_owned(),
        columns: state.columns.iter().map(|column| head(place, state, *column)).collect(),
        rows: rows.iter().map(row).collect(),
        select_for: place.visitor.can_change().then(|| bulk::FORM.to_owned()),
    }
}

fn head(place: &Place, state: &ListState, column: ListColumn) -> Column {
    let head = Column { name: column.title().to_owned(), align: column.align(), sort: None };
    let is_searched = state.parsed.filter.texts().next().is_some();
    if column.order(state.on).is_none() || is_searched {
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
    head.sorted_by(Sort { link: here(place).with("sort", sort_word((column, next))), now })
}

fn pager(place: &Place, state: &ListState, cursor: Option<&str>) -> Markup {
    let goes_on = if state.parsed.filter.texts().next().is_some() {
        "Search further back".to_owned()
    } else {
        format!("Next {ROWS}")
    };
    html! {
        nav.pager aria-label="Pages of this list" {
            @if state.cursor.is_some() { a.button href=(here(place)) { "First page" } }
            @if let Some(cursor) = cursor {
                a.button href=(here(place).with("cursor", cursor)) rel="next" { (goes_on) }
            }
        }
    }
}

/// What to do when there is nothing to see.
fn nothing(place: &Place, state: &ListState) -> Markup {
    let is_narrowed = state.ask(place).is_narrowed() || state.cursor.is_some();
    if is_narrowed {
        let all = here(place).without("q").without("env").without("agent");
        return empty::empty(
            "Nothing here matches.",
            &html! {
                p { "Take a filter away, or look at a longer time." }
                p {
                    a.button href=(all) { "Clear filters" } " "
                    a.button href=(here(place).with("range", "all")) { "Look at all time" }
                }
            },
        );
    }
    empty::empty(
        "Nothing was recorded in this time.",
        &html! {
            p { "Point an SDK at this server with a key from " code { "ratchet keys create" }
                ", or fill the project with made-up traffic:" }
            (copy::snippet("ratchet demo"))
            p { a href=(here(place).with("range", "all")) { "Look at all time" } }
        },
    )
}
