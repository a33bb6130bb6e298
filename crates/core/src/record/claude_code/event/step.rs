use serde_json::json;

use super::Event;
use super::fields::EventConversion;
use crate::money::Money;
use crate::payload::{Json, Payload};
use crate::record::claude_code::{MODEL_CALL, id};
use crate::record::field::{Field, StampedValue};
use crate::record::merge::Metadata;
use crate::record::observation::{Level, ObservationKind, ObservationPatch};
use crate::record::usage::{AnthropicCounts, Cost, TOTAL, Usage};

const NANOS_PER_MILLI: i64 = 1_000_000;

/// A prompt. Its observation has the prompt's id, which all other events of the turn name.
pub(super) fn prompt(context: &mut EventConversion<'_>) {
    let event = context.event;
    if let Some(id) = event.prompt().and_then(id::own) {
        context.add_event_as(id);
    }
    context.set_content(event.open_text("prompt"), None);
}

/// A completed model call.
pub(super) fn request(context: &mut EventConversion<'_>) {
    let event = context.event;
    let Some(id) = event.text("request_id").and_then(id::own) else { return context.add_event() };
    let stamp = context.stamp();
    let first_token = event.count("ttft_ms").and_then(|millis| i64::try_from(millis).ok());
    let first_token = first_token
        .map(|millis| context.began().plus_nanos(millis.saturating_mul(NANOS_PER_MILLI)));
    let call = ObservationPatch {
        name: Field::new(MODEL_CALL.to_owned(), stamp),
        completion_start: Field::if_some(first_token, stamp),
        model: Field::if_some(event.text("model").map(str::to_owned), stamp),
        model_parameters: Field::if_some(parameters(event), stamp),
        usage: Field::if_some(usage(event), stamp),
        cost: Field::if_some(cost(event), stamp),
        ..context.step(id, ObservationKind::Generation)
    };
    context.add(call);
}

fn parameters(event: &Event) -> Option<Json> {
    Some(Json::from_value(&json!({"effort": event.text("effort")?})))
}

fn usage(event: &Event) -> Option<Usage> {
    let counts = AnthropicCounts {
        input: event.count("input_tokens"),
        cache_read: event.count("cache_read_tokens"),
        cache_written: event.count("cache_creation_tokens"),
        cache_written_1h: event.count("cache_creation_1h_tokens"),
        output: event.count("output_tokens"),
        web_searches: None,
    };
    counts.usage()
}

fn cost(event: &Event) -> Option<Cost> {
    let dollars = Money::from_dollars(event.amount("cost_usd")?)?;
    Some(Cost::new([(TOTAL.to_owned(), dollars)].into()))
}

pub(super) fn response(context: &mut EventConversion<'_>) {
    let event = context.event;
    let Some(id) = event.text("request_id").and_then(id::own) else { return context.add_event() };
    let Some(text) = event.open_text("response") else { return };
    let content = json!({"role": "assistant", "content": [{"type": "text", "text": text}]});
    let output = Payload::Json(Json::from_value(&content));
    let call =
        ObservationPatch { output: Field::new(output, context.stamp()), ..context.observation(id) };
    context.add(call);
    context.set_content(None, Some(text));
}

pub(super) fn tool_result(context: &mut EventConversion<'_>) {
    let event = context.event;
    let Some(id) = event.text("tool_use_id").and_then(id::own) else { return context.add_event() };
    let stamp = context.stamp();
    let level = if event.has_failed() { Level::Error } else { Level::Default };
    let input = event.open_text("tool_input").or_else(|| event.open_text("tool_parameters"));
    let call = ObservationPatch {
        name: Field::if_some(event.text("tool_name").map(str::to_owned), stamp),
        level: Field::new(level, stamp),
        status_message: Field::if_some(event.text("error").map(str::to_owned), stamp),
        input: Field::if_some(input.map(|input| Payload::Text(input.into())), stamp),
        ..context.step(id, ObservationKind::Tool)
    };
    context.add(call);
}

/// A permission decision on a tool call.
pub(super) fn tool_decision(context: &mut EventConversion<'_>) {
    let event = context.event;
    let Some(id) = event.text("tool_use_id").and_then(id::own) else { return context.add_event() };
    let stamp = context.stamp();
    let decision = json!({"decision": event.text("decision"), "source": event.text("source")});
    let decision = StampedValue { stamp, value: Some(Json::from_value(&decision)) };
    let call = ObservationPatch {
        name: Field::if_some(event.text("tool_name").map(str::to_owned), stamp),
        metadata: Metadata::new([("permissionDecision".to_owned(), decision)]),
        ..context.step(id, ObservationKind::Tool)
    };
    context.add(call);
}

/// The end of a sub-agent, with its type and duration.
pub(super) fn agent_end(context: &mut EventConversion<'_>) {
    if context.event.text("agent_id").is_none() {
        context.add_event();
    }
}
