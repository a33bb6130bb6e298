//! Alerts above numbers that may not be reliable.

use maud::{Markup, html};
use ratchet_core::quality::calibration::panel::DriftAlert;

/// Renders drift alerts of judges; empty without drift.
pub fn drift(alerts: &[DriftAlert]) -> Markup {
    let of_one = |one: &DriftAlert, other: &DriftAlert| {
        (&one.judge, &one.rubric, &one.since) == (&other.judge, &other.rubric, &other.since)
    };
    html! { @for alerts in alerts.chunk_by(of_one) { div.alarm role="status" { (judge(alerts)) } } }
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

fn badge() -> Markup {
    html! { span.badge.warn { "judge drift" } }
}
