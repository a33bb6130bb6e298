use std::sync::Arc;

use crate::record::limit::depth;

/// The maximum nesting depth of text that is treated as JSON. Many parsers fail a little beyond,
/// and one such text would make a client fail on the whole response.
pub(crate) const MAX_DEPTH: usize = 100;

/// JSON text. Invariant: it parses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Json(Arc<str>);

impl Json {
    /// Parses a JSON text; `None` if it is invalid or nested too deeply.
    pub fn parse(text: &str) -> Option<Self> {
        (is_json(text) && depth(text) <= MAX_DEPTH).then(|| Self(text.into()))
    }

    /// Serializes a value.
    pub fn from_value(value: &serde_json::Value) -> Self {
        Self(value.to_string().into())
    }

    /// Wraps text that a JSON parser or serializer has just produced.
    pub fn from_raw(raw: &serde_json::value::RawValue) -> Self {
        Self(raw.get().into())
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An input or an output as it was received, unparsed until it is read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Payload {
    Json(Json),
    /// Text that may or may not be JSON: span attributes do not say which.
    Text(Arc<str>),
}

impl Payload {
    /// Returns the text as it was received.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Json(json) => json.as_str(),
            Self::Text(text) => text,
        }
    }

    /// Returns JSON to display: text that is not JSON becomes a JSON string.
    ///
    /// So does text that only looks like a number: `4e10` may be a commit hash, and would be shown
    /// as 40000000000.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Json(json) => json.clone(),
            Self::Text(text) => Json::parse(text)
                .filter(|_| !changes_as_number(text.trim()))
                .unwrap_or_else(|| Json::from_value(&serde_json::Value::from(text.as_ref()))),
        }
    }
}

/// Returns whether a text that parses as a JSON number would change or be lost by it.
fn changes_as_number(text: &str) -> bool {
    let is_number = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    let read = || serde_json::from_str::<serde_json::Number>(text).ok();
    is_number && read().is_none_or(|number| number.to_string() != text)
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_shown_as_json_when_it_is_json() {
        let shown = |text: &str| Payload::Text(text.into()).to_json().as_str().to_owned();
        assert_eq!(shown(r#"{"a": 1}"#), r#"{"a": 1}"#);
        assert_eq!(shown("hello \"you\""), r#""hello \"you\"""#);
        assert_eq!(shown(""), r#""""#);
    }

    #[test]
    fn text_that_is_json_by_chance_stays_text() {
        let shown = |text: &str| Payload::Text(text.into()).to_json().as_str().to_owned();
        for number in ["0", "42", "-1", "1.5", "18446744073709551615"] {
            assert_eq!(shown(number), number);
        }
        for text in ["4e10", "27030e8286598724", "1E5", "1.50", "-0", "18446744073709551616"] {
            assert_eq!(shown(text), format!("\"{text}\""));
        }
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(shown(&nested(100)), nested(100));
        assert_eq!(shown(&nested(101)), format!("\"{}\"", nested(101)));
    }

    #[test]
    fn only_json_is_json() {
        assert!(Json::parse("[1,2").is_none());
        assert_eq!(Json::parse("[1,2]").unwrap().as_str(), "[1,2]");
    }
}
