//! From events, which come as OTLP log records, to patches.
//!
//! An event names its prompt and, if it is about one, the model's request or the tool call; so it
//! meets what the transcript says about the same thing. A transcript knows more, so it wins.
//!
//! Claude Code can send spans, too. Then every event happened during one, and only what spans leave
//! out is taken from it: the rest is kept as a note of that span.

/// What an event says of itself.
mod fields;
/// What became of models and tools.
mod step;

use crate::id::{ObservationId, TraceId};
use crate::record::log::LogRecord;
use crate::record::span::{AttributeValue, Attributes, Origin};
use crate::time::Timestamp;

use super::{Patches, id};
use fields::Saying;

/// What the names of its events begin with.
const PREFIX: &str = "claude_code.";
/// What stands for a text that the user did not want to send.
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
    /// Takes a log record that is one; gives up any other.
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

    /// The prompt that set it off; without one it is about the program itself.
    pub fn prompt(&self) -> Option<&str> {
        self.text("prompt.id")
    }

    /// The turn, where the event itself says which: its span's trace, or the line of the
    /// transcript that holds the prompt.
    pub fn turn(&self) -> Option<TraceId> {
        if let Some((trace, _)) = &self.during {
            return Some(trace.clone());
        }
        if self.name != "user_prompt" {
            return None;
        }
        id::turn(self.text("message.uuid")?)
    }

    /// The turn, where nobody knows better.
    pub fn turn_of_its_own(&self) -> Option<TraceId> {
        id::turn(self.prompt()?)
    }

    /// What the records may be known by that tell which turn it is: the prompt, then the model
    /// call or the tool call.
    pub fn known_by(&self) -> Vec<ObservationId> {
        let names = ["prompt.id", "request_id", "tool_use_id"];
        names.into_iter().filter_map(|name| id::own(self.text(name)?)).collect()
    }

    /// What it says, once its turn is known.
    pub fn patches(&self, turn: TraceId) -> Patches {
        let mut saying = Saying::new(self, turn);
        match self.name.as_str() {
            "user_prompt" => step::prompt(&mut saying),
            "api_request" => step::request(&mut saying),
            "assistant_response" => step::response(&mut saying),
            "tool_result" if self.during.is_none() => step::tool_result(&mut saying),
            "tool_decision" if self.during.is_none() => step::tool_decision(&mut saying),
            "subagent_completed" if self.during.is_none() => step::agent_end(&mut saying),
            _ => saying.note(),
        }
        saying.finish()
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.attributes.text(name).filter(|text| !text.is_empty())
    }

    /// A text, unless it was left out on purpose.
    fn open_text(&self, name: &str) -> Option<&str> {
        self.text(name).filter(|text| *text != REDACTED)
    }

    /// A count: some come as texts.
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

    /// Whether it says that something failed.
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
