use ratchet_core::environment::Environment;
use ratchet_core::id::{ObservationId, SessionId, TraceId};
use ratchet_core::judge::evidence::Evidence;
use ratchet_core::payload::{Json, Payload};
use ratchet_core::record::observation::{Level, Observation, ObservationKind};
use ratchet_core::record::trace::{Content, Trace, TraceSummary};
use ratchet_core::record::usage::Usage;
use ratchet_core::time::Timestamp;
use serde_json::{Value, json};

use crate::labelled::Labelled;
use crate::notation;

/// How a conversation is split into traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One per turn, as chat applications do; tools are observations.
    Turns,
    /// One for all, with generations only; tool calls are in the messages.
    Whole,
    /// As the first, with results as objects that have an exit code.
    ExitCodes,
    /// As the second, with calls and results in blocks of messages.
    Blocks,
    /// As the second, with calls in tags of the agent's text and results in the role of the user.
    Tags,
    /// As the second, with calls as actions in the agent's text and results as observations.
    Actions,
}

impl Shape {
    /// The notations that the same sessions are written in beside their own.
    pub(crate) const NOTATIONS: [Self; 4] =
        [Self::ExitCodes, Self::Blocks, Self::Tags, Self::Actions];

    /// Whether each turn is a trace.
    fn has_turns(self) -> bool {
        matches!(self, Self::Turns | Self::ExitCodes)
    }
}

const START: Timestamp = Timestamp::from_millis(1_772_438_400_000);

/// Returns the session that an SDK would have sent for a conversation.
pub(crate) fn evidence(nth: usize, one: &Labelled, shape: Shape) -> Evidence {
    let mut writer = Writer { session: nth, shape, clock: 0, traces: Vec::new() };
    let messages = notation::rewrite(&one.messages, shape);
    for (place, message) in messages.iter().enumerate() {
        match message.get("role").and_then(Value::as_str) {
            Some("user") => writer.user(message),
            Some("assistant") => writer.assistant(&messages, place),
            _ => {}
        }
    }
    Evidence::new(id(&format!("session-{nth}")), writer.finish())
}

struct Writer {
    session: usize,
    shape: Shape,
    clock: i64,
    traces: Vec<(Trace, Vec<Observation>)>,
}

impl Writer {
    fn now(&mut self) -> Timestamp {
        self.clock += 1;
        START.plus_nanos(self.clock * 1_000_000_000)
    }

    fn user(&mut self, message: &Value) {
        if self.shape.has_turns() || self.traces.is_empty() {
            let input = self.shape.has_turns().then(|| payload(message.get("content")));
            self.begin(input.flatten());
        }
    }

    fn begin(&mut self, input: Option<Payload>) {
        let at = self.now();
        let trace = trace(&format!("trace-{}-{}", self.session, self.traces.len()), at, input);
        self.traces.push((trace, Vec::new()));
    }

    fn assistant(&mut self, messages: &[Value], place: usize) {
        let (before, message) = (&messages[..place], &messages[place]);
        if self.traces.is_empty() {
            self.begin(None);
        }
        let input = Payload::Json(Json::from_value(&json!(before)));
        let output = Payload::Json(Json::from_value(message));
        self.step(ObservationKind::Generation, "chat", Some(input), Some(output));
        if !self.shape.has_turns() {
            return;
        }
        if let Some((trace, _)) = self.traces.last_mut()
            && let Some(content) = &mut trace.content
        {
            content.output = payload(message.get("content")).or(content.output.take());
        }
        let calls = message.get("tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            let given = result(&messages[place..], call.get("id"));
            let function = call.get("function").unwrap_or(call);
            let name = function.get("name").and_then(Value::as_str).unwrap_or("tool");
            let output = given.and_then(|given| payload(Some(given)));
            self.step(ObservationKind::Tool, name, payload(function.get("arguments")), output);
        }
    }

    fn step(
        &mut self,
        kind: ObservationKind,
        name: &str,
        input: Option<Payload>,
        output: Option<Payload>,
    ) {
        let start = self.now();
        let Some((trace, steps)) = self.traces.last_mut() else { return };
        let step_id = format!("step-{}-{}", self.session, self.clock);
        steps.push(Observation {
            id: ObservationId::parse(&step_id).unwrap_or_else(|_| unreachable!()),
            trace: trace.id.clone(),
            kind,
            name: Some(name.to_owned()),
            parent: None,
            app_root: false,
            start,
            end: Some(start.plus_nanos(500_000_000)),
            completion_start: None,
            level: Level::Default,
            status_message: None,
            version: None,
            environment: Environment::default(),
            agent: None,
            model: None,
            model_parameters: None,
            usage: Usage::default(),
            cost: None,
            counted: false,
            pricing_tier: None,
            prompt: None,
            created_at: start,
            updated_at: start,
            content: Some(Content { input, output, metadata: Vec::new() }),
        });
    }

    fn finish(self) -> Vec<(Trace, Vec<Observation>)> {
        self.traces
    }
}

/// Returns the first result after a call. Models give several calls the same id.
fn result<'a>(after: &'a [Value], id: Option<&Value>) -> Option<&'a Value> {
    let given = after.iter().find(|it| id.is_some() && it.get("tool_call_id") == id)?;
    given.get("content")
}

fn payload(value: Option<&Value>) -> Option<Payload> {
    match value? {
        Value::Null => None,
        Value::String(text) => Some(Payload::Text(text.as_str().into())),
        other => Some(Payload::Json(Json::from_value(other))),
    }
}

fn id(text: &str) -> SessionId {
    SessionId::parse(text).unwrap_or_else(|_| unreachable!())
}

fn trace(name: &str, at: Timestamp, input: Option<Payload>) -> Trace {
    Trace {
        id: TraceId::parse(name).unwrap_or_else(|_| unreachable!()),
        timestamp: at,
        name: Some("turn".to_owned()),
        user: None,
        session: None,
        release: None,
        version: None,
        environment: Environment::default(),
        agent: None,
        tags: Vec::new(),
        public: false,
        bookmarked: false,
        summary: TraceSummary::default(),
        created_at: at,
        updated_at: at,
        content: Some(Content { input, output: None, metadata: Vec::new() }),
    }
}
