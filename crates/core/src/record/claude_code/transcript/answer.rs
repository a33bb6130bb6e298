use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::AgentAbout;
use super::context::{Scene, Side};
use super::conversation::Talk;
use super::note;
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
    scene: &mut Scene<'_>,
    talk: &mut Talk,
    about: Option<&AgentAbout>,
) -> Result<(), &'static str> {
    let message = scene.line.rest.object("message").ok_or("it has no message")?;
    talk.announce(scene, about);
    if message.text("model").as_deref() == Some(SYNTHETIC) {
        note::made_up(scene, &message);
        return Ok(());
    }
    let (request, answer) = (scene.line.text("requestId"), message.text("id"));
    let id = id::model_call(request.as_deref(), answer.as_deref());
    let id = id.ok_or("its message has no id")?;
    let blocks = message.list("content");
    let step = model_call(scene, talk, &message, id);
    scene.patches.observations.push(step);
    for block in blocks.iter().filter_map(|raw| Object::parse(raw.get()).ok()) {
        tell_block(scene, &block);
    }
    Ok(())
}

fn model_call(
    scene: &Scene<'_>,
    talk: &mut Talk,
    message: &Object<'_>,
    id: ObservationId,
) -> ObservationPatch {
    let is_new = !talk.has_begun(&id);
    let (heard, heard_at) = if is_new { talk.heard() } else { (None, None) };
    let blocks = message.list("content");
    let blocks = blocks.into_iter().filter_map(|raw: &RawValue| Json::parse(raw.get()));
    let (content, count) = talk.add_blocks(&id, blocks.collect());
    let at = scene.at.plus_nanos(count.saturating_mul(NANOS_PER_BLOCK));
    let stamp = Stamp::stated(at, WriteKind::Create);
    let output = Json::parse(&format!(r#"{{"role":"assistant","content":{}}}"#, content.as_str()));
    let reply = |key: &'static str, of: &Object<'_>| Some((key, of.json(key)?));
    let detail = [reply("id", message), reply("stop_reason", message)];
    let detail = detail.into_iter().chain([reply("requestId", &scene.line.rest)]).flatten();
    ObservationPatch {
        name: Field::said(MODEL_CALL.to_owned(), scene.stamp()),
        start: Earliest(Some(heard_at.unwrap_or(scene.at).min(scene.at))),
        end: Latest(Some(scene.at)),
        model: Field::if_some(message.text("model"), stamp),
        model_parameters: Field::if_some(parameters(scene, message), stamp),
        usage: Field::if_some(message.object("usage").and_then(|used| usage(&used)), stamp),
        input: Field::if_some(heard.map(Payload::Json), stamp),
        output: Field::if_some(output.map(Payload::Json), stamp),
        metadata: scene.metadata(detail),
        ..scene.step(id, ObservationKind::Generation)
    }
}

/// Returns the parameters that affect the price or the answer.
fn parameters(scene: &Scene<'_>, message: &Object<'_>) -> Option<Json> {
    let speed = message.object("usage").and_then(|used| used.text("speed"));
    let speed = speed.filter(|speed| speed != STANDARD_SPEED);
    let said = [("effort", scene.line.text("effort")), ("speed", speed)].into_iter();
    let said = said.filter_map(|(key, value)| Some((key.to_owned(), Value::from(value?))));
    let said: serde_json::Map<String, Value> = said.collect();
    (!said.is_empty()).then(|| Json::from_value(&Value::Object(said)))
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
    let said = kinds.into_iter().filter_map(|(kind, count)| Some((kind.to_owned(), count?)));
    let units: BTreeMap<String, u64> = said.collect();
    (!units.is_empty()).then(|| Usage::new(units))
}

fn tell_block(scene: &mut Scene<'_>, block: &Object<'_>) {
    match block.text("type").as_deref() {
        Some("text") => {
            let Some(text) = block.text("text") else { return };
            scene.tell_turn(Side::Output, &Json::from_value(&Value::from(text)), scene.stamp());
        }
        Some("tool_use" | "server_tool_use" | "mcp_tool_use") => {
            let told = tool_call(scene, block);
            scene.patches.observations.extend(told);
        }
        _ => {}
    }
}

fn tool_call(scene: &Scene<'_>, block: &Object<'_>) -> Option<ObservationPatch> {
    let stamp = scene.stamp();
    let id = id::own(&block.text("id")?)?;
    Some(ObservationPatch {
        name: Field::if_some(block.text("name"), stamp),
        start: Earliest(Some(scene.at)),
        input: Field::if_some(block.json("input").map(Payload::Json), stamp),
        ..scene.step(id, ObservationKind::Tool)
    })
}
