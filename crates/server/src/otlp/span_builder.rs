use std::collections::HashMap;

use ratchet_core::id::{Id, ObservationId, TraceId};
use ratchet_core::record::observation::ObservationPatch;
use ratchet_core::record::span::{
    AttributeValue, Attributes, Span, SpanEvent, SpanLink, SpanStatus,
};
use ratchet_core::record::trace::TracePatch;
use ratchet_core::time::Timestamp;

use super::json::span::SpanReader;
use super::limits::{Bounds, Capped};
use super::signal::{Draft, Envelope};
use super::wire::{self, WireError};
use super::{json, protobuf};
use crate::body_budget::OverBudget;

/// Metadata key with the number of attributes beyond the limit.
const DROPPED_ATTRIBUTES: &str = "ratchet.dropped_attributes";
const DROPPED_EVENTS: &str = "ratchet.dropped_events";
/// The same for links, including those with invalid ids.
const DROPPED_LINKS: &str = "ratchet.dropped_links";

/// Maximum bytes of attributes of a resource or a scope, including names.
const SHARED_BYTES: usize = 64 * 1024;

/// Bytes recorded of a span or an event besides its texts and values: twice, because it is merged
/// into what is written.
pub(crate) const PATCHES_BYTES: usize =
    2 * (size_of::<ObservationPatch>() + size_of::<TracePatch>());

const TRACE_ID_BYTES: usize = 16;
const SPAN_ID_BYTES: usize = 8;

/// Why a span is rejected.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error("{field} must be {expected} bytes and not all zero, it has {found}")]
    Id { field: &'static str, expected: usize, found: usize },
    #[error("{0} is not hexadecimal")]
    NotHex(&'static str),
    #[error("{0} is missing")]
    Missing(&'static str),
    #[error("{0} is after the year 2261")]
    Time(&'static str),
    #[error("an attribute nests deeper than {0} levels")]
    TooDeep(usize),
    #[error("the request has more than {0} attribute values; send smaller batches")]
    TooManyValues(usize),
    #[error("the request exceeds the memory budget")]
    OverBudget(OverBudget),
    #[error("{0}")]
    Wire(#[from] WireError),
    #[error("{0}")]
    Json(#[from] serde_json::Error),
}

/// Attributes while they are decoded.
pub(crate) type AttributesDraft = Capped<(String, AttributeValue)>;

/// A span while it is decoded.
#[derive(Debug, Default)]
pub(crate) struct SpanDraft {
    /// Ids are validated at the end: a rejected span is reported by its name, which follows them.
    pub(crate) trace: Option<Result<TraceId, Fault>>,
    pub(crate) id: Option<Result<ObservationId, Fault>>,
    pub(crate) parent: Option<Result<Option<ObservationId>, Fault>>,
    pub(crate) name: String,
    /// Unix time in nanoseconds; zero if missing.
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) attributes: AttributesDraft,
    pub(crate) events: Capped<SpanEvent>,
    pub(crate) links: Capped<SpanLink>,
    pub(crate) status_code: StatusCode,
    pub(crate) status_message: String,
}

/// A status code by number or name; any other value counts as unset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum StatusCode {
    #[default]
    Unset,
    Ok,
    Error,
}

impl StatusCode {
    pub(crate) fn from_number(code: u64) -> Self {
        match code {
            1 => Self::Ok,
            2 => Self::Error,
            _ => Self::Unset,
        }
    }
}

/// The validated fields of a span.
#[derive(Debug)]
pub(crate) struct Verified {
    trace: TraceId,
    id: ObservationId,
    parent: Option<ObservationId>,
    start: Timestamp,
    end: Timestamp,
}

impl SpanDraft {
    pub(crate) fn verify(&mut self, received_at: Timestamp) -> Result<Verified, Fault> {
        let (start, end) = edges(
            timestamp("start_time_unix_nano", self.start)?,
            timestamp("end_time_unix_nano", self.end)?,
            received_at,
        );
        let trace = self.trace.take().ok_or(Fault::Missing("trace_id"))??;
        let id = self.id.take().ok_or(Fault::Missing("span_id"))??;
        let parent = self.parent.take().transpose()?.flatten();
        Ok(Verified { trace, id, parent, start, end })
    }

    pub(crate) fn into_span(mut self, verified: Verified) -> Span {
        self.attributes.note(DROPPED_EVENTS, self.events.dropped);
        self.attributes.note(DROPPED_LINKS, self.links.dropped);
        Span {
            trace: verified.trace,
            id: verified.id,
            parent: verified.parent,
            name: self.name,
            start: verified.start,
            end: verified.end,
            attributes: self.attributes.into_attributes(),
            events: self.events.kept,
            links: self.links.kept,
            status: status(self.status_code, self.status_message),
        }
    }
}

impl Draft for SpanDraft {
    type Item = Span;

    const ENVELOPE: Envelope = Envelope {
        message: "ExportTraceServiceRequest",
        noun: "span",
        resources: ["resourceSpans", "resource_spans"],
        scopes: ["scopeSpans", "scope_spans"],
        items: ["spans", "spans"],
    };

    const ITEM_BYTES: usize = 4 * size_of::<Span>() + PATCHES_BYTES;

    fn name(&self) -> &str {
        &self.name
    }

    fn read_protobuf(
        &mut self,
        fields: wire::Fields<'_>,
        bounds: &mut Bounds<'_>,
    ) -> Result<(), Fault> {
        protobuf::span(fields, self, bounds)
    }

    fn read_json(&mut self, text: &[u8], bounds: &mut Bounds<'_>) -> Result<(), serde_json::Error> {
        json::read(text, &mut SpanReader { draft: self, bounds })
    }

    fn finish(&mut self, received_at: Timestamp) -> Result<Span, Fault> {
        let verified = self.verify(received_at)?;
        Ok(std::mem::take(self).into_span(verified))
    }
}

impl AttributesDraft {
    fn note(&mut self, name: &str, dropped: i64) {
        if dropped > 0 {
            self.kept.push((name.to_owned(), AttributeValue::Int(dropped)));
        }
    }

    /// The attributes without duplicates, with the number of dropped ones.
    pub(crate) fn into_attributes(mut self) -> Attributes {
        self.note(DROPPED_ATTRIBUTES, self.dropped);
        unique(self.kept)
    }

    /// Like [`Self::into_attributes`], for a resource or a scope, whose attributes every span
    /// repeats: with a limit on their size.
    pub(crate) fn into_shared_attributes(mut self) -> Attributes {
        let mut reservation = SHARED_BYTES;
        let all = self.kept.len();
        self.kept.retain(|(name, value)| {
            let fits = reservation.checked_sub(name.len() + size(value));
            reservation = fits.unwrap_or(reservation);
            fits.is_some()
        });
        self.dropped += i64::try_from(all - self.kept.len()).unwrap_or(i64::MAX);
        self.into_attributes()
    }
}

/// Approximate bytes of the texts of attributes.
pub(crate) fn attribute_bytes(attributes: &Attributes) -> usize {
    attributes.0.iter().map(|(name, value)| name.len() + size(value)).sum()
}

/// Approximate bytes of a copy of attributes.
pub(crate) fn copied_bytes(attributes: &Attributes) -> usize {
    let pairs = attributes.0.len() * size_of::<(String, AttributeValue)>();
    // Nested lists and maps count as eight bytes for each of their values.
    pairs + attribute_bytes(attributes) * size_of::<AttributeValue>() / 8
}

/// Approximate bytes of a value. Recursion ends at the depth limit of decoding.
fn size(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::Empty
        | AttributeValue::Bool(_)
        | AttributeValue::Int(_)
        | AttributeValue::Double(_) => 8,
        AttributeValue::Text(text) => text.len(),
        AttributeValue::Bytes(bytes) => bytes.len(),
        AttributeValue::List(values) => values.iter().map(size).sum(),
        AttributeValue::Map(map) => {
            map.0.iter().map(|(name, value)| name.len() + size(value)).sum()
        }
    }
}

fn status(code: StatusCode, message: String) -> SpanStatus {
    match code {
        StatusCode::Unset => SpanStatus::Unset,
        StatusCode::Ok => SpanStatus::Ok,
        StatusCode::Error => SpanStatus::Error((!message.is_empty()).then_some(message)),
    }
}

/// Start and end: a missing one is set to the other, and the end is not before the start.
fn edges(
    start: Option<Timestamp>,
    end: Option<Timestamp>,
    received_at: Timestamp,
) -> (Timestamp, Timestamp) {
    let start = start.or(end).unwrap_or(received_at);
    (start, end.unwrap_or(start).max(start))
}

/// Parses a time; zero means missing.
pub(crate) fn timestamp(field: &'static str, nanos: u64) -> Result<Option<Timestamp>, Fault> {
    let nanos = i64::try_from(nanos).map_err(|_| Fault::Time(field))?;
    Ok((nanos != 0).then(|| Timestamp::from_nanos(nanos)))
}

pub(crate) fn trace_id(bytes: &[u8]) -> Result<TraceId, Fault> {
    id("trace_id", TRACE_ID_BYTES, bytes)
}

pub(crate) fn span_id(bytes: &[u8]) -> Result<ObservationId, Fault> {
    id("span_id", SPAN_ID_BYTES, bytes)
}

/// Parses a parent id: empty and all-zero both mean a root span.
pub(crate) fn parent_id(bytes: &[u8]) -> Result<Option<ObservationId>, Fault> {
    let is_root = bytes.is_empty() || bytes == [0; SPAN_ID_BYTES];
    if is_root { Ok(None) } else { id("parent_span_id", SPAN_ID_BYTES, bytes).map(Some) }
}

fn id<Of>(field: &'static str, expected: usize, bytes: &[u8]) -> Result<Id<Of>, Fault> {
    let fault = Fault::Id { field, expected, found: bytes.len() };
    if bytes.len() != expected {
        return Err(fault);
    }
    Id::from_otel(bytes).map_err(|_| fault)
}

/// Up to this many names, pairwise comparison is faster than hashing.
const FEW: usize = 24;

/// Removes duplicate names: the last value wins, at the position of the first.
fn unique(named: Vec<(String, AttributeValue)>) -> Attributes {
    if !has_repeats(&named) {
        return Attributes(named);
    }
    let mut places: HashMap<String, usize> = HashMap::with_capacity(named.len());
    let mut kept: Vec<(String, AttributeValue)> = Vec::with_capacity(named.len());
    for (name, value) in named {
        match places.get(&name).and_then(|place| kept.get_mut(*place)) {
            Some(earlier) => earlier.1 = value,
            None => {
                places.insert(name.clone(), kept.len());
                kept.push((name, value));
            }
        }
    }
    Attributes(kept)
}

fn has_repeats(named: &[(String, AttributeValue)]) -> bool {
    if named.len() <= FEW {
        let repeats = |(place, (name, _)): (usize, &(String, AttributeValue))| {
            named.iter().take(place).any(|(earlier, _)| earlier == name)
        };
        return named.iter().enumerate().any(repeats);
    }
    let mut names = std::collections::HashSet::with_capacity(named.len());
    !named.iter().all(|(name, _)| names.insert(name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_edges(start: u64, end: u64, expected: (i64, i64)) {
        let mut draft = SpanDraft {
            trace: Some(trace_id(&[1; 16])),
            id: Some(span_id(&[1; 8])),
            start,
            end,
            ..SpanDraft::default()
        };
        let verified = draft.verify(Timestamp::from_nanos(1_000)).unwrap();
        let span = draft.into_span(verified);
        assert_eq!((span.start.nanos(), span.end.nanos()), expected);
    }

    #[test]
    fn times_are_made_whole() {
        check_edges(5, 9, (5, 9));
        check_edges(5, 0, (5, 5));
        check_edges(0, 9, (9, 9));
        check_edges(9, 5, (9, 9));
        check_edges(0, 0, (1_000, 1_000));
    }

    #[test]
    fn times_beyond_the_range_are_refused() {
        let mut draft = SpanDraft { start: u64::MAX, ..SpanDraft::default() };
        let fault = draft.verify(Timestamp::default()).unwrap_err();
        assert_eq!(fault.to_string(), "start_time_unix_nano is after the year 2261");
    }

    #[test]
    fn ids_have_their_length() {
        assert!(trace_id(&[1; 16]).is_ok() && span_id(&[1; 8]).is_ok());
        for bytes in [&[][..], &[1; 8], &[1; 15], &[1; 17], &[0; 16]] {
            assert!(trace_id(bytes).is_err(), "{bytes:?}");
        }
        for bytes in [&[][..], &[1; 7], &[1; 16], &[0; 8]] {
            assert!(span_id(bytes).is_err(), "{bytes:?}");
        }
        assert_eq!(parent_id(&[]).unwrap(), None);
        assert_eq!(parent_id(&[0; 8]).unwrap(), None);
        assert!(parent_id(&[1; 7]).is_err());
    }

    fn named(names: impl IntoIterator<Item = String>) -> Vec<(String, AttributeValue)> {
        names.into_iter().zip((0..).map(AttributeValue::Int)).collect()
    }

    #[test]
    fn the_last_of_a_repeated_name_wins() {
        let few = unique(named(["a", "b", "a"].map(str::to_owned)));
        assert_eq!(few.0.len(), 2);
        assert_eq!(few.get("a"), Some(&AttributeValue::Int(2)));
        let many = unique(named((0..200).map(|number| (number % 150).to_string())));
        assert_eq!(many.0.len(), 150);
        assert_eq!(many.get("7"), Some(&AttributeValue::Int(157)));
    }
}
