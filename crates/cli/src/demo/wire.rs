//! From stories to OTLP: each agent's spans in the convention its SDK uses.

/// The `langfuse.*` attributes.
mod langfuse;
/// The `gen_ai.*` attributes.
mod gen_ai;
mod claude_code;
mod span;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message as _;
use serde_json::{Value, json};

use super::agents::Convention;
use super::story::{Run, Thumb};
use span::SpanAttributes;

/// Spans in one request, as exporters batch them.
const SPANS_PER_REQUEST: usize = 400;

/// A request body and how many spans are in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Export {
    pub(crate) body: Vec<u8>,
    pub(crate) spans: usize,
}

/// Writes the runs down as export requests, in order.
pub(crate) fn exports<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Vec<Export> {
    let mut exports = Vec::new();
    let mut waiting = Vec::new();
    let mut spans = 0;
    for run in runs {
        let (sent, count) = resource_spans(run);
        waiting.push(sent);
        spans += count;
        if spans >= SPANS_PER_REQUEST {
            exports.push(export(std::mem::take(&mut waiting), std::mem::take(&mut spans)));
        }
    }
    if !waiting.is_empty() {
        exports.push(export(waiting, spans));
    }
    exports
}

/// The body of a score, as `POST /api/public/scores` takes it.
pub(crate) fn score(thumb: &Thumb) -> Value {
    let mut score = json!({
        "id": thumb.id,
        "traceId": hex(&thumb.trace),
        "name": "thumbs_feedback",
        "value": u8::from(thumb.up),
        "dataType": "BOOLEAN",
        "environment": thumb.environment.name(),
        "timestamp": thumb.at.to_string(),
    });
    if let Some(comment) = &thumb.comment {
        score["comment"] = json!(comment);
    }
    score
}

/// An id in the lowercase hexadecimal digits that the API speaks.
pub(crate) fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn export(resource_spans: Vec<ResourceSpans>, spans: usize) -> Export {
    Export { body: ExportTraceServiceRequest { resource_spans }.encode_to_vec(), spans }
}

fn resource_spans(run: &Run) -> (ResourceSpans, usize) {
    let (spans, scope, version) = match run.agent.convention {
        Convention::Langfuse => (langfuse::spans(run), "langfuse-sdk", "5.0.4"),
        Convention::GenAi => (gen_ai::spans(run), "kettle.agents", "0.9.2"),
        Convention::ClaudeCode => {
            (claude_code::spans(run), "com.anthropic.claude_code.tracing", "1.0.0")
        }
    };
    let count = spans.len();
    let scope = InstrumentationScope {
        name: scope.to_owned(),
        version: version.to_owned(),
        ..Default::default()
    };
    let scope_spans = vec![ScopeSpans { scope: Some(scope), spans, ..Default::default() }];
    let resource = Resource { attributes: resource(run).into_inner(), ..Default::default() };
    (ResourceSpans { resource: Some(resource), scope_spans, ..Default::default() }, count)
}

fn resource(run: &Run) -> SpanAttributes {
    let mut resource = SpanAttributes::default();
    resource.text("service.name", run.agent.name);
    resource.text("service.version", run.release.version);
    match run.agent.convention {
        Convention::Langfuse => {
            resource.text("telemetry.sdk.language", "python");
            resource.text("langfuse.environment", run.environment.name());
            resource.text("langfuse.release", run.release.version);
        }
        Convention::GenAi => {
            resource.text("telemetry.sdk.language", "nodejs");
            resource.text("deployment.environment.name", run.environment.name());
        }
        Convention::ClaudeCode => {
            resource.text("os.type", "linux");
            resource.text("host.arch", "amd64");
            resource.text("deployment.environment.name", run.environment.name());
        }
    }
    resource
}

/// All spans of a run, each written by `write`.
fn each_step(
    run: &Run,
    write: impl Fn(&super::story::Step, &mut SpanAttributes) -> String,
) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut waiting = vec![(&run.root, None)];
    while let Some((step, parent)) = waiting.pop() {
        let mut attributes = SpanAttributes::default();
        let name = write(step, &mut attributes);
        spans.push(span::span(run, step, parent, name, attributes));
        waiting.extend(step.children.iter().rev().map(|child| (child, Some(step.id))));
    }
    spans
}
