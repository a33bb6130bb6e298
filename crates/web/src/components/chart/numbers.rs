use maud::{Markup, html};

use super::OverTime;
use crate::request_context::Link;

/// A text that leads to the records behind it, if they are listed somewhere.
fn linked(link: Option<&Link>, text: &str) -> Markup {
    html! {
        @match link { Some(link) => { a href=(link) { (text) } }, None => { (text) } }
    }
}

/// The values of a drawing, row by row.
pub(super) fn table(chart: &OverTime) -> Markup {
    let compares = !chart.before.is_empty();
    let reading = |values: &[Option<f64>], index: usize| {
        values.get(index).copied().flatten().map(chart.read).unwrap_or_default()
    };
    html! {
        details.numbers {
            summary { "Show as table" }
            div.table-wrap tabindex="0" role="region" aria-label={ (chart.title) ", values" } {
                table {
                    thead { tr {
                        th scope="col" { "Time" }
                        @for (index, series) in chart.series.iter().enumerate() {
                            th.num scope="col" {
                                (linked(chart.series_links.get(index).and_then(Option::as_ref), &series.name))
                            }
                        }
                        @if compares { th.num scope="col" { "Previous" } }
                    } }
                    tbody {
                        @for (index, step) in chart.steps.iter().enumerate() {
                            tr {
                                th scope="row" { (linked(chart.step_links.get(index), step)) }
                                @for series in &chart.series {
                                    td.num { (reading(&series.values, index)) }
                                }
                                @if compares { td.num { (reading(&chart.before, index)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}
