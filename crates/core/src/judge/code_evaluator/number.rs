use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::text::quoted;
use super::{CodeVerdict, EvaluatedCase, NotApplicable};

/// A number as people and programs write it; groups of three digits may have commas between them.
static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?").ok()
});

pub(super) fn compare(
    case: &EvaluatedCase,
    absolute: f64,
    relative: f64,
) -> Result<CodeVerdict, NotApplicable> {
    let expected = expected_number(case.expected()?).ok_or(NotApplicable::ExpectedNoNumber)?;
    let Some(answer) = last_number(case.output) else {
        let rationale = format!("The answer has no number: {}", quoted(case.answer()));
        return Ok(CodeVerdict::new(0.0, rationale));
    };
    let tolerance = absolute.max(relative * expected.abs());
    let difference = (answer - expected).abs();
    let rationale = format!(
        "The answer's number is {answer}, expected {expected}; they differ by {difference}, and \
         {tolerance} is permitted."
    );
    Ok(CodeVerdict::correct(difference <= tolerance, rationale))
}

fn expected_number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => last_number(text),
        _ => None,
    }
}

/// The number that a text is, or else the last one in it: answers end with their result.
fn last_number(text: &str) -> Option<f64> {
    let whole = text.trim().parse().ok().filter(|number: &f64| number.is_finite());
    whole.or_else(|| {
        let last = NUMBER.as_ref()?.find_iter(text).last()?;
        let number: f64 = last.as_str().replace(',', "").parse().ok()?;
        number.is_finite().then_some(number)
    })
}
