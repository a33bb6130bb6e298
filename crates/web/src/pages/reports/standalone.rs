use maud::{DOCTYPE, PreEscaped, html};
use ratchet_core::quality::report::WeekReport;

use super::{agents, dimensions, week};
use crate::assets;
use crate::components::alarm;

/// A report as a page that needs no server: style and drawings inside, no script, no link.
pub fn report_document(report: &WeekReport) -> String {
    let project = report.project.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    let title = format!("{project}Week {} to {}", report.week, report.last_day);
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
                    p.summary { (report.summary().join(" ")) }
                    (alarm::drift(&report.drift))
                    (agents::table(report, None))
                    (agents::days(report, None))
                    (dimensions::table(report))
                    (week::course(report))
                    h2 { "As text" }
                    pre.in-words { (report.to_markdown()) }
                }
            }
        }
    };
    page.into_string()
}
