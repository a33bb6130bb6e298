//! Rows and columns: a sticky head, numbers to the right, one link for each row.

use maud::{Markup, html};
use ratchet_store::query::PageNumber;

use super::icon::{Icon, icon};
use crate::request_context::Link;

#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub align: Align,
    /// How the rows can be ordered by it.
    pub sort: Option<Sort>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Align {
    #[default]
    Text,
    /// Numbers, from the right, in figures of one width.
    Number,
    /// Text that takes what room is left and is cut at the edge.
    Wide,
}

/// Where a click on the head leads, and how the rows are ordered now.
#[derive(Clone, Debug)]
pub struct Sort {
    /// The same list, ordered by this column.
    pub link: Link,
    /// The order now, if it is by this column.
    pub now: Option<Order>,
}

/// Up or down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Ascending,
    Descending,
}

impl Column {
    pub fn text(name: &str) -> Self {
        Self { name: name.to_owned(), align: Align::Text, sort: None }
    }

    pub fn number(name: &str) -> Self {
        Self { align: Align::Number, ..Self::text(name) }
    }

    /// The column that takes what room is left.
    pub fn wide(name: &str) -> Self {
        Self { align: Align::Wide, ..Self::text(name) }
    }

    /// The same column, with a head that orders the rows.
    #[must_use]
    pub fn sorted_by(self, sort: Sort) -> Self {
        Self { sort: Some(sort), ..self }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Names it for selection and for scripts.
    pub id: String,
    /// Where it leads; the first cell carries the link.
    pub link: Option<Link>,
    /// Its cells, one for each column.
    pub cells: Vec<Markup>,
    /// Whether something in it failed.
    pub failed: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Table {
    /// What it holds, for those who do not see it.
    pub caption: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    /// The form that takes the selected rows, if rows can be selected.
    pub select_for: Option<String>,
}

/// Draws a table. `j`, `k` and Enter move in it once the scripts have come.
pub fn table(table: &Table) -> Markup {
    html! {
        div.table-wrap tabindex="0" role="region" aria-label=(table.caption) {
            table data-rows {
                caption.sr { (table.caption) }
                thead { tr {
                    @if table.select_for.is_some() {
                        th.check scope="col" {
                            input type="checkbox" data-select-all aria-label="Select all rows";
                        }
                    }
                    @for column in &table.columns { (head(column)) }
                } }
                tbody { (rows(table)) }
            }
        }
    }
}

/// The rows alone: what a live list adds.
pub fn rows(table: &Table) -> Markup {
    html! {
        @for row in &table.rows {
            tr data-id=(row.id) class=[row.failed.then_some("failed")] {
                @if let Some(form) = &table.select_for {
                    td.check {
                        input type="checkbox" name="id" value=(row.id) form=(form)
                              aria-label={ "Select " (row.id) };
                    }
                }
                @for (index, (cell, column)) in row.cells.iter().zip(&table.columns).enumerate() {
                    td class=[class(column.align)] data-label=[(index > 0).then_some(&column.name)] {
                        @match (&row.link, index) {
                            (Some(link), 0) => { a.row-link href=(link) { (cell) } },
                            _ => { (cell) },
                        }
                    }
                }
            }
        }
    }
}

const fn class(align: Align) -> Option<&'static str> {
    match align {
        Align::Text => None,
        Align::Number => Some("num"),
        Align::Wide => Some("wide"),
    }
}

fn head(column: &Column) -> Markup {
    let Some(sort) = &column.sort else {
        return html! { th scope="col" class=[class(column.align)] { (column.name) } };
    };
    let (order, arrow) = match sort.now {
        Some(Order::Ascending) => (Some("ascending"), Some(Icon::Up)),
        Some(Order::Descending) => (Some("descending"), Some(Icon::Down)),
        None => (None, None),
    };
    html! {
        th scope="col" class=[class(column.align)] aria-sort=[order] {
            a href=(sort.link) { (column.name) @if let Some(arrow) = arrow { (icon(arrow)) } }
        }
    }
}

/// The way to the next and back to the first rows of a list that is read by cursor.
pub fn pager(here: &Link, at_cursor: bool, next: Option<&str>) -> Markup {
    pager_saying(("Newest", "Older"), here, at_cursor, next)
}

/// The same with other labels for the first and the next page.
pub fn pager_saying(
    (first, on): (&str, &str),
    here: &Link,
    at_cursor: bool,
    next: Option<&str>,
) -> Markup {
    html! {
        nav.pager aria-label="Pages of this list" {
            @if at_cursor { a.button href=(here.clone().without("cursor")) { (first) } }
            @if let Some(cursor) = next {
                a.button href=(here.clone().with("cursor", cursor)) rel="next" { (on) }
            }
        }
    }
}

/// The way to the pages before and after, of a list that is read by number.
pub fn numbers(here: &Link, at: PageNumber, total: u64) -> Markup {
    let last = total.div_ceil(at.limit.max(1)).max(1);
    let to = |page: u64| here.clone().with("page", page.to_string());
    html! {
        @if last > 1 {
            nav.pager aria-label="Pages of this list" {
                @if at.page > 1 { a.button href=(to(at.page - 1)) rel="prev" { "Previous" } }
                span.muted { "Page " (at.page) " of " (last) }
                @if at.page < last { a.button href=(to(at.page + 1)) rel="next" { "Next" } }
            }
        }
    }
}
