//! Patches as ingestion events, for servers that accept nothing else.
//!
//! An event has one timestamp for all its fields, so a patch becomes one event per distinct stamp.

use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::payload::Payload;
use ratchet_core::record::field::{Field, Stamp, WriteKind};
use ratchet_core::record::merge::Metadata;
use ratchet_core::record::observation::ObservationPatch;
use ratchet_core::record::trace::TracePatch;
use ratchet_core::record::usage::{Cost, Usage};
use ratchet_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::wire::ingestion::{
    Envelope, EventType, IngestionBatch, IngestionResult, ObservationBody, TraceBody,
};
use super::wire::json::{Raw, payload, raw};
use super::wire::maybe::Maybe;
use super::wire::time::Time;
use super::wire::wire_name::WireName;

/// The path of the API that takes batches.
pub const PATH: [&str; 2] = ["public", "ingestion"];
/// Events in one request: well below what a server takes.
const EVENTS_PER_REQUEST: usize = 500;
/// Bytes of one request, likewise; a single greater event goes alone.
const BYTES_PER_REQUEST: usize = 4_000_000;

/// The body of a request that records patches.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct PatchBatch(IngestionBatch);

/// The response to a batch.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct BatchReply(IngestionResult);

impl BatchReply {
    /// Returns why the first rejected event was rejected, if any was.
    pub fn refusal(&self) -> Option<&str> {
        let refused = self.0.errors.first()?;
        Some(refused.error.as_deref().or(refused.message.as_deref()).unwrap_or("no reason given"))
    }
}

/// Returns the requests that record patches, each of a size that servers take.
///
/// # Errors
/// Fails only if a value cannot be serialized.
pub fn batches(
    traces: &[TracePatch],
    observations: &[ObservationPatch],
) -> serde_json::Result<Vec<PatchBatch>> {
    let traces = traces.iter().map(about_trace);
    let events = traces.chain(observations.iter().map(about_observation));
    let events: Vec<Vec<Raw>> = events.collect::<Result<_, _>>()?;
    let mut batches: Vec<Vec<Raw>> = Vec::new();
    let mut bytes = 0;
    for event in events.into_iter().flatten() {
        let size = event.get().len();
        match batches.last_mut() {
            Some(last) if last.len() < EVENTS_PER_REQUEST && bytes + size <= BYTES_PER_REQUEST => {
                bytes += size;
                last.push(event);
            }
            _ => {
                bytes = size;
                batches.push(vec![event]);
            }
        }
    }
    let body = |batch| PatchBatch(IngestionBatch { batch, metadata: None });
    Ok(batches.into_iter().map(body).collect())
}

fn about_trace(patch: &TracePatch) -> serde_json::Result<Vec<Raw>> {
    let fields = [
        patch.name.stamp(),
        patch.user.stamp(),
        patch.session.stamp(),
        patch.release.stamp(),
        patch.version.stamp(),
        patch.environment.stamp(),
        patch.input.stamp(),
        patch.output.stamp(),
    ];
    let at = patch.timestamp.0.unwrap_or_default();
    let body = |said: StampedFields<'_>| {
        Ok(TraceBody {
            id: patch.id.to_string().into(),
            // Without a timestamp the event's own time would become the trace's start.
            timestamp: Time(patch.timestamp.0.unwrap_or(said.stamp.at)).into(),
            name: said.text(&patch.name),
            user_id: said.text(&patch.user),
            input: said.payload(&patch.input),
            output: said.payload(&patch.output),
            session_id: said.map(&patch.session, ToString::to_string),
            release: said.text(&patch.release),
            version: said.text(&patch.version),
            metadata: said.metadata()?,
            tags: Maybe::Value(patch.tags.iter().cloned().collect()),
            environment: said.map(&patch.environment, |name| name.as_str().to_owned()),
            ..TraceBody::default()
        })
    };
    let kind = |_: &TraceBody| EventType::Trace;
    events(&patch.id.to_string(), stamps(fields, &patch.metadata, at), &patch.metadata, kind, body)
}

fn about_observation(patch: &ObservationPatch) -> serde_json::Result<Vec<Raw>> {
    let fields = [
        patch.name.stamp(),
        patch.parent.stamp(),
        patch.completion_start.stamp(),
        patch.level.stamp(),
        patch.status_message.stamp(),
        patch.version.stamp(),
        patch.environment.stamp(),
        patch.model.stamp(),
        patch.model_parameters.stamp(),
        patch.usage.stamp(),
        patch.cost.stamp(),
        patch.input.stamp(),
        patch.output.stamp(),
    ];
    let at = patch.end.0.or(patch.start.0).unwrap_or_default();
    let body = |said: StampedFields<'_>| {
        Ok(ObservationBody {
            id: patch.id.to_string().into(),
            trace_id: there(patch.trace.as_ref().map(ToString::to_string)),
            kind: there(patch.kind.value().copied().map(WireName)),
            name: said.text(&patch.name),
            start_time: there(patch.start.0.map(Time)),
            end_time: there(patch.end.0.map(Time)),
            completion_start_time: said.map(&patch.completion_start, |time| Time(*time)),
            model: said.text(&patch.model),
            model_parameters: said.map(&patch.model_parameters, raw),
            input: said.payload(&patch.input),
            output: said.payload(&patch.output),
            metadata: said.metadata()?,
            usage_details: said.try_map(&patch.usage, usage)?,
            cost_details: said.try_map(&patch.cost, cost)?,
            level: said.map(&patch.level, |level| WireName(*level)),
            status_message: said.text(&patch.status_message),
            parent_observation_id: said.map(&patch.parent, ToString::to_string),
            version: said.text(&patch.version),
            environment: said.map(&patch.environment, |name| name.as_str().to_owned()),
            ..ObservationBody::default()
        })
    };
    // A create event requires type and start time.
    let knows_all = patch.start.0.is_some() && patch.kind.value().is_some();
    let act = if knows_all { WriteKind::Create } else { WriteKind::Update };
    let kind = |_: &ObservationBody| EventType::Observation(None, act);
    events(&patch.id.to_string(), stamps(fields, &patch.metadata, at), &patch.metadata, kind, body)
}

/// Returns all distinct stamps; the given time if there are none.
fn stamps<const N: usize>(
    fields: [Option<Stamp>; N],
    metadata: &Metadata,
    at: Timestamp,
) -> BTreeSet<Stamp> {
    let keys = metadata.words().map(|(_, said)| said.stamp);
    let mut stamps: BTreeSet<Stamp> = fields.into_iter().flatten().chain(keys).collect();
    if stamps.is_empty() {
        stamps.insert(Stamp::stated(at, WriteKind::Create));
    }
    stamps
}

fn events<B: Serialize>(
    about: &str,
    stamps: BTreeSet<Stamp>,
    metadata: &Metadata,
    kind: impl Fn(&B) -> EventType,
    body: impl Fn(StampedFields<'_>) -> serde_json::Result<B>,
) -> serde_json::Result<Vec<Raw>> {
    let event = |stamp: Stamp| {
        let body = body(StampedFields { stamp, keys: metadata })?;
        let (timestamp, kind) = (Time(stamp.at), WireName(kind(&body)));
        let body = written(&body)?;
        written(&Envelope { id: about.to_owned(), timestamp, kind, body })
    };
    stamps.into_iter().map(event).collect()
}

/// The fields with one stamp; all others are absent.
#[derive(Clone, Copy)]
struct StampedFields<'a> {
    stamp: Stamp,
    keys: &'a Metadata,
}

impl StampedFields<'_> {
    fn map<T, U>(&self, field: &Field<T>, write: impl FnOnce(&T) -> U) -> Maybe<U> {
        let is_said = field.stamp() == Some(self.stamp);
        there(field.value().filter(|_| is_said).map(write))
    }

    fn try_map<T, U>(
        &self,
        field: &Field<T>,
        write: impl FnOnce(&T) -> serde_json::Result<U>,
    ) -> serde_json::Result<Maybe<U>> {
        match self.map(field, write) {
            Maybe::Value(written) => written.map(Maybe::Value),
            Maybe::Absent | Maybe::Null => Ok(Maybe::Absent),
        }
    }

    fn text(&self, field: &Field<String>) -> Maybe<String> {
        self.map(field, Clone::clone)
    }

    fn payload(&self, field: &Field<Payload>) -> Maybe<Raw> {
        self.map(field, payload)
    }

    fn metadata(&self) -> serde_json::Result<Maybe<Raw>> {
        let said = self.keys.words().filter(|(_, said)| said.stamp == self.stamp);
        let said = said.filter_map(|(key, said)| Some((key, raw(said.value.as_ref()?))));
        let keys: BTreeMap<&str, Raw> = said.collect();
        if keys.is_empty() { Ok(Maybe::Absent) } else { written(&keys).map(Maybe::Value) }
    }
}

fn there<T>(value: Option<T>) -> Maybe<T> {
    value.map_or(Maybe::Absent, Maybe::Value)
}

fn usage(usage: &Usage) -> serde_json::Result<Raw> {
    written(usage.kinds())
}

fn cost(cost: &Cost) -> serde_json::Result<Raw> {
    let mut dollars: BTreeMap<&str, f64> =
        cost.kinds().iter().map(|(kind, money)| (kind.as_str(), money.dollars())).collect();
    dollars.insert("total", cost.total().dollars());
    written(&dollars)
}

fn written(value: &impl Serialize) -> serde_json::Result<Raw> {
    serde_json::value::to_raw_value(value).map(Raw::from)
}
