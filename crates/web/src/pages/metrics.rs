//! Weekly review metrics: raw and weighted, with intervals and targets.

use axum::Router;
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use maud::{Markup, html};
use ratchet_core::calendar::Week;
use ratchet_core::review::metrics::{Basis, EstimateView, MetricName, Standing, WeeklyMetric};
use ratchet_core::review::phase_rules::RuleState;
use ratchet_core::review::weekly::{
    MonthAccuracy, WeeklyMetrics, change_text, interval_text, value_text,
};
use ratchet_stages::review::review_site::ReviewSite;
use ratchet_stages::review::weekly_metrics::{self, MetricsFilter};

use crate::components::chart::{self, OverTime, Series};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{copy, empty, figure};
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::pages::reports;
use crate::request_context::{Link, RequestContext};
use crate::web::Web;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/metrics", get(show))
        .route("/project/{project}/metrics/week.csv", get(export))
}

/// The week and the part of the traffic that the address names, with their metrics.
pub(super) async fn of_address(
    web: &Web,
    ctx: &RequestContext,
) -> PageResult<(Week, WeeklyMetrics)> {
    let site = web.review_site(&ctx.project_id())?;
    let week = week_of(&site, ctx).await?;
    let metrics = weekly_metrics::metrics(&site, &week, &filter(ctx)).await?;
    Ok((week, metrics))
}

/// The week that the address names; the default one without.
pub(super) async fn week_of(site: &ReviewSite, ctx: &RequestContext) -> PageResult<Week> {
    let zone = weekly_metrics::zone(site).await?;
    match ctx.params.get("week") {
        Some(day) => Week::parse(day, &zone).map_err(|why| PageError::Bad(why.to_string())),
        None => Ok(weekly_metrics::default_week(site, (&zone, ctx.now)).await?),
    }
}

/// The part of the traffic that the address names.
pub(super) fn filter(ctx: &RequestContext) -> MetricsFilter {
    MetricsFilter {
        agent: ctx.scope.agent.clone(),
        environment: ctx.scope.environment.clone(),
        release: ctx.params.get("release").map(str::to_owned),
    }
}

/// A field for the release, beside the agent and environment of every page.
pub(super) fn release_form(ctx: &RequestContext) -> Markup {
    let here = ctx.here().without("release");
    html! {
        form.search method="get" action=(here.path()) {
            @for (name, value) in here.pairs() { input type="hidden" name=(name) value=(value); }
            label for="release" { "Release" }
            input #release name="release" value=(ctx.params.get("release").unwrap_or_default())
                  placeholder="all releases";
            button.button type="submit" { "Apply" }
        }
    }
}

/// Which week it is, and links to its neighbours.
pub(super) fn weeks(week: &Week, ctx: &RequestContext) -> Markup {
    let (first, last) = week.days();
    let to = |week: &Week| ctx.here().with("week", week.to_string());
    html! {
        p.muted {
            a href=(to(&week.before())) rel="prev" { "Previous week" }
            " · " (first) " to " (last) " (" (week.zone().name()) ")"
            @if week.end() <= ctx.now { " · " a href=(to(&week.after())) rel="next" { "Next week" } }
        }
    }
}

/// How far the review of the sample is.
pub(super) fn sample(metrics: &WeeklyMetrics) -> Markup {
    html! {
        (figure::counted(metrics.traces, "trace")) ". "
        @match metrics.basis {
            Basis::Drawn => {
                (figure::grouped(metrics.drawn_reviewed)) " of " (figure::grouped(metrics.drawn))
                " drawn traces reviewed"
                @if metrics.provisional { " (provisional)" } "."
            },
            Basis::Chosen => {
                "No sample was drawn: weighted values assume that reviewed traces are typical of their category."
            },
        }
    }
}

async fn export(State(web): State<Web>, ctx: RequestContext) -> PageResult<Response> {
    let (week, metrics) = of_address(&web, &ctx).await?;
    let name = format!("attachment; filename=\"metrics-{week}.csv\"");
    let head = [(CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()), (CONTENT_DISPOSITION, name)];
    Ok((head, metrics.to_csv()).into_response())
}

async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let (week, metrics) = of_address(&web, &ctx).await?;
    let site = web.review_site(&ctx.project_id())?;
    let months = weekly_metrics::months(&site, &filter(&ctx)).await?;
    let mut page = Page::new(Section::Metrics, "Metrics");
    page.summary = sample(&metrics);
    let csv = to(&ctx, &["metrics", "week.csv"], &week);
    page.action = html! { a.button href=(csv) { "Export CSV" } };
    page.body = html! {
        (release_form(&ctx))
        (weeks(&week, &ctx))
        @if metrics.traces == 0 { (nothing(&ctx)) } @else {
            (figures(&metrics))
            (reasons(&metrics))
            (signals(&metrics))
            (judge(&metrics))
        }
        (by_month(&months))
    };
    Ok(page.show(&ctx))
}

fn nothing(ctx: &RequestContext) -> Markup {
    let how = html! {
        p {
            "Every Monday at 06:00 Ratchet draws traces of the week before for review. Answers of reviewers "
            "become weekly figures here, weighted so that they stand for all traffic."
        }
        (copy::snippet(&ctx.command("schedule run review")))
        p { a.button href=(reports::schedules(ctx)) { "Schedules" } }
    };
    empty::empty("No traces in this week", &how)
}

fn known(name: MetricName, value: Option<f64>) -> Markup {
    html! { @match value { Some(value) => (value_text(name, value)), None => span.muted { "–" } } }
}

/// A value with its interval and the number of reviews behind it.
fn weighted(name: MetricName, value: &EstimateView) -> Markup {
    let title = value.reason.clone().unwrap_or_else(|| format!("n = {}", value.n));
    html! {
        span title=(title) {
            b { (known(name, value.value)) }
            @if let Some(ends) = value.interval.filter(|_| !name.is_count()) {
                " " span.muted { "(" (interval_text(name, ends)) ")" }
            }
        }
    }
}

/// The share of traffic that a figure stands for.
fn represents(value: &EstimateView) -> Markup {
    html! {
        @match value.represents {
            Some(part) => (figure::percent(part)),
            None => span.muted { "–" },
        }
    }
}

fn standing(standing: Standing) -> Markup {
    html! {
        @match standing {
            Standing::Met => { span.badge.good { "met" } },
            Standing::NotMet => { span.badge.bad { "not met" } },
            Standing::CannotTell => { span.badge.warn { "cannot tell" } },
        }
    }
}

fn figures(metrics: &WeeklyMetrics) -> Markup {
    let row = |metric: &WeeklyMetric| {
        let name = metric.name;
        let previous = metric.previous.as_ref().and_then(|previous| previous.value);
        Row {
            id: name.as_str().to_owned(),
            link: None,
            cells: vec![
                html! { (name.title()) },
                weighted(name, &metric.weighted),
                html! { (figure::grouped(metric.weighted.n)) },
                represents(&metric.weighted),
                html! {
                    @if let Some(predicted) = &metric.prediction_powered {
                        (weighted(name, predicted))
                        @if predicted.represents.is_some() {
                            " " span.muted {
                                @if predicted.interval.is_none() { "no interval: too few reviews; " }
                                "of " (represents(predicted)) " of traffic"
                            }
                        }
                    }
                },
                known(name, metric.raw.value),
                known(name, previous),
                change(metric),
                html! { "≥ " (value_text(name, metric.target)) },
                standing(metric.standing),
            ],
            failed: false,
        }
    };
    let columns = vec![
        Column::text("Metric"),
        Column::text("Weighted (95% CI)"),
        Column::number("n"),
        Column::number("Represents"),
        Column::text("With judge scores (PPI)"),
        Column::number("Raw sample"),
        Column::number("Previous week"),
        Column::text("Change"),
        Column::number("Target"),
        Column::text("Standing"),
    ];
    let rows = metrics.metrics.iter().map(row).collect();
    let table = Table { caption: "Weekly metrics".to_owned(), columns, rows, select_for: None };
    html! {
        (table::table(&table))
        p.muted {
            "Weighted: each reviewed trace counts for the traces it was drawn from, judged by people. "
            "Represents: the share of traces that the figure stands for. "
            "Raw sample: reviewed traces as they are; biased, because disagreements are reviewed more often."
        }
    }
}

fn change(metric: &WeeklyMetric) -> Markup {
    html! {
        @if let Some(change) = metric.change {
            (change_text(metric.name, change.value))
            @if !metric.name.is_count() {
                " " span.muted { @if change.signal { "signal" } @else { "within noise" } }
            }
        } @else { span.muted { "–" } }
    }
}

/// Why figures are missing.
fn reasons(metrics: &WeeklyMetrics) -> Markup {
    let missing = metrics.metrics.iter().filter_map(|metric| {
        metric.weighted.reason.as_ref().map(|reason| (metric.name.title(), reason))
    });
    let missing: Vec<_> = missing.collect();
    html! {
        @if !missing.is_empty() {
            ul { @for (title, reason) in missing { li { b { (title) } ": " (reason) "." } } }
        }
    }
}

fn signals(metrics: &WeeklyMetrics) -> Markup {
    let open = metrics
        .signals
        .iter()
        .filter(|signal| matches!(signal.state, RuleState::On | RuleState::Possible));
    let open: Vec<_> = open.collect();
    html! {
        h2 { "Back to experiments" }
        @if open.is_empty() { p.muted { "No rule applies to this week." } }
        @else {
            ul {
                @for signal in open {
                    li {
                        @if signal.state == RuleState::On { span.badge.bad { "on" } }
                        @else { span.badge.warn { "possible" } }
                        " " b { (signal.title) }
                        @if !signal.found.is_empty() { ": " bdi { (signal.found.join(", ")) } }
                        ". " (signal.action)
                    }
                }
            }
        }
    }
}

fn judge(metrics: &WeeklyMetrics) -> Markup {
    let about = [
        "correct traces that the judge calls good",
        "wrong traces that the judge calls bad",
        "agent accuracy by the judge's verdicts, corrected for its errors (Rogan–Gladen)",
    ];
    html! {
        h2 { "Judge" }
        dl.facts {
            @for ((_, name, value), about) in metrics.judge.figures().into_iter().zip(about) {
                dt { (name) }
                dd {
                    (weighted(MetricName::JudgeAccuracy, value)) " " span.muted { (about) }
                    @if let Some(reason) = &value.reason { span.muted { ": " (reason) } }
                }
            }
        }
    }
}

fn by_month(months: &[MonthAccuracy]) -> Markup {
    if months.is_empty() {
        return html! {};
    }
    let name = MetricName::AgentAccuracy;
    let row = |month: &MonthAccuracy| Row {
        id: month.month.clone(),
        link: None,
        cells: vec![
            html! { (month.month) },
            weighted(name, &month.agent_accuracy),
            represents(&month.agent_accuracy),
            weighted(name, &month.judge_accuracy),
            represents(&month.judge_accuracy),
            html! { (figure::grouped(month.reviewed)) },
            html! { (figure::grouped(month.dataset_size)) },
        ],
        failed: false,
    };
    let columns = vec![
        Column::text("Month"),
        Column::text("Agent accuracy (95% CI)"),
        Column::number("Represents"),
        Column::text("Judge accuracy (95% CI)"),
        Column::number("Represents"),
        Column::number("Traces reviewed"),
        Column::number("Dataset size"),
    ];
    let rows = months.iter().rev().map(row).collect();
    let table = Table { caption: "By month".to_owned(), columns, rows, select_for: None };
    let of = |series: &str, hue: usize, value: fn(&MonthAccuracy) -> Option<f64>| Series {
        name: series.to_owned(),
        hue,
        values: months.iter().map(value).collect(),
    };
    let drawing = OverTime {
        title: "Agent and judge accuracy".to_owned(),
        note: "weighted, by month of the week's first day".to_owned(),
        steps: months.iter().map(|month| month.month.clone()).collect(),
        series: vec![
            of("Agent", 0, |month| month.agent_accuracy.value),
            of("Judge", 1, |month| month.judge_accuracy.value),
        ],
        read: figure::percent,
        ..OverTime::default()
    };
    html! {
        h2 { "By month" }
        (table::table(&table))
        @if months.len() > 1 { (chart::over_time(&drawing)) }
    }
}

/// A link to the metrics of a week.
pub(super) fn link(ctx: &RequestContext, week: &Week) -> Link {
    to(ctx, &["metrics"], week)
}

/// A link to a page about the same week and traffic.
pub(super) fn to(ctx: &RequestContext, segments: &[&str], week: &Week) -> Link {
    let link = ctx.to(segments).with("week", week.to_string());
    match ctx.params.get("release") {
        Some(release) => link.with("release", release),
        None => link,
    }
}
