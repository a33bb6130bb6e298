use serde_json::{Value, json};

use super::Event;
use crate::id::{ObservationId, TraceId};
use crate::record::claude_code::Patches;
use crate::record::log::LogRecord;
use crate::record::observation::{Level, ObservationKind, ObservationPatch};
use crate::record::span::{AttributeValue, Attributes, Origin};
use crate::time::Timestamp;

const PROMPT: &str = "22222222-0000-4000-8000-000000000001";
const LINE: &str = "11111111-0000-4000-8000-000000000001";
const TURN: &str = "11111111000040008000000000000001";

fn record(name: &str, more: &Value) -> LogRecord {
    let mut all = json!({
        "session.id": "s1", "user.id": "u1", "event.name": name, "event.sequence": 7,
        "prompt.id": PROMPT,
    });
    for (key, value) in more.as_object().unwrap() {
        all[key] = value.clone();
    }
    let attributes = all.as_object().unwrap().iter().map(|(key, value)| {
        let value = match value {
            Value::String(text) => AttributeValue::Text(text.clone()),
            Value::Number(number) if number.is_i64() => {
                AttributeValue::Int(number.as_i64().unwrap())
            }
            Value::Number(number) => AttributeValue::Double(number.as_f64().unwrap()),
            other => panic!("{other}"),
        };
        (key.clone(), value)
    });
    LogRecord {
        at: Timestamp::from_millis(10_000),
        event_name: String::new(),
        body: AttributeValue::Text(format!("claude_code.{name}")),
        attributes: Attributes(attributes.collect()),
        during: None,
    }
}

fn patches_of(record: LogRecord) -> Patches {
    let event = Event::read(record, &Origin::default()).unwrap();
    let turn = event.turn().unwrap_or_else(|| TraceId::parse(TURN).unwrap());
    event.patches(turn).merged()
}

#[track_caller]
fn step(patches: &Patches, id: &str) -> ObservationPatch {
    let step = patches.observations.iter().find(|patch| patch.id.to_string() == id);
    step.unwrap_or_else(|| panic!("no {id} in {patches:?}")).clone()
}

#[test]
fn a_prompt_begins_the_turn_that_the_transcript_knows() {
    let patches =
        patches_of(record("user_prompt", &json!({"message.uuid": LINE, "prompt": "hello"})));
    let trace = &patches.traces[0];
    assert_eq!(trace.id.to_string(), TURN);
    assert_eq!(trace.user.value().unwrap(), "u1");
    assert_eq!(trace.session.value().unwrap().to_string(), "s1");
    assert_eq!(trace.input.value().unwrap().as_str(), r#""hello""#);
    assert_eq!(step(&patches, TURN).kind.value(), Some(&ObservationKind::Agent));
    assert_eq!(step(&patches, PROMPT).kind.value(), Some(&ObservationKind::Event));
}

#[test]
fn what_was_left_out_on_purpose_is_not_said() {
    let patches =
        patches_of(record("user_prompt", &json!({"message.uuid": LINE, "prompt": "<REDACTED>"})));
    assert!(patches.traces.iter().all(|trace| trace.input.value().is_none()));
    let redacted = json!({"request_id": "req_1", "response": "<REDACTED>"});
    let patches = patches_of(record("assistant_response", &redacted));
    assert!(patches.observations.iter().all(|step| step.output.value().is_none()));
}

fn request() -> Value {
    json!({
        "request_id": "req_1", "model": "claude-opus-5", "input_tokens": 10, "output_tokens": 7,
        "cache_read_tokens": 200, "cache_creation_tokens": 50, "cache_creation_1h_tokens": 30,
        "cost_usd": 0.00073, "duration_ms": 2000, "ttft_ms": 500,
    })
}

#[test]
fn a_request_is_a_model_call_with_its_cost() {
    let call = step(&patches_of(record("api_request", &request())), "req_1");
    let usage = call.usage.value().unwrap();
    assert_eq!((usage.input(), usage.output(), usage.total()), (260, 7, 267));
    assert_eq!(usage.kinds()["input_cache_creation_1h"], 30);
    assert_eq!(call.cost.value().unwrap().total().dollars(), 0.00073);
    assert_eq!(call.start.0.unwrap().millis(), 8_000);
    assert_eq!(call.completion_start.value().unwrap().millis(), 8_500);
    assert_eq!(call.parent.value().unwrap().to_string(), TURN);
}

#[test]
fn a_sub_agents_requests_are_inside_it() {
    let mut request = request();
    request["agent_id"] = json!("a1");
    request["agent.name"] = json!("scout");
    let patches = patches_of(record("api_request", &request));
    assert_eq!(step(&patches, "req_1").parent.value().unwrap().to_string(), "agent-a1");
    assert_eq!(step(&patches, "agent-a1").name.value().unwrap(), "scout");
    assert_eq!(step(&patches, "agent-a1").parent.value().unwrap().to_string(), TURN);
}

#[test]
fn tools_are_known_by_their_calls() {
    let result = json!({
        "tool_use_id": "toolu_1", "tool_name": "Bash", "success": "false", "duration_ms": "567",
        "error": "Shell command failed", "tool_input": "{\"command\":\"false\"}",
    });
    let call = step(&patches_of(record("tool_result", &result)), "toolu_1");
    assert_eq!(call.kind.value(), Some(&ObservationKind::Tool));
    assert_eq!(call.level.value(), Some(&Level::Error));
    assert_eq!(call.start.0.unwrap().millis(), 9_433);
    assert_eq!(call.input.value().unwrap().as_str(), "{\"command\":\"false\"}");
    let decision = json!({"tool_use_id": "toolu_1", "decision": "accept", "source": "config"});
    let call = step(&patches_of(record("tool_decision", &decision)), "toolu_1");
    assert!(call.metadata.get("permissionDecision").unwrap().as_str().contains("accept"));
}

#[test]
fn other_events_are_stored_as_event_observations() {
    let error = json!({"error": "overloaded", "status_code": "529"});
    let patches = patches_of(record("api_error", &error));
    let note = patches.observations.iter().find(|step| step.name.value().unwrap().ends_with("r"));
    let note = note.unwrap();
    assert_eq!(note.level.value(), Some(&Level::Error));
    assert_eq!(note.status_message.value().unwrap(), "overloaded");
    assert_eq!(patches_of(record("api_error", &error)), patches, "the same event, the same id");
}

#[test]
fn during_a_span_only_what_spans_leave_out_is_said() {
    let trace = TraceId::parse("0af7651916cd43dd8448eb211c80319c").unwrap();
    let span = ObservationId::parse("b7ad6b7169203331").unwrap();
    let during = |record| LogRecord { during: Some((trace.clone(), span.clone())), ..record };
    let call = step(&patches_of(during(record("api_request", &request()))), "req_1");
    assert_eq!(call.trace, Some(trace.clone()));
    assert_eq!(call.parent.value(), Some(&span));
    let patches = patches_of(during(record("tool_result", &json!({"tool_use_id": "toolu_1"}))));
    let kinds: Vec<_> = patches.observations.iter().map(|step| step.kind.value()).collect();
    assert_eq!(kinds, [Some(&ObservationKind::Event)], "the span is the tool call");
    assert!(patches.traces[0].name.value().is_none(), "the root span names the trace");
}

#[test]
fn other_programs_say_nothing_here() {
    let mut other = record("x", &json!({}));
    other.body = AttributeValue::Text("started".to_owned());
    assert_eq!(Event::read(other, &Origin::default()), None);
}
