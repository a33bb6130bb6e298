//! Two scores side by side, over the traces that have both.

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use maud::{Markup, html};
use ratchet_core::record::limit::elide;
use ratchet_core::record::score::{ScoreSource, ScoreValue};
use ratchet_core::stats::agreement::{RatingPair, limits, mean_absolute_error, pearson, spearman};
use ratchet_core::stats::bounded;
use ratchet_core::stats::categories::{Confusion, Weighting};
use ratchet_core::stats::interval;
use ratchet_store::score_stats::{Pair, PairQuery, Pairs, Sample, Side};

use super::scores;
use crate::components::agreement::{self, Line};
use crate::components::empty;
use crate::components::figure;
use crate::components::matrix::{self, Matrix};
use crate::components::scatter::{self, ReferenceLine, Scatter};
use crate::components::table::{self, Column, Row, Table};
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::score_summary;
use crate::web::Web;

/// Scores of the first side that are looked at.
const LOOKED_AT: u64 = 5_000;
const DRAWN: usize = 2_000;
const LISTED: usize = 50;

pub(super) fn routes() -> Router<Web> {
    Router::new().route("/project/{project}/scores/compare", get(show))
}

/// What is to be compared, as the address says it.
#[derive(Clone, Debug, Default)]
pub(super) struct Selection {
    left: Option<Side>,
    right: Option<Side>,
}

impl Selection {
    fn read(ctx: &RequestContext) -> Self {
        let side = |name: &str| ctx.params.get(name).map(parse);
        Self { left: side("a"), right: side("b") }
    }
}

/// A side as one word of an address: `EVAL:quality`, or `quality` for everyone's.
fn word(side: &Side) -> String {
    match side.source {
        Some(source) => format!("{}:{}", source.as_str(), side.name),
        None => side.name.clone(),
    }
}

fn parse(word: &str) -> Side {
    let parted = word.split_once(':');
    let known = parted.and_then(|(source, name)| Some((ScoreSource::parse(source)?, name)));
    match known {
        Some((source, name)) => Side { name: name.to_owned(), source: Some(source) },
        None => Side { name: word.to_owned(), source: None },
    }
}

/// What a side is called.
fn called(side: &Side) -> String {
    let name = elide(&side.name, 60);
    match side.source {
        Some(source) => format!("{name} by {}", score_summary::source_name(source)),
        None => name.into_owned(),
    }
}

async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let chosen = Selection::read(&ctx);
    let samples = scores::samples(&web, &ctx).await?;
    let mut page = Page::new(Section::Scores, "Compare two scores");
    page.crumbs = vec![("Scores".to_owned(), ctx.to(&["scores"]))];
    let form = form(&samples, &chosen, &ctx);
    let Selection { left: Some(left), right: Some(right) } = chosen else {
        page.summary = html! { "Compare two scores on the same traces." };
        page.body = html! { (form) (nothing_chosen(samples.len())) };
        return Ok(page.show(&ctx));
    };
    let question = PairQuery {
        scope: scores::scope(&ctx),
        left: left.clone(),
        right: right.clone(),
        at_most: LOOKED_AT,
    };
    let pairs = web.store.telemetry.score_pairs(question).await?;
    page.summary = summary(&pairs, &left);
    page.body = html! { (form) (body(&pairs, &left, &right, &ctx)) };
    Ok(page.show(&ctx))
}

/// What there will be to see.
fn nothing_chosen(names: usize) -> Markup {
    let how = html! {
        p {
            "Two numeric scores give a scatter plot and their mean difference; two categorical or boolean "
            "scores give a confusion matrix. Use it to check a judge against human labels."
        }
        @if names < 2 {
            p.muted { "Needs two score names, or one name from two sources, in this time range." }
        }
    };
    empty::empty("Select two scores", &how)
}

/// The choice of two scores.
pub(super) fn form(samples: &[Sample], chosen: &Selection, ctx: &RequestContext) -> Markup {
    let mut sides: Vec<Side> = Vec::new();
    for sample in samples {
        let mut sources: Vec<_> =
            score_summary::parts(sample).into_iter().map(|part| part.source).collect();
        sources.sort();
        sources.dedup();
        let one = |source| Side { name: sample.name.clone(), source };
        if sources.len() > 1 {
            sides.extend(sources.into_iter().map(|source| one(Some(source))));
        }
        sides.push(one(None));
    }
    let choice = |id: &str, label: &str, now: Option<&Side>| {
        html! {
            span.choice {
                label for=(id) { (label) }
                select id=(id) name=(id) required {
                    option value="" { "Select a score" }
                    @for side in &sides {
                        option value=(word(side)) selected[now == Some(side)] { (called(side)) }
                    }
                }
            }
        }
    };
    let link = ctx.to(&["scores", "compare"]);
    html! {
        @if sides.len() > 1 {
            form.compare method="get" action=(link.path()) {
                @for (name, value) in link.pairs() { input type="hidden" name=(name) value=(value); }
                (choice("a", "Compare", chosen.left.as_ref()))
                (choice("b", "with", chosen.right.as_ref()))
                button.button { "Compare" }
            }
        }
    }
}

fn summary(pairs: &Pairs, left: &Side) -> Markup {
    html! {
        (figure::grouped(pairs.rows.len() as u64))
        @if pairs.rows.len() == 1 { " pair" } @else { " pairs" }
        @if pairs.is_cut {
            " among the newest " (figure::grouped(pairs.looked_at)) " scores of " bdi { (called(left)) }
        }
        "."
    }
}

fn body(pairs: &Pairs, left: &Side, right: &Side, ctx: &RequestContext) -> Markup {
    if pairs.rows.is_empty() {
        let how = html! {
            p { "Both must score the same traces in this time range. Try a longer range, or other scores." }
        };
        return empty::empty("No trace has both scores", &how);
    }
    let (left, right) = (called(left), called(right));
    let numbers: Option<Vec<(f64, f64)>> = pairs.rows.iter().map(numeric).collect();
    html! {
        @match numbers {
            Some(points) => { (as_numbers(&points, &left, &right)) },
            None => { (as_labels(&pairs.rows, &left, &right)) },
        }
        (list(&pairs.rows, (&left, &right), ctx))
    }
}

/// Both numbers, where both sides are numbers and neither is only yes or no.
fn numeric(pair: &Pair) -> Option<(f64, f64)> {
    let number = |value: &ScoreValue| match value {
        ScoreValue::Numeric(number) => Some(*number),
        ScoreValue::Boolean(_)
        | ScoreValue::Categorical { .. }
        | ScoreValue::Text(_)
        | ScoreValue::Correction(_) => None,
    };
    Some((number(&pair.left)?, number(&pair.right)?))
}

fn as_numbers(points: &[(f64, f64)], left: &str, right: &str) -> Markup {
    let differences: Vec<f64> = points.iter().map(|(left, right)| right - left).collect();
    let drawn = points.get(..points.len().min(DRAWN)).unwrap_or_default();
    let title = format!("{right} vs. {left}");
    html! {
        @if let Ok(difference) = bounded::mean_of_differences(&differences) {
            @let (value, sure) = score_summary::mean(difference);
            p.lead { "Mean difference of " bdi { (right) } ": "
                b { (value) @if let Some(sure) = sure { " (" (sure) ")" } }
                " vs. " bdi { (left) } " (n = " (figure::grouped(difference.n)) ", 95% CI)." }
        }
        (scatter::scatter(&Scatter { title: &title, x: left, y: right, points: drawn, levels: &[] }))
        (differences_drawn(drawn, left, right))
        @if drawn.len() < points.len() {
            p.muted { "Only the newest " (figure::grouped(DRAWN as u64)) " are shown." }
        }
        (agreement::table("Agreement of numeric scores", &of_numbers(points)))
    }
}

fn rated(points: &[(f64, f64)]) -> Vec<RatingPair> {
    points.iter().map(|(left, right)| RatingPair { human: *left, judge: *right }).collect()
}

fn of_numbers(points: &[(f64, f64)]) -> Vec<Line<'static>> {
    let pairs = rated(points);
    let differences: Vec<f64> = pairs.iter().map(|pair| pair.judge - pair.human).collect();
    let limits = limits(&pairs);
    let line = |name, statistic, says| Line { name, says, statistic };
    vec![
        line("Pearson", pearson(&pairs), "linear correlation; 1 is perfect"),
        line("Spearman", spearman(&pairs), "rank correlation; 1 is perfect"),
        line("Mean absolute error", mean_absolute_error(&pairs), "average absolute difference"),
        line("Bias", bounded::mean_of_differences(&differences), "second minus first, on average"),
        line("Lower limit", limits.map(|it| it.lower), "95% limit of agreement, lower"),
        line("Upper limit", limits.map(|it| it.upper), "95% limit of agreement, upper"),
    ]
}

/// How far single verdicts are off, after Bland and Altman.
fn differences_drawn(points: &[(f64, f64)], left: &str, right: &str) -> Markup {
    let point = |(left, right): &(f64, f64)| (f64::midpoint(*left, *right), right - left);
    let differences: Vec<(f64, f64)> = points.iter().map(point).collect();
    let mut levels = vec![ReferenceLine { at: 0.0, name: "no difference".to_owned() }];
    if let Ok(limits) = limits(&rated(points)) {
        let marked = [("bias", limits.bias), ("limit", limits.lower), ("limit", limits.upper)];
        levels.extend(marked.map(|(name, estimate)| ReferenceLine {
            at: estimate.value,
            name: format!("{name} {}", agreement::two(estimate.value)),
        }));
    }
    let title = format!("{right} minus {left}, by their mean");
    let (x, y) = ("mean of both", "difference");
    scatter::scatter(&Scatter { title: &title, x, y, points: &differences, levels: &levels })
}

fn as_labels(pairs: &[Pair], left: &str, right: &str) -> Markup {
    let texts: Vec<(String, String)> =
        pairs.iter().map(|pair| (label(&pair.left), label(&pair.right))).collect();
    let same = texts.iter().filter(|(left, right)| left == right).count() as u64;
    let title = format!("{left} and {right}");
    html! {
        @if let Some(agreement) = interval::share(same, texts.len() as u64) {
            @let (value, sure) = score_summary::share(agreement);
            p.lead { "Exact agreement: " b { (value) }
                @if let Some(sure) = sure { " (" (sure) ", n = " (figure::grouped(agreement.n)) ", 95% CI)" }
                "." }
        }
        (matrix::matrix(&Matrix { title: &title, rows: left, columns: right, pairs: &texts }))
        (agreement::table("Agreement of categorical scores", &of_labels(&texts)))
    }
}

/// Labels that statistics tell apart; more would be names, not grades.
const TOLD_APART: usize = 50;

fn of_labels(texts: &[(String, String)]) -> Vec<Line<'static>> {
    let mut labels: Vec<&String> = texts.iter().flat_map(|(left, right)| [left, right]).collect();
    labels.sort();
    labels.dedup();
    if labels.len() > TOLD_APART {
        return Vec::new();
    }
    let ctx = |label: &String| labels.binary_search(&label).unwrap_or(usize::MAX);
    let verdicts = texts.iter().map(|(left, right)| (ctx(left), ctx(right)));
    let table = Confusion::of(labels.len(), verdicts);
    let line = |name, statistic, says| Line { name, says, statistic };
    let mut lines = vec![
        line("Exact agreement", table.agreement(), "share of identical values"),
        line(
            "Cohen's kappa",
            table.kappa(Weighting::Same),
            "agreement beyond chance; low where one value is rare",
        ),
        line("Gwet's AC1", table.ac1(), "agreement beyond chance; robust where one value is rare"),
    ];
    if labels.len() == 2 {
        // Of yes and no, in the order of the alphabet, yes is the second.
        lines.push(line(
            "Sensitivity",
            table.found(1),
            "true positive rate of the second score against the first",
        ));
        lines.push(line(
            "Specificity",
            table.spared(1),
            "true negative rate of the second score against the first",
        ));
    }
    lines
}

fn label(value: &ScoreValue) -> String {
    elide(&score_summary::value(value), 60).into_owned()
}

fn list(pairs: &[Pair], (left, right): (&str, &str), ctx: &RequestContext) -> Markup {
    let columns = vec![Column::text("Trace"), Column::text(left), Column::text(right)];
    let row = |pair: &Pair| {
        let trace = pair.trace.to_string();
        let mut link = ctx.to(&["traces", &trace]);
        if let Some(observation) = &pair.observation {
            link = link.with("observation", observation.to_string());
        }
        Row {
            cells: vec![
                html! { code { (elide(&trace, 40)) } },
                html! { bdi { (label(&pair.left)) } },
                html! { bdi { (label(&pair.right)) } },
            ],
            link: Some(link),
            id: trace,
            failed: false,
        }
    };
    let rows = pairs.iter().take(LISTED).map(row).collect();
    html! {
        details.numbers {
            summary { "Newest " (pairs.len().min(LISTED)) " pairs" }
            (table::table(&Table { caption: "Pairs".to_owned(), columns, rows, select_for: None }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_survives_the_address() {
        for side in [
            Side { name: "a:b".into(), source: Some(ScoreSource::Eval) },
            Side { name: "quality".into(), source: None },
            Side { name: "not:a source".into(), source: None },
        ] {
            assert_eq!(parse(&word(&side)), side);
        }
    }
}
