//! User and tool messages.

use serde_json::value::RawValue;

use super::SubAgentMetadata;
use super::context::LineContext;
use super::conversation::TranscriptConversation;
use crate::payload::{Json, Payload};
use crate::record::claude_code::id;
use crate::record::claude_code::line::{Line, LineKind};
use crate::record::claude_code::object::Object;
use crate::record::field::{Field, Stamp, WriteKind};
use crate::record::merge::Latest;
use crate::record::observation::{Level, ObservationKind, ObservationPatch};

/// Prefixes of text that Claude Code generated, which is not a user prompt.
const NOTES: [&str; 6] = [
    "<local-command-",
    "<bash-stdout>",
    "<bash-stderr>",
    "<system-reminder>",
    "[Request interrupted",
    "Caveat:",
];
/// Prefixes of commands: most never reach the model.
const COMMANDS: [&str; 3] = ["<command-", "<bash-input>", "<user-memory-input>"];

/// Returns whether a line starts a turn: a user prompt.
pub(super) fn starts_turn(line: &Line<'_>) -> bool {
    let is_spoken = line.kind == LineKind::User && !line.rest.is("isSidechain");
    let is_aside = line.rest.is("isMeta") || line.rest.is("isCompactSummary");
    if !is_spoken || is_aside {
        return false;
    }
    let Some(message) = line.rest.object("message") else { return false };
    let text = opening(&message);
    let is_result = results(&message).next().is_some();
    !is_result && !NOTES.iter().any(|note| text.starts_with(note))
}

/// Reads a user line.
pub(super) fn read(
    context: &mut LineContext<'_>,
    conversation: &mut TranscriptConversation,
    about: Option<&SubAgentMetadata>,
) -> Result<(), &'static str> {
    let message = context.line.rest.object("message").ok_or("it has no message")?;
    let content = message.json("content").ok_or("its message has no content")?;
    conversation.add_input(&content, context.at);
    let is_prompt = starts_turn(context.line) || is_agent_prompt(context.line, &message);
    let is_command = COMMANDS.iter().any(|command| opening(&message).starts_with(command));
    if is_prompt {
        conversation.store_prompt(content.clone());
        if is_command {
            return Ok(());
        }
    }
    if results(&message).next().is_none() && !is_prompt {
        add_summary(context, content);
        return Ok(());
    }
    conversation.describe_turn(context, about);
    for result in results(&message) {
        let patches = [result_patch(context, &result), parent_patch(context, &result)];
        context.patches.observations.extend(patches.into_iter().flatten());
    }
    Ok(())
}

/// Returns the start of a text message; empty if it is not text.
fn opening(message: &Object<'_>) -> String {
    let first = || blocks(message).find_map(|block| block.text("text"));
    message.text("content").or_else(first).unwrap_or_default()
}

fn blocks<'a>(message: &Object<'a>) -> impl Iterator<Item = Object<'a>> {
    let blocks = message.list("content").into_iter();
    blocks.filter_map(|raw: &'a RawValue| Object::parse(raw.get()).ok())
}

fn results<'a>(message: &Object<'a>) -> impl Iterator<Item = Object<'a>> {
    blocks(message).filter(|block| block.text("type").as_deref() == Some("tool_result"))
}

/// Returns whether a line is the prompt of a sub-agent: the first of its transcript.
fn is_agent_prompt(line: &Line<'_>, message: &Object<'_>) -> bool {
    line.agent.is_some() && line.text("parentUuid").is_none() && results(message).next().is_none()
}

fn result_patch(context: &LineContext<'_>, result: &Object<'_>) -> Option<ObservationPatch> {
    let stamp = Stamp::stated(context.at, WriteKind::Update);
    let id = id::own(&result.text("tool_use_id")?)?;
    let has_failed = result.is("is_error");
    let level = if has_failed { Level::Error } else { Level::Default };
    let why = result.text("content").filter(|_| has_failed);
    let detail = ["toolUseResult", "permissionDecision"].into_iter();
    let detail = detail.filter_map(|key| Some((key, context.line.rest.json(key)?)));
    Some(ObservationPatch {
        kind: Field::new(ObservationKind::Tool, stamp),
        end: Latest(Some(context.at)),
        level: Field::new(level, stamp),
        status_message: Field::if_some(why, stamp),
        output: Field::if_some(result.json("content").map(Payload::Json), stamp),
        metadata: context.metadata(detail),
        ..context.observation(id)
    })
}

/// Returns a patch that sets the parent tool call of a sub-agent, from its tool result.
fn parent_patch(context: &LineContext<'_>, result: &Object<'_>) -> Option<ObservationPatch> {
    let agent = context.line.rest.object("toolUseResult")?.text("agentId")?;
    let tool = id::own(&result.text("tool_use_id")?)?;
    Some(ObservationPatch {
        parent: Field::new(tool, context.stamp()),
        ..context.observation(id::agent(&agent)?)
    })
}

/// Sets the output of a compaction: the summary of the conversation.
fn add_summary(context: &mut LineContext<'_>, content: Json) {
    if !context.line.rest.is("isCompactSummary") {
        return;
    }
    let Some(id) = context.line.text("parentUuid").and_then(|uuid| id::own(&uuid)) else { return };
    let note = ObservationPatch {
        output: Field::new(Payload::Json(content), context.stamp()),
        ..context.observation(id)
    };
    context.patches.observations.push(note);
}
