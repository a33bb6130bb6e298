//! Tools and the schema of the answer, as people enter them.

use ratchet_agent::request::ToolSpec;
use ratchet_core::json_schema::Schema;
use ratchet_core::json_size::small_tree;
use ratchet_core::payload::Json;
use serde_json::{Map, Value, json};

/// Tools of a request at most.
const MAX_TOOLS: usize = 64;
/// The length of a tool's name at most, as providers have it.
const MAX_NAME_CHARS: usize = 64;
/// Keys of a prompt's config.
const TOOLS: &str = "tools";
const SCHEMA: &str = "response_schema";

/// Reads a list of function definitions, each of them bare or in OpenAI's envelope.
///
/// # Errors
/// Says which tool is wrong, and how.
pub(super) fn read(text: &str) -> Result<Vec<ToolSpec>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let json = small_tree(text).map_err(|why| why.to_string())?;
    let list = json.as_array().ok_or("must be a list of function definitions")?;
    if list.len() > MAX_TOOLS {
        return Err(format!("at most {MAX_TOOLS} tools"));
    }
    let read = list
        .iter()
        .enumerate()
        .map(|(at, one)| tool(one).map_err(|why| format!("tool {}: {why}", at.saturating_add(1))));
    let tools: Vec<ToolSpec> = read.collect::<Result<_, _>>()?;
    let is_twice =
        |(at, one): (usize, &ToolSpec)| tools.iter().skip(at + 1).any(|it| it.name == one.name);
    match tools.iter().enumerate().find(|one| is_twice(*one)) {
        Some((_, twice)) => Err(format!("{} is there twice", twice.name)),
        None => Ok(tools),
    }
}

fn tool(one: &Value) -> Result<ToolSpec, String> {
    let one = one.get("function").unwrap_or(one);
    let name = one.get("name").and_then(Value::as_str).unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > MAX_NAME_CHARS || !name.chars().all(is_plain) {
        return Err(format!("name: 1 to {MAX_NAME_CHARS} letters, digits, _ and -"));
    }
    let given = one.get("parameters").or_else(|| one.get("input_schema"));
    let input = given.cloned().unwrap_or_else(|| json!({ "type": "object", "properties": {} }));
    if !input.is_object() {
        return Err("parameters: must be a JSON Schema".to_owned());
    }
    let description = one.get("description").and_then(Value::as_str).unwrap_or_default();
    Ok(ToolSpec { name: name.to_owned(), description: description.to_owned(), input })
}

/// Reads the JSON Schema of the answer.
///
/// # Errors
/// Says what is wrong with it.
pub(super) fn read_schema(text: &str) -> Result<Option<Value>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let schema = small_tree(text).map_err(|why| why.to_string())?;
    if !schema.is_object() {
        return Err("must be a JSON Schema".to_owned());
    }
    Schema::read(&Json::from_value(&schema)).map_err(|why| why.to_string())?;
    Ok(Some(schema))
}

/// Tools and schema in the config of a prompt, as texts.
pub(super) fn of_config(config: &str) -> (String, String) {
    let config = small_tree(config).unwrap_or_default();
    let text = |key: &str| match config.get(key) {
        Some(value @ (Value::Array(_) | Value::Object(_))) => {
            serde_json::to_string_pretty(value).unwrap_or_default()
        }
        _ => String::new(),
    };
    (text(TOOLS), text(SCHEMA))
}

/// The config of a prompt with these tools and this schema, or without.
pub(super) fn into_config(config: &str, (tools, schema): (&str, &str)) -> String {
    let mut config = match small_tree(config) {
        Ok(Value::Object(config)) => config,
        _ => Map::new(),
    };
    for (key, text) in [(TOOLS, tools), (SCHEMA, schema)] {
        match small_tree(text) {
            Ok(value) => config.insert(key.to_owned(), value),
            Err(_) => config.remove(key),
        };
    }
    if config.is_empty() { String::new() } else { Value::Object(config).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_read_bare_and_in_an_envelope() {
        let bare = r#"{"name":"look_up","description":"Finds","parameters":{"type":"object"}}"#;
        let wrapped = r#"{"type":"function","function":{"name":"send"}}"#;
        let anthropic = r#"{"name":"pay","input_schema":{"type":"object","required":["sum"]}}"#;
        let tools = read(&format!("[{bare},{wrapped},{anthropic}]")).unwrap();
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["look_up", "send", "pay"]);
        assert_eq!(tools[1].input["type"], "object");
        assert_eq!(tools[2].input["required"][0], "sum");
        assert_eq!(read(" ").unwrap(), []);
    }

    #[test]
    fn what_is_wrong_with_a_tool_is_named() {
        for (text, why) in [
            ("{", "EOF"),
            ("{}", "a list"),
            (r#"[{"name":"a"},{"name":"b c"}]"#, "tool 2: name"),
            (r#"[{"name":"a","parameters":1}]"#, "tool 1: parameters"),
            (r#"[{"name":"a"},{"name":"a"}]"#, "a is there twice"),
        ] {
            let said = read(text).unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
        assert!(read_schema("[]").unwrap_err().contains("JSON Schema"));
        assert!(read_schema(r#"{"type":"object"}"#).unwrap().is_some());
    }

    #[test]
    fn a_config_keeps_what_the_playground_does_not_know() {
        let config = r#"{"model":"m","tools":[{"name":"a"}]}"#;
        let (tools, schema) = of_config(config);
        assert_eq!(schema, "");
        assert_eq!(into_config(config, (&tools, "")), config);
        let without = into_config(config, ("", r#"{"type":"object"}"#));
        assert_eq!(without, r#"{"model":"m","response_schema":{"type":"object"}}"#);
        assert_eq!(into_config("{}", ("", "")), "");
    }
}
