use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;
use maud::{Markup, html};
use ratchet_core::calendar::{Week, Zone};
use ratchet_core::quality::report::{WeekReport, advice_words, counted, judge_words};
use ratchet_core::quality::synthesis::{CommonIssue, Outlier};
use ratchet_store::catalog::KeptSuggestion;

use super::{dimensions, read, success, suggestions};
use crate::components::chart::{self, OverTime, Series};
use crate::components::stat::{self, Stat, Value};
use crate::components::{alarm, badge, figure, toast};
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

/// Sessions that an issue or a list of outliers shows.
const SHOWN: usize = 12;

pub(super) fn routes() -> Router<Web> {
    Router::new().route("/project/{project}/reports/{week}", get(show))
}

async fn show(
    State(web): State<Web>,
    place: RequestContext,
    Path((_, week)): Path<(String, String)>,
) -> PageResult<Markup> {
    let catalog = &web.store.catalog;
    let kept = catalog.report(place.project_id(), week).await?;
    let kept = kept.ok_or_else(|| PageError::not_there("report"))?;
    let report = read(&kept).ok_or_else(|| PageError::not_there("report"))?;
    let tracked = catalog.suggestions(place.project_id()).await?;
    let mut page =
        Page::new(Section::Quality, format!("Week {} to {}", report.week, report.last_day));
    page.crumbs = vec![("Quality".to_owned(), Section::Quality.link(&place))];
    page.summary = html! { (report.headline()) };
    let weeks = catalog.reports(place.project_id()).await?;
    let weeks: Vec<String> = weeks.into_iter().map(|kept| kept.week).collect();
    page.action = neighbours(&report, &weeks, &place);
    page.body = html! {
        @if let Some(done) = place.params.get("done").and_then(suggestions::done_words) {
            (toast::toast(done))
        }
        (body(&report, &tracked, &place))
        p.muted { "Rubric " (report.rubric) ", time zone " (report.zone)
            ". Created " (figure::when(kept.created_at, place.now)) ", updated "
            (figure::when(kept.updated_at, place.now)) "." }
    };
    Ok(page.show(&place))
}

/// The reports before and after, of all weeks from the newest to the oldest.
fn neighbours(report: &WeekReport, weeks: &[String], place: &RequestContext) -> Markup {
    let at = weeks.iter().position(|week| *week == report.week);
    let before = at.and_then(|at| weeks.get(at + 1));
    let after = at.and_then(|at| weeks.get(at.checked_sub(1)?));
    let link = |week: &String| place.to(&["reports", week]);
    html! {
        @if before.is_some() || after.is_some() {
            nav.segments aria-label="Weeks" {
                @if let Some(week) = before { a href=(link(week)) { "Previous week" } }
                @if let Some(week) = after { a href=(link(week)) { "Next week" } }
            }
        }
    }
}

fn body(report: &WeekReport, tracked: &[KeptSuggestion], place: &RequestContext) -> Markup {
    html! {
        (alarm::drift(&report.drift))
        @if let Some(words) = judge_words(report) { p.muted { bdi { (words) } } }
        (stat::row(&figures(report)))
        section.report-part { h2 { "Dimensions" } (dimensions::table(report)) (course(report)) }
        section.report-part {
            h2 { "Outliers" }
            (outliers("High outliers (above 0.85)", &report.synthesis.excellent, place))
            (outliers("Low outliers (below 0.5)", &report.synthesis.poor, place))
        }
        section.report-part {
            h2 { "Common issues" }
            @if report.synthesis.issues.is_empty() {
                p.muted { "No issues shared by sessions below 0.7." }
            } @else {
                ol.issues { @for issue in &report.synthesis.issues { (shared(issue, place)) } }
            }
        }
        section.report-part #suggestions {
            h2 { "Suggestions" }
            @if let Some(words) = advice_words(report) { p.muted { bdi { (short(&words)) } } }
            @if report.suggestions.is_empty() {
                p.muted { "None: every dimension is at 0.7 or above, and there are no common issues." }
            }
            @for suggestion in &report.suggestions {
                (suggestions::card(suggestion, suggestions::newest(tracked, suggestion), place))
            }
        }
        section.report-part { h2 { "Success metrics" } (success::table(&report.success)) }
    }
}

fn figures(report: &WeekReport) -> Vec<Stat> {
    let synthesis = &report.synthesis;
    let provenance = format!("mean of {}", counted(synthesis.sessions, "session"));
    let counts = [
        ("Sessions scored", synthesis.sessions),
        ("High outliers", synthesis.excellent.len()),
        ("Low outliers", synthesis.poor.len()),
        ("Suggestions", report.suggestions.len()),
    ];
    let overall = dimensions::stat(&synthesis.overall, "Overall quality", &provenance);
    let counts = counts.map(|(label, count)| Stat {
        label: label.to_owned(),
        value: Value::of(figure::grouped(count as u64), "this week"),
        ..Stat::default()
    });
    std::iter::once(overall).chain(counts).collect()
}

/// Every dimension over the weeks.
pub(super) fn course(report: &WeekReport) -> Markup {
    let weeks = report.synthesis.overall.history.len();
    let seen = report.synthesis.overall.history.iter().flatten().count();
    if seen < 2 {
        return html! { p.muted { "Trend appears after two weeks." } };
    }
    let zone = Zone::parse(&report.zone).unwrap_or_else(|_| Zone::utc());
    let Ok(last) = Week::parse(&report.week, &zone) else { return html! {} };
    let mut steps: Vec<String> = std::iter::successors(Some(last), |week| Some(week.before()))
        .take(weeks)
        .map(|week| week.to_string())
        .collect();
    steps.reverse();
    let series = report.synthesis.dimensions.iter().take(6).enumerate();
    let series = series.map(|(hue, standing)| Series {
        name: standing.name.clone(),
        hue,
        values: standing.history.clone(),
    });
    chart::over_time(&OverTime {
        title: "Dimensions by week".to_owned(),
        note: format!("mean of the week's sessions, {}", counted(seen, "week")),
        steps,
        series: series.collect(),
        ..OverTime::default()
    })
}

fn outliers(title: &str, outliers: &[Outlier], place: &RequestContext) -> Markup {
    html! {
        h3 { (title) " " span.muted { (outliers.len()) } }
        @if outliers.is_empty() { p.muted { "None." } } @else {
            ul.chips.outliers {
                @for outlier in outliers.iter().take(SHOWN) {
                    li { a href=(place.to(&["sessions", &outlier.session])) title=(short(&outlier.session)) {
                        bdi { (short(&outlier.session)) } span.num { (format!("{:.2}", outlier.overall)) }
                    } }
                }
                @if outliers.len() > SHOWN { li.muted { (outliers.len() - SHOWN) " more" } }
            }
        }
    }
}

fn shared(issue: &CommonIssue, place: &RequestContext) -> Markup {
    html! {
        li {
            p { bdi { (short(&issue.title)) } }
            p.muted {
                (badge::tag(&issue.dimension)) " in " (counted(issue.sessions.len(), "session"))
                ", " (counted(issue.count, "occurrence")) ". "
            }
            details {
                summary { "Example and affected sessions" }
                blockquote { bdi { (ratchet_core::record::limit::elide(&issue.example.rationale, 1_000)) } }
                (sessions(&issue.sessions, place))
            }
        }
    }
}

pub(super) fn sessions(sessions: &[String], place: &RequestContext) -> Markup {
    html! {
        ul.chips {
            @for session in sessions.iter().take(SHOWN) {
                li { a href=(place.to(&["sessions", session])) { bdi { (short(session)) } } }
            }
            @if sessions.len() > SHOWN { li.muted { (sessions.len() - SHOWN) " more" } }
        }
    }
}

/// A text that fits a line or two.
fn short(text: &str) -> String {
    ratchet_core::record::limit::elide(text, 300).into_owned()
}
