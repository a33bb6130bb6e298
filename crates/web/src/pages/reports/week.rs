use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;
use maud::{Markup, html};
use ratchet_core::calendar::{Week, Zone};
use ratchet_core::counted::counted;
use ratchet_core::quality::report::{
    WeekReport, advice_words, also_words, issues_of_words, judge_words, left_out_words, share_agent,
};
use ratchet_core::quality::suggestion::Suggestion;
use ratchet_core::quality::synthesis::{CommonIssue, IssueShare};
use ratchet_stages::review::weekly_metrics;
use ratchet_store::catalog::StoredSuggestion;

use super::suggestions::ShownSessions;
use super::{agents, dimensions, improvement, part, read, sessions, success, suggestions};
use crate::components::chart::{self, OverTime, Series};
use crate::components::stat::{self, Stat, Value};
use crate::components::{alarm, badge, figure, toast};
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::request_context::{Link, RequestContext};
use crate::web::Web;

/// The parameter that chooses a part of the document.
const PART: &str = "part";
const IMPROVEMENTS: &str = "improvements";

pub(super) fn routes() -> Router<Web> {
    Router::new().route("/project/{project}/reports/{week}", get(show))
}

async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, week)): Path<(String, String)>,
) -> PageResult<Markup> {
    let catalog = &web.store.catalog;
    let kept = catalog.report(ctx.project_id(), week.clone()).await?;
    if ctx.params.get(PART) == Some(IMPROVEMENTS) {
        return improvements(&web, &ctx, (&week, kept.is_some())).await;
    }
    let kept = kept.ok_or_else(|| PageError::not_there("report"))?;
    let whole = read(&kept).ok_or_else(|| PageError::not_there("report"))?;
    let scope = part::asked(&ctx);
    let report = match scope.clone() {
        Some(scope) => part::report(&web, &ctx, &whole, scope).await?,
        None => whole.clone(),
    };
    let tracked = catalog.suggestions(ctx.project_id()).await?;
    let mut page =
        Page::new(Section::Quality, format!("Week {} to {}", report.week, report.last_day));
    page.crumbs = vec![("Quality".to_owned(), Section::Quality.link(&ctx))];
    let chosen = agents::chosen(&report, &ctx);
    let all = || report.summary().join(" ");
    let first = chosen.as_deref().map_or_else(all, |agents| agents::summary(&report, agents, &ctx));
    page.summary = html! { bdi { (first) } };
    let weeks = catalog.reports(ctx.project_id()).await?;
    let weeks: Vec<String> = weeks.into_iter().map(|kept| kept.week).collect();
    page.action = neighbours(&report, &weeks, &ctx);
    page.body = html! {
        @if let Some(done) = ctx.params.get("done").and_then(suggestions::done_words) {
            (toast::toast(done))
        }
        (parts(&whole.week, &ctx))
        (part::choice(&whole, scope.as_ref(), &ctx))
        (body(&report, &tracked, &ctx))
        p.muted { "Rubric " (report.rubric) ", time zone " (report.zone)
            ". Created " (figure::when(kept.created_at, &ctx.time)) ", updated "
            (figure::when(kept.updated_at, &ctx.time)) "." }
    };
    Ok(page.show(&ctx))
}

/// The part of the document about proposals. It needs no scored sessions.
async fn improvements(
    web: &Web,
    ctx: &RequestContext,
    (day, has_quality): (&str, bool),
) -> PageResult<Markup> {
    let site = web.review_site(&ctx.project_id())?;
    let zone = weekly_metrics::zone(&site).await?;
    let week = Week::parse(day, &zone).map_err(|_| PageError::not_there("report"))?;
    let report = improvement::make(web, ctx, &week).await?;
    let (first, last) = week.days();
    let mut page = Page::new(Section::Quality, format!("Week {first} to {last}"));
    page.crumbs = vec![("Quality".to_owned(), Section::Quality.link(ctx))];
    page.summary = html! { bdi { (improvement::summary(&report)) } };
    page.action = html! {
        nav.segments aria-label="Weeks" {
            a href=(improvements_link(ctx, &week.before())) { "Previous week" }
            @if week.end() <= ctx.now {
                a href=(improvements_link(ctx, &week.after())) { "Next week" }
            }
        }
    };
    page.body = html! {
        @if has_quality { (parts(&first, ctx)) }
        (improvement::sections(&report, Some(ctx)))
        p.muted { "Made from the traces, scores and reviews of now, time zone " (zone.name()) "." }
    };
    Ok(page.show(ctx))
}

/// Link to the part about proposals.
pub(super) fn improvements_link(ctx: &RequestContext, week: &Week) -> Link {
    ctx.to(&["reports", &week.days().0]).with(PART, IMPROVEMENTS)
}

/// The parts of the document of a week.
fn parts(week: &str, ctx: &RequestContext) -> Markup {
    let is_improvements = ctx.params.get(PART) == Some(IMPROVEMENTS);
    let page = ctx.to(&["reports", week]);
    let current = |is_it: bool| is_it.then_some("page");
    html! {
        nav.tabs aria-label="Parts of the report" {
            a href=(page.clone().with(PART, IMPROVEMENTS)) aria-current=[current(is_improvements)] { "Proposals and events" }
            a href=(page) aria-current=[current(!is_improvements)] { "Session quality" }
        }
    }
}

/// The reports before and after, of all weeks from the newest to the oldest.
fn neighbours(report: &WeekReport, weeks: &[String], ctx: &RequestContext) -> Markup {
    let at = weeks.iter().position(|week| *week == report.week);
    let before = at.and_then(|at| weeks.get(at + 1));
    let after = at.and_then(|at| weeks.get(at.checked_sub(1)?));
    let link = |week: &String| ctx.to(&["reports", week]);
    html! {
        @if before.is_some() || after.is_some() {
            nav.segments aria-label="Weeks" {
                @if let Some(week) = before { a href=(link(week)) { "Previous week" } }
                @if let Some(week) = after { a href=(link(week)) { "Next week" } }
            }
        }
    }
}

fn body(report: &WeekReport, tracked: &[StoredSuggestion], ctx: &RequestContext) -> Markup {
    let chosen = agents::chosen(report, ctx);
    let suggestions = suggestions_in_scope(report, ctx);
    html! {
        (alarm::drift(&report.drift))
        @if let Some(words) = judge_words(report) { p.muted { bdi { (words) } } }
        @if chosen.is_some() {
            // The summary of the whole says it.
            @if let Some(words) = left_out_words(&report.left_out) { p.muted { bdi { (short(&words)) } } }
        }
        (agents::findings(report, ctx))
        @match &chosen {
            Some(agents) => {
                (stat::row(&agents.iter().map(|one| dimensions::agent_stat(one)).collect::<Vec<_>>()))
            },
            None => { (stat::row(&figures(report))) },
        }
        section.report-part { h2 { "Agents" } (agents::table(report, Some(ctx))) (agents::days(report, Some(ctx))) }
        section.report-part {
            h2 { "Dimensions" }
            @match &chosen {
                Some(agents) => { (dimensions::of_agents(agents, report.is_first())) },
                None => { (dimensions::table(report)) (course(report)) },
            }
        }
        section.report-part {
            h2 { "Outliers" }
            (sessions::outliers("Low outliers (below 0.5)", &report.synthesis.poor, report, ctx))
            (sessions::outliers("High outliers (above 0.85)", &report.synthesis.excellent, report, ctx))
        }
        section.report-part {
            h2 { "Common issues" }
            @let issues = issues_in_scope(report, ctx);
            @if let Some(words) = issues_of_words(report) { p.muted { (words) } }
            @if issues.is_empty() {
                p.muted { "No issues shared by sessions below 0.7." }
            } @else {
                ol.issues { @for issue in issues { (shared(issue, report, ctx)) } }
            }
        }
        section.report-part #suggestions {
            h2 { "Suggestions" }
            @if let Some(words) = advice_words(report) { p.muted { bdi { (short(&words)) } } }
            @if report.suggestions.is_empty() {
                p.muted { "None: every dimension is at 0.7 or above, and there are no common issues." }
            } @else if suggestions.is_empty() {
                p.muted { "None for this agent or environment." }
            }
            @for suggestion in suggestions {
                (suggestions::card(suggestion, suggestions::newest(tracked, suggestion), ShownSessions::Report(report), ctx))
            }
        }
        @if !report.is_first() {
            section.report-part { h2 { "Success metrics" } (success::table(&report.success, Some(report))) }
        }
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

/// The suggestions with a session in the page's scope.
fn suggestions_in_scope<'a>(report: &'a WeekReport, ctx: &RequestContext) -> Vec<&'a Suggestion> {
    let is_of = |id: &String| {
        let card = report.sessions.get(id);
        card.is_some_and(|card| agents::is_in_scope(ctx, card.agent.as_deref(), &card.environment))
    };
    let is_all = ctx.scope.agent.is_none() && ctx.scope.environment.is_none();
    let is_shown = |one: &&Suggestion| is_all || one.sessions.iter().any(is_of);
    report.suggestions.iter().filter(is_shown).collect()
}

/// The issues of the agents and environments in the page's scope.
fn issues_in_scope<'a>(report: &'a WeekReport, ctx: &RequestContext) -> Vec<&'a CommonIssue> {
    let is_of = |issue: &&CommonIssue| shares_in_scope(issue, ctx).next().is_some();
    report.synthesis.issues.iter().filter(is_of).collect()
}

/// The agents with an issue that are in the page's scope. Shares of old reports name no environment.
fn shares_in_scope<'a>(
    issue: &'a CommonIssue,
    ctx: &RequestContext,
) -> impl Iterator<Item = &'a IssueShare> {
    issue.agents.iter().filter(|share| {
        let environment = match share.environment.as_str() {
            "" => ctx.scope.environment.as_deref().unwrap_or_default(),
            named => named,
        };
        agents::is_in_scope(ctx, share.agent.as_deref(), environment)
    })
}

fn shared(issue: &CommonIssue, report: &WeekReport, ctx: &RequestContext) -> Markup {
    let example = &issue.example;
    let is_whole = ctx.scope.agent.is_none() && ctx.scope.environment.is_none();
    let of_scope = || shares_in_scope(issue, ctx).map(|share| share.sessions).sum();
    let sessions = if is_whole { issue.sessions.len() } else { of_scope() };
    html! {
        li {
            p { bdi { (short(&issue.title)) } }
            @if let Some(also) = also_words(issue) { p.muted { bdi { (short(&also)) } } }
            p.muted {
                (badge::tag(&issue.dimension)) " in " (counted(sessions, "session"))
                @for share in shares_in_scope(issue, ctx).take(4) {
                    ", " bdi { (share_agent(share)) } " " (share.sessions) " of " (share.of)
                }
                ". " a href=[sessions::to_turn(&example.session, example.turn, report, ctx)] { "See an example" }
            }
            details {
                summary { "Example and affected sessions" }
                blockquote { bdi { (ratchet_core::record::limit::elide(&example.rationale, 1_000)) } }
                (sessions::list(&issue.sessions, report, ctx))
            }
        }
    }
}

/// A text that fits a line or two.
fn short(text: &str) -> String {
    ratchet_core::record::limit::elide(text, 300).into_owned()
}
