use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Marks nullable fields of responses as required.
///
/// Views write null for missing values. A field that is omitted instead is never null, and declares
/// `nullable = false`; one that may be either has null as its default. Types that are also requests
/// are unchanged.
pub(super) fn require_what_may_be_null(document: &mut Value) {
    let (mut sent, mut answered) = (BTreeSet::new(), BTreeSet::new());
    for operation in operations(document) {
        reach(document, &operation["requestBody"], &mut sent);
        reach(document, &operation["responses"], &mut answered);
    }
    let Some(schemas) = document["components"]["schemas"].as_object_mut() else { return };
    let is_whole = |name: &&String| !IN_GROUPS.contains(&name.as_str());
    for name in answered.difference(&sent).filter(is_whole) {
        if let Some(schema) = schemas.get_mut(name) {
            require(schema);
        }
    }
}

fn operations(document: &Value) -> impl Iterator<Item = &Value> {
    let items = document["paths"].as_object().into_iter().flat_map(Map::values);
    items.filter_map(Value::as_object).flat_map(Map::values)
}

/// Collects the names of all schemas reachable from a value.
fn reach(document: &Value, from: &Value, names: &mut BTreeSet<String>) {
    match from {
        Value::Object(fields) => {
            let reference = fields.get("$ref").and_then(Value::as_str);
            if let Some(name) =
                reference.and_then(|path| path.strip_prefix("#/components/schemas/"))
                && names.insert(name.to_owned())
            {
                reach(document, &document["components"]["schemas"][name], names);
            }
            fields.values().for_each(|value| reach(document, value, names));
        }
        Value::Array(items) => items.iter().for_each(|value| reach(document, value, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn require(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            require_fields(fields);
            fields.values_mut().for_each(require);
        }
        Value::Array(items) => items.iter_mut().for_each(require),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Types with field groups: fields not requested are omitted, unknown ones are null.
const IN_GROUPS: [&str; 1] = ["ObservationV2View"];

fn require_fields(schema: &mut Map<String, Value>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    let may_be_null = properties.iter().filter(|(_, property)| is_null_when_unknown(property));
    let mut required: BTreeSet<String> = may_be_null.map(|(name, _)| name.clone()).collect();
    let known = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    required.extend(known.filter_map(Value::as_str).map(str::to_owned));
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into_iter().collect());
    }
}

fn is_null_when_unknown(property: &Value) -> bool {
    let is_null = |schema: &Value| schema["type"] == "null";
    let may_be_absent = property.get("default").is_some();
    if may_be_absent {
        return false;
    }
    let choices = property["anyOf"].as_array().into_iter().flatten();
    let types = property["type"].as_array().into_iter().flatten();
    choices.chain([property]).any(is_null) || types.into_iter().any(|word| word == "null")
}
