//! How far something moved, and how sure that is: a dot on a line with its interval.

use maud::{Markup, html};
use ratchet_core::stats::interval::Estimate;

use super::figure;

/// Width of the drawing in its own units.
const WIDTH: f64 = 240.0;
/// Room on both sides, so that ends are seen.
const MARGIN: f64 = 8.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    Rose,
    Fell,
    Nothing,
    /// Too few values.
    TooFew,
}

impl Says {
    fn of(difference: &Estimate) -> Self {
        match difference.interval {
            None => Self::TooFew,
            Some(interval) if interval.lower > 0.0 => Self::Rose,
            Some(interval) if interval.upper < 0.0 => Self::Fell,
            Some(_) => Self::Nothing,
        }
    }
}

/// A mean difference between two tries of the same things as a sentence and a whisker around zero.
pub(crate) fn whisker(name: &str, difference: &Estimate) -> Markup {
    named_interval(name, difference, "95% CI")
}

/// The same with an interval of another kind.
pub(crate) fn named_interval(name: &str, difference: &Estimate, interval_name: &str) -> Markup {
    let says = Says::of(difference);
    let (by, size) = (signed(difference.value), figure::number(difference.value.abs()));
    html! {
        figure.whisker {
            figcaption {
                bdi { (name) } " "
                @match says {
                    Says::Rose => { "improved by " b { (size) } " on average" },
                    Says::Fell => { "dropped by " b { (size) } " on average" },
                    Says::Nothing => { "changed by " b { (by) } " on average, not significant" },
                    Says::TooFew => { "changed by " b { (by) } "; too few different pairs for an interval" },
                }
                " " span.muted {
                    "(" @if let Some(interval) = difference.interval {
                        (interval_name) ": " (signed(interval.lower)) " to " (signed(interval.upper)) ", "
                    } "n = " (figure::grouped(difference.n)) ")."
                }
            }
            (drawing(name, difference, says))
        }
    }
}

/// A share as a sentence and a whisker between 0 and 1, with a line where it should be.
pub(crate) fn level(name: &str, share: &Estimate, least: Option<f64>) -> Markup {
    let percent = |share: f64| format!("{:.1}%", share * 100.0);
    let x = |value: f64| format!("{:.1}", MARGIN + value.clamp(0.0, 1.0) * (WIDTH - 2.0 * MARGIN));
    let ends = share.interval.map_or((share.value, share.value), |ends| (ends.lower, ends.upper));
    let class = match least {
        Some(least) if ends.0 >= least => "rose",
        Some(least) if ends.1 < least => "fell",
        _ => "unclear",
    };
    html! {
        figure.whisker {
            figcaption {
                bdi { (name) } " is " b { (percent(share.value)) } " "
                span.muted {
                    "(" (percent(ends.0)) " to " (percent(ends.1)) ", n = " (figure::grouped(share.n)) ")"
                    @if let Some(least) = least { ", at least " (percent(least)) " is required" } "."
                }
            }
            svg class=(class) viewBox={ "0 0 " (WIDTH) " 24" } role="img"
                aria-label={ (name) ": " (percent(share.value)) } {
                @if let Some(least) = least {
                    line.zero x1=(x(least)) x2=(x(least)) y1="2" y2="22" {}
                }
                line.reach x1=(x(ends.0)) x2=(x(ends.1)) y1="12" y2="12" {}
                line.reach x1=(x(ends.0)) x2=(x(ends.0)) y1="7" y2="17" {}
                line.reach x1=(x(ends.1)) x2=(x(ends.1)) y1="7" y2="17" {}
                circle cx=(x(share.value)) cy="12" r="4" {}
            }
        }
    }
}

fn drawing(name: &str, difference: &Estimate, says: Says) -> Markup {
    let ends = difference
        .interval
        .map_or((difference.value, difference.value), |interval| (interval.lower, interval.upper));
    // Zero is always seen, and in the middle.
    let far = ends.0.abs().max(ends.1.abs()).max(difference.value.abs());
    let x = |value: f64| {
        let share = if far > 0.0 { value / far } else { 0.0 };
        format!("{:.1}", WIDTH / 2.0 + share * (WIDTH / 2.0 - MARGIN))
    };
    let class = match says {
        Says::Rose => "rose",
        Says::Fell => "fell",
        Says::Nothing | Says::TooFew => "unclear",
    };
    html! {
        svg class=(class) viewBox={ "0 0 " (WIDTH) " 24" } role="img"
            aria-label={ "Mean difference of " (name) ": " (signed(difference.value)) } {
            line.zero x1=(x(0.0)) x2=(x(0.0)) y1="2" y2="22" {}
            @if difference.interval.is_some() {
                line.reach x1=(x(ends.0)) x2=(x(ends.1)) y1="12" y2="12" {}
                line.reach x1=(x(ends.0)) x2=(x(ends.0)) y1="7" y2="17" {}
                line.reach x1=(x(ends.1)) x2=(x(ends.1)) y1="7" y2="17" {}
            }
            circle cx=(x(difference.value)) cy="12" r="4" { title { (signed(difference.value)) } }
        }
    }
}

/// A difference with its sign: `+0.12`, `−0.3`, `0`.
fn signed(value: f64) -> String {
    let text = figure::number(value);
    match text.strip_prefix('-') {
        Some(rest) => format!("−{rest}"),
        None if text == "0" => text,
        None => format!("+{text}"),
    }
}

#[cfg(test)]
mod tests {
    use ratchet_core::stats::interval::mean;

    use super::*;

    #[test]
    fn the_sentence_says_no_more_than_the_interval_does() {
        let says = |values: &[f64]| Says::of(&mean(values).unwrap());
        assert_eq!(says(&[0.4, 0.5, 0.6]), Says::Rose);
        assert_eq!(says(&[-0.4, -0.5, -0.6]), Says::Fell);
        assert_eq!(says(&[-0.5, 0.6]), Says::Nothing);
        assert_eq!(says(&[0.0, 0.1]), Says::Nothing);
        assert_eq!(says(&[0.5, 0.5]), Says::TooFew, "equal pairs show no error");
        assert_eq!(says(&[0.5]), Says::TooFew);
    }

    #[test]
    fn differences_have_signs() {
        assert_eq!([0.12, -0.3, 0.0].map(signed), ["+0.12", "−0.3", "0"]);
    }
}
