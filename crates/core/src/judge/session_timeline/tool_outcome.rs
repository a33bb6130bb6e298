use serde_json::{Map, Value};

/// Boolean keys that mark a result as failed.
const FAILURE_FLAGS: [&str; 3] = ["is_error", "isError", "failed"];
/// Keys that contain an error.
const ERROR_KEYS: [&str; 4] = ["error", "errors", "error_message", "exception"];
/// Keys that contain an exit code; anything but 0 is a failure.
const EXIT_CODE_KEYS: [&str; 5] =
    ["exit_code", "exitCode", "returncode", "return_code", "exit_status"];
/// Prefixes of the output of a failed tool. Only the start counts: text further down may be a file,
/// a page or an injection attempt.
const FAILURE_PREFIXES: [&str; 9] = [
    "error:",
    "error -",
    "error ",
    "exception:",
    "traceback (most recent call last)",
    "fatal:",
    "exit code ",
    "command failed",
    "<tool_use_error>",
];
/// The length of the prefix that is examined.
const PREFIX_CHARS: usize = 64;
/// Longer texts are files and pages, not error reports.
const MAX_REPORT: usize = 100_000;

/// Returns whether a tool output has the form of a failure.
pub(super) fn is_failure_output(text: &str) -> bool {
    let text = text.trim_start();
    let object = (text.starts_with('{') && text.len() <= MAX_REPORT)
        .then(|| serde_json::from_str::<Map<String, Value>>(text).ok());
    if let Some(object) = object.flatten() {
        return is_failure(&object);
    }
    let opening: String = text.chars().take(PREFIX_CHARS).collect();
    let opening = opening.to_lowercase();
    // "exit code 0" can start a success.
    !opening.starts_with("exit code 0")
        && FAILURE_PREFIXES.iter().any(|failure| opening.starts_with(failure))
}

fn is_failure(object: &Map<String, Value>) -> bool {
    let flagged = FAILURE_FLAGS.iter().any(|key| object.get(*key) == Some(&Value::Bool(true)));
    let refused = object.get("success") == Some(&Value::Bool(false))
        || object.get("ok") == Some(&Value::Bool(false));
    let reason = ERROR_KEYS.iter().filter_map(|key| object.get(*key)).any(says_something);
    let exit =
        EXIT_CODE_KEYS.iter().filter_map(|key| object.get(*key)?.as_i64()).any(|code| code != 0);
    let status = object.get("status").and_then(Value::as_str).unwrap_or_default();
    let status =
        ["error", "failed", "failure"].iter().any(|word| status.eq_ignore_ascii_case(word));
    flagged || refused || reason || exit || status
}

fn says_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(object) => !object.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_known_by_their_form() {
        let failures = [
            "Error: user not found",
            "  Traceback (most recent call last):\n  File",
            r#"{"error": "no such order"}"#,
            r#"{"success": false}"#,
            r#"{"stdout": "", "exit_code": 2}"#,
            r#"{"status": "Failed"}"#,
            "Exit code 1\nboom",
            "fatal: not a git repository",
        ];
        for text in failures {
            assert!(is_failure_output(text), "{text}");
        }
    }

    #[test]
    fn only_the_start_of_an_output_indicates_failure() {
        let fine = [
            "",
            "0 errors",
            "A page on errors. Error: this is quoted",
            r#"{"error": null, "rows": []}"#,
            r#"{"rows": [{"error": "in a row"}]}"#,
            r#"{"errors": []}"#,
            r#"{"exit_code": 0, "stdout": "error: none"}"#,
            "Exit code 0",
            r#"[{"error": "x"}]"#,
        ];
        for text in fine {
            assert!(!is_failure_output(text), "{text}");
        }
    }
}
