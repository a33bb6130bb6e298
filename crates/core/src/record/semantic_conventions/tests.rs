//! Table tests: a span and its expected patches, both as JSON, and one `check`.

use serde_json::{Map, Value, json};

use super::*;
use crate::payload::Payload;
use crate::record::field::{Authority, Field};
use crate::record::span::{Attributes, SpanEvent, SpanLink, SpanStatus};
use crate::time::Timestamp;

/// One span per convention.
mod conventions;
/// One span per framework with peculiarities.
mod frameworks;
/// AI SDK 7, which uses two conventions at once.
mod ai_sdk_7;
/// Precedence of sources, and unused attributes.
mod precedence;
/// Token usage.
mod counting;
/// Fields of the trace.
mod run;
/// Properties of any span.
mod properties;

const START: i64 = 1_700_000_000_000_000_000;

/// Checks the observation patch. `metadata` is only compared if expected.
#[track_caller]
fn check(span: &Value, expected: &Value) {
    let mut shown = shown_observation(&interpret(span).observation);
    if expected.get("metadata").is_none() {
        shown.remove("metadata");
    }
    assert_eq!(&Value::Object(shown), expected);
}

/// Checks the trace patch; `!` marks stated fields, `^` fields implied by a root.
#[track_caller]
fn check_trace(span: &Value, expected: &Value) {
    assert_eq!(&Value::Object(shown_trace(&interpret(span).trace)), expected);
}

fn interpret(span: &Value) -> Interpreted {
    let attributes = |key: &str| attributes(&span[key]);
    let text = |key: &str| span[key].as_str().unwrap_or_default().to_owned();
    let origin = Origin {
        resource: attributes("resource"),
        scope_name: text("scope"),
        scope_version: text("scope_version"),
        scope: attributes("scope_attributes"),
    };
    let sender = Sender {
        sdk_name: span["sdk"].as_str().map(str::to_owned),
        sdk_version: span["sdk_version"].as_str().map(str::to_owned),
    };
    Interpreter::new(origin, sender).interpret(parse(span))
}

fn parse(span: &Value) -> Span {
    let start = Timestamp::from_nanos(START);
    let event = |event: &Value| SpanEvent {
        name: event["name"].as_str().unwrap().to_owned(),
        at: start,
        attributes: attributes(&event["attributes"]),
    };
    let link = |link: &Value| SpanLink {
        trace: "linked".parse_id(),
        span: link["span"].as_str().unwrap().parse_id(),
        attributes: Attributes::default(),
    };
    let list = |key: &str| span[key].as_array().cloned().unwrap_or_default();
    Span {
        trace: "t".parse_id(),
        id: "s".parse_id(),
        parent: span["parent"].as_str().map(ParseId::parse_id),
        name: span["name"].as_str().unwrap_or("step").to_owned(),
        start,
        end: start.plus_nanos(2_000_000_000),
        attributes: attributes(&span["attributes"]),
        events: list("events").iter().map(event).collect(),
        links: list("links").iter().map(link).collect(),
        status: match &span["error"] {
            Value::Null => SpanStatus::Unset,
            message => SpanStatus::Error(message.as_str().map(str::to_owned)),
        },
    }
}

fn attributes(object: &Value) -> Attributes {
    json::attributes(object.as_object().cloned().unwrap_or_default())
}

trait ParseId {
    fn parse_id<Of>(&self) -> crate::id::Id<Of>;
}

impl ParseId for str {
    fn parse_id<Of>(&self) -> crate::id::Id<Of> {
        crate::id::Id::parse(self).unwrap()
    }
}

fn shown_observation(patch: &ObservationPatch) -> Map<String, Value> {
    let mut shown = Map::new();
    let mut show = |name: &str, value: Option<Value>| {
        value.map(|value| shown.insert(name.to_owned(), value));
    };
    show("kind", patch.kind.value().map(|kind| kind.as_str().into()));
    show("name", text(&patch.name));
    show("parent", patch.parent.value().map(|id| id.to_string().into()));
    show("level", patch.level.value().map(|level| level.as_str().into()));
    show("status_message", text(&patch.status_message));
    show("version", text(&patch.version));
    show("environment", patch.environment.value().map(|name| name.as_str().into()));
    show("agent", text(&patch.agent));
    show("model", text(&patch.model));
    show("parameters", patch.model_parameters.value().map(parsed));
    show("usage", patch.usage.value().map(|usage| json!(usage.kinds())));
    show("cost", patch.cost.value().map(|cost| cost.total().dollars().into()));
    let link = |link: &crate::record::observation::PromptLink| json!([link.name, link.version]);
    show("prompt", patch.prompt.value().map(link));
    let after = |at: &Timestamp| json!(at.since(Timestamp::from_nanos(START)) / 1_000_000);
    show("first_token_ms", patch.completion_start.value().map(after));
    show("input", patch.input.value().map(shown_payload));
    show("output", patch.output.value().map(shown_payload));
    let keys: Map<_, _> = patch.metadata.values().map(|(k, v)| (k.to_owned(), parsed(v))).collect();
    show("metadata", Some(keys.into()));
    shown
}

fn shown_trace(patch: &TracePatch) -> Map<String, Value> {
    let mut shown = Map::new();
    let mut show = |name: &str, value: Option<Value>| {
        value.map(|value| shown.insert(name.to_owned(), value));
    };
    show("name", marked(&patch.name, Clone::clone));
    show("user", marked(&patch.user, Clone::clone));
    show("session", marked(&patch.session, ToString::to_string));
    show("release", marked(&patch.release, Clone::clone));
    show("version", marked(&patch.version, Clone::clone));
    show("environment", marked(&patch.environment, ToString::to_string));
    show("agent", marked(&patch.agent, Clone::clone));
    show("public", marked(&patch.public, ToString::to_string));
    show("root", marked(&patch.root, ToString::to_string));
    show("input", marked(&patch.input, |payload| payload.as_str().to_owned()));
    show("output", marked(&patch.output, |payload| payload.as_str().to_owned()));
    show("began", patch.timestamp.0.map(|at| at.since(Timestamp::from_nanos(START)).into()));
    show("tags", (!patch.tags.is_empty()).then(|| json!(patch.tags)));
    let keys: Map<_, _> = patch.metadata.values().map(|(k, v)| (k.to_owned(), parsed(v))).collect();
    show("metadata", (!keys.is_empty()).then(|| keys.into()));
    shown
}

fn text(field: &Field<String>) -> Option<Value> {
    field.value().map(|text| text.as_str().into())
}

fn marked<T>(field: &Field<T>, show: impl Fn(&T) -> String) -> Option<Value> {
    let mark = match field.stamp()?.authority {
        Authority::Stated => "!",
        Authority::Root => "^",
        Authority::Counted => "~",
        Authority::Child => "",
    };
    Some(format!("{mark}{}", show(field.value()?)).into())
}

/// Text unchanged, JSON parsed.
fn shown_payload(payload: &Payload) -> Value {
    match payload {
        Payload::Text(text) => text.as_ref().into(),
        Payload::Json(json) => parsed(json),
    }
}

fn parsed(json: &crate::payload::Json) -> Value {
    serde_json::from_str(json.as_str()).unwrap()
}
