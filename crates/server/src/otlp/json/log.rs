use serde::de::{DeserializeSeed, Deserializer};

use super::scalar::{Hex, Nanos, Text};
use super::shape::{Fields, List, skip};
use super::value::{AttributeList, Value};
use crate::otlp::limits::Bounds;
use crate::otlp::log::LogDraft;
use crate::otlp::span_builder::{span_id, trace_id};

/// Reads a log record into a draft.
pub(crate) struct LogReader<'d, 'b, 'l> {
    pub(crate) draft: &'d mut LogDraft,
    pub(crate) bounds: &'b mut Bounds<'l>,
}

impl<'de> Fields<'de> for LogReader<'_, '_, '_> {
    fn field<D: Deserializer<'de>>(&mut self, name: &str, value: D) -> Result<(), D::Error> {
        let Self { draft, bounds } = self;
        match name {
            "timeUnixNano" | "time_unix_nano" => {
                draft.time = Nanos("time_unix_nano").deserialize(value)?;
            }
            "observedTimeUnixNano" | "observed_time_unix_nano" => {
                draft.observed = Nanos("observed_time_unix_nano").deserialize(value)?;
            }
            "eventName" | "event_name" => draft.event_name = Text(bounds).deserialize(value)?,
            "body" => draft.body = Value(bounds).deserialize(value)?,
            "traceId" | "trace_id" => {
                draft.trace = Hex("trace_id", trace_id).deserialize(value)?.ok();
            }
            "spanId" | "span_id" => {
                draft.span = Hex("span_id", span_id).deserialize(value)?.ok();
            }
            "attributes" => {
                let into = &mut draft.attributes;
                List(&mut AttributeList { into, bounds }).deserialize(value)?;
            }
            _ => skip(value)?,
        }
        Ok(())
    }
}
