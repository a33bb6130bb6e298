use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::SubAgentMetadata;
use super::context::{LineContext, Side};
use super::conversation::TranscriptConversation;
use super::system_lines;
use crate::id::ObservationId;
use crate::payload::{Json, Payload};
use crate::record::claude_code::object::Object;
use crate::record::claude_code::{MODEL_CALL, id};
use crate::record::field::{Field, Stamp, WriteKind};
use crate::record::merge::{Earliest, Latest};
use crate::record::observation::{ObservationKind, ObservationPatch};
use crate::record::usage::Usage;

/// The speed at list price.
const STANDARD_SPEED: &str = "standard";

/// The model name of answers that Claude Code generates itself.
const SYNTHETIC: &str = "<synthetic>";

/// Added to the timestamp per block, because blocks often share a millisecond.
const NANOS_PER_BLOCK: i64 = 1_000;

/// Reads an assistant line. A message has one line per block, and each repeats the usage.
pub(super) fn read(
    context: &mut LineContext<'_>,
    conversation: &mut TranscriptConversation,
    about: Option<&SubAgentMetadata>,
) -> Result<(), &'static str> {
    let message = context.line.rest.object("message").ok_or("it has no message")?;
    conversation.describe_turn(context, about);
    if message.text("model").as_deref() == Some(SYNTHETIC) {
        system_lines::generated_answer(context, &message);
        return Ok(());
    }
    let (request, answer) = (context.line.text("requestId"), message.text("id"));
    let id = id::model_call(request.as_deref(), answer.as_deref());
    let id = id.ok_or("its message has no id")?;
    let blocks = message.list("content");
    let step = model_call(context, conversation, &message, id);
    context.patches.observations.push(step);
    for block in blocks.iter().filter_map(|raw| Object::parse(raw.get()).ok()) {
        add_block(context, &block);
    }
    Ok(())
}

fn model_call(
    context: &LineContext<'_>,
    conversation: &mut TranscriptConversation,
    message: &Object<'_>,
    id: ObservationId,
) -> ObservationPatch {
    let is_new = !conversation.is_current(&id);
    let (inputs, inputs_at) = if is_new { conversation.inputs() } else { (None, None) };
    let blocks = message.list("content");
    let blocks = blocks.into_iter().filter_map(|raw: &RawValue| Json::parse(raw.get()));
    let (content, count) = conversation.add_blocks(&id, blocks.collect());
    let at = context.at.plus_nanos(count.saturating_mul(NANOS_PER_BLOCK));
    let stamp = Stamp::stated(at, WriteKind::Create);
    let output = Json::parse(&format!(r#"{{"role":"assistant","content":{}}}"#, content.as_str()));
    let reply = |key: &'static str, of: &Object<'_>| Some((key, of.json(key)?));
    let detail = [reply("id", message), reply("stop_reason", message)];
    let detail = detail.into_iter().chain([reply("requestId", &context.line.rest)]).flatten();
    ObservationPatch {
        name: Field::new(MODEL_CALL.to_owned(), context.stamp()),
        start: Earliest(Some(inputs_at.unwrap_or(context.at).min(context.at))),
        end: Latest(Some(context.at)),
        model: Field::if_some(message.text("model"), stamp),
        model_parameters: Field::if_some(parameters(context, message), stamp),
        usage: Field::if_some(message.object("usage").and_then(|used| usage(&used)), stamp),
        input: Field::if_some(inputs.map(Payload::Json), stamp),
        output: Field::if_some(output.map(Payload::Json), stamp),
        metadata: context.metadata(detail),
        ..context.step(id, ObservationKind::Generation)
    }
}

/// Returns the parameters that affect the price or the answer.
fn parameters(context: &LineContext<'_>, message: &Object<'_>) -> Option<Json> {
    let speed = message.object("usage").and_then(|used| used.text("speed"));
    let speed = speed.filter(|speed| speed != STANDARD_SPEED);
    let parameters_sent = [("effort", context.line.text("effort")), ("speed", speed)].into_iter();
    let parameters_sent =
        parameters_sent.filter_map(|(key, value)| Some((key.to_owned(), Value::from(value?))));
    let parameters_sent: serde_json::Map<String, Value> = parameters_sent.collect();
    (!parameters_sent.is_empty()).then(|| Json::from_value(&Value::Object(parameters_sent)))
}

/// Returns the token usage of a message. Cached tokens are separate from the input already.
pub(crate) fn usage(used: &Object<'_>) -> Option<Usage> {
    let kept = used.object("cache_creation").unwrap_or_default();
    let searches = used.object("server_tool_use");
    let searches = searches.and_then(|tools| tools.count("web_search_requests"));
    let written = used.count("cache_creation_input_tokens");
    let for_an_hour = kept.count("ephemeral_1h_input_tokens").filter(|hour| *hour > 0);
    let for_minutes = written.map(|all| all.saturating_sub(for_an_hour.unwrap_or(0)));
    let kinds = [
        ("input", used.count("input_tokens")),
        ("input_cached_tokens", used.count("cache_read_input_tokens").filter(|count| *count > 0)),
        ("input_cache_creation", for_minutes.filter(|count| *count > 0)),
        ("input_cache_creation_1h", for_an_hour),
        ("output", used.count("output_tokens")),
        ("web_search_requests", searches.filter(|count| *count > 0)),
    ];
    let parameters_sent =
        kinds.into_iter().filter_map(|(kind, count)| Some((kind.to_owned(), count?)));
    let units: BTreeMap<String, u64> = parameters_sent.collect();
    (!units.is_empty()).then(|| Usage::new(units))
}

fn add_block(context: &mut LineContext<'_>, block: &Object<'_>) {
    match block.text("type").as_deref() {
        Some("text") => {
            let Some(text) = block.text("text") else { return };
            context.set_turn_content(
                Side::Output,
                &Json::from_value(&Value::from(text)),
                context.stamp(),
            );
        }
        Some("tool_use" | "server_tool_use" | "mcp_tool_use") => {
            let patch = tool_call(context, block);
            context.patches.observations.extend(patch);
        }
        _ => {}
    }
}

fn tool_call(context: &LineContext<'_>, block: &Object<'_>) -> Option<ObservationPatch> {
    let stamp = context.stamp();
    let id = id::own(&block.text("id")?)?;
    Some(ObservationPatch {
        name: Field::if_some(block.text("name"), stamp),
        start: Earliest(Some(context.at)),
        input: Field::if_some(block.json("input").map(Payload::Json), stamp),
        ..context.step(id, ObservationKind::Tool)
    })
}
