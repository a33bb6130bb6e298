//! What is sent to an endpoint, and which part of its response is the answer.

use ratchet_core::catalog::evaluator::json_path;
use serde_json::Value;

use super::{CallFault, TargetError, invalid};

/// Checks a JSON template.
pub(super) fn checked_body(body: Option<&str>) -> Result<Option<String>, TargetError> {
    let Some(body) = body else { return Ok(None) };
    filled(body, &Value::Null, "session").map_err(|why| invalid("body", why))?;
    Ok(Some(body.to_owned()))
}

/// Checks a path to the answer.
pub(super) fn checked_path(output: Option<&str>) -> Result<Option<String>, TargetError> {
    match output {
        Some(path) if !json_path::is_path(path) => {
            Err(invalid("output", "must be a path such as $.output.text"))
        }
        other => Ok(other.map(str::to_owned)),
    }
}

/// Fills a template: `{{input}}` and `{{input.field}}` become JSON, `{{session}}` a JSON string.
pub(super) fn filled(template: &str, input: &Value, session: &str) -> Result<Value, String> {
    let (mut text, mut rest) = (String::new(), template);
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, behind) = after.split_once("}}").ok_or("body: {{ without }}")?;
        text.push_str(before);
        text.push_str(&variable(name.trim(), input, session)?.to_string());
        rest = behind;
    }
    text.push_str(rest);
    serde_json::from_str(&text).map_err(|why| format!("body: is not JSON once it is filled: {why}"))
}

fn variable(name: &str, input: &Value, session: &str) -> Result<Value, String> {
    match name.split_once('.') {
        None if name == "input" => Ok(input.clone()),
        None if name == "session" => Ok(session.into()),
        Some(("input", field)) => {
            Ok(json_path::find(input, &format!("$.{field}")).unwrap_or_default())
        }
        _ => Err(format!("body: {{{{{name}}}}} is none of input, input.FIELD and session")),
    }
}

/// The part of a response that is the answer.
pub(super) fn answer(text: &str, path: Option<&str>) -> Result<String, CallFault> {
    let value: Option<Value> = serde_json::from_str(text).ok();
    match (path, value) {
        (None, Some(Value::String(answer))) => Ok(answer),
        (None, _) => Ok(text.to_owned()),
        (Some(path), value) => {
            let found = value.as_ref().and_then(|value| json_path::find(value, path));
            let found = found.ok_or_else(|| {
                CallFault::lasting(format!("output: the response has nothing at {path}"))
            })?;
            Ok(found.as_str().map_or_else(|| found.to_string(), str::to_owned))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_template_is_filled_with_json() {
        let input = json!({ "question": "say \"hi\"", "n": [1, 2] });
        let body = r#"{"q": {{input.question}}, "n": {{ input.n[1] }}, "s": {{session}}, "x": {{input.none}}}"#;
        let filled = filled(body, &input, "abc").unwrap();
        assert_eq!(filled, json!({ "q": "say \"hi\"", "n": 2, "s": "abc", "x": null }));
        for wrong in ["{{other}}", "{{input", "{{input}} and more"] {
            assert!(super::filled(wrong, &input, "").is_err(), "{wrong}");
        }
    }
}
