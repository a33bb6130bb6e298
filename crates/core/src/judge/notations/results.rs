use std::borrow::Cow;

use regex::{Captures, Regex};
use serde_json::{Map, Value};

use super::{CallOutcome, Notations};

/// Longer objects are data, not reports.
const MAX_REPORT: usize = 1_000_000;
/// The part of a text's end in which a status line is searched, in lines and bytes.
const END_LINES: usize = 8;
const END_BYTES: usize = 2_000;
/// The part of a text's start that is examined.
const START_BYTES: usize = 4_000;

/// Where a result has its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Place {
    Start,
    End,
}

/// The notation of a result that is text.
#[derive(Clone, Debug)]
pub(super) struct ResultNotation {
    pub(super) family: String,
    pub(super) at: Place,
    pub(super) pattern: Regex,
    /// `None` where the exit code decides.
    pub(super) outcome: Option<CallOutcome>,
    pub(super) starts: Option<Regex>,
}

/// What a result says of its call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReadResult<'a> {
    pub(crate) outcome: CallOutcome,
    /// The family whose status line stands at the end. The end may be content, so that the caller
    /// must check whether other results of the session have such a line too.
    pub(crate) ends_as: Option<&'a str>,
    /// Whether an exit code or a flag says it, not only text.
    pub(crate) is_fact: bool,
}

impl Notations {
    /// Reads the result of a call.
    pub(crate) fn read_result(&self, text: &str) -> ReadResult<'_> {
        let text = self.unwrapped(text);
        if let Some(object) = object(text) {
            return match self.facts(&object) {
                Some(outcome) => ReadResult { outcome, is_fact: true, ends_as: None },
                // A wrapper around a text has no status of its own.
                None => self
                    .wrapped_text(&object)
                    .map_or_else(ReadResult::default, |inner| self.read_text(&inner)),
            };
        }
        self.read_text(text)
    }

    /// Reads the outcome from metadata, as pairs of a key and JSON. Only exit codes and flags count,
    /// under their own name or at the end of a longer one: `tool.exit_code`.
    pub(crate) fn read_metadata<'m>(
        &self,
        pairs: impl Iterator<Item = (&'m str, &'m str)>,
    ) -> CallOutcome {
        let plain = pairs.filter_map(|(key, value)| {
            let name = key.rsplit('.').next().unwrap_or(key);
            let value = match serde_json::from_str(value).ok()? {
                Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
                other => other,
            };
            Some((name.to_owned(), value))
        });
        let object: Map<String, Value> = plain.collect();
        self.code(&object).or_else(|| self.flag(&object)).unwrap_or_default()
    }

    /// Returns the printed text of a result, without its wrapper.
    pub(crate) fn body<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let text = self.unwrapped(text);
        let Some(object) = object(text) else { return Cow::Borrowed(text) };
        let texts = self.object.text.iter().filter_map(|key| object.get(key)?.as_str());
        let texts: Vec<&str> = texts.collect();
        if texts.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(texts.join("\n")) }
    }

    /// Returns a result without what a framework writes around it.
    fn unwrapped<'t>(&self, text: &'t str) -> &'t str {
        let Some([start, end]) = &self.wrapper else { return text };
        let Some(before) = start.find(text) else { return text };
        let text = text.get(before.end()..).unwrap_or(text);
        end.find(text).and_then(|after| text.get(..after.start())).unwrap_or(text)
    }

    fn read_text(&self, text: &str) -> ReadResult<'_> {
        let (start, end) = (start(text), end(text));
        for notation in &self.results {
            let part = match notation.at {
                Place::Start => start,
                Place::End => end,
            };
            if notation.starts.as_ref().is_some_and(|starts| !starts.is_match(start)) {
                continue;
            }
            let Some(found) = notation.pattern.captures_iter(part).last() else { continue };
            let code = exit_code(&found);
            let outcome = code.map(of_code).or(notation.outcome).unwrap_or_default();
            let ends_as = (notation.at == Place::End).then_some(notation.family.as_str());
            return ReadResult { outcome, ends_as, is_fact: code.is_some() };
        }
        ReadResult::default()
    }

    /// Returns the only text of an object.
    fn wrapped_text(&self, object: &Map<String, Value>) -> Option<String> {
        let mut texts = self.object.text.iter().filter_map(|key| object.get(key)?.as_str());
        texts.next().filter(|_| object.len() == 1).map(str::to_owned)
    }

    /// Returns the outcome that the facts of an object state: exit code, flag, error, status.
    fn facts(&self, object: &Map<String, Value>) -> Option<CallOutcome> {
        let inner = self.object.inner.iter().filter_map(|key| object.get(key)?.as_object());
        let objects: Vec<&Map<String, Value>> = std::iter::once(object).chain(inner).collect();
        let code = objects.iter().find_map(|object| self.code(object));
        let flag = || objects.iter().find_map(|object| self.flag(object));
        let error = || {
            let errors = self.object.errors.iter().filter_map(|key| object.get(key));
            errors.into_iter().any(says_something).then_some(CallOutcome::Failed)
        };
        code.or_else(flag).or_else(error).or_else(|| self.status(object))
    }

    fn code(&self, object: &Map<String, Value>) -> Option<CallOutcome> {
        let codes = self.object.exit_codes.iter().filter_map(|key| object.get(key));
        let mut codes =
            codes.filter_map(|code| code.as_i64().or_else(|| code.as_str()?.parse().ok()));
        codes.next().map(of_code)
    }

    fn flag(&self, object: &Map<String, Value>) -> Option<CallOutcome> {
        let flag = |keys: &[String], value| {
            keys.iter().any(|key| object.get(key) == Some(&Value::Bool(value)))
        };
        if flag(&self.object.is_failed, true) || flag(&self.object.is_passed, false) {
            return Some(CallOutcome::Failed);
        }
        flag(&self.object.is_passed, true).then_some(CallOutcome::Passed)
    }

    fn status(&self, object: &Map<String, Value>) -> Option<CallOutcome> {
        if !object.keys().all(|key| self.object.envelope.contains(key)) {
            return None;
        }
        let status = self.object.status.iter().find_map(|key| object.get(key)?.as_str())?;
        let is_of = |words: &[String]| words.iter().any(|word| status.eq_ignore_ascii_case(word));
        if is_of(&self.object.status_failed) {
            return Some(CallOutcome::Failed);
        }
        is_of(&self.object.status_passed).then_some(CallOutcome::Passed)
    }
}

fn object(text: &str) -> Option<Map<String, Value>> {
    let text = text.trim();
    let is_object = text.starts_with('{') && text.len() <= MAX_REPORT;
    is_object.then(|| serde_json::from_str(text).ok()).flatten()
}

fn of_code(code: i64) -> CallOutcome {
    if code == 0 { CallOutcome::Passed } else { CallOutcome::Failed }
}

/// Returns the exit code of a match: the group `code`, or `other` of an alternative.
fn exit_code(found: &Captures<'_>) -> Option<i64> {
    let group = found.name("code").or_else(|| found.name("other"))?;
    group.as_str().parse().ok()
}

fn start(text: &str) -> &str {
    text.get(..text.floor_char_boundary(START_BYTES)).unwrap_or(text)
}

/// Returns the last lines of a text.
fn end(text: &str) -> &str {
    let text = text.trim_end();
    let from = text.floor_char_boundary(text.len().saturating_sub(END_BYTES));
    let text = text.get(from..).unwrap_or(text);
    let line = text.rmatch_indices('\n').nth(END_LINES - 1).map_or(0, |(at, _)| at + 1);
    text.get(line..).unwrap_or(text)
}

fn says_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(object) => !object.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}
