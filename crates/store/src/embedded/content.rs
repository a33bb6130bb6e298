//! Conditions on payloads, which SQL cannot evaluate because they are compressed.

use ratchet_core::payload::{Json, Payload};
use ratchet_core::record::trace::Content;
use serde_json::Value;

use super::filter::ContentPart;
use crate::query::{Compare, Detail, Test, TextTest};

/// Approximate content bytes of a page with [`Detail::BoundedContent`]; the row that exceeds it is
/// the last with content.
const PAGE_BYTES: usize = 2_000_000;

/// Decides which rows of a page keep their content.
pub(super) struct ContentBudget {
    detail: Detail,
    used: usize,
}

impl ContentBudget {
    pub(super) fn new(detail: Detail) -> Self {
        Self { detail, used: 0 }
    }

    /// Whether the next row has its content.
    pub(super) fn has_room(&self) -> bool {
        match self.detail {
            Detail::Row => false,
            Detail::Content => true,
            Detail::BoundedContent => self.used < PAGE_BYTES,
        }
    }

    pub(super) fn charge(&mut self, content: &Content) {
        self.charge_bytes(bytes(content));
    }

    pub(super) fn charge_bytes(&mut self, bytes: usize) {
        self.used += bytes;
    }
}

/// Bytes of input, output and metadata.
pub(super) fn bytes(content: &Content) -> usize {
    let text = |payload: &Option<Payload>| payload.as_ref().map_or(0, |text| text.as_str().len());
    let metadata = content.metadata.iter().map(|(key, json)| key.len() + json.as_str().len());
    text(&content.input) + text(&content.output) + metadata.sum::<usize>()
}

/// Whether the content of a record passes all conditions.
pub(super) fn passes(content: &Content, tests: &[(ContentPart, Test)]) -> bool {
    tests.iter().all(|(part, test)| match (part, test) {
        (ContentPart::Metadata, Test::Key(key, test)) => {
            let found = content.metadata.iter().find(|(name, _)| name == key);
            holds(found.map(|(_, json)| Seen::of(json)), test)
        }
        (ContentPart::Metadata, test) => {
            let texts =
                content.metadata.iter().map(|(key, json)| format!("{key}: {}", json.as_str()));
            let all = (!content.metadata.is_empty()).then(|| texts.collect::<Vec<_>>().join("\n"));
            holds(all.map(Seen::Text), test)
        }
        (ContentPart::Input, test) => {
            holds(content.input.as_ref().map(|input| Seen::Text(input.as_str().to_owned())), test)
        }
        (ContentPart::Output, test) => holds(
            content.output.as_ref().map(|output| Seen::Text(output.as_str().to_owned())),
            test,
        ),
    })
}

/// Whether a text passes a condition; `None` if the condition is not for texts.
pub(super) fn text_passes(text: Option<&str>, test: &Test) -> Option<bool> {
    let fits = matches!(
        test,
        Test::Text(..) | Test::AnyOf(_) | Test::NoneOf(_) | Test::IsNull | Test::IsNotNull
    );
    fits.then(|| holds(text.map(|text| Seen::Text(text.to_owned())), test))
}

enum Seen {
    Text(String),
    Number(f64, String),
    Bool(bool, String),
}

impl Seen {
    fn of(json: &Json) -> Self {
        match serde_json::from_str(json.as_str()) {
            Ok(Value::String(text)) => Self::Text(text),
            Ok(Value::Number(number)) => {
                Self::Number(number.as_f64().unwrap_or(f64::NAN), number.to_string())
            }
            Ok(Value::Bool(yes)) => Self::Bool(yes, yes.to_string()),
            _ => Self::Text(json.as_str().to_owned()),
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Number(_, text) | Self::Bool(_, text) => text,
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Self::Text(text) => text.parse().ok(),
            Self::Number(number, _) => Some(*number),
            Self::Bool(..) => None,
        }
    }
}

fn holds(seen: Option<Seen>, test: &Test) -> bool {
    let Some(seen) = seen else {
        return match test {
            Test::IsNull | Test::NoneOf(_) => true,
            Test::Text(how, _) => {
                matches!(how, TextTest::Differs | TextTest::Lacks | TextTest::Misses)
            }
            Test::Number(how, _) => *how == Compare::Unequal,
            _ => false,
        };
    };
    match test {
        Test::Text(how, text) => text_holds(seen.text(), *how, text),
        Test::Number(how, number) => {
            seen.number().map_or(*how == Compare::Unequal, |seen| compare(seen, *how, *number))
        }
        Test::AnyNumber(numbers) => {
            let is_same =
                |seen| numbers.iter().any(|number| compare(seen, Compare::Equal, *number));
            seen.number().is_some_and(is_same)
        }
        Test::Is(yes) => matches!(seen, Seen::Bool(seen, _) if seen == *yes),
        Test::AnyOf(words) => words.iter().any(|word| word == seen.text()),
        Test::NoneOf(words) => words.iter().all(|word| word != seen.text()),
        Test::IsNotNull => true,
        Test::IsNull | Test::AllOf(_) | Test::Time(..) | Test::Key(..) => false,
    }
}

fn text_holds(seen: &str, how: TextTest, text: &str) -> bool {
    match how {
        TextTest::Equals => seen == text,
        TextTest::Differs => seen != text,
        TextTest::Contains => seen.contains(text),
        TextTest::Lacks => !seen.contains(text),
        TextTest::Matches => seen.to_lowercase().contains(&text.to_lowercase()),
        TextTest::Misses => !seen.to_lowercase().contains(&text.to_lowercase()),
        TextTest::StartsWith => seen.starts_with(text),
        TextTest::EndsWith => seen.ends_with(text),
    }
}

#[expect(clippy::float_cmp, reason = "a filter compares what clients wrote, to the bit")]
fn compare(seen: f64, how: Compare, number: f64) -> bool {
    match how {
        Compare::Equal => seen == number,
        Compare::Unequal => seen != number,
        Compare::Greater => seen > number,
        Compare::AtLeast => seen >= number,
        Compare::Less => seen < number,
        Compare::AtMost => seen <= number,
    }
}
