//! Client formats of usage and cost: one JSON object, in one of several forms.
//!
//! Usage types are disjoint in our records. Where a format includes cached or reasoning tokens in
//! input or output, they are subtracted, so that no token is counted or priced twice.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::money::Money;
use crate::record::usage::TOTAL;

type Object = Map<String, Value>;

/// A provider's counts for input or output.
struct Side {
    /// Our type, and the prefix of its parts.
    kind: &'static str,
    /// The provider's count, parts included.
    count: &'static str,
    /// Where the provider lists the parts.
    parts: [&'static str; 2],
}

/// A format whose totals include their parts.
type Form = [Side; 2];

const COMPLETIONS: Form = [
    Side {
        kind: "input",
        count: "prompt_tokens",
        parts: ["prompt_tokens_details", "prompt_token_details"],
    },
    Side {
        kind: "output",
        count: "completion_tokens",
        parts: ["completion_tokens_details", "completion_token_details"],
    },
];

const RESPONSES: Form = [
    Side {
        kind: "input",
        count: "input_tokens",
        parts: ["input_tokens_details", "input_token_details"],
    },
    Side {
        kind: "output",
        count: "output_tokens",
        parts: ["output_tokens_details", "output_token_details"],
    },
];

const CAMEL: Form = [
    Side { kind: "input", count: "promptTokens", parts: ["promptTokensDetails", ""] },
    Side { kind: "output", count: "completionTokens", parts: ["completionTokensDetails", ""] },
];

const TOTALS: [&str; 2] = ["total_tokens", "totalTokens"];
/// Keys of the older format that are not units.
const NOT_UNITS: [&str; 4] = ["unit", "inputCost", "outputCost", "totalCost"];

pub(super) fn units(sent: &Object) -> BTreeMap<String, u64> {
    let has_count = |form: &Form| form.iter().any(|side| sent.contains_key(side.count));
    let has_parts = RESPONSES.iter().flat_map(|side| side.parts).any(|key| sent.contains_key(key));
    // Other formats use these names, too, but count cached tokens separately and send no total.
    let is_responses = has_count(&RESPONSES) && (has_parts || sent.contains_key(TOTALS[0]));
    if has_count(&COMPLETIONS) {
        units_in_form(sent, &COMPLETIONS)
    } else if is_responses {
        units_in_form(sent, &RESPONSES)
    } else if has_count(&CAMEL) {
        units_in_form(sent, &CAMEL)
    } else {
        units_by_kind(sent)
    }
}

fn units_in_form(sent: &Object, form: &Form) -> BTreeMap<String, u64> {
    let mut units = BTreeMap::new();
    for side in form {
        let Some(mut rest) = sent.get(side.count).and_then(whole) else {
            continue;
        };
        let parts = side.parts.iter().find_map(|key| sent.get(*key)?.as_object());
        for (part, count) in parts.into_iter().flatten() {
            let Some(count) = whole(count) else { continue };
            rest = rest.saturating_sub(count);
            units.insert(format!("{}_{part}", side.kind), count);
        }
        units.insert(side.kind.to_owned(), rest);
    }
    units.extend(total(sent));
    units
}

fn units_by_kind(sent: &Object) -> BTreeMap<String, u64> {
    let is_kind = |key: &str| !NOT_UNITS.contains(&key) && !TOTALS.contains(&key);
    let kinds = sent.iter().filter(|(key, _)| is_kind(key));
    let mut units: BTreeMap<String, u64> =
        kinds.filter_map(|(key, count)| Some((key.clone(), whole(count)?))).collect();
    if !units.contains_key(TOTAL) {
        units.extend(total(sent));
    }
    units
}

fn total(sent: &Object) -> Option<(String, u64)> {
    let total = TOTALS.iter().find_map(|key| whole(sent.get(*key)?))?;
    Some((TOTAL.to_owned(), total))
}

/// Parses a count; anything else is ignored, as in Langfuse.
fn whole(count: &Value) -> Option<u64> {
    match count {
        Value::Number(number) => number.as_u64().or_else(|| super::whole(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns dollars by type.
pub(super) fn amounts(sent: &Object) -> BTreeMap<String, Money> {
    sent.iter().filter_map(|(kind, amount)| Some((kind.clone(), dollars(amount)?))).collect()
}

fn dollars(amount: &Value) -> Option<Money> {
    let number = match amount {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    Money::from_dollars(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sent: &str, expected: &[(&str, u64)]) {
        let usage = crate::record::usage::Usage::from_details(&serde_json::from_str(sent).unwrap());
        let kinds: Vec<_> =
            usage.kinds().iter().map(|(kind, units)| (kind.as_str(), *units)).collect();
        assert_eq!(kinds, expected);
    }

    #[test]
    fn kinds_are_taken_as_they_are() {
        check(
            r#"{"input":3,"input_cached_tokens":90}"#,
            &[("input", 3), ("input_cached_tokens", 90), ("total", 93)],
        );
        check(r#"{"input":3,"total":5}"#, &[("input", 3), ("total", 5)]);
    }

    #[test]
    fn parts_are_taken_out_of_their_side() {
        check(
            r#"{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"cost":0.5,
                "prompt_tokens_details":{"cached_tokens":80,"audio_tokens":null},
                "completion_tokens_details":{"reasoning_tokens":15}}"#,
            &[
                ("input", 20),
                ("input_cached_tokens", 80),
                ("output", 5),
                ("output_reasoning_tokens", 15),
                ("total", 120),
            ],
        );
        check(
            r#"{"input_tokens":100,"output_tokens":20,"total_tokens":120,
                "input_tokens_details":{"cached_tokens":80},"output_tokens_details":null}"#,
            &[("input", 20), ("input_cached_tokens", 80), ("output", 20), ("total", 120)],
        );
    }

    #[test]
    fn tokens_that_are_counted_apart_stay_apart() {
        check(
            r#"{"input_tokens":5,"output_tokens":7,"cache_read_input_tokens":90,
                "service_tier":"standard"}"#,
            &[
                ("cache_read_input_tokens", 90),
                ("input_tokens", 5),
                ("output_tokens", 7),
                ("total", 102),
            ],
        );
    }

    #[test]
    fn the_camel_form_is_read_and_totals_are_not_kinds() {
        check(
            r#"{"promptTokens":1,"completionTokens":2,"totalTokens":3}"#,
            &[("input", 1), ("output", 2), ("total", 3)],
        );
        check(r#"{"input":1,"totalTokens":3}"#, &[("input", 1), ("total", 3)]);
    }

    #[test]
    fn what_is_no_count_is_left_out() {
        check(
            r#"{"input":"3","output":-1,"a":1.5,"b":2.0,"c":"x","d":null,"e":{},"f":1e300}"#,
            &[("b", 2), ("input", 3), ("total", 5)],
        );
        check("{}", &[]);
    }

    #[test]
    fn what_is_no_amount_is_left_out() {
        let sent = serde_json::from_str(r#"{"input":0.5,"output":-1,"b":"0.25","c":null}"#);
        let amounts = amounts(&sent.unwrap());
        let dollars: Vec<_> = amounts.values().map(|amount| amount.dollars()).collect();
        assert_eq!(dollars, [0.25, 0.5]);
    }
}
