//! How far two agree, statistic by statistic: value, interval and n, or why there is none.

use maud::{Markup, html};
use ratchet_core::quality::calibration::{Statistic, ThresholdResult};

use super::figure;

/// One statistic.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    pub name: &'a str,
    /// Short description.
    pub says: &'a str,
    /// The number, or why there is none.
    pub statistic: Statistic,
}

/// Draws statistics as a table.
pub fn table(caption: &str, lines: &[Line<'_>]) -> Markup {
    html! {
        div.table-wrap tabindex="0" role="region" aria-label=(caption) {
            table.agreement {
                caption.sr { (caption) }
                thead { tr {
                    th scope="col" { "Statistic" }
                    th.num scope="col" { "Value" }
                    th.num scope="col" { "95% CI" }
                    th.num scope="col" { "n" }
                    th scope="col" { "Meaning" }
                } }
                tbody { @for line in lines { (row(line)) } }
            }
        }
    }
}

fn row(line: &Line<'_>) -> Markup {
    html! {
        tr {
            th scope="row" { (line.name) }
            @match line.statistic {
                Ok(estimate) => {
                    td.num { (two(estimate.value)) }
                    td.num { (interval(line.statistic)) }
                    td.num { (figure::grouped(estimate.n)) }
                },
                Err(why) => { td.muted colspan="3" { "Not available: " (why) } },
            }
            td.muted { (line.says) }
        }
    }
}

/// A statistic in one cell: the value, and its interval and n on hover.
pub fn cell(statistic: Statistic) -> Markup {
    html! {
        @match statistic {
            Ok(estimate) => {
                span title={ (interval(statistic)) ", n = " (estimate.n) } { (two(estimate.value)) }
            },
            Err(why) => { span.muted title=(why) { "–" } },
        }
    }
}

pub fn interval(statistic: Statistic) -> String {
    match statistic.ok().and_then(|estimate| estimate.interval) {
        Some(interval) => format!("{} to {}", two(interval.lower), two(interval.upper)),
        None => "no interval: too few or too similar values".to_owned(),
    }
}

/// Text badge of a threshold result, readable without colour.
pub fn standing(standing: ThresholdResult, words: [&str; 3]) -> Markup {
    let [met, not_met, cannot_tell] = words;
    html! {
        @match standing {
            ThresholdResult::Met => { span.badge.good { (met) } },
            ThresholdResult::NotMet => { span.badge.bad { (not_met) } },
            ThresholdResult::CannotTell => { span.badge.warn { (cannot_tell) } },
        }
    }
}

/// Two places, and a minus that is as wide as a plus.
pub fn two(value: f64) -> String {
    let text = format!("{:.2}", value.abs());
    if value < 0.0 && text != "0.00" { format!("−{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use ratchet_core::stats::undefined::Undefined;

    use super::*;

    #[test]
    fn what_cannot_be_told_says_why() {
        let line = Line { name: "Pearson", says: "", statistic: Err(Undefined::ConstantInput) };
        let shown = table("t", &[line]).into_string();
        assert!(shown.contains("Not available: all values of one side are identical"), "{shown}");
        assert_eq!([two(-0.001), two(-0.5), two(1.0)], ["0.00", "−0.50", "1.00"]);
    }
}
