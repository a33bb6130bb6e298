//! Session fixtures for tests, in the formats that SDKs send.

use serde_json::{Value, json};

use crate::environment::Environment;
use crate::id::{ObservationId, SessionId, TraceId};
use crate::judge::evidence::Evidence;
use crate::payload::{Json, Payload};
use crate::record::observation::{Level, Observation, ObservationKind};
use crate::record::trace::{Content, Trace, TraceSummary};
use crate::record::usage::Usage;
use crate::time::Timestamp;

/// A trace builder; its observations start one second apart.
#[derive(Clone, Debug)]
pub(crate) struct TraceOf {
    input: Option<Value>,
    output: Option<Value>,
    steps: Vec<StepOf>,
}

/// An observation builder.
#[derive(Clone, Debug)]
pub(crate) struct StepOf {
    kind: ObservationKind,
    name: Option<String>,
    parent: Option<String>,
    id: Option<String>,
    level: Level,
    input: Option<Value>,
    output: Option<Value>,
    metadata: Vec<(String, Json)>,
    tokens: u64,
}

/// A trace without input and output.
pub(crate) fn trace(steps: Vec<StepOf>) -> TraceOf {
    TraceOf { input: None, output: None, steps }
}

/// A trace with input, observations and output.
pub(crate) fn turn(input: Value, steps: Vec<StepOf>, output: Value) -> TraceOf {
    TraceOf { input: Some(input), output: Some(output), steps }
}

pub(crate) fn generation(input: Value, output: Value) -> StepOf {
    StepOf { input: Some(input), output: Some(output), ..step(ObservationKind::Generation) }
}

pub(crate) fn tool(name: &str, input: Value, output: Value) -> StepOf {
    let name = Some(name.to_owned());
    StepOf { name, input: Some(input), output: Some(output), ..step(ObservationKind::Tool) }
}

/// An observation of some kind.
pub(crate) fn step(kind: ObservationKind) -> StepOf {
    StepOf {
        kind,
        name: None,
        parent: None,
        id: None,
        level: Level::Default,
        input: None,
        output: None,
        metadata: Vec::new(),
        tokens: 0,
    }
}

impl StepOf {
    pub(crate) fn failed(self) -> Self {
        Self { level: Level::Error, ..self }
    }

    /// Sets the id.
    pub(crate) fn called(self, id: &str) -> Self {
        Self { id: Some(id.to_owned()), ..self }
    }

    /// Sets the parent.
    pub(crate) fn within(self, parent: &str) -> Self {
        Self { parent: Some(parent.to_owned()), ..self }
    }

    /// Sets a metadata key.
    pub(crate) fn with(mut self, key: &str, text: &str) -> Self {
        self.metadata.push((key.to_owned(), Json::from_value(&Value::from(text))));
        self
    }

    /// Sets the kind.
    pub(crate) fn of_kind(self, kind: ObservationKind) -> Self {
        Self { kind, ..self }
    }

    /// Sets the token usage.
    pub(crate) fn tokens(self, tokens: u64) -> Self {
        Self { tokens, ..self }
    }

    fn build(self, trace: &TraceId, id: String, start: Timestamp) -> Observation {
        let content = Content {
            input: self.input.map(payload),
            output: self.output.map(payload),
            metadata: self.metadata,
        };
        Observation {
            id: ObservationId::parse(&self.id.unwrap_or(id)).unwrap(),
            trace: trace.clone(),
            kind: self.kind,
            name: self.name,
            parent: self.parent.map(|parent| ObservationId::parse(&parent).unwrap()),
            app_root: false,
            start,
            end: Some(start.plus_nanos(500_000_000)),
            completion_start: None,
            level: self.level,
            status_message: None,
            version: None,
            environment: Environment::default(),
            agent: None,
            model: None,
            model_parameters: None,
            usage: Usage::new([("total".to_owned(), self.tokens)].into()),
            cost: None,
            counted: false,
            pricing_tier: None,
            prompt: None,
            created_at: start,
            updated_at: start,
            content: Some(content),
        }
    }
}

fn payload(value: Value) -> Payload {
    match value {
        Value::String(text) => Payload::Text(text.into()),
        other => Payload::Json(Json::from_value(&other)),
    }
}

/// Evidence of a session whose traces are a minute apart.
pub(crate) fn session(traces: Vec<TraceOf>) -> Evidence {
    let built = (1..).zip(traces).map(|(number, trace): (i64, TraceOf)| {
        let start = Timestamp::from_millis(1_772_438_400_000 + number * 60_000);
        let id = TraceId::parse(&format!("t{number}")).unwrap();
        let steps = (0..).zip(trace.steps).map(|(nth, step): (i64, StepOf)| {
            let at = start.plus_nanos(nth * 1_000_000_000);
            step.build(&id, format!("t{number}-s{nth}"), at)
        });
        let steps: Vec<Observation> = steps.collect();
        (record(id, start, &steps, [trace.input, trace.output]), steps)
    });
    Evidence::new(SessionId::parse("s").unwrap(), built.collect())
}

fn record(id: TraceId, start: Timestamp, steps: &[Observation], io: [Option<Value>; 2]) -> Trace {
    let [input, output] = io.map(|side| side.map(payload));
    Trace {
        id,
        timestamp: start,
        name: None,
        user: None,
        session: None,
        release: None,
        version: None,
        environment: Environment::default(),
        agent: None,
        tags: Vec::new(),
        public: false,
        bookmarked: false,
        summary: TraceSummary::of(steps),
        created_at: start,
        updated_at: start,
        content: Some(Content { input, output, metadata: Vec::new() }),
    }
}

/// A user message.
pub(crate) fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// An assistant message.
pub(crate) fn agent(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}
