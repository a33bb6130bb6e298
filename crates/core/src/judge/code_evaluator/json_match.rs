use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::notation::InvalidEvaluator;
use super::text::quoted;
use super::{CodeVerdict, EvaluatedCase, NotApplicable};
use crate::catalog::evaluator::json_path;

/// The maximum length of a JSON path.
const MAX_PATH_CHARS: usize = 1_000;

const MATCH: &str = "The answer is the expected JSON value.";

/// A JSON path to a field that is not compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct IgnoredPath(String);

impl TryFrom<String> for IgnoredPath {
    type Error = InvalidEvaluator;

    fn try_from(path: String) -> Result<Self, InvalidEvaluator> {
        let is_valid = path.chars().count() <= MAX_PATH_CHARS && json_path::is_path(&path);
        if is_valid { Ok(Self(path)) } else { Err(InvalidEvaluator::JsonPath(path)) }
    }
}

impl From<IgnoredPath> for String {
    fn from(path: IgnoredPath) -> Self {
        path.0
    }
}

impl IgnoredPath {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

pub(super) fn compare(
    case: &EvaluatedCase,
    ignored: &[IgnoredPath],
) -> Result<CodeVerdict, NotApplicable> {
    let given = case.expected()?;
    let Ok(mut answer) = serde_json::from_str(without_fence(case.output)) else {
        let rationale = format!("The answer is not JSON: {}", quoted(case.answer()));
        return Ok(CodeVerdict::new(0.0, rationale));
    };
    // A string that is expected as it is may happen to be JSON too.
    if is_same(given, &answer) {
        return Ok(CodeVerdict::new(1.0, MATCH));
    }
    let mut expected = parsed(given);
    for path in ignored {
        json_path::remove(&mut expected, &path.0);
        json_path::remove(&mut answer, &path.0);
    }
    Ok(match difference(&expected, &answer, "$") {
        None => CodeVerdict::new(1.0, MATCH),
        Some(difference) => CodeVerdict::new(0.0, difference),
    })
}

/// A dataset from a CSV file has JSON as text.
fn parsed(expected: &Value) -> Value {
    let text = expected.as_str();
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| expected.clone())
}

/// Models put JSON between lines of three backquotes.
fn without_fence(output: &str) -> &str {
    let text = output.trim();
    let inner = || text.strip_prefix("```")?.strip_suffix("```")?.split_once('\n');
    inner().map_or(text, |(_language, json)| json)
}

/// Describes the first difference.
fn difference(expected: &Value, answer: &Value, path: &str) -> Option<String> {
    match (expected, answer) {
        (Value::Object(wanted), Value::Object(given)) => {
            let missing = wanted.keys().find(|key| !given.contains_key(*key));
            let extra = given.keys().find(|key| !wanted.contains_key(*key));
            let sides = [(missing, "is missing"), (extra, "was not expected")];
            if let Some((key, what)) = sides.into_iter().find_map(|(key, what)| Some((key?, what)))
            {
                return Some(format!("{} {what}.", quoted(&format!("{path}.{key}"))));
            }
            wanted.iter().find_map(|(key, wanted)| {
                difference(wanted, given.get(key)?, &format!("{path}.{key}"))
            })
        }
        (Value::Array(wanted), Value::Array(given)) if wanted.len() == given.len() => {
            let mut pairs = wanted.iter().zip(given).enumerate();
            pairs.find_map(|(at, (wanted, given))| {
                difference(wanted, given, &format!("{path}[{at}]"))
            })
        }
        _ if is_same(expected, answer) => None,
        _ => {
            let (given, wanted) = (quoted(&answer.to_string()), quoted(&expected.to_string()));
            Some(format!("{} is {given}, expected {wanted}.", quoted(path)))
        }
    }
}

/// Whether two values are equal; 1 and 1.0 are.
pub(super) fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64()
        }
        _ => one == other,
    }
}

/// Whether a value has all that another one names: fields of objects, at any depth.
pub(super) fn is_subset(wanted: &Value, given: &Value) -> bool {
    match (wanted, given) {
        (Value::Object(wanted), Value::Object(given)) => wanted
            .iter()
            .all(|(key, wanted)| given.get(key).is_some_and(|given| is_subset(wanted, given))),
        (Value::Array(wanted), Value::Array(given)) => {
            wanted.len() == given.len()
                && wanted.iter().zip(given).all(|(wanted, given)| is_subset(wanted, given))
        }
        _ => is_same(wanted, given),
    }
}
