//! Parses the agent's output into events.
//!
//! The agent may send its text twice: in pieces, and complete when a block is finished. Clients
//! receive it once. Costs are sums over the whole conversation; each turn gets its share.

/// Text that arrives in pieces and complete.
mod stream;
/// The running model call.
mod open_call;
/// Usage and cost of a turn.
mod turn_cost;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::event::{EventBody, EventKind, UnorderedEvent};
use crate::id::TraceId;
use crate::money::Money;
use crate::record::claude_code::object::Object;
use crate::record::price::PriceTable;
use crate::record::usage::Usage;
use open_call::OpenCall;
use stream::Stream;

pub use turn_cost::{AgentCost, add_spending, price_of};

/// Types of lines that become notices, and their text field.
const NOTICES: [(&str, &str); 4] = [
    ("compact_boundary", "content"),
    ("informational", "content"),
    ("permission_denied", "message"),
    ("task_notification", "summary"),
];

/// Type of a line that reports a retry.
const RETRY: &str = "api_retry";

/// Prefix of the reason when a person interrupted.
const ABORTED: &str = "aborted";

/// Result of one line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineOutcome {
    /// Events for clients, besides the line itself.
    pub events: Vec<UnorderedEvent>,
    pub sign: Option<LineSignal>,
}

/// Meaning of a line for the state of the chat.
#[derive(Clone, Debug, PartialEq)]
pub enum LineSignal {
    /// A turn starts.
    Began {
        /// The agent's id of the conversation.
        conversation: Option<String>,
        model: Option<String>,
        /// Permission mode.
        mode: Option<String>,
    },
    /// The agent started to process our message.
    TakenUp(String),
    /// Our message waits until the agent has finished something else.
    PutOff(String),
    /// Our message was withdrawn before the agent processed it, or after its turn.
    TakenBack(String),
    Mode(String),
    /// Number of background tasks.
    Background(usize),
    Ended(TurnEnd),
    /// New transcript lines: to record, not for clients.
    Kept {
        /// File of the transcript.
        file: String,
        lines: Vec<String>,
    },
}

/// Result of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnEnd {
    pub is_error: bool,
    /// Whether a person interrupted it.
    pub is_interrupted: bool,
    /// The agent's last message, or why it failed.
    pub result: Option<String>,
    /// Cost of the turn as the agent reports it, with what is known of an interrupted call.
    pub cost: Option<Money>,
    /// Usage by model, sub-agents included; empty when the agent does not report it.
    pub used: BTreeMap<String, Usage>,
    /// Cost by model, as the agent reports it.
    pub costs: BTreeMap<String, AgentCost>,
    /// Whether `cost` is a lower bound: a call was interrupted or retried.
    pub is_at_least: bool,
}

/// Reads the lines of one agent process, in order.
#[derive(Clone, Debug, Default)]
pub struct LineReader {
    /// Open text blocks, by the tool call of their sub-agent, or the agent itself.
    streams: BTreeMap<Option<String>, Stream>,
    /// Cost of the conversation so far, as the agent reports it.
    cost: Money,
    /// The running call of the agent itself.
    open: OpenCall,
    /// Whether a call of this turn was retried.
    is_retried: bool,
    /// Whether a sub-agent had output in this turn.
    has_sub_agents: bool,
    /// Prices, for calls that the agent does not count.
    prices: Arc<PriceTable>,
}

impl LineReader {
    /// Creates a reader for a process that continues a conversation with this cost.
    pub fn new(cost: Money) -> Self {
        Self { cost, ..Self::default() }
    }

    /// Sets the prices.
    #[must_use]
    pub fn with_prices(self, prices: Arc<PriceTable>) -> Self {
        Self { prices, ..self }
    }

    /// Cost of the conversation so far, as the agent reports it.
    pub const fn cost(&self) -> Money {
        self.cost
    }

    /// Takes the next line. Lines of an unknown type, or that are not JSON objects, have no events.
    pub fn take(&mut self, line: &str, turn: Option<&TraceId>) -> LineOutcome {
        let Ok(said) = Object::parse(line) else { return LineOutcome::default() };
        let parent = said.text("parent_tool_use_id");
        self.has_sub_agents |= parent.is_some();
        match said.text("type").as_deref() {
            Some("stream_event") => self.piece(&said, parent.as_ref()).into(),
            Some("assistant") => self.whole(&said, parent.as_ref()).into(),
            Some("user") => results(&said, parent.as_deref()).into(),
            Some("system") if said.text("subtype").as_deref() == Some(RETRY) => {
                self.is_retried = true;
                // The next attempt writes the message of this one again.
                let stream = self.streams.get(&parent);
                let notice = retry(&said, stream.and_then(Stream::open_message));
                self.streams.remove(&parent);
                notice.into()
            }
            Some("system") => system(&said),
            Some("result") => self.ended(&said, turn),
            Some("command_lifecycle") => lifecycle(&said).into(),
            Some("transcript_mirror") => kept(&said).into(),
            _ => LineOutcome::default(),
        }
    }

    fn piece(&mut self, said: &Object<'_>, parent: Option<&String>) -> Vec<UnorderedEvent> {
        let Some(event) = said.object("event") else { return Vec::new() };
        if parent.is_none() {
            self.open.take(&event);
        }
        let stream = self.streams.entry(parent.cloned()).or_default();
        let Some((kind, text)) = stream.piece(&event) else { return Vec::new() };
        vec![words(kind, &text, stream.message(), parent.map(String::as_str))]
    }

    fn whole(&mut self, said: &Object<'_>, parent: Option<&String>) -> Vec<UnorderedEvent> {
        let Some(message) = said.object("message") else { return Vec::new() };
        let id = message.text("id");
        let mut events = Vec::new();
        for raw in message.list("content") {
            let Ok(block) = Object::parse(raw.get()) else { continue };
            let spoken = match block.text("type").as_deref() {
                Some("text") => Some((EventKind::TextDelta, block.text("text"))),
                Some("thinking") => Some((EventKind::ThinkingDelta, block.text("thinking"))),
                Some("tool_use" | "server_tool_use" | "mcp_tool_use") => {
                    events.push(tool_use(&block, id.as_deref(), parent.map(String::as_str)));
                    None
                }
                _ => None,
            };
            let Some((kind, Some(text))) = spoken else { continue };
            let stream = self.streams.entry(parent.cloned()).or_default();
            if let Some(rest) = stream.whole(id.as_deref(), kind, &text) {
                events.push(words(kind, rest, id.as_deref(), parent.map(String::as_str)));
            }
        }
        events
    }

    fn ended(&mut self, said: &Object<'_>, turn: Option<&TraceId>) -> LineOutcome {
        // Sub-agents in the background continue.
        self.streams.remove(&None);
        let is_error = said.is("is_error") || said.text("subtype").is_some_and(|s| s != "success");
        let stopped = said.text("terminal_reason").is_some_and(|why| why.starts_with(ABORTED));
        let why = || reason(said, stopped).filter(|_| is_error);
        let bill = self.bill(said, stopped);
        let end = TurnEnd {
            is_error,
            is_interrupted: is_error && stopped,
            result: said.text("result").or_else(why),
            cost: bill.cost,
            used: bill.used,
            costs: bill.costs,
            is_at_least: bill.is_at_least,
        };
        let raw = |key: &str| said.written(key);
        let body = EventBody::default()
            .text_if("turn", turn.map(ToString::to_string).as_deref())
            .value("is_error", end.is_error)
            .raw_if("subtype", raw("subtype"))
            .raw_if("reason", raw("terminal_reason"))
            .raw_if("status", raw("api_error_status"))
            .text_if("result", end.result.as_deref())
            .raw_if("errors", raw("errors"))
            .raw_if("usage", raw("usage"))
            .raw_if("duration_ms", raw("duration_ms"))
            .raw_if("rounds", raw("num_turns"));
        let body = add_spending(body, &end.used, end.cost, end.is_at_least);
        let body = match end.cost {
            Some(_) => body.value("total_cost", self.cost.dollars()),
            None => body,
        };
        LineOutcome {
            events: vec![body.into_event(EventKind::Done)],
            sign: Some(LineSignal::Ended(end)),
        }
    }
}

impl From<Vec<UnorderedEvent>> for LineOutcome {
    fn from(events: Vec<UnorderedEvent>) -> Self {
        Self { events, sign: None }
    }
}

impl From<Option<LineSignal>> for LineOutcome {
    fn from(sign: Option<LineSignal>) -> Self {
        Self { events: Vec::new(), sign }
    }
}

/// Reason of a failed turn without a last message.
fn reason(said: &Object<'_>, is_stopped: bool) -> Option<String> {
    if is_stopped {
        return Some("interrupted".to_owned());
    }
    let errors = said.list("errors").into_iter();
    let errors: Vec<String> =
        errors.filter_map(|raw| serde_json::from_str(raw.get()).ok()).collect();
    if errors.is_empty() { said.text("subtype") } else { Some(errors.join("; ")) }
}

fn words(
    kind: EventKind,
    text: &str,
    message: Option<&str>,
    parent: Option<&str>,
) -> UnorderedEvent {
    let body = EventBody::default().text("text", text).text_if("message", message);
    body.text_if("parent", parent).into_event(kind)
}

fn tool_use(block: &Object<'_>, message: Option<&str>, parent: Option<&str>) -> UnorderedEvent {
    EventBody::default()
        .raw_if("id", block.written("id"))
        .raw_if("name", block.written("name"))
        .raw_if("input", block.written("input"))
        .text_if("message", message)
        .text_if("parent", parent)
        .into_event(EventKind::ToolUse)
}

fn results(said: &Object<'_>, parent: Option<&str>) -> Vec<UnorderedEvent> {
    let Some(message) = said.object("message") else { return Vec::new() };
    let blocks = message.list("content").into_iter();
    let blocks = blocks.filter_map(|raw| Object::parse(raw.get()).ok());
    let results = blocks.filter(|block| block.text("type").as_deref() == Some("tool_result"));
    let tell = |block: Object<'_>| {
        EventBody::default()
            .raw_if("tool_use_id", block.written("tool_use_id"))
            .raw_if("output", block.written("content"))
            .value("is_error", block.is("is_error"))
            .text_if("parent", parent)
            .into_event(EventKind::ToolResult)
    };
    results.map(tell).collect()
}

fn system(said: &Object<'_>) -> LineOutcome {
    let subtype = said.text("subtype").unwrap_or_default();
    let sign = match subtype.as_str() {
        "init" => Some(LineSignal::Began {
            conversation: said.text("session_id"),
            model: said.text("model"),
            mode: said.text("permissionMode"),
        }),
        "status" => said.text("permissionMode").map(LineSignal::Mode),
        "background_tasks_changed" => Some(LineSignal::Background(said.list("tasks").len())),
        _ => None,
    };
    let notice = NOTICES.iter().find(|(known, _)| *known == subtype).map(|(what, key)| {
        let text = said.written(key);
        EventBody::default().text("what", what).raw_if("text", text).into_event(EventKind::Notice)
    });
    LineOutcome { events: notice.into_iter().collect(), sign }
}

/// The notice that a call of the model failed and is made again.
fn retry(said: &Object<'_>, broken: Option<&str>) -> Vec<UnorderedEvent> {
    let status = said.count("error_status").map(|status| format!(" ({status})"));
    let delay = said.count("retry_delay_ms").map(|millis| match millis.div_ceil(1_000) {
        0 => ", retrying now".to_owned(),
        seconds => format!(", retrying in {seconds} s"),
    });
    let attempt = said.count("attempt").zip(said.count("max_retries"));
    let attempt = attempt.map(|(attempt, most)| format!(" (attempt {attempt} of {most})"));
    let why = said.text("error").unwrap_or_else(|| "the model did not answer".to_owned());
    let text = [status, delay, attempt].into_iter().flatten().fold(why, |text, part| text + &part);
    let body = EventBody::default().text("what", RETRY).text("text", &text);
    vec![body.text_if("broken", broken).into_event(EventKind::Notice)]
}

fn lifecycle(said: &Object<'_>) -> Option<LineSignal> {
    let message = said.text("command_uuid")?;
    match said.text("state")?.as_str() {
        "queued" => Some(LineSignal::PutOff(message)),
        "started" => Some(LineSignal::TakenUp(message)),
        "cancelled" => Some(LineSignal::TakenBack(message)),
        _ => None,
    }
}

fn kept(said: &Object<'_>) -> Option<LineSignal> {
    let lines = said.list("entries").into_iter().map(|raw| raw.get().to_owned()).collect();
    Some(LineSignal::Kept { file: said.text("filePath")?, lines })
}

#[cfg(test)]
mod tests;
