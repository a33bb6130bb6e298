use maud::{DOCTYPE, Markup, PreEscaped, html};
use ratchet_core::improve::report::FeedbackReport;
use ratchet_core::quality::report::WeekReport;

use super::{agents, dimensions, improvement, week};
use crate::assets;
use crate::components::alarm;

/// A report as a page that needs no server: style and drawings inside, no script, no link.
pub fn report_document(report: &WeekReport) -> String {
    let project = report.project.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    let title = format!("{project}Week {} to {}", report.week, report.last_day);
    document(
        &title,
        &html! {
            (quality(report))
            h2 { "As text" }
            pre.in-words { (report.to_markdown()) }
        },
    )
}

/// The weekly document as a page that needs no server.
pub fn feedback_document(report: &FeedbackReport) -> String {
    let title = format!("Weekly improvement report {}: {}", report.week, report.agent_words());
    document(
        &title,
        &html! {
            p.summary { bdi { (improvement::summary(report)) } }
            (improvement::sections(report, None))
            @if let Some(week) = &report.quality {
                section.report-part { h2 { "Session quality" } (quality(week)) }
            }
            h2 { "As text" }
            pre.in-words { (report.to_markdown()) }
        },
    )
}

fn quality(report: &WeekReport) -> Markup {
    html! {
        p.summary { (report.summary().join(" ")) }
        (alarm::drift(&report.drift))
        (agents::table(report, None))
        (agents::days(report, None))
        (dimensions::table(report))
        (week::course(report))
    }
}

fn document(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Ratchet" }
                style { (PreEscaped(assets::STYLE)) }
            }
            body {
                main.alone #main {
                    h1 { (title) }
                    (body)
                }
            }
        }
    };
    page.into_string()
}
