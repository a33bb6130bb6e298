use serde_json::{Map, Value, json};

use crate::judge::rubric::{Dimension, Rubric, Scale};

/// Returns the JSON Schema of a verdict by this rubric, for structured output.
///
/// It uses only keywords that the strict modes of all providers support: every object is closed,
/// every key required, and there are no bounds on numbers and strings, which [`Verdict::read`]
/// checks. Alternatives start with different keys, so that a model chooses with the first.
///
/// [`Verdict::read`]: super::Verdict::read
pub fn schema(rubric: &Rubric) -> Value {
    let properties: Map<_, _> =
        rubric.dimensions.iter().map(|one| (one.name.clone(), dimension(one))).collect();
    object(&properties)
}

fn dimension(dimension: &Dimension) -> Value {
    json!({
        "description": description(dimension),
        "anyOf": [marked(dimension), not_observable()],
    })
}

/// Describes the valid scores. The criteria are in the prompt, once.
fn description(dimension: &Dimension) -> String {
    match &dimension.scale {
        Scale::Numeric => format!("{}: a number from 0 to 1", dimension.name),
        Scale::Ordered(grades) => {
            let labels: Vec<_> = grades.iter().map(|grade| grade.label.as_str()).collect();
            format!("{}: from worst to best {}", dimension.name, labels.join(", "))
        }
    }
}

fn marked(dimension: &Dimension) -> Value {
    let score = match &dimension.scale {
        Scale::Numeric => json!({"type": "number", "description": "from 0 to 1"}),
        Scale::Ordered(grades) => {
            let labels: Vec<_> = grades.iter().map(|grade| grade.label.as_str()).collect();
            json!({"type": "string", "enum": labels})
        }
    };
    let parts = [
        ("confidence", json!({"type": "number", "description": "how sure you are, from 0 to 1"})),
        (
            "evidence",
            json!({
                "type": "array",
                "items": {"type": "integer"},
                "description": "numbers of the traces that show it",
            }),
        ),
        ("rationale", json!({"type": "string", "description": "why, in one or two sentences"})),
        ("score", score),
    ];
    object(&parts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn not_observable() -> Value {
    let parts = [
        ("reason", json!({"type": "string", "description": "why the traces do not show it"})),
        ("score", json!({"type": "null"})),
    ];
    object(&parts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn object(properties: &Map<String, Value>) -> Value {
    let required: Vec<_> = properties.keys().cloned().collect();
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": required,
        "properties": properties,
    })
}
