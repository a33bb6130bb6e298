use std::borrow::Cow;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};
use serde_json::{Map, Number, Value};

/// The maximum nesting depth.
const MAX_DEPTH: usize = 32;

/// Error of parsing YAML.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum YamlError {
    #[error("{0}")]
    Syntax(String),
    #[error("nests more than {MAX_DEPTH} deep")]
    TooDeep,
    /// Rejected because a few lines can expand to gigabytes ("billion laughs").
    #[error("anchors and aliases are not supported")]
    Alias,
    /// JSON keys are strings.
    #[error("a key must be a text")]
    Key,
    #[error("duplicate key {0}")]
    Twice(String),
    /// More than one document.
    #[error("more than one document")]
    Documents,
}

/// A list or an object under construction.
enum Open {
    List(Vec<Value>),
    Object { entries: Map<String, Value>, key: Option<String> },
}

/// Parses one YAML document to JSON, with the scalars of YAML's core schema.
pub(crate) fn read(text: &str) -> Result<Value, YamlError> {
    let mut open: Vec<Open> = Vec::new();
    let mut document = None;
    for event in Parser::new_from_str(text) {
        let (event, _) = event.map_err(|error| YamlError::Syntax(error.to_string()))?;
        let whole = match event {
            Event::Alias(_) => return Err(YamlError::Alias),
            Event::SequenceStart(anchor, _) => {
                begin(&mut open, Open::List(Vec::new()), anchor)?;
                None
            }
            Event::MappingStart(anchor, _) => {
                begin(&mut open, Open::Object { entries: Map::new(), key: None }, anchor)?;
                None
            }
            Event::Scalar(_, _, anchor, _) if anchor > 0 => return Err(YamlError::Alias),
            Event::Scalar(text, style, _, tag) => Some(scalar(text, style, tag.as_deref())),
            Event::SequenceEnd | Event::MappingEnd => open.pop().map(Open::close),
            _ => None,
        };
        let Some(whole) = whole else { continue };
        match open.last_mut() {
            Some(around) => around.add(whole)?,
            None if document.is_some() => return Err(YamlError::Documents),
            None => document = Some(whole),
        }
    }
    Ok(document.unwrap_or(Value::Null))
}

fn begin(open: &mut Vec<Open>, new: Open, anchor: usize) -> Result<(), YamlError> {
    if anchor > 0 {
        return Err(YamlError::Alias);
    }
    if open.len() >= MAX_DEPTH {
        return Err(YamlError::TooDeep);
    }
    open.push(new);
    Ok(())
}

impl Open {
    fn add(&mut self, value: Value) -> Result<(), YamlError> {
        match self {
            Self::List(values) => values.push(value),
            Self::Object { entries, key } => match key.take() {
                Some(key) if entries.contains_key(&key) => return Err(YamlError::Twice(key)),
                Some(key) => {
                    entries.insert(key, value);
                }
                None => *key = Some(key_text(value)?),
            },
        }
        Ok(())
    }

    fn close(self) -> Value {
        match self {
            Self::List(values) => Value::Array(values),
            Self::Object { entries, .. } => Value::Object(entries),
        }
    }
}

fn key_text(key: Value) -> Result<String, YamlError> {
    match key {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(truth) => Ok(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => Err(YamlError::Key),
    }
}

/// Resolves the type of a scalar, unless it is quoted or tagged as a string.
fn scalar(text: Cow<'_, str>, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let is_text = style != ScalarStyle::Plain || tag.is_some();
    if is_text {
        return Value::String(text.into_owned());
    }
    match text.as_ref() {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        plain => number(plain).map_or_else(|| Value::String(plain.to_owned()), Value::Number),
    }
}

fn number(text: &str) -> Option<Number> {
    if let Some(digits) = text.strip_prefix("0x") {
        return is_digits(digits, 16)
            .then(|| i64::from_str_radix(digits, 16).ok())?
            .map(Into::into);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return is_digits(digits, 8).then(|| i64::from_str_radix(digits, 8).ok())?.map(Into::into);
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if is_digits(unsigned, 10) {
        return text.parse::<i64>().ok().map(Into::into);
    }
    // Rust also parses `inf` and `nan`, which are strings in the core schema.
    let looks_like_one = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned.contains(|c: char| c.is_ascii_digit());
    looks_like_one.then(|| text.parse().ok()).flatten().and_then(Number::from_f64)
}

fn is_digits(text: &str, radix: u32) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_digit(radix))
}
