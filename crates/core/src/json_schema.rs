//! JSON Schema validation of dataset items.

use std::error::Error;

use boon::{CompileError, Compiler, Draft, SchemaIndex, Schemas, UrlLoader, ValidationError};
use serde_json::Value;

use crate::payload::Json;

/// The base URI of a schema while it is compiled. Nothing is ever fetched from it.
const BASE_URI: &str = "schema:/dataset";

/// The maximum size of a schema, in bytes.
const MAX_BYTES: usize = 100_000;

/// The maximum number of violations in an error text.
const MAX_VIOLATIONS: usize = 5;

/// A compiled schema.
pub struct Schema {
    schemas: Schemas,
    index: SchemaIndex,
}

/// Error of compiling a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a JSON Schema: {0}")]
pub struct SchemaError(String);

impl Schema {
    /// Compiles a schema of any draft; the newest if it names none.
    ///
    /// # Errors
    /// Rejects invalid schemas and references to other documents, because nothing is fetched.
    pub fn read(json: &Json) -> Result<Self, SchemaError> {
        let refused = |why: String| Err(SchemaError(why));
        if json.as_str().len() > MAX_BYTES {
            return refused(format!("it has more than {MAX_BYTES} bytes"));
        }
        let value: Value =
            serde_json::from_str(json.as_str()).map_err(|why| SchemaError(why.to_string()))?;
        if !value.is_object() {
            return refused("it must be an object".to_owned());
        }
        let mut schemas = Schemas::new();
        let mut compiler = Compiler::new();
        compiler.set_default_draft(Draft::V2020_12);
        compiler.use_loader(Box::new(NoExternalSchemas));
        let refuse = |why: CompileError| SchemaError(one_line(&why.to_string()));
        compiler.add_resource(BASE_URI, value).map_err(refuse)?;
        let index = compiler.compile(BASE_URI, &mut schemas).map_err(refuse)?;
        Ok(Self { schemas, index })
    }

    /// Validates a value.
    ///
    /// # Errors
    /// Describes the first few violations with their paths.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        self.schemas.validate(value, self.index).map_err(|error| {
            let mut violations = Vec::new();
            leaves(&error, &mut violations);
            violations.join("; ")
        })
    }
}

/// A resolver that refuses every external reference.
struct NoExternalSchemas;

impl UrlLoader for NoExternalSchemas {
    fn load(&self, url: &str) -> Result<Value, Box<dyn Error>> {
        Err(format!("{url} is another document, and none is fetched").into())
    }
}

/// Collects the innermost violations: outer ones only report that something inside is invalid.
fn leaves(error: &ValidationError<'_, '_>, violations: &mut Vec<String>) {
    if violations.len() >= MAX_VIOLATIONS {
        return;
    }
    if error.causes.is_empty() {
        let path = error.instance_location.to_string();
        let path = if path.is_empty() { "the value".to_owned() } else { path };
        violations.push(format!("{path}: {}", error.kind));
    }
    for cause in &error.causes {
        leaves(cause, violations);
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(schema: &Value) -> Result<Schema, SchemaError> {
        Schema::read(&Json::from_value(schema))
    }

    #[track_caller]
    fn check(schema: &Value, value: &Value, expected: Result<(), &str>) {
        let found = read(schema).unwrap().check(value);
        match expected {
            Ok(()) => assert_eq!(found, Ok(())),
            Err(words) => {
                let why = found.unwrap_err();
                assert!(why.contains(words), "{why} does not say {words}");
            }
        }
    }

    #[test]
    fn invalid_values_are_reported_with_their_path() {
        let schema = json!({
            "type": "object", "required": ["city"],
            "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
        });
        check(&schema, &json!({"city": "Lisbon", "days": 2}), Ok(()));
        check(&schema, &json!({}), Err("city"));
        check(&schema, &json!({"city": "Lisbon", "days": 0}), Err("/days"));
        check(&schema, &json!(null), Err("the value"));
    }

    #[test]
    fn older_drafts_are_understood() {
        let draft = "http://json-schema.org/draft-07/schema#";
        let schema = json!({"$schema": draft, "definitions": {"n": {"type": "number"}},
                            "items": {"$ref": "#/definitions/n"}});
        check(&schema, &json!([1, 2.5]), Ok(()));
        check(&schema, &json!([1, "2"]), Err("/1"));
    }

    #[test]
    fn what_is_no_schema_is_refused() {
        for schema in [
            json!(1),
            json!(true),
            json!({"type": "texture"}),
            json!({"pattern": "("}),
            json!({"$ref": "http://example.com/schema.json"}),
            json!({"$ref": "file:///etc/passwd"}),
            json!({"$ref": "#/nowhere"}),
        ] {
            assert!(read(&schema).is_err(), "{schema}");
        }
    }

    #[test]
    fn a_schema_that_leads_back_to_itself_ends() {
        let list = json!({"$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"});
        check(&list, &json!([[[[]]]]), Ok(()));
        if let Ok(circle) =
            read(&json!({"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}))
        {
            assert!(circle.check(&json!(1)).is_err());
        }
    }
}
