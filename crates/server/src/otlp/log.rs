use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::record::log::LogRecord;
use ratchet_core::record::span::AttributeValue;
use ratchet_core::time::Timestamp;

use super::json::log::LogReader;
use super::limits::Bounds;
use super::signal::{Draft, Envelope};
use super::span_builder::{AttributesDraft, Fault, PATCHES_BYTES, span_id, timestamp, trace_id};
use super::wire::Fields;
use super::{json, protobuf};

/// A log record while it is decoded. Invalid ids are ignored.
#[derive(Debug, Default)]
pub(crate) struct LogDraft {
    /// Unix time in nanoseconds; zero if missing.
    pub(crate) time: u64,
    /// When a collector received it, likewise.
    pub(crate) observed: u64,
    pub(crate) event_name: String,
    pub(crate) body: AttributeValue,
    pub(crate) attributes: AttributesDraft,
    pub(crate) trace: Option<TraceId>,
    pub(crate) span: Option<ObservationId>,
}

impl Draft for LogDraft {
    type Item = LogRecord;

    const ENVELOPE: Envelope = Envelope {
        message: "ExportLogsServiceRequest",
        noun: "log record",
        resources: ["resourceLogs", "resource_logs"],
        scopes: ["scopeLogs", "scope_logs"],
        items: ["logRecords", "log_records"],
    };

    const ITEM_BYTES: usize = 4 * size_of::<LogRecord>() + PATCHES_BYTES;

    fn name(&self) -> &str {
        match &self.body {
            AttributeValue::Text(body) if self.event_name.is_empty() => body,
            _ => &self.event_name,
        }
    }

    fn read_protobuf(
        &mut self,
        mut fields: Fields<'_>,
        bounds: &mut Bounds<'_>,
    ) -> Result<(), Fault> {
        while let Some(field) = fields.next()? {
            match field.number {
                1 => self.time = field.fixed64()?,
                5 => {
                    bounds.enter(0)?;
                    self.body = protobuf::any_value(field.message()?, bounds, 0)?;
                }
                6 => protobuf::attribute(&field, &mut self.attributes, bounds)?,
                9 => self.trace = trace_id(field.bytes()?).ok(),
                10 => self.span = span_id(field.bytes()?).ok(),
                11 => self.observed = field.fixed64()?,
                12 => self.event_name = bounds.text(field.text()?),
                _ => {}
            }
        }
        Ok(())
    }

    fn read_json(&mut self, text: &[u8], bounds: &mut Bounds<'_>) -> Result<(), serde_json::Error> {
        json::read(text, &mut LogReader { draft: self, bounds })
    }

    fn finish(&mut self, received_at: Timestamp) -> Result<LogRecord, Fault> {
        let at = timestamp("time_unix_nano", self.time)?;
        let observed = timestamp("observed_time_unix_nano", self.observed)?;
        Ok(LogRecord {
            at: at.or(observed).unwrap_or(received_at),
            event_name: std::mem::take(&mut self.event_name),
            body: std::mem::take(&mut self.body),
            attributes: std::mem::take(&mut self.attributes).into_attributes(),
            during: self.trace.take().zip(self.span.take()),
        })
    }
}
