use maud::{Markup, html};

use super::OverTime;

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
                        @for series in &chart.series { th.num scope="col" { (series.name) } }
                        @if compares { th.num scope="col" { "Previous" } }
                    } }
                    tbody {
                        @for (index, step) in chart.steps.iter().enumerate() {
                            tr {
                                th scope="row" { (step) }
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
