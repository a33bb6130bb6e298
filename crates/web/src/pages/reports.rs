//! Weekly reports: quality, suggestions and success metrics.

/// One week.
mod week;
mod dimensions;
/// Agents, environments and releases.
mod agents;
/// Reports on a release, a prompt version, a tag or a user.
mod part;
/// Sessions by their first request.
mod sessions;
/// What could be changed, and how far that is.
mod suggestions;
mod success;
mod schedules;
/// A run of the offline judge, started from a page.
pub(super) mod score_now;
/// A page that needs no server.
mod standalone;
mod improvement;
/// The weekly document as e-mail.
mod mail;

use std::collections::BTreeSet;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use maud::{Markup, html};
use ratchet_core::calendar::{Week, Zone};
use ratchet_core::counted::counted;
use ratchet_core::quality::report::{WeekReport, change_words, interval_words};
use ratchet_core::quality::suggestion::Progress;
use ratchet_core::quality::synthesis::{Basis, JudgeVersion, WeekFinding};
use ratchet_stages::review::weekly_metrics;
use ratchet_store::catalog::{StoredReport, StoredSuggestion};

use crate::components::chart::{self, OverTime, Series};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{copy, empty, figure};
use crate::filter::{Filter, Pattern, RecordField, Term, TermCondition};
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
use crate::request_context::{Link, RequestContext};
use crate::scope::Span;
use crate::web::Web;
pub(super) use agents::is_in_scope;
pub(super) use dimensions::stat as overall_stat;
pub use mail::mail_document;
pub(super) use ratchet_core::quality::report::judge_words;
pub use standalone::{feedback_document, report_document};

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/reports", get(list))
        .merge(week::routes())
        .merge(suggestions::routes())
        .merge(success::routes())
        .merge(schedules::routes())
        .merge(score_now::routes())
}

/// Weeks of the chart at most: two years.
const MAX_DRAWN_WEEKS: usize = 104;

/// The tabs of the reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tab {
    Weeks,
    Suggestions,
    Success,
    Schedules,
}

impl Tab {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Weeks, "Weeks"),
        (Self::Suggestions, "Suggestions"),
        (Self::Success, "Success metrics"),
        (Self::Schedules, "Schedules"),
    ];

    fn link(self, ctx: &RequestContext) -> Link {
        match self {
            Self::Weeks => ctx.to(&["reports"]),
            Self::Suggestions => ctx.to(&["reports", "suggestions"]),
            Self::Success => ctx.to(&["reports", "success"]),
            Self::Schedules => ctx.to(&["reports", "schedules"]),
        }
    }
}

/// The way from one tab to the others.
fn tabs(ctx: &RequestContext, here: Tab) -> Markup {
    html! {
        nav.segments aria-label="Quality" {
            @for (tab, name) in Tab::ALL {
                a href=(tab.link(ctx)) aria-current=[(tab == here).then_some("page")] { (name) }
            }
        }
    }
}

async fn list(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let catalog = &web.store.catalog;
    let kept = catalog.reports(ctx.project_id()).await?;
    let reports: Vec<(&StoredReport, WeekReport)> =
        kept.iter().filter_map(|kept| Some((kept, read(kept)?))).collect();
    let tracked = catalog.suggestions(ctx.project_id()).await?;
    let mut page = Page::new(Section::Quality, "Quality");
    page.summary = match reports.first() {
        Some((_, last)) => html! {
            "Week " (last.week) ": "
            @if let Some(lead) = last.lead() { (lead) " " }
            (last.headline())
        },
        None => html! { "Weekly reports on scored sessions." },
    };
    page.action = tabs(&ctx, Tab::Weeks);
    let zone = weekly_metrics::zone(&web.review_site(&ctx.project_id())?).await?;
    let last = Week::last_ended(ctx.now, &zone);
    let improvements = html! {
        p { a href=(week::improvements_link(&ctx, &last)) {
            "Proposals and events of the week of " (last.days().0)
        } }
    };
    page.body = if reports.is_empty() {
        html! { (nothing(&ctx)) (improvements) }
    } else {
        html! { (course(&reports)) (improvements) (open(&tracked, &ctx)) (weeks(&reports, &ctx)) }
    };
    Ok(page.show(&ctx))
}

/// The stored report; `None` if it has the format of an incompatible version.
fn read(kept: &StoredReport) -> Option<WeekReport> {
    serde_json::from_str(kept.document.as_str()).ok()
}

/// The newest report of a project.
pub(super) async fn newest(web: &Web, ctx: &RequestContext) -> PageResult<Option<WeekReport>> {
    let kept = web.store.catalog.reports(ctx.project_id()).await?;
    Ok(kept.iter().find_map(read))
}

/// Link to the failed calls of what fell: the agent, its environment and, if known, its release.
pub(super) fn failed_calls(
    ctx: &RequestContext,
    report: &WeekReport,
    finding: &WeekFinding,
) -> Link {
    let release = match &finding.basis {
        Basis::Release(release) => Some(release.name.as_str()),
        Basis::Week | Basis::Prompt(_) => None,
    };
    failed_calls_of(ctx, report, (finding.agent.as_deref(), &finding.environment, release))
}

fn failed_calls_of(
    ctx: &RequestContext,
    report: &WeekReport,
    (agent, environment, release): (Option<&str>, &str, Option<&str>),
) -> Link {
    let failed = leaf(RecordField::Level, "error");
    let terms = std::iter::once(failed).chain(release.map(|name| leaf(RecordField::Release, name)));
    let filter = Filter { terms: terms.collect() };
    let link = ctx.to(&["observations"]).with("q", filter.to_string()).with("env", environment);
    let link = agent.into_iter().fold(link, |link, name| link.with("agent", name));
    // Releases are compared over this week and the previous one.
    let zone = Zone::parse(&report.zone).unwrap_or_else(|_| Zone::utc());
    match Week::parse(&report.week, &zone) {
        Ok(week) => link.with("range", Span::Between(week.before().start(), week.end()).word()),
        Err(_) => link,
    }
}

fn leaf(field: RecordField, word: &str) -> Term {
    Term {
        negated: false,
        what: TermCondition::Word(field, Pattern::Exactly(vec![word.to_owned()])),
    }
}

/// Overall quality by calendar week, with a line for each judge: scores of different ones are not
/// compared.
fn course(reports: &[(&StoredReport, WeekReport)]) -> Markup {
    if reports.len() < 2 {
        return html! {};
    }
    let steps = calendar_weeks(reports);
    let judges: BTreeSet<&JudgeVersion> =
        reports.iter().map(|(_, report)| &report.synthesis.judge).collect();
    let words: Vec<String> = judges.iter().map(|judge| judge.words()).collect();
    let series = judges.iter().enumerate().map(|(index, judge)| {
        let mean = |week: &String| {
            let is_it =
                |report: &&WeekReport| report.week == *week && report.synthesis.judge == **judge;
            reports.iter().map(|(_, report)| report).find(is_it)?.synthesis.overall.mean()
        };
        let plain = judge.words();
        let is_alone = words.iter().filter(|other| **other == plain).count() == 1;
        let name = if is_alone { plain } else { judge.exact_words() };
        Series { name, hue: (index + 1) % chart::FAILED, values: steps.iter().map(mean).collect() }
    });
    let series: Vec<Series> = series.collect();
    chart::over_time(&OverTime {
        title: chart::named("Overall quality by week", &series),
        note: format!("mean of the week's sessions, {}", counted(reports.len(), "report")),
        steps,
        series,
        ..OverTime::default()
    })
}

/// The weeks from the oldest report to the newest one, those without a report included.
fn calendar_weeks(reports: &[(&StoredReport, WeekReport)]) -> Vec<String> {
    let days = || reports.iter().map(|(_, report)| &report.week);
    let (Some(oldest), Some((_, newest))) = (days().min(), reports.first()) else {
        return Vec::new();
    };
    let zone = Zone::parse(&newest.zone).unwrap_or_else(|_| Zone::utc());
    let last = days().max().and_then(|day| Week::parse(day, &zone).ok());
    let weeks = std::iter::successors(last, |week| Some(week.before())).map(|week| week.days().0);
    let weeks = weeks.take_while(|day| day >= oldest).take(MAX_DRAWN_WEEKS);
    let mut weeks: Vec<String> = weeks.collect();
    weeks.reverse();
    weeks
}

/// What waits for a decision.
fn open(tracked: &[StoredSuggestion], ctx: &RequestContext) -> Markup {
    let open = tracked.iter().filter(|kept| kept.progress == Progress::Open).count();
    html! {
        @if open > 0 {
            p { a href=(Tab::Suggestions.link(ctx)) {
                (counted(open, "suggestion")) " waiting for a decision"
            } }
        }
    }
}

fn weeks(reports: &[(&StoredReport, WeekReport)], ctx: &RequestContext) -> Markup {
    let columns = vec![
        Column::text("Week"),
        Column::number("Sessions"),
        Column::number("Overall"),
        Column::text("95% CI"),
        Column::text("Judge"),
        Column::wide("vs. previous week"),
        Column::number("Suggestions"),
        Column::text("Created"),
    ];
    let row = |(kept, report): &(&StoredReport, WeekReport)| {
        let overall = &report.synthesis.overall;
        let mean = overall.mean().map(|mean| format!("{mean:.2}"));
        let interval = overall.marks.map(|marks| interval_words(marks.interval));
        Row {
            id: report.week.clone(),
            link: Some(ctx.to(&["reports", &report.week])),
            cells: vec![
                html! { (report.week) " to " (report.last_day) },
                html! { (figure::grouped(report.synthesis.sessions as u64)) },
                html! { (mean.as_deref().unwrap_or("–")) },
                html! { span.muted { (interval.unwrap_or_default()) } },
                judge_cell(&report.synthesis.judge),
                html! { (change_words(&overall.change)) },
                html! { (report.suggestions.len()) },
                figure::ago(kept.updated_at, &ctx.time),
            ],
            failed: false,
        }
    };
    let rows = reports.iter().map(row).collect();
    table::table(&Table { caption: "Weeks".to_owned(), columns, rows, select_for: None })
}

/// Who judged; nothing in reports that do not say.
fn judge_cell(judge: &JudgeVersion) -> Markup {
    html! {
        @if judge.judge.is_empty() { span.muted { "–" } }
        @else { span.muted title=(judge.exact_words()) { bdi { (judge.words()) } } }
    }
}

/// Link to the schedules.
pub(super) fn schedules(ctx: &RequestContext) -> Link {
    Tab::Schedules.link(ctx)
}

fn nothing(ctx: &RequestContext) -> Markup {
    let how = html! {
        p { "A report shows the mean of each dimension, changes vs. the previous week, outliers, "
            "common issues and suggestions. "
            "The server creates one every Sunday at 02:00. Score the last 7 days now, or create a report from a shell:" }
        (score_now::button(ctx))
        (copy::snippet(&format!("{}\n{}", ctx.command("score --days 7"), ctx.command("week --of today"))))
    };
    empty::empty("No reports yet", &how)
}
