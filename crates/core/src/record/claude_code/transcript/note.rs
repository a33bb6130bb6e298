//! System lines: compactions, failed requests, generated answers.

use super::AgentAbout;
use super::context::Scene;
use super::conversation::Talk;
use crate::payload::Json;
use crate::record::claude_code::id;
use crate::record::claude_code::object::Object;
use crate::record::field::Field;
use crate::record::merge::Earliest;
use crate::record::observation::{Level, ObservationKind, ObservationPatch};

/// The recorded system lines: subtype, name, level, and metadata keys.
const KEPT: [(&str, &str, Level, &[&str]); 2] = [
    ("compact_boundary", "claude_code.compaction", Level::Default, &["compactMetadata"]),
    (
        "api_error",
        "claude_code.api_error",
        Level::Warning,
        &["error", "cause", "retryInMs", "retryAttempt", "maxRetries"],
    ),
];

pub(super) fn read(scene: &mut Scene<'_>, talk: &mut Talk, about: Option<&AgentAbout>) {
    let subtype = scene.line.text("subtype").unwrap_or_default();
    let Some((_, name, level, keys)) = KEPT.iter().find(|(kept, ..)| *kept == subtype) else {
        return;
    };
    let detail = keys.iter().filter_map(|key| Some((*key, scene.line.rest.json(key)?)));
    let detail: Vec<(&str, Json)> = detail.collect();
    let message = scene.line.text("content");
    let Some(note) = event(scene, name, *level, message) else { return };
    talk.announce(scene, about);
    let metadata = scene.metadata(detail);
    scene.patches.observations.push(ObservationPatch { metadata, ..note });
}

/// Reads an answer that Claude Code generated instead of the model: it contains the error.
pub(super) fn made_up(scene: &mut Scene<'_>, message: &Object<'_>) {
    let has_failed = scene.line.rest.is("isApiErrorMessage");
    let (name, level) = if has_failed {
        ("claude_code.api_error", Level::Error)
    } else {
        ("claude_code.notice", Level::Default)
    };
    let blocks = message.list("content").into_iter();
    let mut texts = blocks.filter_map(|raw| Object::parse(raw.get()).ok()?.text("text"));
    let told = event(scene, name, level, texts.next());
    scene.patches.observations.extend(told);
}

fn event(
    scene: &Scene<'_>,
    name: &str,
    level: Level,
    message: Option<String>,
) -> Option<ObservationPatch> {
    let stamp = scene.stamp();
    let id = id::own(&scene.line.text("uuid")?)?;
    Some(ObservationPatch {
        name: Field::said(name.to_owned(), stamp),
        start: Earliest(Some(scene.at)),
        level: Field::said(level, stamp),
        status_message: Field::if_some(message, stamp),
        ..scene.step(id, ObservationKind::Event)
    })
}
