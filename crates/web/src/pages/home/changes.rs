use maud::{Markup, html};
use ratchet_store::aggregate::Sums;

use crate::components::figure;
use crate::sums::{is_comparable, natural};

/// One thing that changed, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    what: String,
    /// The numbers it was read from.
    evidence: String,
}

/// Compares a time with the one before it. Without a time before, it says how things are.
fn changes(now: &Sums, before: Option<&Sums>) -> Vec<Change> {
    let before = before.filter(|before| is_comparable(now, before));
    vec![volume(now, before), errors(now, before), spending(now, before), slowness(now, before)]
}

fn volume(now: &Sums, before: Option<&Sums>) -> Change {
    let steps = figure::grouped(natural(now.count));
    let what = match before {
        None => format!("Agents took {steps} steps."),
        Some(before) => {
            let growth = figure::growth(share(now.count, before.count));
            format!("Agents took {steps} steps: {growth}.")
        }
    };
    let evidence = match before {
        None => String::new(),
        Some(before) => format!("before: {}", figure::grouped(natural(before.count))),
    };
    Change { what, evidence }
}

fn errors(now: &Sums, before: Option<&Sums>) -> Change {
    let rate = |sums: &Sums| figure::percent(share(sums.errors, sums.count));
    let what = match before {
        None => format!("{} of the steps failed.", rate(now)),
        Some(before) if rate(before) == rate(now) => {
            format!("{} of the steps failed, as before.", rate(now))
        }
        Some(before) => {
            format!("{} of the steps failed; it was {} before.", rate(now), rate(before))
        }
    };
    let failed = figure::grouped(natural(now.errors));
    let evidence = format!("{failed} of {}", figure::grouped(natural(now.count)));
    Change { what, evidence }
}

fn spending(now: &Sums, before: Option<&Sums>) -> Change {
    let cost = figure::money_in_part(now.cost, now.approximate_cost);
    let what = match before {
        Some(before) if before.cost.pico() > 0 => {
            let ratio = now.cost.dollars() / before.cost.dollars();
            format!("They cost {cost}: {}.", figure::growth(ratio))
        }
        Some(_) | None => format!("They cost {cost}."),
    };
    let evidence = match now.cost_unknown {
        0 => "every model call has a known price".to_owned(),
        unknown => format!(
            "{} model calls have no known price and are not in it",
            figure::grouped(natural(unknown))
        ),
    };
    let evidence = match figure::of_which(now.approximate_cost) {
        Some(share) => format!("{evidence}; {share}, because its tokens were counted here"),
        None => evidence,
    };
    Change { what, evidence }
}

fn slowness(now: &Sums, before: Option<&Sums>) -> Change {
    let p95 = |sums: &Sums| sums.latency.percentile(95).map(figure::duration);
    let now_is = p95(now).unwrap_or_else(|| "no time".to_owned());
    let what = match before.and_then(p95) {
        Some(was) if was != now_is => {
            format!("19 of 20 steps took at most {now_is}; it was {was} before.")
        }
        Some(_) | None => format!("19 of 20 steps took at most {now_is}."),
    };
    Change { what, evidence: "from hourly sums, within 3.3 %".to_owned() }
}

#[expect(clippy::cast_precision_loss, reason = "a share, shown with two digits")]
fn share(part: i64, whole: i64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Draws the sentences, each with the numbers it was read from.
pub(super) fn draw(now: &Sums, before: Option<&Sums>, time: &str) -> Markup {
    html! {
        ul.changes {
            @for change in changes(now, before) {
                li { (change.what) " " small.muted { (change.evidence) } }
            }
        }
        p.muted {
            "This is how it went " (time)
            @if before.is_some_and(|before| is_comparable(now, before)) {
                ", compared with as long a time just before."
            } @else { "; too little is known of the time before to compare with it." }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(now: (i64, i64), before: Option<(i64, i64)>, expected: [&str; 2]) {
        let sums = |(count, errors)| Sums { count, errors, ..Sums::default() };
        let told = changes(&sums(now), before.map(sums).as_ref());
        assert_eq!([told[0].what.as_str(), told[1].what.as_str()], expected);
    }

    #[test]
    fn what_changed_is_told_in_words() {
        let expected =
            ["Agents took 200 steps: +100 %.", "5.0 % of the steps failed; it was 1.0 % before."];
        check((200, 10), Some((100, 1)), expected);
    }

    #[test]
    fn without_a_time_before_nothing_is_compared() {
        let expected = ["Agents took 1,000 steps.", "0 % of the steps failed."];
        check((1_000, 0), None, expected);
        check((1_000, 0), Some((0, 0)), expected);
        check((1_000, 0), Some((49, 1)), expected);
    }
}
