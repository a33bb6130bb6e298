//! Conditions that are kept with a chart, a dashboard or a rule.

use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::wire::dashboard::WidgetFilter;
use serde_json::Value;

use crate::validation::{Checks, MAX_NAME_CHARS};

const MAX_FILTERS: usize = 100;

/// Refuses conditions whose operator or value does not fit their type.
pub fn check_filters(checks: &mut Checks, filters: &[WidgetFilter]) {
    checks.len("filters", filters.len(), 0..=MAX_FILTERS);
    for filter in filters {
        checks.text("filters", &filter.column, 1..=MAX_NAME_CHARS);
        if let Err(why) = check_filter(filter) {
            checks.must(false, "filters", &why);
        }
    }
}

fn check_filter(filter: &WidgetFilter) -> Result<(), String> {
    const TEXT: &[&str] =
        &["=", "contains", "does not contain", "starts with", "ends with", "matches"];
    const NUMBER: &[&str] = &["=", ">", "<", ">=", "<="];
    const TRUTH: &[&str] = &["=", "<>"];
    let is_texts =
        |value: &Value| value.as_array().is_some_and(|texts| texts.iter().all(Value::is_string));
    let value: Value = filter
        .value
        .as_ref()
        .map_or(Value::Null, |value| serde_json::from_str(value.get()).unwrap_or(Value::Null));
    let kind = filter.value_type.as_str();
    let (operators, fits): (&[&str], bool) = match kind {
        "string" | "stringObject" => (TEXT, value.is_string()),
        "number" | "numberObject" => (NUMBER, value.is_number()),
        "datetime" => {
            let time = value.as_str().and_then(|text| Timestamp::parse(text).ok());
            (&[">", "<", ">=", "<="], time.is_some())
        }
        "boolean" | "booleanObject" => (TRUTH, value.is_boolean()),
        "null" => (&["is null", "is not null"], true),
        "stringOptions" | "categoryOptions" => (&["any of", "none of"], is_texts(&value)),
        "arrayOptions" => (&["any of", "none of", "all of"], is_texts(&value)),
        other => return Err(format!("there is no type {other} of filter")),
    };
    if !operators.contains(&filter.operator.as_str()) {
        return Err(format!("a {kind} filter takes {}", operators.join(", ")));
    }
    let needs_key = kind.ends_with("Object") || kind == "categoryOptions";
    match (fits, needs_key && filter.key.as_deref().unwrap_or_default().is_empty()) {
        (false, _) => Err(format!("the value does not fit a {kind} filter")),
        (true, true) => Err(format!("a {kind} filter needs a key")),
        (true, false) => Ok(()),
    }
}
