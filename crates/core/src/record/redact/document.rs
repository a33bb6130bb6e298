use serde_json::Value;

use super::LimitedRedactor;
use super::path::Root;
use super::redacted::Redact;
use crate::payload::Payload;

/// The key of comments, which field paths can name.
const COMMENT: &str = "comment";

impl LimitedRedactor<'_> {
    /// Returns whether nothing in a text of a field would be redacted. For what must be stored
    /// unchanged or not at all.
    pub fn keep(&self, text: &str, root: Root) -> bool {
        self.payload(Payload::Text(text.into()), root).as_str() == text
    }

    /// Redacts the texts of a document whose shape is ours: keys, numbers and ids stay, so that it
    /// can be read again. `ids` are the keys of ids and of lists of ids, by which records are
    /// joined.
    #[must_use]
    pub fn texts(&self, document: Value, ids: &[&str]) -> Value {
        match document {
            Value::String(text) => Value::String(self.text(&text).into_owned()),
            Value::Array(all) => {
                Value::Array(all.into_iter().map(|one| self.texts(one, ids)).collect())
            }
            Value::Object(fields) => {
                let clean = |(key, value): (String, Value)| {
                    let value = self.value_of(&key, value, ids);
                    (key, value)
                };
                Value::Object(fields.into_iter().map(clean).collect())
            }
            plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain,
        }
    }

    fn value_of(&self, key: &str, value: Value, ids: &[&str]) -> Value {
        let is_id = ids.contains(&key);
        match value {
            Value::String(text) if is_id => Value::String(text),
            Value::Array(all) if is_id && all.iter().all(Value::is_string) => Value::Array(all),
            Value::String(text) if key == COMMENT => {
                Value::String(self.plain(&text, Root::Comment).into_owned())
            }
            other => self.texts(other, ids),
        }
    }
}

impl Redact for String {
    fn redact(self, rules: &LimitedRedactor<'_>) -> Self {
        rules.text(&self).into_owned()
    }
}

impl<T: Redact> Redact for Option<T> {
    fn redact(self, rules: &LimitedRedactor<'_>) -> Self {
        self.map(|record| record.redact(rules))
    }
}
