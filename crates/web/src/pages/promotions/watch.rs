use maud::{Markup, html};
use ratchet_core::promotion::watch::{Mark, MarkResult, WatchResult};

use crate::components::figure;
use crate::components::table::{self, Column, Row, Table};

pub(super) fn watch(found: &WatchResult) -> Markup {
    let columns = vec![
        Column::wide("Per session"),
        Column::number("Before"),
        Column::number("After"),
        Column::number("Sessions before"),
        Column::number("Sessions after"),
        Column::text("Test"),
    ];
    let number = |mark: Mark, value: Option<f64>| match (mark, value) {
        (_, None) => "–".to_owned(),
        (Mark::Latency, Some(value)) => format!("{value:.2} s"),
        (Mark::Cost, Some(value)) => format!("${value:.4}"),
        (_, Some(value)) => format!("{:.1}%", value * 100.0),
    };
    let row = |one: &MarkResult| Row {
        id: one.mark.title().to_owned(),
        link: None,
        cells: vec![
            html! { (one.mark.title()) },
            html! { (number(one.mark, one.before)) },
            html! { (number(one.mark, one.after)) },
            html! { (figure::grouped(u64::from(one.before_sessions))) },
            html! { (figure::grouped(u64::from(one.after_sessions))) },
            html! {
                @match one.needed {
                    None => { "too few sessions before" },
                    Some(_) if one.is_worse => { b { "significantly worse" } },
                    Some(needed) => { "not significant " small.muted {
                        "evidence " (format!("{:.1}", one.evidence)) " of " (format!("{needed:.0}"))
                    } },
                }
            },
        ],
        failed: one.is_worse,
    };
    let rows = found.marks.iter().map(row).collect();
    let caption = "Production before and after".to_owned();
    html! {
        h2 { "Production before and after" }
        p { (found.sentence()) ". " span.muted {
            "The test may be looked at any time; all rows share an error rate of 5%. Users were not "
            "randomised: other things may have changed as well."
        } }
        (table::table(&Table { caption, columns, rows, select_for: None }))
    }
}
