//! Scores by name and source, with mean, confidence interval and distribution.

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use maud::{Markup, html};
use ratchet_store::score_stats::{Sample, SampleQuery, ScoreScope};

use crate::components::table::{self, Column, Row, Table};
use crate::components::{bars, copy, empty, figure};
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
use crate::pages::reports::score_now;
use crate::pages::{score_compare, table_export};
use crate::request_context::{Link, RequestContext};
use crate::score_summary;
use crate::score_summary::{ScoreAggregate, ScoreSummary};
use crate::web::Web;

pub(super) use self::filtered::{condition, filtered};

/// Scores as a file.
mod export;
mod filtered;

/// Maximum number of scores read for the list.
const READ: u64 = 40_000;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/scores", get(show))
        .route("/project/{project}/list/scores", get(filtered::show))
        .route("/project/{project}/list/scores/export", get(export::export))
}

async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let samples = samples(&web, &ctx).await?;
    let mut page = Page::new(Section::Scores, "Scores");
    page.summary = html! {
        (figure::grouped(samples.len() as u64)) @if samples.len() == 1 { " score type" } @else { " score types" }
        " " (ctx.scope.span.within()) "."
    };
    page.action = table_export::export_menu(&export_link(&ctx));
    page.body = if samples.is_empty() { nothing(&ctx) } else { body(&samples, &ctx) };
    Ok(page.show(&ctx))
}

/// The newest scores of each name, most frequent name first.
pub(super) async fn samples(web: &Web, ctx: &RequestContext) -> PageResult<Vec<Sample>> {
    let question = SampleQuery { scope: scope(ctx), name: None, at_most: READ };
    let mut samples = web.store.telemetry.score_samples(question).await?;
    samples.sort_by_key(|sample| std::cmp::Reverse(sample.total));
    Ok(samples)
}

/// All scores of the current page as a file.
pub(super) fn export_link(ctx: &RequestContext) -> Link {
    ctx.to(&["list", "scores", "export"])
}

/// Score scope of the current page.
pub(super) fn scope(ctx: &RequestContext) -> ScoreScope {
    ScoreScope {
        project: ctx.project_id(),
        range: ctx.range(),
        environments: ctx.scope.environment.clone().into_iter().collect(),
    }
}

fn body(samples: &[Sample], ctx: &RequestContext) -> Markup {
    let columns = vec![
        Column::text("Name"),
        Column::text("Source"),
        Column::text("Type"),
        Column::number("Scores"),
        Column::number("Mean / top value"),
        Column::text("95% CI"),
        Column::text("Distribution"),
        Column::number("Last score"),
    ];
    let parts = samples.iter().flat_map(|sample| {
        score_summary::parts(sample).into_iter().map(move |part| row(sample, &part, ctx))
    });
    let rows = parts.collect();
    let is_cut = samples.iter().any(|sample| sample.total > sample.judgements.len() as u64);
    html! {
        (score_compare::form(samples, &score_compare::Selection::default(), ctx))
        (table::table(&Table { caption: "Scores by name".to_owned(), columns, rows, select_for: None }))
        @if is_cut {
            p.muted { "Statistics use the newest scores of each name; the column Scores shows how many." }
        }
    }
}

fn row(sample: &Sample, part: &ScoreSummary, ctx: &RequestContext) -> Row {
    let (says, sure) = says(part);
    let is_whole = sample.total == sample.judgements.len() as u64;
    let link = score_summary::link(ctx, &sample.name).with("source", part.source.as_str());
    Row {
        id: format!(
            "{} {} {} {} {}",
            sample.name,
            part.source.as_str(),
            part.decider.name(),
            part.data_type.as_str(),
            score_summary::judge_words(&part.judge).map(|judge| judge.exact).unwrap_or_default()
        )
        .trim_end()
        .to_owned(),
        link: Some(link),
        cells: vec![
            html! { bdi title=(sample.name) { (ratchet_core::record::limit::elide(&sample.name, 80)) } },
            score_summary::judge_badge(part),
            html! { (score_summary::form(part.data_type)) },
            html! {
                (figure::grouped(part.n))
                @if !is_whole { small.muted { " of " (score_summary::total(sample.total)) } }
            },
            says,
            html! { span.muted { (sure) } },
            drawn(part),
            figure::ago(part.last_at, &ctx.time),
        ],
        failed: false,
    }
}

/// Aggregate and confidence interval.
fn says(part: &ScoreSummary) -> (Markup, String) {
    match &part.together {
        ScoreAggregate::Numbers(Some(mean), _) => {
            let (value, sure) = score_summary::mean(*mean);
            (html! { (value) }, sure.unwrap_or_else(|| "1 value".to_owned()))
        }
        ScoreAggregate::Truths(Some(share), _) => {
            let (value, sure) = score_summary::share(*share);
            (html! { (value) " true" }, sure.unwrap_or_default())
        }
        ScoreAggregate::Labels(labels) => {
            let first = labels.first().map(|(label, count)| {
                let share = ratchet_core::stats::interval::share(*count, part.n);
                (label, share.map(score_summary::share).unwrap_or_default())
            });
            let Some((label, (value, sure))) = first else { return (html! {}, String::new()) };
            let label = ratchet_core::record::limit::elide(label, 40);
            (html! { (value) " " bdi { (label) } }, sure.unwrap_or_default())
        }
        ScoreAggregate::Numbers(None, _)
        | ScoreAggregate::Truths(None, _)
        | ScoreAggregate::Texts => (html! { span.muted { "–" } }, String::new()),
    }
}

fn drawn(part: &ScoreSummary) -> Markup {
    let counts: Vec<u64> = match &part.together {
        ScoreAggregate::Numbers(_, bins) => bins.iter().map(|bin| bin.count).collect(),
        ScoreAggregate::Truths(Some(share), yes) => {
            vec![share.n.saturating_sub(*yes), *yes]
        }
        ScoreAggregate::Labels(labels) => labels.iter().take(12).map(|(_, count)| *count).collect(),
        ScoreAggregate::Truths(None, _) | ScoreAggregate::Texts => return html! {},
    };
    bars::mini(&counts, part.decider.class(), &in_words(part))
}

/// Text alternative of the chart.
fn in_words(part: &ScoreSummary) -> String {
    match &part.together {
        ScoreAggregate::Numbers(_, bins) => match (bins.first(), bins.last()) {
            (Some(first), Some(last)) => {
                format!("from {} to {}", figure::number(first.lower), figure::number(last.upper))
            }
            _ => "no values".to_owned(),
        },
        ScoreAggregate::Truths(..) => "false and true".to_owned(),
        ScoreAggregate::Labels(labels) => {
            let names: Vec<&str> =
                labels.iter().take(12).map(|(label, _)| label.as_str()).collect();
            ratchet_core::record::limit::elide(&names.join(", "), 200).into_owned()
        }
        ScoreAggregate::Texts => "texts".to_owned(),
    }
}

fn nothing(ctx: &RequestContext) -> Markup {
    let how = html! {
        p { "Scores come from code, LLM judges, human labels and user feedback." }
        (score_now::button(ctx))
        (copy::snippet(&ctx.sdk_code("from langfuse import get_client\n\nget_client().create_score(name=\"helpful\", value=1, trace_id=\"…\", data_type=\"BOOLEAN\")")))
        p { a.button href=(ctx.here().with("range", "all")) { "Show all time" } }
    };
    empty::empty("No scores in this time range", &how)
}
