use aws_smithy_types::{Document, Number};
use serde_json::Value;

/// Converts JSON to the SDK's document type.
pub(super) fn from_json(value: &Value) -> Document {
    match value {
        Value::Null => Document::Null,
        Value::Bool(truth) => Document::Bool(*truth),
        Value::Number(number) => Document::Number(number_of(number)),
        Value::String(text) => Document::String(text.clone()),
        Value::Array(parts) => Document::Array(parts.iter().map(from_json).collect()),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), from_json(value)));
            Document::Object(fields.collect())
        }
    }
}

fn number_of(number: &serde_json::Number) -> Number {
    match (number.as_u64(), number.as_i64(), number.as_f64()) {
        (Some(number), ..) => Number::PosInt(number),
        (None, Some(number), _) => Number::NegInt(number),
        (None, None, number) => Number::Float(number.unwrap_or(f64::NAN)),
    }
}

pub(super) fn to_json(document: &Document) -> Value {
    match document {
        Document::Null => Value::Null,
        Document::Bool(truth) => (*truth).into(),
        Document::Number(Number::PosInt(number)) => (*number).into(),
        Document::Number(Number::NegInt(number)) => (*number).into(),
        Document::Number(Number::Float(number)) => (*number).into(),
        Document::String(text) => text.as_str().into(),
        Document::Array(parts) => parts.iter().map(to_json).collect(),
        Document::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), to_json(value))).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_survives_the_way_there_and_back() {
        let value = json!({"a": [1, -2, 2.5, "x", true, null], "b": {"c": {}}});
        assert_eq!(to_json(&from_json(&value)), value);
    }
}
