use std::collections::BTreeMap;

use maud::{Markup, html};
use ratchet_store::aggregate::Sums;

use super::overview::OverviewData;
use crate::components::figure;
use crate::components::table::{self, Column, Order, Row, Sort, Table};
use crate::request_context::RequestContext;
use crate::sums::{KeySums, Timed, float, natural};

/// Keys that get a row.
const ROWS: usize = 50;

/// A column: its word in the URL, its title and its value.
type KeyColumn = (&'static str, &'static str, fn(&Sums) -> Option<f64>);

const COLUMNS: [KeyColumn; 7] = [
    ("observations", "Observations", |sums| Some(float(sums.count))),
    ("errors", "Error rate", |sums| Some(float(sums.errors) / float(sums.count).max(1.0))),
    ("cost", "Cost", |sums| Some(sums.cost.dollars())),
    ("tokens", "Tokens", |sums| Some(float(sums.total_tokens))),
    ("p50", "p50 latency", |sums| sums.latency.percentile(50).map(float)),
    ("p95", "p95 latency", |sums| sums.latency.percentile(95).map(float)),
    ("p99", "p99 latency", |sums| sums.latency.percentile(99).map(float)),
];

/// The column of the order, and which way; by observations, the greatest first, if none is chosen.
fn sorted_by(ctx: &RequestContext) -> (KeyColumn, Order) {
    let asked = ctx.params.get("sort").unwrap_or("-observations");
    let (word, order) = match asked.strip_prefix('-') {
        Some(word) => (word, Order::Descending),
        None => (asked, Order::Ascending),
    };
    let found = COLUMNS.into_iter().find(|(known, ..)| *known == word);
    found.map_or((COLUMNS[0], Order::Descending), |column| (column, order))
}

/// The figures of each key and how they changed; nothing where nothing is split.
pub(super) fn table(ctx: &RequestContext, shown: &OverviewData) -> Markup {
    let Some(_) = shown.split.by else { return html! {} };
    let before: BTreeMap<_, _> = shown.before.iter().flat_map(of_key).collect();
    let row = |key: &KeySums| {
        let word = key.key.first().and_then(Option::as_deref);
        let was = before.get(key.key.as_slice()).copied();
        Row {
            id: word.unwrap_or_default().to_owned(),
            link: word.and_then(|word| shown.split.steps_of(ctx, word, shown.filter())),
            cells: cells(&shown.split.key_name(word), &key.whole, was, shown.before.is_some()),
            failed: false,
        }
    };
    let count = shown.now.keys.len();
    let (by, order) = sorted_by(ctx);
    let head = |(word, name, _): KeyColumn| {
        let now = (word == by.0).then_some(order);
        let next =
            if now == Some(Order::Descending) { word.to_owned() } else { format!("-{word}") };
        Column::number(name).sorted_by(Sort { link: ctx.here().with("sort", next), now })
    };
    let columns = COLUMNS.into_iter().map(head);
    let columns = std::iter::once(Column::wide(shown.split.noun())).chain(columns).collect();
    let mut keys: Vec<&KeySums> = shown.now.keys.iter().collect();
    let size = |key: &KeySums| (by.2)(&key.whole).unwrap_or(-1.0);
    keys.sort_by(|one, other| match order {
        Order::Ascending => size(one).total_cmp(&size(other)),
        Order::Descending => size(other).total_cmp(&size(one)),
    });
    let rows = keys.into_iter().take(ROWS).map(row).collect();
    let caption = shown.split.title();
    html! {
        section.by-key {
            h2 { (caption) }
            (table::table(&Table { caption: caption.clone(), columns, rows, select_for: None }))
            @if count > ROWS {
                p.muted { "Top " (ROWS) " of " (figure::grouped(count as u64)) "." }
            }
        }
    }
}

fn of_key(timed: &Timed) -> impl Iterator<Item = (&[Option<String>], &Sums)> {
    timed.keys.iter().map(|key| (key.key.as_slice(), &key.whole))
}

fn cells(name: &str, now: &Sums, before: Option<&Sums>, compares: bool) -> Vec<Markup> {
    let rate = |sums: &Sums| float(sums.errors) / float(sums.count).max(1.0);
    let is_new = compares && before.is_none();
    let cell = |shown: Markup, of: fn(&Sums) -> Option<f64>| {
        let change = match (of(now), before.and_then(of)) {
            (Some(now), Some(before)) if before > 0.0 => Some(figure::growth(now / before)),
            _ => None,
        };
        html! { (shown) @if let Some(change) = change { br; small.muted { (change) } } }
    };
    let latency = |percent: u8| {
        let text = now.latency.percentile(percent).map(figure::duration);
        html! { (text.as_deref().unwrap_or("–")) }
    };
    let tokens = figure::tokens_in_part(natural(now.total_tokens), now.approximate_cost);
    let shown = [
        html! { (figure::grouped(natural(now.count))) },
        html! { (figure::percent(rate(now))) },
        figure::cost_in_part(Some(now.cost), now.approximate_cost),
        tokens,
        latency(50),
        latency(95),
        latency(99),
    ];
    let name = html! {
        bdi { (ratchet_core::record::limit::elide(name, 200)) }
        @if is_new { " " span.badge { "new" } }
    };
    let figures = shown.into_iter().zip(COLUMNS).map(|(shown, (_, _, of))| cell(shown, of));
    std::iter::once(name).chain(figures).collect()
}
