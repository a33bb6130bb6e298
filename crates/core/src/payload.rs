use std::sync::Arc;

/// A JSON text. Invariant: it parses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Json(Arc<str>);

impl Json {
    /// Takes a text that is JSON, or gives it up.
    pub fn parse(text: &str) -> Option<Self> {
        is_json(text).then(|| Self(text.into()))
    }

    /// Writes a value out.
    pub fn from_value(value: &serde_json::Value) -> Self {
        Self(value.to_string().into())
    }

    /// Takes a text that a JSON parser or writer has just produced.
    pub fn from_raw(raw: &serde_json::value::RawValue) -> Self {
        Self(raw.get().into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An input or an output, as it came. Nothing is parsed until someone looks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Payload {
    /// A JSON document.
    Json(Json),
    /// A text that may or may not be a JSON document: span attributes do not say.
    Text(Arc<str>),
}

impl Payload {
    /// The bytes as they came.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Json(json) => json.as_str(),
            Self::Text(text) => text,
        }
    }

    /// The JSON document to show: a text that is not one becomes a JSON string.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Json(json) => json.clone(),
            Self::Text(text) => Json::parse(text)
                .unwrap_or_else(|| Json::from_value(&serde_json::Value::from(text.as_ref()))),
        }
    }
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
    fn only_json_is_json() {
        assert!(Json::parse("[1,2").is_none());
        assert_eq!(Json::parse("[1,2]").unwrap().as_str(), "[1,2]");
    }
}
