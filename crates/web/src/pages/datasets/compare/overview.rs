use maud::{Markup, html};
use ratchet_core::catalog::run_comparison::ItemChange;
use ratchet_core::gate::bounds::Bounds;
use ratchet_core::money::Money;
use ratchet_core::record::limit::elide;
use ratchet_core::stats::bounded;
use ratchet_core::stats::interval::{self, Estimate, Interval};

use super::super::results::{RunResult, mean_of};
use super::super::score_values;
use super::{Compared, ComparedRun};
use crate::components::{figure, whisker};
use crate::request_context::RequestContext;

/// Characters of a run's name.
const NAME: usize = 60;
/// Maximum number of other scores that are drawn.
const WHISKERS: usize = 12;

/// The runs as a table, and what changed as sentences.
pub(super) fn overview(compared: &Compared, ctx: &RequestContext) -> Markup {
    let Some((baseline, candidates)) = compared.runs.split_first() else { return html! {} };
    let against = |candidate: &ComparedRun| match candidates.len() {
        1 => "Accuracy".to_owned(),
        _ => format!("Accuracy of {}", elide(&candidate.run.name, NAME)),
    };
    html! {
        (runs(compared, ctx))
        div.whiskers {
            @for candidate in candidates.iter().filter(|_| compared.is_share()) {
                @if let Some(difference) = candidate.comparison.as_ref().and_then(|of| of.difference) {
                    (whisker::whisker(&against(candidate), &estimate(&difference)))
                }
            }
        }
        div.corrections { @for candidate in candidates { (corrections(candidate)) } }
        (others(compared, baseline, candidates))
    }
}

fn estimate(bounds: &Bounds) -> Estimate {
    let interval = Interval { lower: bounds.lower(), upper: bounds.upper() };
    Estimate { value: bounds.value, interval: Some(interval), n: bounds.n as u64 }
}

fn corrections(candidate: &ComparedRun) -> Markup {
    let corrected = candidate.comparison.as_ref().map_or(0, |of| of.corrected as u64);
    let once = candidate.comparison.as_ref().map_or(0, |of| of.count(ItemChange::CorrectedOnce));
    html! {
        @if corrected > 0 {
            p { (figure::counted(corrected, "item")) " of "
                bdi { (elide(&candidate.run.name, NAME)) } " corrected by people"
                @if once > 0 {
                    "; " (figure::grouped(once)) " in one run only, which is left out until the other output "
                    "is scored by a person too"
                }
                ". A gate that is decided from now on uses these scores." }
        }
    }
}

/// Quality, latency and cost of each run.
fn runs(compared: &Compared, ctx: &RequestContext) -> Markup {
    let head = [
        "Run",
        "Items",
        "Difference",
        "Fixed",
        "Regressed",
        "Latency per item",
        "Cost per item",
        "Faults",
    ];
    let quality = if compared.is_share() { "Accuracy" } else { "Mean score" };
    html! {
        div.table-wrap data-own-export tabindex="0" role="region" aria-label="Compared runs" {
            table.compared {
                thead { tr {
                    @for (at, name) in head.into_iter().enumerate() {
                        th scope="col" { (name) }
                        @if at == 1 { th scope="col" { (quality) } }
                    }
                } }
                tbody { @for (at, run) in compared.runs.iter().enumerate() { (row(compared, (at, run), ctx)) } }
            }
        }
    }
}

fn row(compared: &Compared, (at, run): (usize, &ComparedRun), ctx: &RequestContext) -> Markup {
    let link = ctx.to(&["datasets", &compared.dataset.name, "runs", &run.run.id]);
    let count = |change| match &run.comparison {
        Some(of) => figure::grouped(of.count(change)),
        None => "–".to_owned(),
    };
    let faults = run.results.values().flat_map(|of| &of.trials);
    let faults = faults.filter(|trial| trial.fault.is_some()).count() as u64;
    html! {
        tr {
            td { span.muted { (role(at)) } " " a href=(link) { bdi { (elide(&run.run.name, NAME)) } } }
            td data-label="Items" { (figure::grouped(run.results.len() as u64)) }
            td data-label="Accuracy" { (quality(compared, at)) }
            td data-label="Difference" { (difference(compared, at)) }
            td data-label="Fixed" { (count(ItemChange::Fixed)) }
            td data-label="Regressed" { (count(ItemChange::Regressed)) }
            td data-label="Latency" { (moved(compared, run, (|of| of.means().0, seconds))) }
            td data-label="Cost" { (moved(compared, run, (|of| of.means().1, figure::dollars))) }
            td data-label="Faults" { (figure::grouped(faults)) }
        }
    }
}

/// What a run is in the comparison.
pub(super) fn role(at: usize) -> String {
    match at {
        0 => "Baseline".to_owned(),
        at => format!("Candidate {at}"),
    }
}

fn quality(compared: &Compared, at: usize) -> Markup {
    let Some(run) = compared.runs.get(at) else { return html! {} };
    if !compared.is_share() {
        let values = score_values::by_score(&run.results);
        let own = values.iter().find(|score| score.name == compared.score);
        return html! { @if let Some(own) = own { (score_values::mean(own)) } @else { "–" } };
    }
    // The baseline's own accuracy is the same in every comparison.
    let of = compared.runs.get(at.max(1)).and_then(|run| run.comparison.as_ref());
    let bounds = of.and_then(|of| of.accuracy.get(usize::from(at > 0)).copied().flatten());
    html! {
        @match bounds {
            Some(bounds) => {
                (figure::percent(bounds.value)) " "
                small.muted { (figure::percent(bounds.lower())) " to " (figure::percent(bounds.upper())) }
            },
            None => { "–" },
        }
    }
}

fn difference(compared: &Compared, at: usize) -> Markup {
    let of = compared.runs.get(at).and_then(|run| run.comparison.as_ref());
    let Some(bounds) = of.and_then(|of| of.difference).filter(|_| compared.is_share()) else {
        return html! { "–" };
    };
    html! {
        (points(bounds.value)) " points "
        small.muted { (points(bounds.lower())) " to " (points(bounds.upper())) ", n = " (bounds.n) }
    }
}

fn points(value: f64) -> String {
    format!("{:+.1}", value * 100.0).replace('-', "−")
}

fn seconds(nanos: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "a latency in nanoseconds")]
    let nanos = nanos as i64;
    figure::duration(nanos)
}

type Measure = (fn(&RunResult) -> Option<f64>, fn(f64) -> String);

/// The mean of a measure over items, and how far it moved over the items of both runs.
fn moved(compared: &Compared, run: &ComparedRun, (measure, unit): Measure) -> Markup {
    let Some(mean) = mean_of(run.results.values().filter_map(measure)) else {
        return html! { "–" };
    };
    let baseline = compared.runs.first().filter(|_| run.comparison.is_some());
    let differences: Vec<f64> = baseline.map_or_else(Vec::new, |baseline| {
        let both = run
            .results
            .iter()
            .filter_map(|(item, of)| Some(measure(of)? - measure(baseline.results.get(item)?)?));
        both.collect()
    });
    let moved = interval::mean(&differences).ok();
    let signed = |value: f64| match value < 0.0 {
        true => format!("−{}", unit(-value)),
        false => format!("+{}", unit(value)),
    };
    html! {
        (unit(mean))
        @if let Some(moved) = moved {
            " " small.muted title={ "paired difference, n = " (moved.n) } {
                (signed(moved.value))
                @if let Some(ends) = moved.interval { " (" (signed(ends.lower)) " to " (signed(ends.upper)) ")" }
            }
        }
    }
}

/// How far the other scores moved.
fn others(compared: &Compared, baseline: &ComparedRun, candidates: &[ComparedRun]) -> Markup {
    let Some(candidate) = candidates.first() else { return html! {} };
    let mut moved: std::collections::BTreeMap<&str, Vec<f64>> = std::collections::BTreeMap::new();
    for (item, after) in &candidate.results {
        let Some(before) = baseline.results.get(item) else { continue };
        for (name, was) in &before.scores {
            if let Some(is) =
                after.scores.get(name).filter(|_| *name != compared.score || !compared.is_share())
            {
                moved.entry(name).or_default().push(is - was);
            }
        }
    }
    html! {
        @if !moved.is_empty() {
            details.numbers {
                summary { "Other scores" }
                div.whiskers {
                    @for (name, values) in moved.iter().take(WHISKERS) {
                        @if let Ok(difference) = bounded::mean_of_differences(values) {
                            (whisker::whisker(&elide(name, NAME), &difference))
                        }
                    }
                }
                @if moved.len() > WHISKERS { p.muted { "Only the first " (WHISKERS) " scores are shown." } }
            }
        }
    }
}

/// Latency and cost of a trial, for the head of a column.
pub(super) fn spent(latency_nanos: Option<i64>, cost: Option<Money>) -> Markup {
    html! {
        @if let Some(nanos) = latency_nanos { span.num { (figure::duration(nanos)) } }
        @if let Some(cost) = cost { " " span.num { (figure::money(cost)) } }
    }
}
