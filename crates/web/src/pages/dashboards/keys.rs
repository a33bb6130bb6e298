use std::collections::BTreeMap;

use maud::{Markup, html};
use ratchet_store::aggregate::Sums;

use super::overview::OverviewData;
use crate::components::figure;
use crate::components::table::{self, Column, Row, Table};
use crate::request_context::RequestContext;
use crate::sums::{KeySums, Timed, float, natural};

/// Keys that get a row.
const ROWS: usize = 50;

/// The figures of each key and how they changed; nothing where nothing is split.
pub(super) fn table(ctx: &RequestContext, shown: &OverviewData) -> Markup {
    let Some(_) = shown.split.by else { return html! {} };
    let before: BTreeMap<_, _> = shown.before.iter().flat_map(of_key).collect();
    let row = |key: &KeySums| {
        let word = key.key.first().and_then(Option::as_deref);
        let was = before.get(key.key.as_slice()).copied();
        Row {
            id: word.unwrap_or_default().to_owned(),
            link: word.and_then(|word| shown.split.steps_of(ctx, word)),
            cells: cells(&shown.split.key_name(word), &key.whole, was, shown.before.is_some()),
            failed: false,
        }
    };
    let count = shown.now.keys.len();
    let columns = [
        "Observations",
        "Error rate",
        "Cost",
        "Tokens",
        "p50 latency",
        "p95 latency",
        "p99 latency",
    ];
    let columns = columns.into_iter().map(Column::number);
    let columns = std::iter::once(Column::wide(shown.split.noun())).chain(columns).collect();
    let rows = shown.now.keys.iter().take(ROWS).map(row).collect();
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
    vec![
        html! {
            bdi { (ratchet_core::record::limit::elide(name, 200)) }
            @if is_new { " " span.badge { "new" } }
        },
        cell(html! { (figure::grouped(natural(now.count))) }, |sums| Some(float(sums.count))),
        cell(html! { (figure::percent(rate(now))) }, |sums| {
            Some(float(sums.errors) / float(sums.count).max(1.0))
        }),
        cell(figure::cost_in_part(Some(now.cost), now.approximate_cost), |sums| {
            Some(sums.cost.dollars())
        }),
        cell(tokens, |sums| Some(float(sums.total_tokens))),
        cell(latency(50), |sums| sums.latency.percentile(50).map(float)),
        cell(latency(95), |sums| sums.latency.percentile(95).map(float)),
        cell(latency(99), |sums| sums.latency.percentile(99).map(float)),
    ]
}
