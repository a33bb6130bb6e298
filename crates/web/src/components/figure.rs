//! Numbers, times and money as people read them, with the exact value one hover away.

use maud::{Markup, html};
use ratchet_core::counted::noun_of;
use ratchet_core::money::Money;
use ratchet_core::time::Timestamp;

use crate::viewer_time::ViewerTime;

/// A count: `950`, `12.3 k`, `4.0 M`.
pub fn count(n: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let short = |unit: f64| n as f64 / unit;
    match n {
        0..=9_999 => grouped(n),
        10_000..=999_949 => format!("{:.1} k", short(1e3)),
        999_950..=999_949_999 => format!("{:.1} M", short(1e6)),
        _ => format!("{:.1} G", short(1e9)),
    }
}

/// All digits, in groups of three: `1,234,567`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun, all digits: `1 trace`, `1,234 traces`.
pub fn counted(n: u64, noun: &str) -> String {
    format!("{} {}", grouped(n), noun_of(n, noun))
}

/// A length of time: `340 µs`, `12 ms`, `1.24 s`, `3 m 05 s`, `2 h 10 m`, `3 d 4 h`.
pub fn duration(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let in_units = |unit: u64| nanos as f64 / unit as f64;
    let seconds = nanos / 1_000_000_000;
    let text = match nanos {
        0 => "0 ms".to_owned(),
        1..=999 => format!("{nanos} ns"),
        1_000..=999_999 => format!("{:.0} µs", in_units(1_000)),
        1_000_000..=9_999_999 => format!("{:.1} ms", in_units(1_000_000)),
        10_000_000..=999_499_999 => format!("{:.0} ms", in_units(1_000_000)),
        999_500_000..=59_994_999_999 => format!("{:.2} s", in_units(1_000_000_000)),
        _ if seconds < 3_600 => format!("{} m {:02} s", seconds / 60, seconds % 60),
        _ if seconds < 86_400 => format!("{} h {:02} m", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3_600),
    };
    format!("{sign}{text}")
}

/// An amount of money: `$0`, `<$0.0001`, `$0.0123`, `$12.30`, `$1,234`.
pub fn money(amount: Money) -> String {
    let dollars = amount.dollars();
    match dollars.abs() {
        0.0 => "$0".to_owned(),
        least if least < 0.000_1 => "<$0.0001".to_owned(),
        small if small < 1.0 => format!("${dollars:.4}"),
        middle if middle < 1_000.0 => format!("${dollars:.2}"),
        _ => {
            let whole = u64::try_from(amount.pico() / 1_000_000_000_000).unwrap_or_default();
            format!("${}", grouped(whole))
        }
    }
}

/// Dollars that were drawn, as an amount of money.
pub fn dollars(value: f64) -> String {
    money(Money::from_dollars(value).unwrap_or_default())
}

/// The same with all its digits.
pub fn exact_dollars(value: f64) -> String {
    format!("${}", digits(value))
}

/// A cost, or "unknown", which is not free.
pub fn cost(cost: Option<Money>) -> Markup {
    html! {
        @match cost {
            Some(amount) => { span title={ "$" (amount.dollars()) } { (money(amount)) } },
            None => { span.muted title="no price known for this model" { "unknown" } },
        }
    }
}

/// An amount of money, marked if a part of it is approximate: `$0.0123`, `≈$0.0123`.
pub fn money_in_part(amount: Money, approximate: Money) -> String {
    format!("{}{}", mark(approximate), money(amount))
}

/// A count of tokens, marked if a part of their cost is approximate: `12.3 k`, `≈12.3 k`.
pub fn count_in_part(tokens: u64, approximate: Money) -> String {
    format!("{}{}", mark(approximate), count(tokens))
}

/// Tokens in short, all digits on hover, and whether some of them were counted here.
pub fn tokens_in_part(tokens: u64, approximate: Money) -> Markup {
    let counted = if approximate == Money::default() { "" } else { ", partly estimated" };
    html! {
        span title={ (grouped(tokens)) " tokens" (counted) } { (count_in_part(tokens, approximate)) }
    }
}

/// Prefix of a partly approximate number.
pub fn mark(approximate: Money) -> &'static str {
    if approximate == Money::default() { "" } else { "≈" }
}

/// How much of a sum is approximate, if any: `of which ≈$0.0123 approximate`.
pub fn of_which(approximate: Money) -> Option<String> {
    let is_any = approximate != Money::default();
    is_any.then(|| format!("of which ≈{} approximate", money(approximate)))
}

/// The same behind another note: `, of which ≈$0.0123 approximate`, or nothing.
pub fn and_of_which(approximate: Money) -> String {
    of_which(approximate).map(|share| format!(", {share}")).unwrap_or_default()
}

/// A cost that may be approximate in part, because its tokens were counted here.
pub fn cost_in_part(cost: Option<Money>, approximate: Money) -> Markup {
    match (cost, of_which(approximate)) {
        (Some(amount), Some(share)) => html! {
            span title={ "$" (amount.dollars()) ", " (share) ": tokens are estimated" } {
                (money_in_part(amount, approximate))
            }
        },
        (cost, _) => self::cost(cost),
    }
}

/// A share: `12%`, `0.4%`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent != 0.0 && percent.abs() < 9.95 {
        format!("{percent:.1}%")
    } else {
        format!("{percent:.0}%")
    }
}

/// How much a number grew: `+12%`, `−40%`, `270×`, `unchanged`.
pub fn growth(ratio: f64) -> String {
    if (ratio - 1.0).abs() < 0.005 {
        "unchanged".to_owned()
    } else if ratio >= 3.0 {
        format!("{ratio:.0}×")
    } else if ratio > 1.0 {
        format!("+{}", percent(ratio - 1.0))
    } else {
        format!("−{}", percent(1.0 - ratio))
    }
}

/// Bytes: `512 B`, `1.5 kB`, `20 MB`.
pub fn bytes(n: usize) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let short = |unit: f64| n as f64 / unit;
    match n {
        0..=999 => format!("{n} B"),
        1_000..=999_949 => format!("{:.1} kB", short(1e3)),
        _ => format!("{:.1} MB", short(1e6)),
    }
}

/// A number of no particular unit, as short as it can be: `0.85`, `12`, `1234.5`.
pub fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short.is_empty() || short == "-0" { "0".to_owned() } else { short.to_owned() }
}

/// A number with all its digits: `1,234,567`, `0.0123456`.
pub fn digits(value: f64) -> String {
    let text = if value.abs() >= 1e6 { format!("{value:.0}") } else { format!("{value:.7}") };
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let part = part.trim_end_matches('0');
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("-", whole));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), grouped);
    if part.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") }
}

/// A moment in the viewer's zone: `15 Nov 10:33:17`, with its year where that is another, and all
/// of it in UTC on hover.
pub fn when(at: Timestamp, time: &ViewerTime) -> Markup {
    html! { time datetime=(at) title=(exact_moment(at)) { (time.short(at)) } }
}

/// A moment with its year, all its digits and its zone: `2026-11-15 10:33:17.123 UTC`.
pub fn exact_moment(at: Timestamp) -> String {
    at.to_string().replace('T', " ").replace('Z', " UTC")
}

/// How long ago: `now`, `5 m ago`, `3 h ago`, `2 d ago`, with the exact time on hover.
pub fn ago(at: Timestamp, time: &ViewerTime) -> Markup {
    let minutes = time.now.since(at) / 60_000_000_000;
    let text = match minutes {
        i64::MIN..=0 => "now".to_owned(),
        1..=59 => format!("{minutes} min ago"),
        60..=1_439 => format!("{} h ago", minutes / 60),
        _ => format!("{} d ago", minutes / 1_440),
    };
    html! { time datetime=(at) title=(exact_moment(at)) { (text) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_keep_three_digits() {
        let all = [0, 999, 1_000, 9_999, 12_345, 999_949, 1_000_000, 4_000_000_000].map(count);
        assert_eq!(all, ["0", "999", "1,000", "9,999", "12.3 k", "999.9 k", "1.0 M", "4.0 G"]);
    }

    #[test]
    fn durations_fit_their_size() {
        let all = [0, 900, 340_000, 1_240_000, 12_000_000, 1_240_000_000, 185_000_000_000];
        let expected = ["0 ms", "900 ns", "340 µs", "1.2 ms", "12 ms", "1.24 s", "3 m 05 s"];
        assert_eq!(all.map(duration), expected);
        assert_eq!(duration(7_800_000_000_000), "2 h 10 m");
        assert_eq!(duration(273_600_000_000_000), "3 d 4 h");
        assert_eq!(duration(-12_000_000), "-12 ms");
        assert_eq!(duration(i64::MIN), "-106751 d 23 h");
    }

    #[test]
    fn money_is_never_rounded_to_nothing() {
        let dollars = |amount| money(Money::from_dollars(amount).unwrap());
        assert_eq!(dollars(0.0), "$0");
        assert_eq!(dollars(0.000_01), "<$0.0001");
        assert_eq!(dollars(0.012_34), "$0.0123");
        assert_eq!(dollars(12.3), "$12.30");
        assert_eq!(dollars(123_456.7), "$123,456");
    }

    #[test]
    fn what_is_approximate_in_part_is_marked_and_says_how_much() {
        let cents = |cents: f64| Money::from_dollars(cents / 100.0).unwrap();
        let (all, part, none) = (cents(50.0), cents(20.0), Money::default());
        assert_eq!([money_in_part(all, part), money_in_part(all, none)], ["≈$0.5000", "$0.5000"]);
        assert_eq!([count_in_part(12, part), count_in_part(12, none)], ["≈12", "12"]);
        assert_eq!(of_which(part).unwrap(), "of which ≈$0.2000 approximate");
        assert_eq!(of_which(none), None);
        assert!(tokens_in_part(12, part).0.contains("12 tokens, partly estimated"));
        assert!(!tokens_in_part(12, none).0.contains("counted"));
    }

    #[test]
    fn growth_is_a_share_until_it_is_a_factor() {
        let all = [1.001, 1.12, 0.6, 269.9].map(growth);
        assert_eq!(all, ["unchanged", "+12%", "−40%", "270×"]);
    }

    #[test]
    fn exact_moments_name_their_zone() {
        let moment = Timestamp::parse("2026-11-05T10:33:17.123Z").unwrap();
        assert_eq!(exact_moment(moment), "2026-11-05 10:33:17.123 UTC");
    }

    #[test]
    fn digits_are_all_there() {
        let all = [0.0, 1_234_567.0, 0.012_345_6, -1_500.25, f64::NAN].map(digits);
        assert_eq!(all, ["0", "1,234,567", "0.0123456", "-1,500.25", "NaN"]);
    }

    #[test]
    fn numbers_lose_their_zeros() {
        let all = [0.0, -0.000_1, 0.85, 12.0, 1234.5].map(number);
        assert_eq!(all, ["0", "0", "0.85", "12", "1234.5"]);
    }
}
