use maud::{Markup, html};
use ratchet_store::aggregate::Sums;

use crate::components::figure;
use crate::sums::{is_comparable, natural};

/// One line of the summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    what: String,
    /// Supporting numbers.
    evidence: String,
}

/// Compares a period with the previous one, or shows totals where there is none.
fn changes(now: &Sums, before: Option<&Sums>) -> Vec<Change> {
    let before = before.filter(|before| is_comparable(now, before));
    vec![volume(now, before), errors(now, before), spending(now, before), slowness(now, before)]
}

fn volume(now: &Sums, before: Option<&Sums>) -> Change {
    let steps = figure::counted(natural(now.count), "observation");
    let what = match before {
        None => steps,
        Some(before) => {
            let growth = figure::growth(share(now.count, before.count));
            format!("{steps} ({growth})")
        }
    };
    let evidence = match before {
        None => String::new(),
        Some(before) => format!("previously {}", figure::grouped(natural(before.count))),
    };
    Change { what, evidence }
}

fn errors(now: &Sums, before: Option<&Sums>) -> Change {
    let rate = |sums: &Sums| figure::percent(share(sums.errors, sums.count));
    let what = match before {
        None => format!("Error rate {}", rate(now)),
        Some(before) if rate(before) == rate(now) => {
            format!("Error rate {} (unchanged)", rate(now))
        }
        Some(before) => {
            format!("Error rate {} (was {})", rate(now), rate(before))
        }
    };
    let failed = figure::grouped(natural(now.errors));
    let evidence = format!("{failed} of {}", figure::counted(natural(now.count), "observation"));
    Change { what, evidence }
}

fn spending(now: &Sums, before: Option<&Sums>) -> Change {
    let cost = figure::money_in_part(now.cost, now.approximate_cost);
    let what = match before {
        Some(before) if before.cost.pico() > 0 => {
            let ratio = now.cost.dollars() / before.cost.dollars();
            format!("Cost {cost} ({})", figure::growth(ratio))
        }
        Some(_) | None => format!("Cost {cost}"),
    };
    let evidence = match now.cost_unknown {
        0 => "all model calls are priced".to_owned(),
        unknown => format!(
            "excludes {} model calls without a known price",
            figure::grouped(natural(unknown))
        ),
    };
    let evidence = match figure::of_which(now.approximate_cost) {
        Some(share) => format!("{evidence}; {share} (tokens estimated)"),
        None => evidence,
    };
    Change { what, evidence }
}

fn slowness(now: &Sums, before: Option<&Sums>) -> Change {
    let p95 = |sums: &Sums| sums.latency.percentile(95).map(figure::duration);
    let now_is = p95(now).unwrap_or_else(|| "unknown".to_owned());
    let what = match before.and_then(p95) {
        Some(was) if was != now_is => {
            format!("p95 observation latency {now_is} (was {was})")
        }
        Some(_) | None => format!("p95 observation latency {now_is}"),
    };
    Change { what, evidence: "from hourly rollups, ±3.3%".to_owned() }
}

#[expect(clippy::cast_precision_loss, reason = "a share, shown with two digits")]
fn share(part: i64, whole: i64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Renders the summary lines with their supporting numbers.
pub(super) fn draw(now: &Sums, before: Option<&Sums>, time: &str) -> Markup {
    html! {
        ul.changes {
            @for change in changes(now, before) {
                li { (change.what) " " small.muted { (change.evidence) } }
            }
        }
        p.muted {
            "Activity " (time)
            @if before.is_some_and(|before| is_comparable(now, before)) {
                ", compared with the previous period of the same length."
            } @else { "; not enough data in the previous period to compare." }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(now: (i64, i64), before: Option<(i64, i64)>, expected: [&str; 2]) {
        let sums = |(count, errors)| Sums { count, errors, ..Sums::default() };
        let changes_found = changes(&sums(now), before.map(sums).as_ref());
        assert_eq!([changes_found[0].what.as_str(), changes_found[1].what.as_str()], expected);
    }

    #[test]
    fn what_changed_is_told_in_words() {
        let expected = ["200 observations (+100%)", "Error rate 5.0% (was 1.0%)"];
        check((200, 10), Some((100, 1)), expected);
    }

    #[test]
    fn without_a_time_before_nothing_is_compared() {
        let expected = ["1,000 observations", "Error rate 0%"];
        check((1_000, 0), None, expected);
        check((1_000, 0), Some((0, 0)), expected);
        check((1_000, 0), Some((49, 1)), expected);
    }
}
