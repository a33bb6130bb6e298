use serde_json::{Map, Value, json};

/// The operations that have an error response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Every,
    /// Those that need a key.
    Keyed,
    Change,
    /// Those with a body.
    WithBody,
}

const ERRORS: [(&str, Of, &str); 12] = [
    ("400", Of::Every, "The request is invalid; the message names the field."),
    ("401", Of::Keyed, "No key, or one that is unknown or revoked."),
    ("403", Of::Keyed, "The key's role or permissions do not allow this."),
    ("404", Of::Every, "Not found in this project."),
    ("405", Of::Every, "The path does not support this method."),
    ("408", Of::WithBody, "The client stopped sending."),
    ("409", Of::Change, "Conflicts with an existing object."),
    ("413", Of::WithBody, "A limit is exceeded."),
    ("415", Of::WithBody, "Unsupported content type or encoding."),
    ("429", Of::Keyed, "The key's rate limit is exceeded; see Retry-After."),
    (
        "500",
        Of::Every,
        "Internal error; the server's log has the cause under the id in the message.",
    ),
    ("503", Of::Every, "Temporarily unavailable; see Retry-After."),
];

/// The error responses, by status.
pub(super) fn error_answers() -> Value {
    let body = json!({"application/json": {"schema": {"$ref": "#/components/schemas/ErrorBody"}}});
    let answers = ERRORS.iter().map(|(status, _, description)| {
        (status.to_string(), json!({"description": description, "content": body}))
    });
    Value::Object(answers.collect())
}

/// Adds what all operations share. Its own descriptions take precedence.
pub(super) fn finish(path: &str, method: &str, operation: &mut Value) {
    let Some(fields) = operation.as_object_mut() else { return };
    name(path, method, fields);
    set_summary(fields);
    let is_public = fields.get("security") == Some(&json!([{}]));
    if !fields.contains_key("security") {
        fields.insert("security".to_owned(), json!([{"basic": []}]));
    }
    let has_body = fields.contains_key("requestBody");
    let Some(answers) = fields.get_mut("responses").and_then(Value::as_object_mut) else { return };
    // An operation with a default response has errors of another form.
    if answers.contains_key("default") {
        return;
    }
    for (status, of, _) in ERRORS {
        let applies = match of {
            Of::Every => true,
            Of::Keyed => !is_public,
            Of::Change => method != "get",
            Of::WithBody => has_body,
        };
        if applies && !answers.contains_key(status) {
            let shared = json!({"$ref": format!("#/components/responses/{status}")});
            answers.insert(status.to_owned(), shared);
        }
    }
}

/// Sets the operation id from method and path: the handler's name alone would not be unique.
fn name(path: &str, method: &str, fields: &mut Map<String, Value>) {
    let words = path.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words = words.filter(|word| !word.is_empty() && *word != "api" && *word != "public");
    // Langfuse has metrics of its own, under its own prefix.
    let whose = (path == "/metrics").then_some("prometheus");
    let id: Vec<_> = std::iter::once(method).chain(whose).chain(words).collect();
    fields.insert("operationId".to_owned(), id.join("_").into());
}

/// Removes the route from the handler's first doc line, where it is for readers of the code.
fn set_summary(fields: &mut Map<String, Value>) {
    let Some(summary) = fields.get("summary").and_then(Value::as_str) else { return };
    let description = match summary.split_once("`: ") {
        Some((route, description)) if route.starts_with('`') => description,
        _ => summary,
    };
    let mut letters = description.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    let description = first + letters.as_str();
    fields.insert("summary".to_owned(), description.into());
}
