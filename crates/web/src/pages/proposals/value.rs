use maud::{Markup, html};
use ratchet_core::improve::value::{
    DiagnosisValue, MIN_CLOSED, ProposalLift, ProposalValue, ValueFigure,
};
use ratchet_core::record::limit::elide;

use super::NAME;
use crate::components::figure;
use crate::components::table::{self, Column, Row, Table};
use crate::request_context::RequestContext;

/// What the proposals were worth.
pub(super) fn section(ctx: &RequestContext, worth: &ProposalValue) -> Markup {
    html! {
        section.report-part #value {
            h2 { "Value of proposals" }
            @if worth.needs_recalibration {
                p.problem role="status" {
                    "Fewer than half of the proposals are accepted: the diagnoses need to be looked at. "
                    "Those that miss most come first below."
                }
            }
            dl.run-means {
                (number("Accepted", worth.acceptance.as_ref(), percent, "decided proposals"))
                (number("False positives", worth.false_positives.as_ref(), percent, "decided proposals"))
                (number("Days to decision", worth.days_to_decision.as_ref(), days, "proposals"))
                (number("Days to experiment", worth.days_to_experiment.as_ref(), days, "proposals"))
                @match &worth.fix_rate {
                    Some(rate) => (number("Failures fixed", Some(rate), percent, "promoted proposals")),
                    None => {
                        div { dt { "Failures fixed" } dd {
                            "Cannot tell yet: needs " (MIN_CLOSED) " promoted proposals with a measured lift; "
                            "until then impacts read \"at most\"."
                        } }
                    },
                }
            }
            @if !worth.diagnoses.is_empty() { (diagnoses(&worth.diagnoses)) }
            @if !worth.lifts.is_empty() { (lifts(ctx, &worth.lifts)) }
        }
    }
}

fn percent(value: f64) -> String {
    figure::percent(value)
}

fn days(value: f64) -> String {
    format!("{value:.1}")
}

fn number(
    title: &str,
    found: Option<&ValueFigure>,
    shown: impl Fn(f64) -> String,
    of: &str,
) -> Markup {
    html! {
        div { dt { (title) } dd {
            @match found {
                Some(found) => {
                    (shown(found.value)) " "
                    small.muted {
                        @if let Some([lower, upper]) = found.interval {
                            "95% CI " (shown(lower)) " to " (shown(upper)) ", "
                        }
                        "n = " (found.n) " " (of)
                    }
                },
                None => { "Cannot tell yet" },
            }
        } }
    }
}

fn diagnoses(found: &[DiagnosisValue]) -> Markup {
    let columns = vec![
        Column::text("Diagnosis"),
        Column::number("Accepted"),
        Column::number("Rejected"),
        Column::number("False positives"),
        Column::wide("Last rejected"),
    ];
    let row = |one: &DiagnosisValue| Row {
        id: format!("diagnosis-{}", one.component.as_str()),
        link: None,
        cells: vec![
            html! { (one.component.title()) },
            html! { (one.accepted) },
            html! { (one.rejected) },
            html! { (one.false_positives) },
            html! { @for (at, miss) in one.misses.iter().enumerate() {
                @if at > 0 { "; " } bdi { (elide(miss, 2 * NAME)) }
            } },
        ],
        failed: false,
    };
    let caption = "Decisions by diagnosed component".to_owned();
    let rows = found.iter().map(row).collect();
    table::table(&Table { caption, columns, rows, select_for: None })
}

fn lifts(ctx: &RequestContext, found: &[ProposalLift]) -> Markup {
    let columns = vec![
        Column::wide("Promoted proposal"),
        Column::number("Before"),
        Column::number("Expected"),
        Column::number("After"),
        Column::wide("Lift (95% CI)"),
        Column::number("Controls"),
    ];
    let shown = |value: Option<f64>| html! { (value.map_or_else(|| "–".to_owned(), share)) };
    let row = |one: &ProposalLift| Row {
        id: format!("lift-{}", one.id),
        link: Some(ctx.to(&["proposals", &one.id])),
        cells: vec![
            html! { bdi { (elide(&one.title, 2 * NAME)) } },
            shown(one.before),
            shown(one.expected),
            shown(one.after),
            html! { (lift(one)) },
            html! { (one.controls) },
        ],
        failed: false,
    };
    let caption = "Lift of promoted proposals".to_owned();
    let rows = found.iter().map(row).collect();
    html! {
        (table::table(&Table { caption, columns, rows, select_for: None }))
        p.muted {
            "Shares of the agent's traffic that fail for this reason, in up to four weeks before and after. "
            "Expected: what the share would be without the change, by how groups of failures developed that "
            "nobody touched (controls); groups that were just large shrink by themselves."
        }
    }
}

fn share(value: f64) -> String {
    format!("{:.1}%", 100.0 * value)
}

fn lift(one: &ProposalLift) -> Markup {
    html! {
        @match (one.lift, one.interval, &one.why) {
            (Some(value), Some([lower, upper]), _) => {
                (format!("{:+.1}%", 100.0 * value)) " " small.muted {
                    (format!("{:+.1}% to {:+.1}%", 100.0 * lower, 100.0 * upper))
                }
            },
            (_, _, Some(why)) => { "Cannot tell yet: " (why) },
            _ => { "Cannot tell yet" },
        }
    }
}
