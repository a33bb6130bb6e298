//! Confusion matrix of two score sources.

use std::collections::BTreeMap;

use maud::{Markup, html};
use ratchet_core::record::limit::elide;

use super::figure;

/// Maximum number of rows and columns.
const MAX_LABELS: usize = 12;
const OTHER: &str = "(other)";

#[derive(Clone, Debug)]
pub struct Matrix<'a> {
    pub title: &'a str,
    /// Name of the row source.
    pub rows: &'a str,
    /// Name of the column source.
    pub columns: &'a str,
    /// Label pairs.
    pub pairs: &'a [(String, String)],
}

/// Draws a table of counts: the darker, the more; where both agree has a frame.
pub fn matrix(chart: &Matrix<'_>) -> Markup {
    ordered(chart, &labels(chart.pairs))
}

/// Draws it with these labels in their own order: grades from worst to best.
pub fn ordered(chart: &Matrix<'_>, labels: &[String]) -> Markup {
    let known = |label: &str| {
        let found = labels.iter().find(|known| *known == label);
        found.map_or(OTHER, String::as_str).to_owned()
    };
    let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
    for (row, column) in chart.pairs {
        *counts.entry((known(row), known(column))).or_default() += 1;
    }
    let most = counts.values().copied().max().unwrap_or_default();
    let at = |row: &str, column: &str| {
        counts.get(&(row.to_owned(), column.to_owned())).copied().unwrap_or_default()
    };
    html! {
        figure.chart {
            figcaption { (chart.title) }
            div.table-wrap tabindex="0" role="region" aria-label=(chart.title) {
                table.matrix {
                    thead {
                        tr {
                            td {}
                            th.across scope="colgroup" colspan=(labels.len()) { (chart.columns) }
                            td {}
                        }
                        tr {
                            th scope="col" { (chart.rows) }
                            @for label in labels { th.num scope="col" { (name(label)) } }
                            th.num scope="col" { "All" }
                        }
                    }
                    tbody {
                        @for row in labels {
                            tr {
                                th scope="row" { (name(row)) }
                                @for column in labels { (cell(at(row, column), most, row == column)) }
                                td.num { (figure::grouped(labels.iter().map(|c| at(row, c)).sum())) }
                            }
                        }
                    }
                    tfoot { tr {
                        th scope="row" { "All" }
                        @for column in labels {
                            td.num { (figure::grouped(labels.iter().map(|r| at(r, column)).sum())) }
                        }
                        td.num { (figure::grouped(chart.pairs.len() as u64)) }
                    } }
                }
            }
        }
    }
}

fn cell(count: u64, most: u64, agrees: bool) -> Markup {
    let heat = if most == 0 { 0 } else { (count * 8).div_ceil(most) };
    let class = format!("num heat-{heat}{}", if agrees { " agrees" } else { "" });
    html! { td class=(class) { (figure::grouped(count)) } }
}

fn name(label: &str) -> Markup {
    html! { bdi { (elide(label, 60)) } }
}

/// The labels of both sides in one order, so that agreement is on the diagonal.
fn labels(pairs: &[(String, String)]) -> Vec<String> {
    let both = pairs.iter().flat_map(|(row, column)| [row.as_str(), column.as_str()]);
    let counts = ratchet_core::stats::distribution::labels(both);
    let mut labels: Vec<String> =
        counts.iter().take(MAX_LABELS).map(|(label, _)| (*label).to_owned()).collect();
    labels.sort();
    if counts.len() > MAX_LABELS {
        labels.push(OTHER.to_owned());
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_stand_where_the_labels_meet() {
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        let pairs = [pair("good", "good"), pair("good", "bad"), pair("<i>", "good")];
        let chart = Matrix { title: "t", rows: "model", columns: "human", pairs: &pairs };
        let shown = matrix(&chart).into_string();
        assert!(!shown.contains("<i>") && shown.contains("&lt;i&gt;"), "{shown}");
        assert!(shown.contains("agrees") && shown.contains("heat-8"), "{shown}");
        assert!(shown.contains(r#"<td class="num">3</td>"#), "all of them: {shown}");
    }

    #[test]
    fn many_labels_are_cut() {
        let pairs: Vec<_> = (0..40).map(|n| (n.to_string(), n.to_string())).collect();
        let chart = Matrix { title: "t", rows: "a", columns: "b", pairs: &pairs };
        assert!(matrix(&chart).into_string().matches("<tr>").count() < 20);
    }
}
