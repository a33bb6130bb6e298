//! Units and costs, in every form that clients send them.
//!
//! Kinds are disjoint in our records. Where a form counts cached or reasoning tokens within the
//! input or the output, they are taken out again, so that no token is counted or priced twice.

use std::collections::BTreeMap;

use ratchet_core::money::Money;
use ratchet_core::usage::{Cost, TOTAL, Usage};
use ratchet_remote::langfuse::wire::error::Issue;
use ratchet_remote::langfuse::wire::json::Raw;
use ratchet_remote::langfuse::wire::maybe::Maybe;
use serde_json::{Map, Value};

type Object = Map<String, Value>;

/// The units and the cost of a call; the details win over the older form beside them.
pub(super) fn read(
    older: &Maybe<Raw>,
    usage_details: &Maybe<Raw>,
    cost_details: &Maybe<Raw>,
) -> Result<(Option<Usage>, Option<Cost>), Issue> {
    let older = object("usage", older)?;
    let usage_details = object("usageDetails", usage_details)?;
    let cost_details = object("costDetails", cost_details)?;
    let usage = usage_details.iter().chain(&older).map(units).find(|units| !units.is_empty());
    let detailed = cost_details.as_ref().map(all_amounts);
    let beside_usage = older.as_ref().map(amounts_beside_usage);
    let cost = detailed.into_iter().chain(beside_usage).find(|amounts| !amounts.is_empty());
    Ok((usage.map(Usage::new), cost.map(Cost::new)))
}

fn object(field: &str, sent: &Maybe<Raw>) -> Result<Option<Object>, Issue> {
    let Some(raw) = sent.as_value() else {
        return Ok(None);
    };
    let object = serde_json::from_str(raw.get());
    object.map(Some).map_err(|_| Issue::at(field, "not a JSON object"))
}

/// How a provider counts one side of a call.
struct Side {
    /// Our kind, and the prefix of its parts.
    kind: &'static str,
    /// The provider's count, its parts included.
    count: &'static str,
    /// Where the provider lists the parts.
    parts: [&'static str; 2],
}

/// A form that counts parts within their side.
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
/// What stands in the older form beside the units.
const NOT_UNITS: [&str; 4] = ["unit", "inputCost", "outputCost", "totalCost"];

fn units(sent: &Object) -> BTreeMap<String, u64> {
    let has_count = |form: &Form| form.iter().any(|side| sent.contains_key(side.count));
    let has_parts = RESPONSES.iter().flat_map(|side| side.parts).any(|key| sent.contains_key(key));
    // Others use these words, too, but count cached tokens apart and send no total.
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

/// A count; what is not one is left out, as in Langfuse.
fn whole(count: &Value) -> Option<u64> {
    match count {
        Value::Number(number) => number.as_u64().or_else(|| whole_float(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn whole_float(number: f64) -> Option<u64> {
    /// Beyond this, floats skip whole numbers.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let is_count = number.fract() == 0.0 && (0.0..=EXACT).contains(&number);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to fit on the line above"
    )]
    is_count.then_some(number as u64)
}

fn all_amounts(sent: &Object) -> BTreeMap<String, Money> {
    sent.iter().filter_map(|(kind, amount)| Some((kind.clone(), dollars(amount)?))).collect()
}

fn amounts_beside_usage(sent: &Object) -> BTreeMap<String, Money> {
    let keys = [("input", "inputCost"), ("output", "outputCost"), (TOTAL, "totalCost")];
    let amount = |key: &str| dollars(sent.get(key)?);
    keys.iter().filter_map(|(kind, key)| Some(((*kind).to_owned(), amount(key)?))).collect()
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

    fn sent(json: &str) -> Maybe<Raw> {
        Maybe::Value(serde_json::from_str(json).unwrap())
    }

    #[track_caller]
    fn check(usage_details: &str, expected: &[(&str, u64)]) {
        let (usage, _) = read(&Maybe::Absent, &sent(usage_details), &Maybe::Absent).unwrap();
        let kinds = usage.map(|usage| usage.kinds().clone()).unwrap_or_default();
        let kinds: Vec<_> = kinds.iter().map(|(kind, units)| (kind.as_str(), *units)).collect();
        assert_eq!(kinds, expected);
    }

    #[test]
    fn kinds_are_taken_as_they_are() {
        check(r#"{"input":3,"output":4}"#, &[("input", 3), ("output", 4), ("total", 7)]);
        check(
            r#"{"input":3,"input_cached_tokens":90,"total":93}"#,
            &[("input", 3), ("input_cached_tokens", 90), ("total", 93)],
        );
    }

    #[test]
    fn cached_and_reasoning_tokens_are_taken_out_of_their_side() {
        check(
            r#"{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,
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
    fn what_repeats_the_total_is_not_added_to_it() {
        check(
            r#"{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,
                "cache_read_input_tokens":80}"#,
            &[("input", 100), ("output", 20), ("total", 120)],
        );
        check(
            r#"{"input":1,"output":2,"totalTokens":3}"#,
            &[("input", 1), ("output", 2), ("total", 3)],
        );
    }

    #[test]
    fn the_camel_form_is_read() {
        check(
            r#"{"promptTokens":1,"completionTokens":2,"totalTokens":3}"#,
            &[("input", 1), ("output", 2), ("total", 3)],
        );
        check(r#"{"promptTokens":1}"#, &[("input", 1), ("total", 1)]);
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
    fn more_parts_than_whole_leave_nothing_over() {
        check(
            r#"{"prompt_tokens":10,"prompt_tokens_details":{"cached_tokens":80}}"#,
            &[("input", 0), ("input_cached_tokens", 80), ("total", 80)],
        );
    }

    #[test]
    fn the_older_form_holds_units_and_costs() {
        let older = sent(
            r#"{"input":3,"output":4,"unit":"TOKENS","inputCost":0.5,"outputCost":null,
                "totalCost":0.75}"#,
        );
        let (usage, cost) = read(&older, &Maybe::Null, &Maybe::Absent).unwrap();
        assert_eq!(usage.unwrap().total(), 7);
        let cost = cost.unwrap();
        assert_eq!(cost.total().dollars(), 0.75);
        assert_eq!(cost.kinds().len(), 1);
    }

    #[test]
    fn details_win_over_the_older_form() {
        let older = sent(r#"{"input":3,"totalCost":9}"#);
        let (usage, cost) = read(&older, &sent(r#"{"input":5}"#), &sent(r#"{"input":1}"#)).unwrap();
        assert_eq!(usage.unwrap().total(), 5);
        assert_eq!(cost.unwrap().total().dollars(), 1.0);
    }

    #[test]
    fn empty_details_leave_the_older_form() {
        let older = sent(r#"{"input":3,"totalCost":9}"#);
        let (usage, cost) = read(&older, &sent("{}"), &sent(r#"{"total":-1}"#)).unwrap();
        assert_eq!(usage.unwrap().total(), 3);
        assert_eq!(cost.unwrap().total().dollars(), 9.0);
    }

    #[test]
    fn other_shapes_are_refused() {
        let refused = read(&Maybe::Absent, &sent("[1]"), &Maybe::Absent).unwrap_err();
        assert_eq!(refused.to_string(), "usageDetails: not a JSON object");
    }
}
