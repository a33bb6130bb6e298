//! Token counts with provenance.

use serde_json::Value;

use crate::payload::Payload;

/// The o200k tokenizer.
mod o200k;

/// The maximum bytes counted of one payload; the rest is extrapolated.
const MAX_COUNTED_BYTES: usize = 1_000_000;

/// The provenance of a token count, most reliable first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Provenance {
    Verified,
    /// Counted by the provider before the call.
    Measured,
    /// Difference of verified or measured counts.
    Computed,
    /// Counted locally, with a tokenizer that may differ from the model's.
    Approximate,
}

impl Provenance {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Measured => "measured",
            Self::Computed => "computed",
            Self::Approximate => "approximate",
        }
    }
}

/// A token count with provenance. A sum has the provenance of its least reliable part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tokens {
    pub count: u64,
    pub provenance: Provenance,
}

impl Tokens {
    /// Counts a text with the local tokenizer.
    pub fn approximate(text: &str) -> Self {
        let count = u64::try_from(o200k::count(text)).unwrap_or(u64::MAX);
        Self { count, provenance: Provenance::Approximate }
    }
}

/// Counts the text of an input or output, approximately: all strings in it, without field names and
/// without binary data such as images.
pub fn approximate_payload(payload: &Payload) -> Tokens {
    let mut text = String::new();
    let is_whole = match serde_json::from_str::<Value>(payload.as_str()) {
        Ok(document) => add_texts(&document, &mut text),
        Err(_) => add_text(payload.as_str(), &mut text),
    };
    let counted = Tokens::approximate(&text);
    if is_whole || text.is_empty() {
        return counted;
    }
    let bytes = payload.as_str().len() as u64;
    let count = counted.count.saturating_mul(bytes) / text.len() as u64;
    Tokens { count, ..counted }
}

/// Appends the strings of a document; returns whether there was room for all.
fn add_texts(document: &Value, into: &mut String) -> bool {
    match document {
        Value::String(text) => add_text(text, into),
        Value::Array(items) => items.iter().all(|item| add_texts(item, into)),
        Value::Object(fields) => fields.values().all(|field| add_texts(field, into)),
        Value::Number(number) => add_text(&number.to_string(), into),
        Value::Null | Value::Bool(_) => true,
    }
}

fn add_text(text: &str, into: &mut String) -> bool {
    let is_media = text.starts_with("data:") || text.starts_with("@@@langfuseMedia");
    if is_media {
        return true;
    }
    if !into.is_empty() {
        into.push('\n');
    }
    let room = MAX_COUNTED_BYTES.saturating_sub(into.len());
    let mut end = room.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    into.push_str(text.get(..end).unwrap_or_default());
    end == text.len()
}

impl std::ops::Add for Tokens {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            count: self.count.saturating_add(other.count),
            provenance: self.provenance.max(other.provenance),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_as_sure_as_its_least_sure_part() {
        let billed = Tokens { count: 7, provenance: Provenance::Verified };
        let sum = billed + Tokens::approximate("hello world");
        assert_eq!(sum, Tokens { count: 9, provenance: Provenance::Approximate });
    }

    #[test]
    fn a_payload_counts_its_texts_and_nothing_else() {
        let count = |json: &str| approximate_payload(&Payload::Text(json.into())).count;
        let plain = count("hello world");
        assert_eq!(count(r#""hello world""#), plain);
        assert_eq!(count(r#"[{"some_long_field_name": "hello world"}]"#), plain);
        assert_eq!(
            count(r#"["hello world", "data:image/png;base64,AAAAAAAAAAAAAAAAAAAA"]"#),
            plain
        );
        let long = count(&"hello world ".repeat(200_000));
        assert!((380_000..=440_000).contains(&long), "{long}");
    }

    #[test]
    fn a_long_run_of_one_letter_is_counted_like_any_other_text() {
        assert_eq!(Tokens::approximate(&"a".repeat(100_000)).count, 12_500);
    }
}
