use std::collections::BTreeSet;

use serde_json::Value;

use crate::id::{ObservationId, SessionId};
use crate::payload::Payload;
use crate::record::field::{Authority, Field, Stamp};
use crate::record::merge::Earliest;
use crate::record::observation::ObservationPatch;
use crate::record::semantic_conventions::ParsedSpan;
use crate::record::semantic_conventions::attributes::text;
use crate::record::semantic_conventions::content::payload;
use crate::record::semantic_conventions::json::{Typed, json};
use crate::record::semantic_conventions::metadata::{self, Keys, Reading};
use crate::record::semantic_conventions::origin::Known;
use crate::record::semantic_conventions::table::Target;
use crate::record::span::AttributeValue;
use crate::record::trace::TracePatch;
use crate::time::Timestamp;

/// Values of the observation that also apply to its trace.
#[derive(Clone, Copy)]
pub(super) struct SpanContext<'a> {
    pub(super) known: &'a Known,
    pub(super) keys: &'a Keys,
    pub(super) parent: Option<&'a ObservationId>,
    pub(super) start: Timestamp,
}

/// Sets the trace fields that a span knows, each with its authority.
pub(super) fn extract(
    trace: &mut TracePatch,
    observation: &mut ObservationPatch,
    parsed: &mut ParsedSpan,
    context: SpanContext<'_>,
) {
    let is_marked_root = parsed.claims.take(Target::AsRoot, truth).unwrap_or(false);
    let is_app_root = parsed.claims.take(Target::AppRoot, truth).unwrap_or(false);
    observation.app_root = is_marked_root || is_app_root;
    // A span without parent is the trace's root; so is one marked as such. The first span of an
    // application is a root, too, but the trace started elsewhere: it does not determine the
    // trace's input and output.
    let is_trace_root = is_marked_root || context.parent.is_none();
    let is_root = is_app_root || is_trace_root;
    let authority = if is_root { Authority::Root } else { Authority::Child };
    let implied = Stamp { authority, ..parsed.stamp };
    extract_stated(trace, parsed, context.known);
    context.keys.restore_types(&mut trace.metadata, parsed.stamp);
    extract_labels(trace, parsed, context.keys, implied);
    trace.environment = Field::if_some(observation.environment.value().cloned(), implied);
    let release = parsed.claims.take_text(Target::Release);
    if !is_root {
        if let Some(release) = release {
            parsed.claims.put_back("langfuse.release".to_owned(), AttributeValue::Text(release));
        }
        return;
    }
    let service = || context.known.service.clone();
    let agent = observation.agent.value().cloned().or_else(|| trace_agent(trace)).or_else(service);
    trace.timestamp = Earliest(Some(context.start));
    if is_trace_root {
        trace.root = Field::new(observation.id.clone(), implied);
        context.keys.copy_into(&mut trace.metadata, implied);
    }
    trace.release = Field::if_some(release.or_else(|| context.known.release.clone()), implied);
    trace.version = Field::if_some(observation.version.value().cloned(), implied);
    trace.agent = Field::if_some(agent, implied);
    if trace.name.stamped().is_none() {
        trace.name = Field::if_some(observation.name.value().cloned(), implied);
    }
}

fn truth(value: &AttributeValue) -> Option<bool> {
    match value {
        AttributeValue::Bool(truth) => Some(*truth),
        AttributeValue::Text(text) => text.to_ascii_lowercase().parse().ok(),
        _ => None,
    }
}

/// Sets fields that are stated for the trace explicitly.
fn extract_stated(trace: &mut TracePatch, parsed: &mut ParsedSpan, known: &Known) {
    let stamp = parsed.stamp;
    trace.name = Field::if_some(parsed.claims.take_text(Target::TraceName), stamp);
    trace.public = Field::if_some(parsed.claims.take(Target::TracePublic, truth), stamp);
    trace.input = Field::if_some(stated_payload(parsed, Target::TraceInput), stamp);
    trace.output = Field::if_some(stated_payload(parsed, Target::TraceOutput), stamp);
    let reading = Reading { encoding: known.trace_encoding, stamp };
    trace.metadata =
        metadata::take(Target::TraceMetadata, &mut parsed.claims, reading).into_metadata();
}

fn stated_payload(parsed: &mut ParsedSpan, target: Target) -> Option<Payload> {
    let rank = parsed.claims.next_rank(target, 0)?;
    let (_, value) = parsed.claims.take_at(rank).pop()?;
    Some(payload(value))
}

fn trace_agent(trace: &TracePatch) -> Option<String> {
    let agent: String = serde_json::from_str(trace.metadata.get("agent")?.as_str()).ok()?;
    (!agent.is_empty()).then_some(agent)
}

/// Sets user, session, tags and release.
fn extract_labels(trace: &mut TracePatch, parsed: &mut ParsedSpan, keys: &Keys, implied: Stamp) {
    let stated = parsed.stamp;
    let stamp = |name: &str| if name.starts_with("langfuse.") { stated } else { implied };
    if let Some((name, user)) = parsed.claims.take_text_named(Target::User) {
        trace.user = Field::new(user, stamp(&name));
    } else {
        trace.user = Field::if_some(keys.text("langfuse_user_id"), implied);
    }
    let session = |_: &str, value: &AttributeValue| SessionId::parse(text(value)?).ok();
    if let Some((name, session)) = parsed.claims.take_named(Target::Session, session) {
        trace.session = Field::new(session, stamp(&name));
    } else {
        let session = keys.text("langfuse_session_id");
        let session = session.and_then(|id| SessionId::parse(&id).ok());
        trace.session = Field::if_some(session, implied);
    }
    while let Some(tags) = parsed.claims.take(Target::Tags, tags) {
        trace.tags.extend(tags);
    }
    let more =
        keys.value("langfuse_tags").map(crate::record::semantic_conventions::json::attribute);
    trace.tags.extend(more.as_ref().and_then(tags).unwrap_or_default());
}

/// Parses tags from a list, a JSON list, or comma-separated text; `None` when empty.
fn tags(value: &AttributeValue) -> Option<BTreeSet<String>> {
    let tags: BTreeSet<String> = match value {
        AttributeValue::List(tags) => tags.iter().filter_map(tag).collect(),
        AttributeValue::Text(text) => match serde_json::from_str(text) {
            Ok(Value::Array(tags)) => {
                let tags =
                    tags.into_iter().map(crate::record::semantic_conventions::json::attribute);
                tags.filter_map(|value| tag(&value)).collect()
            }
            _ => text.split(',').map(str::trim).map(str::to_owned).collect(),
        },
        _ => return None,
    };
    let tags: BTreeSet<_> = tags.into_iter().filter(|tag| !tag.is_empty()).collect();
    (!tags.is_empty()).then_some(tags)
}

fn tag(value: &AttributeValue) -> Option<String> {
    match value {
        AttributeValue::Empty => None,
        AttributeValue::Text(text) => Some(text.clone()),
        other => Some(json(&Typed(other)).as_str().to_owned()),
    }
}
