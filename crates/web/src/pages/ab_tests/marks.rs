use maud::{Markup, html};
use ratchet_core::promotion::ab_test::comparison::{ALPHA, AbMark, AbResult};
use ratchet_core::promotion::watch::Mark;
use ratchet_core::stats::interval::Interval;

use crate::components::figure;
use crate::components::table::{self, Column, Row, Table};

/// Both arms by mark, with intervals that are valid at any time.
pub(super) fn marks(result: &AbResult, primary: Mark) -> Markup {
    let columns = vec![
        Column::wide("Per user"),
        Column::text("Control"),
        Column::text("Candidate"),
        Column::text("Difference"),
        Column::wide("Test"),
    ];
    let rows = result.marks.iter().map(|mark| row(mark, mark.mark == primary)).collect();
    let caption = "Candidate against control".to_owned();
    html! {
        h2 { "Candidate against control" }
        p { (result.sentence()) ". " span.muted {
            "The test may be looked at any time: intervals are 95% each and stay valid however often one "
            "looks. Equal versions end as worse or as winner in at most " (figure::percent(ALPHA))
            " of tests, all rows together, so that a single interval can exclude zero before the test ends. "
            "Online scores are of one evaluator version; latency and cost are compared by rank, without an "
            "interval."
        } }
        (table::table(&Table { caption, columns, rows, select_for: None }))
        @if result.other_version > 0 {
            p.muted {
                (figure::grouped(u64::from(result.other_version)))
                " users got another version than they were assigned. They count as assigned."
            }
        }
    }
}

fn row(mark: &AbMark, is_primary: bool) -> Row {
    Row {
        id: mark.mark.as_str().to_owned(),
        link: None,
        cells: vec![
            html! { (title(mark.mark)) @if is_primary { " " small.muted { "primary" } } },
            side(mark.mark, (mark.control, mark.control_interval), mark.control_units),
            side(mark.mark, (mark.candidate, mark.candidate_interval), mark.candidate_units),
            difference(mark),
            test(mark),
        ],
        failed: mark.is_worse,
    }
}

/// A user has one session or several.
const fn title(mark: Mark) -> &'static str {
    match mark {
        Mark::Errors => "Without errors",
        Mark::Quality | Mark::Thumbs | Mark::Latency | Mark::Cost => mark.title(),
    }
}

fn side(mark: Mark, (value, interval): (Option<f64>, Option<Interval>), n: u32) -> Markup {
    let Some(value) = value else { return html! { span.muted { "no values" } } };
    html! {
        @match mark {
            Mark::Latency => { (format!("{value:.2} s")) },
            Mark::Cost => { (format!("${value:.4}")) },
            Mark::Quality | Mark::Thumbs | Mark::Errors => { (figure::percent(value)) },
        }
        small.muted.below {
            @if let Some(interval) = interval {
                (figure::percent(interval.lower)) " to " (figure::percent(interval.upper)) ", "
            }
            "n = " (figure::grouped(u64::from(n)))
        }
    }
}

fn difference(mark: &AbMark) -> Markup {
    let points = |share: f64| format!("{:+.1}", share * 100.0);
    match (mark.control, mark.candidate, mark.difference_interval) {
        (Some(control), Some(candidate), Some(interval)) => html! {
            (points(candidate - control)) " points"
            small.muted.below { (points(interval.lower)) " to " (points(interval.upper)) }
        },
        _ => html! { "–" },
    }
}

fn test(mark: &AbMark) -> Markup {
    let evidence = |found: f64, needed: f64| format!("{found:.1} of {needed:.0}");
    html! {
        @if mark.is_worse { b { "significantly worse" } }
        @else if mark.is_better { b { "significantly better" } }
        @else { "not significant" }
        small.muted.below {
            "evidence for worse " (evidence(mark.worse, mark.worse_needed))
            @if let Some(better) = mark.better { ", for better " (evidence(better, mark.better_needed)) }
        }
    }
}
