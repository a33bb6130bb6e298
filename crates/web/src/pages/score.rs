//! Score detail: distribution, values over time and newest scores.

use std::collections::BTreeSet;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;
use maud::{Markup, html};
use ratchet_core::record::limit::elide;
use ratchet_core::record::score::{DataType, Score, ScoreSource, ScoreTarget};
use ratchet_core::time::Timestamp;
use ratchet_stages::source::Source;
use ratchet_stages::source::session_title::session_titles;
use ratchet_store::query::{Condition, Page as Slice, Paging, ScoreColumn, ScoreQuery, ScoresOn};
use ratchet_store::score_stats::{Sample, SampleQuery, ScoreValueRow};

use super::calibration::refused;
use super::{scores, table_export};
use crate::components::badge::Decider;
use crate::components::bars::{self, Spread};
use crate::components::chart::{self, Form, OverTime, Series};
use crate::components::plot::PlotHeight;
use crate::components::stat::{self, Stat, Value};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{badge, empty, figure};
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::score_summary;
use crate::score_summary::{ScoreAggregate, ScoreSummary, TargetTitles};
use crate::time_buckets::TimeBuckets;
use crate::web::Web;

/// Sample size for statistics and charts.
const READ: u64 = 20_000;
/// Page size of the list.
const ROWS: u64 = 50;
/// Categorical values shown over time.
const MAX_SERIES: usize = 5;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/scores/{name}", get(show))
        .route("/project/{project}/scores/named/{name}", get(show))
}

async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, name)): Path<(String, String)>,
) -> PageResult<Markup> {
    let source = ctx.params.get("source").and_then(ScoreSource::parse);
    let question =
        SampleQuery { scope: scores::scope(&ctx), name: Some(name.clone()), at_most: READ };
    let sample = web.store.telemetry.score_samples(question).await?.into_iter().next();
    let newest = web.store.telemetry.scores(newest(&ctx, &name, source)).await?;
    let titles = titles(&web, &ctx, &newest.rows).await?;
    let mut page = Page::new(Section::Scores, name.clone());
    page.crumbs = vec![("Scores".to_owned(), ctx.to(&["scores"]))];
    let export = scores::export_link(&ctx).with("name", name.clone());
    let export = source.into_iter().fold(export, |to, source| to.with("source", source.as_str()));
    page.action = html! {
        (table_export::export_menu(&export))
        a.button href=(ctx.to(&["scores", "compare"]).with("a", name.clone())) { "Compare" }
    };
    page.body = match sample {
        None => {
            let how = html! {
                p { "Choose a longer time range, or another score." }
                p {
                    a.button href=(ctx.here().with("range", "all")) { "Show all time" } " "
                    a.button href=(ctx.to(&["scores"])) { "All scores" }
                }
            };
            empty::empty("No scores with this name in this time range", &how)
        }
        Some(sample) => {
            page.summary = summary(&sample, &ctx);
            body(&sample, source, (&newest, &titles), &ctx)
        }
    };
    Ok(page.show(&ctx))
}

fn newest(ctx: &RequestContext, name: &str, source: Option<ScoreSource>) -> ScoreQuery {
    let source = source.map(|source| Condition::equals(ScoreColumn::Source, source.as_str()));
    let environment = ctx.scope.environment.as_deref();
    let environment = environment.map(|word| Condition::equals(ScoreColumn::Environment, word));
    let cursor = ctx.params.get("cursor").map(str::to_owned);
    let name = Condition::equals(ScoreColumn::Name, name);
    ScoreQuery {
        project: ctx.project_id(),
        range: ctx.range(),
        on: ScoresOn::Anything,
        conditions: std::iter::once(name).chain(source).chain(environment).collect(),
        paging: Paging::After { cursor, limit: ROWS },
    }
}

fn summary(sample: &Sample, ctx: &RequestContext) -> Markup {
    let read = sample.judgements.len() as u64;
    let superseded = sample.judgements.iter().filter(|one| one.is_superseded).count() as u64;
    html! {
        (score_summary::total(sample.total)) " scores " (ctx.scope.span.within())
        @if sample.total > read { "; statistics use the newest " (figure::grouped(read)) }
        @if superseded > 0 { "; without " (figure::grouped(superseded)) " superseded by a newer verdict" }
        "."
    }
}

fn body(
    sample: &Sample,
    source: Option<ScoreSource>,
    (newest, titles): (&Slice<Score>, &TargetTitles),
    ctx: &RequestContext,
) -> Markup {
    let parts = score_summary::parts(sample);
    let chosen = |part: &&ScoreSummary| source.is_none_or(|source| part.source == source);
    html! {
        (tabs(&parts, source, ctx))
        @for part in parts.iter().filter(chosen) {
            section aria-label={ (score_summary::form(part.data_type)) " by " (part.decider.name())
                @if let Some(judge) = score_summary::judge_words(&part.judge) { ", " (judge.exact) } } {
                (stats(part))
                div.charts { (lies(part)) (over_time(sample, part, ctx)) }
            }
        }
        section {
            h2 { "Newest scores" }
            (list((&newest.rows, titles), NameColumn::Known, ctx))
            (table::pager(&ctx.here(), ctx.params.get("cursor").is_some(), newest.cursor.as_deref()))
        }
    }
}

fn tabs(parts: &[ScoreSummary], source: Option<ScoreSource>, ctx: &RequestContext) -> Markup {
    let here = ctx.here().without("cursor").without("source");
    let is_there = |known: &ScoreSource| {
        parts.iter().any(|part| part.source == *known) || source == Some(*known)
    };
    html! {
        nav.tabs aria-label="Source" {
            a href=(here) aria-current=[source.is_none().then_some("page")] { "All sources" }
            @for known in ScoreSource::ALL.into_iter().filter(is_there) {
                a href=(here.clone().with("source", known.as_str()))
                  aria-current=[(source == Some(known)).then_some("page")] {
                    @match score_summary::decider_of(known, parts) {
                        Some(decider) => { span class=(decider.class()) { (decider.name()) } },
                        None => { (score_summary::source_name(known)) },
                    }
                }
            }
        }
    }
}

fn stats(part: &ScoreSummary) -> Markup {
    let provenance = format!("n = {}, 95% CI", figure::grouped(part.n));
    let known = |(text, interval): (String, Option<String>)| Value::Known {
        text,
        interval,
        provenance: provenance.clone(),
    };
    let (label, value) = match &part.together {
        ScoreAggregate::Numbers(Some(mean), _) => ("Mean", known(score_summary::mean(*mean))),
        ScoreAggregate::Truths(Some(share), _) => ("True", known(score_summary::share(*share))),
        ScoreAggregate::Labels(labels) => ("Values", known((labels.len().to_string(), None))),
        ScoreAggregate::Numbers(None, _)
        | ScoreAggregate::Truths(None, _)
        | ScoreAggregate::Texts => {
            ("Mean", Value::CannotTell("not available for text scores".to_owned()))
        }
    };
    html! {
        h2 { (score_summary::judge_badge(part)) " " (score_summary::form(part.data_type)) }
        (stat::row(&[
            Stat { label: label.to_owned(), value, ..Stat::default() },
            Stat {
                label: "Scores".to_owned(),
                value: Value::of(figure::grouped(part.n), "scores in the sample"),
                ..Stat::default()
            },
        ]))
    }
}

fn lies(part: &ScoreSummary) -> Markup {
    let colour = part.decider.class();
    match &part.together {
        ScoreAggregate::Numbers(_, bins) => bars::histogram(&Spread {
            title: "Distribution",
            note: "",
            bins,
            links: Vec::new(),
            colour,
            read: figure::number,
            tall: PlotHeight::Usual,
        }),
        ScoreAggregate::Truths(Some(share), yes) => {
            let counts = [("true", *yes), ("false", share.n.saturating_sub(*yes))];
            bars::labels("Distribution", &counts, colour)
        }
        ScoreAggregate::Labels(labels) => {
            let counts: Vec<(&str, u64)> =
                labels.iter().map(|(label, count)| (label.as_str(), *count)).collect();
            bars::labels("Distribution", &counts, colour)
        }
        ScoreAggregate::Truths(None, _) | ScoreAggregate::Texts => html! {},
    }
}

/// Mean, share or counts per time bucket.
fn over_time(sample: &Sample, part: &ScoreSummary, ctx: &RequestContext) -> Markup {
    let own: Vec<&ScoreValueRow> =
        sample.judgements.iter().filter(|one| part.counts(&sample.name, one)).collect();
    let times = || own.iter().map(|one| one.timestamp);
    let (Some(first), Some(last)) = (times().min(), times().max()) else { return html! {} };
    let course = TimeBuckets::between(first, last).shown_to(&ctx.time);
    let (title, steps) = ("Over time", course.names());
    let note = format!("n = {}", figure::counted(own.len() as u64, "score"));
    let series =
        |name: &str, hue, values| Series { name: name.chars().take(14).collect(), hue, values };
    match part.data_type {
        DataType::Numeric | DataType::Boolean => {
            let numbers = own.iter().filter_map(|one| Some((one.timestamp, one.value.number()?)));
            let is_share = part.data_type == DataType::Boolean;
            let (name, read): (_, fn(f64) -> String) =
                if is_share { ("true", figure::percent) } else { ("mean", figure::number) };
            let series = vec![series(name, hue(part.decider), course.means(numbers))];
            let title = format!("{title}, {}", if is_share { "share of true" } else { "mean" });
            chart::over_time(&OverTime {
                title,
                note,
                steps,
                series,
                form: Form::Lines,
                read,
                ..OverTime::default()
            })
        }
        DataType::Categorical => {
            let ScoreAggregate::Labels(labels) = &part.together else { return html! {} };
            let of_label = |label: &str| -> Vec<(Timestamp, f64)> {
                let same = own.iter().filter(|one| one.value.text() == Some(label));
                same.map(|one| (one.timestamp, 1.0)).collect()
            };
            let series = labels.iter().take(MAX_SERIES).enumerate().map(|(hue, (label, _))| {
                series(label, hue, course.sums(of_label(label).into_iter()))
            });
            let (title, series, read) =
                (format!("{title}, values"), series.collect(), figure::number);
            chart::over_time(&OverTime {
                title,
                note,
                steps,
                series,
                form: Form::Bars,
                read,
                ..OverTime::default()
            })
        }
        DataType::Text | DataType::Correction => html! {},
    }
}

/// Color of a score source.
const fn hue(decider: Decider) -> usize {
    match decider {
        Decider::Code => 0,
        Decider::Model => 1,
        Decider::Human => 2,
    }
}

/// Reads what the targets of scores are called.
pub(super) async fn titles(
    web: &Web,
    ctx: &RequestContext,
    scores: &[Score],
) -> PageResult<TargetTitles> {
    let (mut sessions, mut traces) = (BTreeSet::new(), BTreeSet::new());
    for score in scores {
        match &score.target {
            ScoreTarget::Session(session) => drop(sessions.insert(session.clone())),
            ScoreTarget::Trace(trace) => drop(traces.insert(trace.clone())),
            ScoreTarget::Observation(_, _) | ScoreTarget::DatasetRun(_) => {}
        }
    }
    let source = Source::Local(web.store.telemetry.clone(), ctx.project_id());
    let sessions = session_titles(&source, sessions.into_iter().collect()).await;
    let found = web.store.telemetry.find_traces(ctx.project_id(), traces.into_iter().collect());
    let named = found.await?.into_iter().filter_map(|trace| Some((trace.id, trace.name?)));
    Ok(TargetTitles {
        sessions: sessions.map_err(|why| refused(why.into()))?,
        traces: named.collect(),
    })
}

/// Whether a list of scores has a column with their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameColumn {
    Shown,
    /// All have the same.
    Known,
}

pub(super) fn list(
    (scores, titles): (&[Score], &TargetTitles),
    names: NameColumn,
    ctx: &RequestContext,
) -> Markup {
    let named = |score: &Score| {
        html! {
            a href=(score_summary::link(ctx, &score.name)) { bdi { (elide(&score.name, 80)) } }
        }
    };
    let name = (names == NameColumn::Shown).then(|| Column::text("Name"));
    let others = [
        Column::text("Value"),
        Column::text("Source"),
        Column::text("Target"),
        Column::wide("Comment"),
        Column::text("Author"),
        Column::number("Time"),
    ];
    let columns = name.into_iter().chain(others).collect();
    let cells = |score: &Score| {
        [
            html! { bdi { (elide(&score_summary::value(&score.value), 200)) } },
            badge::decided(score_summary::decider(score), &score_summary::judge_name(score)),
            score_summary::target(&score.target, titles, ctx),
            html! { @if let Some(comment) = &score.comment {
                @let comment = elide(comment, 500);
                span title=(comment) { bdi { (comment) } }
            } },
            html! { @if let Some(author) = &score.author { bdi { (elide(author, 60)) } } },
            figure::when(score.timestamp, &ctx.time),
        ]
    };
    let row = |score: &Score| Row {
        id: score.id.to_string(),
        link: None,
        cells: (names == NameColumn::Shown)
            .then(|| named(score))
            .into_iter()
            .chain(cells(score))
            .collect(),
        failed: false,
    };
    let rows = scores.iter().map(row).collect();
    table::table(&Table { caption: "Newest scores".to_owned(), columns, rows, select_for: None })
}
