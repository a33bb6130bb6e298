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
use crate::record::usage::{AnthropicCounts, Usage};

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
    let call = model_call(context, conversation, &message, id);
    context.patches.observations.push(call);
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
        ..context.child_observation(id, ObservationKind::Generation)
    }
}

/// Returns the parameters that affect the price or the answer.
fn parameters(context: &LineContext<'_>, message: &Object<'_>) -> Option<Json> {
    let speed = message.object("usage").and_then(|used| used.text("speed"));
    let speed = speed.filter(|speed| speed != STANDARD_SPEED);
    let parameters = [("effort", context.line.text("effort")), ("speed", speed)].into_iter();
    let parameters =
        parameters.filter_map(|(key, value)| Some((key.to_owned(), Value::from(value?))));
    let parameters: serde_json::Map<String, Value> = parameters.collect();
    (!parameters.is_empty()).then(|| Json::from_value(&Value::Object(parameters)))
}

/// Returns the token usage of a message. Cached tokens are separate from the input already.
pub(crate) fn usage(used: &Object<'_>) -> Option<Usage> {
    let by_lifetime = used.object("cache_creation").unwrap_or_default();
    let tools = used.object("server_tool_use").unwrap_or_default();
    let counts = AnthropicCounts {
        input: used.count("input_tokens"),
        cache_read: used.count("cache_read_input_tokens"),
        cache_written: used.count("cache_creation_input_tokens"),
        cache_written_1h: by_lifetime.count("ephemeral_1h_input_tokens"),
        output: used.count("output_tokens"),
        web_searches: tools.count("web_search_requests"),
    };
    counts.usage()
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
        ..context.child_observation(id, ObservationKind::Tool)
    })
}
