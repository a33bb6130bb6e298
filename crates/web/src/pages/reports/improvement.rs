//! The weekly document: metrics, proposals and events, with the quality of sessions as a section of
//! the same document.

use maud::{Markup, html};
use ratchet_core::calendar::Week;
use ratchet_core::counted::counted;
use ratchet_core::improve::phrases::FailurePhrases;
use ratchet_core::improve::priority::PriorityBand;
use ratchet_core::improve::proposal::Proposal;
use ratchet_core::improve::report::{
    FALSE_ALARMS, FeedbackReport, OpenReview, affected_words, effort_words, files_words,
    metric_words, snapshot, trend_words,
};
use ratchet_core::review::metrics::WeeklyMetric;
use ratchet_core::review::weekly::{WeeklyMetrics, interval_text, value_text};
use ratchet_stages::improve::feedback::{self, FeedbackInput};
use ratchet_stages::source::Source;
use tokio::sync::Semaphore;

use crate::components::stat::{self, Stat, Value};
use crate::components::{badge, whisker};
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

/// Documents made for pages at a time: each reads the traces of four weeks.
static MAKING: Semaphore = Semaphore::const_new(1);
/// Traces that are linked of a proposal's evidence.
const SHOWN: usize = 8;
/// Width of a drawing in its own units.
const WIDTH: f64 = 240.0;
/// Room on both sides, so that ends are seen.
const MARGIN: f64 = 8.0;

/// Returns the document of a week: the one that was published of the scope's agent, or else one that is
/// made now, about that agent or all. It writes nothing.
pub(super) async fn make(
    web: &Web,
    ctx: &RequestContext,
    week: &Week,
) -> PageResult<FeedbackReport> {
    let _permit = MAKING.try_acquire().map_err(|_| {
        PageError::Bad("another document is being made; reload this page in a moment".to_owned())
    })?;
    let project = ctx.project_id();
    if let Some(agent) = &ctx.scope.agent {
        let of_week = (agent.clone(), week.days().0);
        let stored = web.store.catalog.feedback_report(project.clone(), of_week).await?;
        if let Some(published) = stored.filter(|stored| stored.published_at.is_some()) {
            return Ok(published.report);
        }
    }
    let site = web.review_site(&project)?;
    let read = web.feedback_settings(&project).read(week).await;
    let phrases = FailurePhrases::shipped();
    let input = FeedbackInput::new(&read.code, phrases, &read.events);
    let (source, agent): (&Source, _) = (site.source(), ctx.scope.agent.as_deref());
    Ok(Box::pin(feedback::report((source, &site), week, agent, input)).await?)
}

/// The document in a sentence.
pub(super) fn summary(report: &FeedbackReport) -> String {
    let agents = report.agent_words();
    match report.proposals.first() {
        Some(first) => format!(
            "{agents}: {}, first: {}.",
            counted(report.proposals.len(), "proposal"),
            first.title
        ),
        None => format!("{agents}: no pattern of failures needs a change."),
    }
}

/// The parts of the document without the quality of sessions. Traces are linked where there is a
/// server.
pub(super) fn sections(report: &FeedbackReport, ctx: Option<&RequestContext>) -> Markup {
    html! {
        @for (agent, metrics) in &report.metrics { (metrics_section(agent, metrics)) }
        section.report-part #proposals {
            h2 { "Proposals" }
            @if report.proposals.is_empty() {
                p.muted { "None: no pattern has three failed traces of two sessions." }
            } @else {
                (impacts(&report.proposals))
                @for (number, proposal) in (1..).zip(&report.proposals) {
                    (card(number, proposal, ctx))
                }
            }
            @if report.left_out > 0 {
                p.muted { (counted(report.left_out, "trace")) " left out: too many for one document." }
            }
        }
        section.report-part {
            h2 { "Events" }
            @if report.events.is_empty() { p.muted { "None." } } @else {
                ul { @for event in &report.events { li { bdi { (event.line()) } } } }
            }
            p.muted { "Of " (FALSE_ALARMS) "." }
        }
        @if !report.open.is_empty() {
            section.report-part {
                h2 { "Still open" }
                ul { @for line in report.open.iter().map(OpenReview::line) { li { bdi { (line) } } } }
            }
        }
    }
}

fn metrics_section(agent: &str, metrics: &WeeklyMetrics) -> Markup {
    let shown: Vec<&WeeklyMetric> = snapshot(metrics).collect();
    let stats: Vec<Stat> = shown.iter().map(|metric| metric_stat(metric, metrics)).collect();
    let shares = || shown.iter().filter(|metric| !metric.name.is_count());
    html! {
        section.report-part {
            h2 { "Metrics of " bdi { (agent) } }
            @if shown.is_empty() { p.muted { "Not enough reviews and feedback." } } @else {
                (stat::row(&stats))
                div.whiskers {
                    @for metric in shares() {
                        @if let Some(estimate) = metric.weighted.estimate() {
                            (whisker::level(metric.name.title(), &estimate, Some(metric.target)))
                        }
                    }
                }
            }
        }
    }
}

fn metric_stat(metric: &WeeklyMetric, metrics: &WeeklyMetrics) -> Stat {
    let text = metric.weighted.value.map(|value| value_text(metric.name, value));
    let interval = metric.weighted.interval.filter(|_| !metric.name.is_count());
    Stat {
        label: metric.name.title().to_owned(),
        value: Value::Known {
            text: text.unwrap_or_default(),
            interval: interval.map(|it| interval_text(metric.name, it)),
            provenance: metric_words(metric, metrics),
        },
        change: Some(format!("target {}", value_text(metric.name, metric.target))),
        ..Stat::default()
    }
}

/// What each change is worth, on one scale.
fn impacts(proposals: &[Proposal]) -> Markup {
    let far = proposals.iter().map(|one| one.impact.interval[1]).fold(0.0, f64::max);
    html! {
        h3 { "Impact by proposal" }
        div.whiskers {
            @for (number, proposal) in (1..).zip(proposals) { (impact(number, proposal, far)) }
        }
    }
}

fn impact(number: usize, proposal: &Proposal, far: f64) -> Markup {
    let share = |value: f64| if far > 0.0 { value / far } else { 0.0 };
    let x = |value: f64| format!("{:.1}", MARGIN + share(value) * (WIDTH - 2.0 * MARGIN));
    let [lower, upper] = proposal.impact.interval;
    let words = proposal.impact.text();
    html! {
        figure.whisker {
            figcaption {
                a href={ "#proposal-" (number) } { (number) ". " bdi { (proposal.title) } } " "
                span.muted { (words) ", n = " (proposal.failures) }
            }
            svg.unclear viewBox={ "0 0 " (WIDTH) " 24" } role="img" aria-label=(words) {
                line.zero x1=(x(0.0)) x2=(x(0.0)) y1="2" y2="22" {}
                line.reach x1=(x(lower)) x2=(x(upper)) y1="12" y2="12" {}
                line.reach x1=(x(lower)) x2=(x(lower)) y1="7" y2="17" {}
                line.reach x1=(x(upper)) x2=(x(upper)) y1="7" y2="17" {}
                circle cx=(x(proposal.impact.value)) cy="12" r="4" { title { (words) } }
            }
        }
    }
}

fn card(number: usize, proposal: &Proposal, ctx: Option<&RequestContext>) -> Markup {
    let band = PriorityBand::of(proposal.priority);
    html! {
        article.suggestion id={ "proposal-" (number) } {
            h3 { (number) ". " bdi { (proposal.title) } }
            p.muted {
                (badge::tag(proposal.component.title())) " " (badge::tag(&format!("{} priority", band.as_str())))
                " " bdi { (proposal.agent) } ", " (counted(proposal.failures, "failure")) " this week, "
                (trend_words(proposal.trend)) "; " bdi { (affected_words(proposal)) } "."
            }
            dl.facts {
                dt { "Root cause" } dd { bdi { (proposal.reason) } }
                dt { "Files" } dd { bdi { (files_words(proposal)) } }
                dt { "Proposal" } dd { bdi { (proposal.change) } }
                dt { "Evidence" } dd { (evidence(proposal, ctx)) }
                dt { "Impact" } dd { (proposal.impact.text()) }
                dt { "Effort" } dd { (effort_words(proposal.effort)) }
            }
            @if let Some(diff) = &proposal.diff {
                pre.diff tabindex="0" { @for line in diff.lines() { (diff_line(line)) } }
            }
        }
    }
}

fn evidence(proposal: &Proposal, ctx: Option<&RequestContext>) -> Markup {
    let more = proposal.evidence.len().saturating_sub(SHOWN);
    html! {
        @for (place, trace) in proposal.evidence.iter().take(SHOWN).enumerate() {
            @if place > 0 { ", " }
            @match ctx {
                Some(ctx) => { a href=(ctx.to(&["traces", trace])) { code { (trace) } } },
                None => { code { (trace) } },
            }
        }
        @if more > 0 { " and " (more) " more" }
    }
}

fn diff_line(line: &str) -> Markup {
    let is_head = line.starts_with("+++") || line.starts_with("---");
    html! {
        @match line.chars().next() {
            Some('+') if !is_head => { ins { (line) } },
            Some('-') if !is_head => { del { (line) } },
            _ => { (line) },
        }
        "\n"
    }
}
