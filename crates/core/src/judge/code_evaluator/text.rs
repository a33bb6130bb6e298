use regex::Regex;
use serde_json::Value;

use super::{CodeVerdict, EvaluatedCase, NotApplicable};

/// How much of a text a rationale quotes.
const MAX_QUOTED_CHARS: usize = 120;

pub(super) fn exact(case: &EvaluatedCase) -> Result<CodeVerdict, NotApplicable> {
    let (expected, answer) = (as_text(case.expected()?), case.answer());
    if answer == expected {
        return Ok(CodeVerdict::new(1.0, "The answer is the expected text."));
    }
    let difference = difference(&expected, answer);
    Ok(CodeVerdict::new(0.0, format!("The answer is not the expected text: {difference}")))
}

pub(super) fn contains(
    case: &EvaluatedCase,
    own: Option<&str>,
    ignore_case: bool,
) -> Result<CodeVerdict, NotApplicable> {
    let wanted = match own {
        Some(text) => text.to_owned(),
        None => as_text(case.expected()?),
    };
    let is_there = match ignore_case {
        true => case.output.to_lowercase().contains(&wanted.to_lowercase()),
        false => case.output.contains(&wanted),
    };
    let verb = if is_there { "contains" } else { "does not contain" };
    let rationale = format!("The answer {verb} {}.", quoted(&wanted));
    Ok(CodeVerdict::correct(is_there, rationale))
}

pub(super) fn matches(case: &EvaluatedCase, pattern: &Regex) -> CodeVerdict {
    let answer = case.answer();
    let found = pattern.find(answer);
    let rationale = match found {
        Some(found) => format!("The pattern matches {}.", quoted(found.as_str())),
        None => format!("The pattern does not match {}.", quoted(answer)),
    };
    CodeVerdict::correct(found.is_some(), rationale)
}

/// A string without its quotes, anything else as JSON.
pub(super) fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The start of a text, in quotes and on one line.
pub(super) fn quoted(text: &str) -> String {
    let start: String = text.chars().take(MAX_QUOTED_CHARS).collect();
    let rest = if start.len() < text.len() { "…" } else { "" };
    format!("{start:?}{rest}")
}

/// The first place at which two texts differ.
fn difference(expected: &str, answer: &str) -> String {
    let same = expected.chars().zip(answer.chars()).take_while(|(one, other)| one == other).count();
    let behind = |text: &str| quoted(&text.chars().skip(same).collect::<String>());
    let place = match same {
        0 => String::new(),
        _ => format!("after {same} characters "),
    };
    format!("{place}it has {}, expected {}.", behind(answer), behind(expected))
}
