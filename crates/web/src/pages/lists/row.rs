use std::future::Future;

use maud::{Markup, html};
use ratchet_core::id::SessionId;
use ratchet_core::payload::Payload;
use ratchet_core::record::observation::Observation;
use ratchet_core::record::trace::Content;
use ratchet_core::time::Timestamp;
use ratchet_store::StoreResult;
use ratchet_store::deadline_query::DeadlinePage;
use ratchet_store::live_tail::{Arrival, RecordKind};
use ratchet_store::query::Matching;
use ratchet_store::telemetry::Telemetry;

use super::column::ListColumn;
use super::state::ListQuery;
use crate::filter::ListKind;
use crate::message_preview::one_line;
use crate::request_context::{Link, RequestContext};
use ratchet_core::record::message_formats::{self, Part, Reading};

/// Records that are looked at to count how many match: the newest.
pub(super) const COUNTED: u64 = 10_000;

/// A row of a list: a trace, an observation or a session.
pub(in crate::pages) trait ListedRow: Sized + Send + Sync + 'static {
    /// Which list it is a row of.
    const ON: ListKind;

    /// What a list of them looks on at.
    const WATCHED: RecordKind;

    /// Looks for a page of rows; texts in the filter are not looked at. In another order than that
    /// of their time range there may be too many of them.
    fn read(
        telemetry: &Telemetry,
        ask: &ListQuery,
    ) -> impl Future<Output = StoreResult<DeadlinePage<Self>>> + Send;

    /// Those of some records that match, newest first.
    fn arrived(
        telemetry: &Telemetry,
        ask: &ListQuery,
        records: Vec<Arrival>,
    ) -> impl Future<Output = StoreResult<Vec<Self>>> + Send;

    /// Counts how many of the newest rows match; texts in the filter are not looked at.
    fn matching(
        telemetry: &Telemetry,
        ask: &ListQuery,
    ) -> impl Future<Output = StoreResult<Matching>> + Send;

    /// The rows that some observations lead to and that match, newest first.
    fn found(
        telemetry: &Telemetry,
        ask: &ListQuery,
        hits: Vec<Observation>,
    ) -> impl Future<Output = StoreResult<Vec<Self>>> + Send;

    fn facts(&self) -> RowFacts;

    /// The texts of the row itself, besides those of its observations.
    fn texts(&self) -> impl Iterator<Item = &str> {
        std::iter::empty()
    }

    /// A cell as people see it.
    fn cell(&self, column: ListColumn, ctx: &RequestContext) -> Markup;

    /// A cell as it is exported.
    fn value(&self, column: ListColumn) -> CellValue;
}

#[derive(Clone, Debug)]
pub(in crate::pages) struct RowFacts {
    pub(in crate::pages) id: String,
    /// Whether something in it failed.
    pub(in crate::pages) failed: bool,
    /// The trace it is or belongs to; `None` for a session.
    pub(super) trace: Option<String>,
    /// The session of a trace.
    pub(super) session: Option<SessionId>,
}

impl RowFacts {
    pub(super) fn link(&self, on: ListKind, ctx: &RequestContext) -> Link {
        let trace = self.trace.as_deref().unwrap_or_default();
        match on {
            ListKind::Traces => trace_link(ctx, trace),
            ListKind::Observations => {
                ctx.to(&["traces", trace]).with("observation", self.id.clone())
            }
            ListKind::Sessions => ctx.to(&["sessions", &self.id]),
        }
    }
}

/// Link to a trace that keeps the filter of the list, so that the page leads to the next match.
pub(in crate::pages) fn trace_link(ctx: &RequestContext, trace: &str) -> Link {
    let link = ctx.to(&["traces", trace]);
    let filter = ctx.params.get("q").filter(|filter| !filter.is_empty());
    filter.into_iter().fold(link, |link, filter| link.with("q", filter))
}

/// A cell as it is exported.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::pages) enum CellValue {
    Text(Option<String>),
    Number(Option<f64>),
    Whole(u64),
    Time(Timestamp),
    Words(Vec<String>),
    /// A JSON document.
    Json(Option<String>),
}

/// Characters of a payload that a cell shows.
const PREVIEW: usize = 160;

/// Bytes of a payload that are read as a conversation; a longer one shows as it is.
const READ: usize = 100_000;

/// One-line preview of a payload; of a conversation, its last message.
pub(super) fn preview(payload: Option<&Payload>, length: usize) -> Option<String> {
    let text = payload?.as_str();
    let last = if text.len() <= READ { last_words(text) } else { None };
    Some(one_line(last.as_deref().unwrap_or(text), length))
}

fn last_words(text: &str) -> Option<String> {
    let messages = match message_formats::read(text) {
        Reading::Messages(messages) => messages,
        Reading::Text(text) => return Some(text),
        Reading::Data(_) => return None,
    };
    messages.iter().rev().find_map(|message| {
        let words = message.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()).filter(|text| !text.trim().is_empty()),
            _ => None,
        });
        let words: Vec<&str> = words.collect();
        (!words.is_empty()).then(|| words.join(" "))
    })
}

pub(super) fn preview_cell(payload: Option<&Payload>) -> Markup {
    let shown = preview(payload, PREVIEW);
    html! { @if let Some(text) = shown { span.mono { bdi { (text) } } } }
}

/// A payload as it is exported.
pub(super) fn payload(payload: Option<&Payload>) -> CellValue {
    CellValue::Json(payload.map(|payload| payload.to_json().as_str().to_owned()))
}

/// The metadata as one JSON object.
pub(super) fn metadata(content: Option<&Content>) -> Option<String> {
    let metadata = &content?.metadata;
    if metadata.is_empty() {
        return None;
    }
    let key = |key: &String| serde_json::Value::from(key.as_str()).to_string();
    let pairs: Vec<String> =
        metadata.iter().map(|(name, json)| format!("{}:{}", key(name), json.as_str())).collect();
    Some(format!("{{{}}}", pairs.join(",")))
}

/// A cell with a metadata preview.
pub(super) fn metadata_cell(content: Option<&Content>) -> Markup {
    let metadata = metadata(content).map(|text| Payload::Text(text.into()));
    preview_cell(metadata.as_ref())
}

/// Nanoseconds as seconds.
#[expect(clippy::cast_precision_loss, reason = "a float holds any latency to the microsecond")]
pub(super) fn seconds(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}

/// A word that leads somewhere; nothing if there is none.
pub(super) fn linked(word: Option<&str>, link: impl FnOnce(&str) -> Link) -> Markup {
    html! {
        @if let Some(word) = word {
            a.quiet-link href=(link(word)) title=(word) { bdi { (word) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(preview(Some(&Payload::Text(text.into())), 10).unwrap(), expected);
    }

    #[test]
    fn previews_are_one_short_line() {
        check("", "");
        check("short", "short");
        check("  two\n\n words\t", "two words");
        check("0123456789", "0123456789");
        check("01234567890", "0123456789…");
        check(&"日".repeat(1_000), &format!("{}…", "日".repeat(10)));
        check(&" ".repeat(100_000), "");
    }

    #[test]
    fn of_a_conversation_the_last_words_show() {
        check(r#"[{"role":"system","content":"Be kind"},{"role":"user","content":"Hi"}]"#, "Hi");
        check(r#"{"a":1}"#, r#"{"a":1}"#);
        check(r#""a text""#, "a text");
    }
}
