//! Pre-encoded spans of 2 KB; sending one more means copying bytes and writing new ids into them.

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message as _;
use serde_json::json;

use crate::text::{SeededRng, Writer};

pub(crate) const TRACE_LEN: usize = 10;

/// The kind of each span of a trace, and its parent.
const SHAPE: [(Part, Option<usize>); TRACE_LEN] = [
    (Part::Agent, None),
    (Part::Chat, Some(0)),
    (Part::Tool, Some(0)),
    (Part::Chat, Some(0)),
    (Part::Agent, Some(0)),
    (Part::Chat, Some(4)),
    (Part::Tool, Some(4)),
    (Part::Chat, Some(4)),
    (Part::Tool, Some(0)),
    (Part::Chat, Some(0)),
];

#[derive(Clone, Copy, Debug)]
enum Part {
    Agent,
    Chat,
    Tool,
}

const INPUT_BYTES: usize = 600;
const OUTPUT_BYTES: usize = 900;
/// How much of them repeats earlier text, in percent: a request repeats most of the conversation,
/// an answer little. A whole trace then compresses by a factor of about 3.3, which is less than the
/// 4.5 measured on public customer-service conversations and more than plain prose.
const INPUT_ECHO: usize = 75;
const OUTPUT_ECHO: usize = 20;

/// Placeholders in an encoded span for ids and times.
const TRACE_MARK: [u8; 16] = [0xa1; 16];
const SPAN_MARK: [u8; 8] = [0xa2; 8];
const PARENT_MARK: [u8; 8] = [0xa3; 8];
const START_MARK: u64 = 0xa4a4_a4a4_a4a4_a4a4;
const END_MARK: u64 = 0xa5a5_a5a5_a5a5_a5a5;
const SESSION_MARK: &str = "session-mark-session-mark-000000";

/// An encoded span and the offsets of its ids and times.
#[derive(Debug)]
pub(crate) struct SpanTemplate {
    bytes: Vec<u8>,
    trace: usize,
    span: usize,
    parent: Option<usize>,
    start: usize,
    end: usize,
    session: usize,
    /// Index of the parent in the trace.
    pub(crate) within: Option<usize>,
}

/// New ids and times of a span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fresh {
    pub(crate) trace: [u8; 16],
    pub(crate) span: [u8; 8],
    /// Ignored by roots.
    pub(crate) parent: [u8; 8],
    /// The session's id, in 32 hexadecimal digits.
    pub(crate) session: [u8; 32],
    /// Start, in nanoseconds since the epoch.
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl SpanTemplate {
    /// The length of the encoded span.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Appends the span with new ids and times.
    pub(crate) fn write(&self, fresh: &Fresh, body: &mut Vec<u8>) {
        let from = body.len();
        body.extend_from_slice(&self.bytes);
        let mut put = |at: usize, bytes: &[u8]| {
            if let Some(place) = body.get_mut(from + at..from + at + bytes.len()) {
                place.copy_from_slice(bytes);
            }
        };
        put(self.trace, &fresh.trace);
        put(self.span, &fresh.span);
        put(self.start, &fresh.start.to_le_bytes());
        put(self.end, &fresh.end.to_le_bytes());
        put(self.session, &fresh.session);
        if let Some(parent) = self.parent {
            put(parent, &fresh.parent);
        }
    }

    fn new(span: &Span, within: Option<usize>) -> Self {
        let bytes = span.encode_to_vec();
        let find = |mark: &[u8]| bytes.windows(mark.len()).position(|window| window == mark);
        Self {
            trace: find(&TRACE_MARK).unwrap_or(0),
            span: find(&SPAN_MARK).unwrap_or(0),
            parent: find(&PARENT_MARK),
            start: find(&START_MARK.to_le_bytes()).unwrap_or(0),
            end: find(&END_MARK.to_le_bytes()).unwrap_or(0),
            session: find(SESSION_MARK.as_bytes()).unwrap_or(0),
            bytes,
            within,
        }
    }
}

/// Many different traces, and their resource and scope.
#[derive(Debug)]
pub(crate) struct Pool {
    /// The traces, each with `TRACE_LEN` spans.
    pub(crate) traces: Vec<Vec<SpanTemplate>>,
    /// The encoded resource field of a `ResourceSpans`.
    pub(crate) resource: Vec<u8>,
    /// The encoded scope field of a `ScopeSpans`.
    pub(crate) scope: Vec<u8>,
}

impl Pool {
    pub(crate) fn write(traces: usize, seed: u64) -> Self {
        let mut author = Author { writer: Writer::new(seed), rng: SeededRng::new(seed ^ 1) };
        let resource = Resource {
            attributes: vec![
                text("service.name", "checkout-assistant"),
                text("service.version", "3.4.1"),
                text("deployment.environment.name", "prod"),
            ],
            ..Default::default()
        };
        let scope = InstrumentationScope {
            name: "bench.agents".to_owned(),
            version: "1.2.0".to_owned(),
            ..Default::default()
        };
        // A message with nothing else encodes to just that field.
        let resource = ResourceSpans { resource: Some(resource), ..Default::default() };
        let scope = ScopeSpans { scope: Some(scope), ..Default::default() };
        Self {
            traces: (0..traces).map(|_| author.trace()).collect(),
            resource: resource.encode_to_vec(),
            scope: scope.encode_to_vec(),
        }
    }

    /// The average length of an encoded span.
    pub(crate) fn span_bytes(&self) -> usize {
        let spans = self.traces.iter().flatten();
        let total: usize = spans.clone().map(SpanTemplate::len).sum();
        total / spans.count().max(1)
    }
}

struct Author {
    writer: Writer,
    rng: SeededRng,
}

impl Author {
    fn trace(&mut self) -> Vec<SpanTemplate> {
        let user = format!("user-{:03}", self.rng.below(500));
        // The last text is repeated in the next request, as in conversations.
        let mut said = self.writer.prose(INPUT_BYTES);
        let spans = SHAPE.iter().map(|(part, within)| {
            let input = self.writer.echo(&said, INPUT_ECHO, INPUT_BYTES);
            let output = self.writer.echo(&input, OUTPUT_ECHO, OUTPUT_BYTES);
            said.clone_from(&output);
            let attributes = self.attributes(*part, &user, &input, &output);
            let span = Span {
                trace_id: TRACE_MARK.to_vec(),
                span_id: SPAN_MARK.to_vec(),
                parent_span_id: within.map(|_| PARENT_MARK.to_vec()).unwrap_or_default(),
                name: part.name().to_owned(),
                kind: 3,
                start_time_unix_nano: START_MARK,
                end_time_unix_nano: END_MARK,
                attributes,
                ..Default::default()
            };
            SpanTemplate::new(&span, *within)
        });
        spans.collect()
    }

    fn attributes(&mut self, part: Part, user: &str, input: &str, output: &str) -> Vec<KeyValue> {
        let models = ["claude-sonnet-5", "gpt-5.6-terra", "gemini-3.7-flash"];
        let model = models[self.rng.below(models.len())];
        let mut attributes = vec![
            text("gen_ai.operation.name", part.operation()),
            text("gen_ai.conversation.id", SESSION_MARK),
            text("gen_ai.agent.name", "checkout-assistant"),
            text("user.id", user),
            text("server.address", "models.internal"),
            number("server.port", 443),
        ];
        let message =
            |role, said| json!([{ "role": role, "parts": [{ "type": "text", "content": said }] }]);
        match part {
            Part::Tool => attributes.extend([
                text("gen_ai.tool.name", "search_orders"),
                text("gen_ai.tool.type", "function"),
                text("gen_ai.tool.call.id", &format!("call_{:016x}", self.rng.roll())),
                text("gen_ai.tool.call.arguments", &json!({ "query": input }).to_string()),
                text("gen_ai.tool.call.result", &json!({ "rows": output }).to_string()),
            ]),
            Part::Agent | Part::Chat => attributes.extend([
                text("gen_ai.input.messages", &message("user", input).to_string()),
                text("gen_ai.output.messages", &message("assistant", output).to_string()),
            ]),
        }
        if matches!(part, Part::Chat) {
            let (fresh, cached, written) = (self.below(900), self.below(6_000), self.below(400));
            attributes.extend([
                text("gen_ai.provider.name", "anthropic"),
                text("gen_ai.request.model", model),
                text("gen_ai.response.model", model),
                text("gen_ai.response.id", &format!("msg_{:016x}", self.rng.roll())),
                number("gen_ai.usage.input_tokens", fresh + cached),
                number("gen_ai.usage.cache_read.input_tokens", cached),
                number("gen_ai.usage.output_tokens", written),
                number("gen_ai.request.max_tokens", 4_096),
            ]);
        }
        attributes
    }

    fn below(&mut self, bound: usize) -> i64 {
        i64::try_from(self.rng.below(bound)).unwrap_or(0)
    }
}

impl Part {
    const fn name(self) -> &'static str {
        match self {
            Self::Agent => "invoke_agent checkout-assistant",
            Self::Chat => "chat",
            Self::Tool => "execute_tool search_orders",
        }
    }

    const fn operation(self) -> &'static str {
        match self {
            Self::Agent => "invoke_agent",
            Self::Chat => "chat",
            Self::Tool => "execute_tool",
        }
    }
}

fn text(key: &str, value: &str) -> KeyValue {
    attribute(key, Value::StringValue(value.to_owned()))
}

fn number(key: &str, value: i64) -> KeyValue {
    attribute(key, Value::IntValue(value))
}

fn attribute(key: &str, value: Value) -> KeyValue {
    let value = Some(AnyValue { value: Some(value) });
    KeyValue { key: key.to_owned(), value, ..Default::default() }
}
