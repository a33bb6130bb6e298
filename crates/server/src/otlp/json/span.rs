use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::record::span::{SpanEvent, SpanLink};
use ratchet_core::time::Timestamp;
use serde::de::{DeserializeSeed, Deserializer, Error};

use super::scalar::{Hex, Nanos, StatusSeed, Text};
use super::shape::{Fields, Items, List, Object, skip};
use super::value::AttributeList;
use crate::otlp::limits::{Bounds, Capped};
use crate::otlp::span_builder::{
    AttributesDraft, SpanDraft, parent_id, span_id, timestamp, trace_id,
};

/// Reads a span into a draft.
pub(crate) struct SpanReader<'d, 'b, 'l> {
    pub(crate) draft: &'d mut SpanDraft,
    pub(crate) bounds: &'b mut Bounds<'l>,
}

impl<'de> Fields<'de> for SpanReader<'_, '_, '_> {
    fn field<D: Deserializer<'de>>(&mut self, name: &str, value: D) -> Result<(), D::Error> {
        let Self { draft, bounds } = self;
        match name {
            "traceId" | "trace_id" => {
                draft.trace = Some(Hex("trace_id", trace_id).deserialize(value)?);
            }
            "spanId" | "span_id" => {
                draft.id = Some(Hex("span_id", span_id).deserialize(value)?);
            }
            "parentSpanId" | "parent_span_id" => {
                draft.parent = Some(Hex("parent_span_id", parent_id).deserialize(value)?);
            }
            "name" => draft.name = Text(bounds).deserialize(value)?,
            "startTimeUnixNano" | "start_time_unix_nano" => {
                draft.start = Nanos("start_time_unix_nano").deserialize(value)?;
            }
            "endTimeUnixNano" | "end_time_unix_nano" => {
                draft.end = Nanos("end_time_unix_nano").deserialize(value)?;
            }
            "attributes" => {
                let into = &mut draft.attributes;
                List(&mut AttributeList { into, bounds }).deserialize(value)?;
            }
            "events" => {
                List(&mut EventList { into: &mut draft.events, bounds }).deserialize(value)?;
            }
            "links" => {
                List(&mut LinkList { into: &mut draft.links, bounds }).deserialize(value)?;
            }
            "status" => Object(&mut StatusReader { draft, bounds }).deserialize(value)?,
            _ => skip(value)?,
        }
        Ok(())
    }
}

struct StatusReader<'d, 'b, 'l> {
    draft: &'d mut SpanDraft,
    bounds: &'b mut Bounds<'l>,
}

impl<'de> Fields<'de> for StatusReader<'_, '_, '_> {
    fn field<D: Deserializer<'de>>(&mut self, name: &str, value: D) -> Result<(), D::Error> {
        match name {
            "code" => self.draft.status_code = StatusSeed.deserialize(value)?,
            "message" => self.draft.status_message = Text(self.bounds).deserialize(value)?,
            _ => skip(value)?,
        }
        Ok(())
    }
}

struct EventList<'d, 'b, 'l> {
    into: &'d mut Capped<SpanEvent>,
    bounds: &'b mut Bounds<'l>,
}

impl<'de> Items<'de> for EventList<'_, '_, '_> {
    fn item<D: Deserializer<'de>>(&mut self, item: D) -> Result<(), D::Error> {
        if !self.into.has_room(self.bounds.limits.attributes) {
            return skip(item);
        }
        self.bounds.event().map_err(D::Error::custom)?;
        let mut event = EventReader {
            name: String::new(),
            at: None,
            attributes: AttributesDraft::default(),
            bounds: self.bounds,
        };
        Object(&mut event).deserialize(item)?;
        let (name, at) = (event.name, event.at.unwrap_or_default());
        let attributes = event.attributes.into_attributes();
        self.into.kept.push(SpanEvent { name, at, attributes });
        Ok(())
    }
}

struct EventReader<'b, 'l> {
    name: String,
    at: Option<Timestamp>,
    attributes: AttributesDraft,
    bounds: &'b mut Bounds<'l>,
}

impl<'de> Fields<'de> for EventReader<'_, '_> {
    fn field<D: Deserializer<'de>>(&mut self, name: &str, value: D) -> Result<(), D::Error> {
        const TIME: &str = "event.time_unix_nano";
        match name {
            "timeUnixNano" | "time_unix_nano" => {
                let nanos = Nanos(TIME).deserialize(value)?;
                self.at = timestamp(TIME, nanos).map_err(D::Error::custom)?;
            }
            "name" => self.name = Text(self.bounds).deserialize(value)?,
            "attributes" => {
                let (into, bounds) = (&mut self.attributes, &mut *self.bounds);
                List(&mut AttributeList { into, bounds }).deserialize(value)?;
            }
            _ => skip(value)?,
        }
        Ok(())
    }
}

struct LinkList<'d, 'b, 'l> {
    into: &'d mut Capped<SpanLink>,
    bounds: &'b mut Bounds<'l>,
}

impl<'de> Items<'de> for LinkList<'_, '_, '_> {
    fn item<D: Deserializer<'de>>(&mut self, item: D) -> Result<(), D::Error> {
        if !self.into.has_room(self.bounds.limits.attributes) {
            return skip(item);
        }
        self.bounds.link().map_err(D::Error::custom)?;
        let attributes = AttributesDraft::default();
        let mut link = LinkReader { trace: None, span: None, attributes, bounds: self.bounds };
        Object(&mut link).deserialize(item)?;
        let attributes = link.attributes.into_attributes();
        match link.trace.zip(link.span) {
            Some((trace, span)) => self.into.kept.push(SpanLink { trace, span, attributes }),
            None => self.into.dropped += 1,
        }
        Ok(())
    }
}

/// An invalid id discards the link, not the span.
struct LinkReader<'b, 'l> {
    trace: Option<TraceId>,
    span: Option<ObservationId>,
    attributes: AttributesDraft,
    bounds: &'b mut Bounds<'l>,
}

impl<'de> Fields<'de> for LinkReader<'_, '_> {
    fn field<D: Deserializer<'de>>(&mut self, name: &str, value: D) -> Result<(), D::Error> {
        match name {
            "traceId" | "trace_id" => {
                self.trace = Hex("link.trace_id", trace_id).deserialize(value)?.ok();
            }
            "spanId" | "span_id" => {
                self.span = Hex("link.span_id", span_id).deserialize(value)?.ok();
            }
            "attributes" => {
                let (into, bounds) = (&mut self.attributes, &mut *self.bounds);
                List(&mut AttributeList { into, bounds }).deserialize(value)?;
            }
            _ => skip(value)?,
        }
        Ok(())
    }
}
