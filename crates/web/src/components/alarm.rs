//! Alerts above numbers that may not be reliable.

use maud::{Markup, html};
use ratchet_core::quality::calibration::panel::{DriftAlert, PanelDrift};
use ratchet_stages::score::rubrics::RubricFileFault;

use crate::viewer::Viewer;

/// Renders drift alerts of judges; empty without drift.
pub fn drift(alerts: &[DriftAlert]) -> Markup {
    let of_one = |one: &DriftAlert, other: &DriftAlert| {
        (&one.judge, &one.rubric, &one.since) == (&other.judge, &other.rubric, &other.since)
    };
    html! { @for alerts in alerts.chunk_by(of_one) { div.alarm role="status" { (judge(alerts)) } } }
}

/// Says of each panel without an alert how its judge stands, and on how many sessions.
pub fn panels(panels: &[PanelDrift]) -> Markup {
    html! {
        @for panel in panels.iter().filter(|panel| panel.alerts().is_empty()) {
            p.muted {
                "Judge panel of " bdi { (panel.who.judge) } " with " bdi { (panel.who.rubric) }
                " since the week of " (panel.first) ": " (panel.standing()) "."
            }
        }
    }
}

fn judge(alerts: &[DriftAlert]) -> Markup {
    html! {
        @match alerts {
            [] => {},
            [only] => { p { (badge()) " " bdi { (only.words()) } "." } },
            [first, ..] => {
                p {
                    (badge()) " " bdi { (first.judge) } " scores the same sessions differently with "
                    bdi { (first.rubric) } " since the week of " (first.since) ":"
                }
                ul {
                    @for alert in alerts {
                        li { (alert.way()) " on " bdi { (alert.dimension) } " " span.muted { (alert.measured()) } }
                    }
                }
            },
        }
    }
}

/// Renders what is wrong with rubric files: in full for owners, whose files they are, else only that
/// there is something.
pub fn rubric_files(faults: &[RubricFileFault], viewer: &Viewer) -> Markup {
    html! {
        @if !faults.is_empty() {
            div.alarm role="status" {
                p {
                    span.badge.warn { "rubric files" } " "
                    (faults.len()) @if faults.len() == 1 { " rubric file" } @else { " rubric files" }
                    " cannot be used; the other rubrics are."
                    @if !viewer.can_own() { " Owners of the project see why." }
                }
                @if viewer.can_own() {
                    ul {
                        @for fault in faults {
                            @for problem in &fault.problems {
                                li { bdi { code { (fault.file) } } ": " bdi { (problem) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn badge() -> Markup {
    html! { span.badge.warn { "judge drift" } }
}
