//! System lines: compactions, failed requests, generated answers.

use super::SubAgentMetadata;
use super::context::LineContext;
use super::conversation::TranscriptConversation;
use crate::payload::Json;
use crate::record::claude_code::id;
use crate::record::claude_code::object::Object;
use crate::record::field::Field;
use crate::record::merge::Earliest;
use crate::record::observation::{Level, ObservationKind, ObservationPatch};

/// The recorded system lines: subtype, name, level, and metadata keys.
const RECORDED: [(&str, &str, Level, &[&str]); 2] = [
    ("compact_boundary", "claude_code.compaction", Level::Default, &["compactMetadata"]),
    (
        "api_error",
        "claude_code.api_error",
        Level::Warning,
        &["error", "cause", "retryInMs", "retryAttempt", "maxRetries"],
    ),
];

pub(super) fn read(
    context: &mut LineContext<'_>,
    conversation: &mut TranscriptConversation,
    about: Option<&SubAgentMetadata>,
) {
    let subtype = context.line.text("subtype").unwrap_or_default();
    let Some((_, name, level, keys)) = RECORDED.iter().find(|(recorded, ..)| *recorded == subtype)
    else {
        return;
    };
    let detail = keys.iter().filter_map(|key| Some((*key, context.line.rest.json(key)?)));
    let detail: Vec<(&str, Json)> = detail.collect();
    let message = context.line.text("content");
    let Some(note) = event(context, name, *level, message) else { return };
    conversation.describe_turn(context, about);
    let metadata = context.metadata(detail);
    context.patches.observations.push(ObservationPatch { metadata, ..note });
}

/// Reads an answer that Claude Code generated instead of the model: it contains the error.
pub(super) fn generated_answer(context: &mut LineContext<'_>, message: &Object<'_>) {
    let has_failed = context.line.rest.is("isApiErrorMessage");
    let (name, level) = if has_failed {
        ("claude_code.api_error", Level::Error)
    } else {
        ("claude_code.notice", Level::Default)
    };
    let blocks = message.list("content").into_iter();
    let mut texts = blocks.filter_map(|raw| Object::parse(raw.get()).ok()?.text("text"));
    let patch = event(context, name, level, texts.next());
    context.patches.observations.extend(patch);
}

fn event(
    context: &LineContext<'_>,
    name: &str,
    level: Level,
    message: Option<String>,
) -> Option<ObservationPatch> {
    let stamp = context.stamp();
    let id = id::own(&context.line.text("uuid")?)?;
    Some(ObservationPatch {
        name: Field::new(name.to_owned(), stamp),
        start: Earliest(Some(context.at)),
        level: Field::new(level, stamp),
        status_message: Field::if_some(message, stamp),
        ..context.child_observation(id, ObservationKind::Event)
    })
}
