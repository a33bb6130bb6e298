use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message as _;

use super::{Plain, attribute};
use crate::build::at;

/// A request from one service, without log records at first.
pub fn logs(service: &str) -> LogsBuilder {
    LogsBuilder { resource: vec![attribute("service.name", service.into())], records: Vec::new() }
}

/// A log record with this body, at the start of the test data.
pub fn log(body: &str) -> LogBuilder {
    LogBuilder(LogRecord {
        time_unix_nano: at(0).nanos().unsigned_abs(),
        body: Some(AnyValue { value: Some(Value::StringValue(body.to_owned())) }),
        ..LogRecord::default()
    })
}

/// A request builder.
#[derive(Clone, Debug)]
#[must_use]
pub struct LogsBuilder {
    resource: Vec<KeyValue>,
    records: Vec<LogRecord>,
}

impl LogsBuilder {
    pub fn with(mut self, record: LogBuilder) -> Self {
        self.records.push(record.0);
        self
    }

    pub fn with_all(self, records: impl IntoIterator<Item = LogBuilder>) -> Self {
        records.into_iter().fold(self, LogsBuilder::with)
    }

    pub fn build(self) -> ExportLogsServiceRequest {
        let resource = Resource { attributes: self.resource, ..Resource::default() };
        let scope_logs = vec![ScopeLogs { log_records: self.records, ..ScopeLogs::default() }];
        let resource_logs =
            vec![ResourceLogs { resource: Some(resource), scope_logs, ..ResourceLogs::default() }];
        ExportLogsServiceRequest { resource_logs }
    }

    pub fn to_protobuf(self) -> Vec<u8> {
        self.build().encode_to_vec()
    }
}

#[derive(Clone, Debug)]
#[must_use]
pub struct LogBuilder(LogRecord);

impl LogBuilder {
    pub fn saying(mut self, key: &str, value: impl Into<Plain>) -> Self {
        self.0.attributes.push(attribute(key, value.into()));
        self
    }

    pub fn during(mut self, trace: u128, span: u64) -> Self {
        self.0.trace_id = trace.to_be_bytes().into();
        self.0.span_id = span.to_be_bytes().into();
        self
    }
}
