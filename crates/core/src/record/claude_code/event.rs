//! Conversion of events, which arrive as OTLP log records, to patches.
//!
//! An event names its prompt and, where applicable, the model request or the tool call, and so
//! merges with the transcript's record of the same. Transcripts contain more, so they take
//! precedence.
//!
//! Claude Code can send spans as well. Then every event belongs to a span, and only what spans lack
//! is taken from it; the rest is stored as an event observation of that span.

/// Fields of an event.
mod fields;
/// Model and tool events.
mod step;

use crate::id::{ObservationId, TraceId};
use crate::record::log::LogRecord;
use crate::record::span::{AttributeValue, Attributes, Origin};
use crate::time::Timestamp;

use super::{Patches, id};
use fields::EventConversion;

/// The prefix of event names.
const PREFIX: &str = "claude_code.";
/// Replaces text that the user chose not to send.
const REDACTED: &str = "<REDACTED>";

/// An event of Claude Code.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    name: String,
    at: Timestamp,
    attributes: Attributes,
    during: Option<(TraceId, ObservationId)>,
    version: Option<String>,
}

impl Event {
    /// Converts a log record; `None` if it is not an event of Claude Code.
    ///
    /// ```
    /// use ratchet_core::record::claude_code::event::Event;
    /// use ratchet_core::record::log::LogRecord;
    /// use ratchet_core::record::span::{AttributeValue, Attributes, Origin};
    /// use ratchet_core::time::Timestamp;
    ///
    /// let record = LogRecord {
    ///     at: Timestamp::from_millis(1),
    ///     event_name: String::new(),
    ///     body: AttributeValue::Text("claude_code.user_prompt".to_owned()),
    ///     attributes: Attributes::default(),
    ///     during: None,
    /// };
    /// assert!(Event::read(record, &Origin::default()).is_some());
    /// ```
    pub fn read(record: LogRecord, origin: &Origin) -> Option<Self> {
        let body = match &record.body {
            AttributeValue::Text(body) => body.as_str(),
            _ => "",
        };
        let name = [record.event_name.as_str(), body].into_iter().find_map(|name| {
            let name = name.strip_prefix(PREFIX)?;
            (!name.is_empty()).then(|| name.to_owned())
        });
        let version = origin.resource.text("service.version").map(str::to_owned);
        Some(Self {
            name: name?,
            at: record.at,
            attributes: record.attributes,
            during: record.during,
            version,
        })
    }

    /// Returns the id of its prompt; events without one are about the program itself.
    pub fn prompt(&self) -> Option<&str> {
        self.text("prompt.id")
    }

    /// Returns the turn, where the event itself names it: by its span's trace, or by the transcript
    /// line that contains the prompt.
    pub fn turn(&self) -> Option<TraceId> {
        if let Some((trace, _)) = &self.during {
            return Some(trace.clone());
        }
        if self.name != "user_prompt" {
            return None;
        }
        id::turn(self.text("message.uuid")?)
    }

    /// Returns the fallback turn, derived from the prompt id.
    pub fn fallback_turn(&self) -> Option<TraceId> {
        id::turn(self.prompt()?)
    }

    /// Returns ids of records that may reveal the turn: the prompt, then the model call or the tool
    /// call.
    pub fn known_by(&self) -> Vec<ObservationId> {
        let names = ["prompt.id", "request_id", "tool_use_id"];
        names.into_iter().filter_map(|name| id::own(self.text(name)?)).collect()
    }

    /// Returns the patches, once the turn is known.
    pub fn patches(&self, turn: TraceId) -> Patches {
        let mut context = EventConversion::new(self, turn);
        match self.name.as_str() {
            "user_prompt" => step::prompt(&mut context),
            "api_request" => step::request(&mut context),
            "assistant_response" => step::response(&mut context),
            "tool_result" if self.during.is_none() => step::tool_result(&mut context),
            "tool_decision" if self.during.is_none() => step::tool_decision(&mut context),
            "subagent_completed" if self.during.is_none() => step::agent_end(&mut context),
            _ => context.add_event(),
        }
        context.finish()
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.attributes.text(name).filter(|text| !text.is_empty())
    }

    /// Returns a text, unless it was redacted by the sender.
    fn open_text(&self, name: &str) -> Option<&str> {
        self.text(name).filter(|text| *text != REDACTED)
    }

    /// Returns a count: some are sent as text.
    fn count(&self, name: &str) -> Option<u64> {
        match self.attributes.get(name)? {
            AttributeValue::Int(number) => u64::try_from(*number).ok(),
            AttributeValue::Double(number) => crate::record::usage::whole(*number),
            AttributeValue::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    fn amount(&self, name: &str) -> Option<f64> {
        match self.attributes.get(name)? {
            AttributeValue::Double(number) => Some(*number),
            AttributeValue::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// Returns whether it reports a failure.
    fn has_failed(&self) -> bool {
        match self.attributes.get("success") {
            Some(AttributeValue::Text(text)) => text == "false",
            Some(AttributeValue::Bool(truth)) => !truth,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
