//! Two runs over one dataset, item by item, with what changed first.

use std::collections::BTreeMap;

use axum::extract::{Path, State};
use maud::{Markup, html};
use ratchet_core::catalog::run_comparison::{ItemChange, ItemPair, ItemRun, PassThresholds};
use ratchet_core::record::limit::elide;
use ratchet_core::stats::bounded;
use ratchet_store::catalog::{Dataset, DatasetItem};
use ratchet_store::query::Detail;

use super::one;
use super::results::{self, ITEMS, RunResult};
use crate::components::{badge, diff, empty, figure, whisker};
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

/// Maximum number of scores in the chart.
const WHISKERS: usize = 12;

/// One item in both runs.
#[derive(Clone, Debug)]
struct Pair {
    item: String,
    before: Option<RunResult>,
    after: Option<RunResult>,
    change: ItemChange,
}

/// What the page says of items that went one way, and its word in the URL.
const CHANGES: [(ItemChange, &str, &str); 5] = [
    (ItemChange::Fixed, "fixed", "fixed"),
    (ItemChange::Regressed, "regressed", "regressed"),
    (ItemChange::Unchanged, "unchanged", "unchanged"),
    (ItemChange::ChangedUnscored, "unscored", "changed without a score"),
    (ItemChange::NotComparable, "not-comparable", "not comparable"),
];

pub(super) async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, name)): Path<(String, String)>,
) -> PageResult<Markup> {
    let dataset = one::find(&web, &ctx, name).await?;
    let chosen = |side: &str| {
        let run = ctx.params.get(side).map(str::to_owned);
        run.ok_or_else(|| PageError::Bad(format!("{side}: choose a run")))
    };
    let before = results::results(&web, &ctx, chosen("before")?, Detail::Content).await?;
    let after = results::results(&web, &ctx, chosen("after")?, Detail::Content).await?;
    let (pairs, thresholds) = pair(before, after);
    let items = results::items(&web, &ctx, &dataset).await?;
    let wanted = CHANGES.into_iter().find(|(_, word, _)| ctx.params.get("show") == Some(word));
    let shown = |pair: &&Pair| wanted.is_none_or(|(change, ..)| pair.change == change);
    let shown: Vec<&Pair> = pairs.iter().filter(shown).collect();
    let mut page = one::begin(&dataset, &ctx);
    page.crumbs.push((dataset.name.clone(), ctx.to(&["datasets", &dataset.name, "runs"])));
    page.title = "Compare runs".to_owned();
    page.summary = summary(&pairs, &thresholds);
    page.body = html! {
        (changes(&pairs, &ctx))
        (statistics(&pairs))
        @if shown.is_empty() { (empty::empty("No such items", &html! {})) }
        div.runs-compared {
            @for pair in shown { (draw(pair, items.get(&pair.item), &dataset, &ctx)) }
        }
    };
    Ok(page.show(&ctx))
}

fn summary(pairs: &[Pair], thresholds: &PassThresholds) -> Markup {
    let lines: Vec<String> = thresholds.0.iter().map(threshold).collect();
    html! {
        (figure::grouped(pairs.len() as u64)) @if pairs.len() == 1 { " item" } @else { " items" }
        @if pairs.len() as u64 >= ITEMS { " (first " (ITEMS) " of each run)" }
        "."
        @if !lines.is_empty() { " Pass threshold: " (lines.join(", ")) "." }
    }
}

fn threshold((name, value): (&String, &f64)) -> String {
    format!("{name} {}", figure::number(*value))
}

/// "4 fixed, 0 regressed, 11 not comparable": each number leads to its items.
fn changes(pairs: &[Pair], ctx: &RequestContext) -> Markup {
    let count = |change| pairs.iter().filter(|pair| pair.change == change).count() as u64;
    let chosen = ctx.params.get("show");
    html! {
        nav.changes aria-label="Items by change" {
            a href=(ctx.here().without("show")) aria-current=[chosen.is_none().then_some("true")] {
                "all " (figure::grouped(pairs.len() as u64))
            }
            @for (change, word, words) in CHANGES {
                a href=(ctx.here().with("show", word))
                  aria-current=[(chosen == Some(word)).then_some("true")] {
                    b { (figure::grouped(count(change))) } " " (words)
                }
            }
        }
    }
}

/// Aligns both runs by item, what people should look at first.
fn pair(
    mut before: BTreeMap<String, RunResult>,
    after: BTreeMap<String, RunResult>,
) -> (Vec<Pair>, PassThresholds) {
    let scores = before.values().chain(after.values()).map(|result| &result.scores);
    let thresholds = PassThresholds::of(scores);
    let aligned = |item, before: Option<RunResult>, after: Option<RunResult>| {
        let both =
            ItemPair { before: before.as_ref().map(run_of), after: after.as_ref().map(run_of) };
        let change = thresholds.change(both);
        Pair { item, before, after, change }
    };
    let mut pairs: Vec<Pair> = Vec::new();
    for (item, after) in after {
        let before = before.remove(&item);
        pairs.push(aligned(item, before, Some(after)));
    }
    pairs.extend(before.into_iter().map(|(item, before)| aligned(item, Some(before), None)));
    pairs.sort_by(|one, other| (one.change, &one.item).cmp(&(other.change, &other.item)));
    (pairs, thresholds)
}

fn run_of(result: &RunResult) -> ItemRun<'_> {
    ItemRun { scores: &result.scores, output: &result.output }
}

/// One item in a row: what was asked and expected, and both outputs beside each other.
fn draw(
    pair: &Pair,
    item: Option<&DatasetItem>,
    dataset: &Dataset,
    ctx: &RequestContext,
) -> Markup {
    let both = pair.before.as_ref().zip(pair.after.as_ref());
    let outputs = match both {
        Some((before, after)) => diff::columns(&before.output, &after.output).map(Some),
        None => [&pair.before, &pair.after].map(|result| {
            let output = result.as_ref().map(|result| &result.output);
            output.map(|output| html! { pre.diff tabindex="0" { (output) } })
        }),
    };
    let [before, after] = outputs;
    let sides = [("Baseline", &pair.before, before), ("Candidate", &pair.after, after)];
    html! {
        section.pair {
            (head(pair, item, dataset, ctx))
            @for (name, result, output) in sides {
                div.pair-side {
                    p.side-head { (name)
                        @if let Some(result) = result {
                            " " a href=(ctx.to(&["traces", &result.trace.to_string()])) { "trace " span.sr { (name) } }
                        }
                    }
                    @match output { Some(output) => { (output) }, None => { p.muted { "not run" } } }
                    @if let Some(result) = result { (results::badges(result)) }
                }
            }
        }
    }
}

fn head(
    pair: &Pair,
    item: Option<&DatasetItem>,
    dataset: &Dataset,
    ctx: &RequestContext,
) -> Markup {
    let to_item = ctx.to(&["datasets", &dataset.name, "items", &pair.item]);
    let run = pair.after.as_ref().or(pair.before.as_ref());
    let texts = [("Input", results::input_of(item)), ("Expected", results::expected_of(run, item))];
    let is_same = match (&pair.before, &pair.after) {
        (Some(before), Some(after)) => before.output == after.output,
        _ => false,
    };
    html! {
        div.pair-head {
            h2 { a href=(to_item) { code { bdi { (pair.item) } } } " " (change_badge(pair.change)) }
            @for (name, text) in texts {
                @if let Some(text) = text { p.side-head { (name) } p.pair-text { bdi { (text) } } }
            }
            @if pair.before.is_none() || pair.after.is_none() { p.muted { "Only in one run." } }
            @if is_same { p.muted { "Same output." } }
        }
    }
}

fn change_badge(change: ItemChange) -> Markup {
    html! {
        @match change {
            ItemChange::Regressed => { span.badge.bad { "Regressed" } },
            ItemChange::Fixed => { span.badge.good { "Fixed" } },
            ItemChange::ChangedUnscored => { (badge::tag("Changed, not scored")) },
            ItemChange::NotComparable => { (badge::tag("Not comparable")) },
            ItemChange::Unchanged => {},
        }
    }
}

/// How far each score moved over the items that both runs have it of.
fn differences(pairs: &[Pair]) -> BTreeMap<&str, Vec<f64>> {
    let mut moved: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let both = pairs.iter().filter_map(|pair| pair.before.as_ref().zip(pair.after.as_ref()));
    for (before, after) in both {
        for (name, was) in &before.scores {
            if let Some(is) = after.scores.get(name) {
                moved.entry(name).or_default().push(is - was);
            }
        }
    }
    moved
}

/// What moved, as sentences with whiskers.
fn statistics(pairs: &[Pair]) -> Markup {
    let moved = differences(pairs);
    html! {
        @if moved.is_empty() {
            p.muted { "No common scores: the runs cannot be compared." }
        } @else {
            div.whiskers {
                @for (name, values) in moved.iter().take(WHISKERS) {
                    @if let Ok(difference) = bounded::mean_of_differences(values) { (whisker::whisker(&elide(name, 60), &difference)) }
                }
            }
            @if moved.len() > WHISKERS { p.muted { "Only the first " (WHISKERS) " scores are shown." } }
        }
    }
}
