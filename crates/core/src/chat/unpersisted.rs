//! Output of an agent that was killed before it stored it.
//!
//! The agent sends its output as it is generated, and a little later the transcript lines that it
//! stores, from which traces are made. It may die in between. The output is then converted to the
//! lines that it would have stored: they have the same ids and times, so that duplicates do no
//! harm.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::event::EventBody;
use crate::id::SessionId;
use crate::record::claude_code::object::Object;
use crate::record::claude_code::transcript::usage_of;
use crate::record::usage::Usage;
use crate::time::Timestamp;

/// Maximum bytes to remember: the agent stores its output ten times a second.
const MAX_BYTES: usize = 16_000_000;

/// Output of the agent itself in a turn that is not stored yet. Sub-agents have transcripts of
/// their own, and are left out.
#[derive(Clone, Debug, Default)]
pub struct UnpersistedOutput {
    /// The prompt, and complete lines, by their ids in the transcript.
    said: Vec<(String, Spoken)>,
    /// The incomplete message.
    open: Option<OpenMessage>,
    /// Usage of messages; of an interrupted one, its usage at the start.
    used: BTreeMap<String, Map<String, Value>>,
    /// Calls that failed and were retried.
    lost: Vec<LostCall>,
    /// Time of the last line.
    last: Option<Timestamp>,
    bytes: usize,
}

#[derive(Clone, Debug)]
enum Spoken {
    Prompt { content: String, at: Timestamp },
    Line(String),
}

/// An incomplete message, and the text of its incomplete block.
#[derive(Clone, Debug, Default)]
struct OpenMessage {
    id: String,
    model: Option<String>,
    request: Option<String>,
    used: Map<String, Value>,
    words: String,
    /// Whether one of its blocks is complete.
    is_told: bool,
    /// Whether the model reported the total usage.
    is_counted: bool,
    /// Whether it has ended.
    is_over: bool,
}

/// A model call that failed and was retried: the agent counts it, but the transcript lacks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostCall {
    /// Id of the message that it had started.
    pub message: String,
    pub model: String,
    /// Usage so far.
    pub usage: Usage,
}

impl UnpersistedOutput {
    /// Starts a turn.
    pub fn begin_at(&mut self, at: Timestamp) {
        self.last = self.last.max(Some(at));
    }

    /// Returns the time of the last line of the turn.
    pub fn last_moment(&self) -> Timestamp {
        self.last.unwrap_or_default()
    }

    /// Starts a turn with a message, whose content is JSON.
    pub fn prompt(&mut self, id: &str, content: &str, at: Timestamp) {
        self.open = self.open.take().filter(|open| !open.is_over);
        if self.has_room(content) {
            let content = content.to_owned();
            self.said.push((id.to_owned(), Spoken::Prompt { content, at }));
        }
    }

    /// Takes a line of the agent.
    pub fn take(&mut self, line: &str) {
        let Ok(entry) = Object::parse(line) else { return };
        let is_sub_agent = entry.raw("parent_tool_use_id").is_some();
        match entry.text("type").as_deref() {
            _ if is_sub_agent => {}
            Some("stream_event") => drop(self.piece(&entry)),
            Some("assistant" | "user") => drop(self.whole(&entry, line)),
            _ => {}
        }
    }

    fn piece(&mut self, entry: &Object<'_>) -> Option<()> {
        let event = entry.object("event")?;
        match event.text("type")?.as_str() {
            "message_start" => {
                let message = event.object("message")?;
                let (id, model) = (message.text("id")?, message.text("model"));
                let used = object(message.raw("usage"));
                self.begin(OpenMessage { id, model, used, ..OpenMessage::default() });
            }
            "content_block_start" => self.open.as_mut()?.words.clear(),
            "content_block_delta" => {
                let words = event.object("delta")?.text("text")?;
                if self.has_room(&words) {
                    self.open.as_mut()?.words.push_str(&words);
                }
            }
            // The agent itself ends the stream of an interrupted call, and counts nothing.
            "message_delta"
                if event.object("delta").is_some_and(|it| it.text("stop_reason").is_none()) => {}
            "message_delta" => {
                let open = self.open.as_mut()?;
                open.used.extend(object(event.raw("usage")));
                open.is_counted = true;
                self.used.insert(open.id.clone(), open.used.clone());
            }
            // The agent also ends the stream of a failed call, and may retry it.
            "message_stop" => {
                let open = self.open.as_mut()?;
                open.is_over = true;
                if open.is_counted || open.is_told {
                    self.open = None;
                }
            }
            _ => {}
        }
        Some(())
    }

    /// A message starts. One before it that never ended failed, and its call was retried.
    fn begin(&mut self, message: OpenMessage) {
        if !message.used.is_empty() {
            self.used.insert(message.id.clone(), message.used.clone());
        }
        let before = self.open.replace(message);
        let given_up = before.filter(|before| !before.is_counted && !before.is_told);
        self.lost.extend(given_up.and_then(OpenMessage::lost));
    }

    /// Takes the calls that failed and were retried since the last time.
    pub fn take_lost(&mut self) -> Vec<LostCall> {
        std::mem::take(&mut self.lost)
    }

    fn whole(&mut self, entry: &Object<'_>, line: &str) -> Option<()> {
        self.last = self.last.max(entry.time("timestamp"));
        let message = entry.object("message")?;
        if let Some(open) = &mut self.open
            && message.text("id").as_ref() == Some(&open.id)
        {
            open.words.clear();
            open.is_told = true;
            open.request = entry.text("request_id");
        }
        if self.has_room(line) {
            self.said.push((entry.text("uuid")?, Spoken::Line(line.to_owned())));
        }
        Some(())
    }

    fn has_room(&mut self, text: &str) -> bool {
        let bytes = self.bytes + text.len();
        let has_room = bytes <= MAX_BYTES;
        if has_room {
            self.bytes = bytes;
        }
        has_room
    }

    /// Notes that the agent has stored a line.
    pub fn kept(&mut self, line: &str) {
        let id = Object::parse(line).ok().and_then(|kept| kept.text("uuid"));
        let Some(index) = self.said.iter().position(|(said, _)| Some(said) == id.as_ref()) else {
            return;
        };
        let (_, said) = self.said.remove(index);
        self.bytes = self.bytes.saturating_sub(match said {
            Spoken::Prompt { content, .. } => content.len(),
            Spoken::Line(line) => line.len(),
        });
    }

    /// Returns the output that is not stored as transcript lines of a session.
    pub fn lines(&self, chat_id: &SessionId, now: Timestamp) -> Vec<String> {
        let chat_id = Value::from(chat_id.to_string()).to_string();
        let whole = self.said.iter().filter_map(|(id, said)| match said {
            Spoken::Prompt { content, at } => {
                let message = EventBody::default().text("role", "user").raw("content", content);
                let line = line("user", id, &chat_id).text("timestamp", &at.to_string());
                Some(line.raw("message", &message.finish()).finish())
            }
            Spoken::Line(entry) => self.as_kept(id, entry, &chat_id),
        });
        let at = self.last.max(Some(now)).unwrap_or(now);
        let is_left =
            |open: &&OpenMessage| !open.words.is_empty() || !(open.is_told || open.used.is_empty());
        let open = self.open.iter().filter(is_left);
        whole.chain(open.map(|open| open.as_kept(&chat_id, at))).collect()
    }

    fn as_kept(&self, id: &str, entry: &str, chat_id: &str) -> Option<String> {
        let entry = Object::parse(entry).ok()?;
        let said = entry.object("message")?;
        let used = said.text("id").and_then(|id| self.used.get(&id));
        let used = used.map(|used| Value::from(used.clone()).to_string());
        let copied = ["id", "role", "model", "content"].into_iter();
        let message =
            copied.fold(EventBody::default(), |body, key| body.raw_if(key, said.written(key)));
        let message = message.raw_if("usage", used.as_deref());
        let line = line(&entry.text("type")?, id, chat_id)
            .raw_if("timestamp", entry.written("timestamp"))
            .raw_if("requestId", entry.written("request_id"))
            .raw_if("toolUseResult", entry.written("tool_use_result"));
        Some(line.raw("message", &message.finish()).finish())
    }
}

impl OpenMessage {
    fn lost(self) -> Option<LostCall> {
        let used = Value::from(self.used).to_string();
        let usage = usage_of(&Object::parse(&used).ok()?)?;
        Some(LostCall { message: self.id, model: self.model?, usage })
    }

    fn as_kept(&self, chat_id: &str, at: Timestamp) -> String {
        let words = EventBody::default().text("type", "text").text("text", &self.words).finish();
        let words = if self.words.is_empty() { String::new() } else { words };
        let used = (!self.used.is_empty()).then(|| Value::from(self.used.clone()).to_string());
        let message = EventBody::default()
            .text("id", &self.id)
            .text("role", "assistant")
            .text_if("model", self.model.as_deref())
            .raw("content", &format!("[{words}]"))
            .raw_if("usage", used.as_deref());
        line("assistant", &format!("{}-open", self.id), chat_id)
            .text("timestamp", &at.to_string())
            .text_if("requestId", self.request.as_deref())
            .raw("message", &message.finish())
            .finish()
    }
}

fn line(kind: &str, id: &str, chat_id: &str) -> EventBody {
    EventBody::default().text("type", kind).text("uuid", id).raw("sessionId", chat_id)
}

fn object(raw: Option<&RawValue>) -> Map<String, Value> {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
