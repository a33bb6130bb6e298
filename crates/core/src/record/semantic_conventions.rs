//! Mapping of span attributes to fields: one set of rules for all semantic conventions in use.
//!
//! The rules are data (`rule.rs`). An attribute without a rule, or overridden by a stronger one, is
//! stored in the observation's metadata.

use crate::catalog::experiment::ExperimentItem;
use crate::environment::Environment;
use crate::id::ObservationId;
use crate::payload::Json;
use crate::record::field::{Field, Stamp, WriteKind};
use crate::record::merge::Metadata;
use crate::record::observation::ObservationPatch;
use crate::record::semantic_conventions::attributes::Claims;
use crate::record::semantic_conventions::event::Events;
use crate::record::semantic_conventions::metadata::{Keys, Reading};
use crate::record::semantic_conventions::origin::Known;
use crate::record::semantic_conventions::table::{Dialect, Target};
use crate::record::semantic_conventions::trace::SpanContext;
use crate::record::span::{AttributeValue, Attributes, Origin, Span};
use crate::record::trace::TracePatch;

/// The rules: attribute names by field.
mod rule;
/// Lookup table of the rules.
mod table;
/// A span's attributes while fields are extracted.
mod attributes;
mod event;
/// Properties of all spans of an origin.
mod origin;
/// Observation types.
mod kind;
/// Names, levels, prompts and times.
mod observation_fields;
/// Inputs and outputs.
mod content;
/// Trees with flattened paths as names.
mod flat;
/// Token usage.
mod tokens;
/// Model, parameters and cost.
mod model;
/// Values inside Genkit's payloads.
mod genkit;
/// Client metadata, and unused attributes.
mod metadata;
/// Numbers and booleans written as text.
mod scalar;
/// Fields of the trace.
mod trace;
/// Experiment items.
mod experiment;
/// Attribute values as JSON.
mod json;
#[cfg(test)]
mod tests;

/// Logfire lists the messages of a model call as events in this attribute.
const LISTED_EVENTS: &str = "events";

/// Serializes attributes to a JSON object, with their types.
pub(crate) fn attributes_json(attributes: &Attributes) -> Json {
    json::json(&json::Fields(json::pairs(attributes)))
}

/// The SDK that sent a request, from its headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sender {
    /// `python`, `javascript` …
    pub sdk_name: Option<String>,
    pub sdk_version: Option<String>,
}

/// The patches of a span for its observation and its trace.
#[derive(Clone, Debug)]
pub struct Interpreted {
    pub observation: ObservationPatch,
    pub trace: TracePatch,
    /// The experiment item that it ran, if any.
    pub experiment_item: Option<ExperimentItem>,
}

/// Interprets the spans of one origin. Properties of the origin are computed once.
///
/// ```
/// use ratchet_core::record::semantic_conventions::{Interpreter, Sender};
/// use ratchet_core::id::{ObservationId, TraceId};
/// use ratchet_core::record::span::{AttributeValue, Attributes, Origin, Span, SpanStatus};
/// use ratchet_core::time::Timestamp;
///
/// let attribute = ("gen_ai.request.model".to_owned(), AttributeValue::Text("gpt-4o".to_owned()));
/// let span = Span {
///     trace: TraceId::parse("run").unwrap(),
///     id: ObservationId::parse("call").unwrap(),
///     parent: None,
///     name: "chat".to_owned(),
///     start: Timestamp::from_millis(1),
///     end: Timestamp::from_millis(2),
///     attributes: Attributes(vec![attribute]),
///     events: Vec::new(),
///     links: Vec::new(),
///     status: SpanStatus::Ok,
/// };
/// let patches = Interpreter::new(Origin::default(), Sender::default()).interpret(span);
/// assert_eq!(patches.observation.model.value().unwrap(), "gpt-4o");
/// assert_eq!(patches.trace.name.value().unwrap(), "chat");
/// ```
#[derive(Clone, Debug)]
pub struct Interpreter {
    known: Known,
}

impl Interpreter {
    /// Creates an interpreter for the spans of an origin.
    #[expect(clippy::needless_pass_by_value, reason = "both are spent: nobody needs them again")]
    pub fn new(origin: Origin, sender: Sender) -> Self {
        Self { known: Known::new(&origin, &sender) }
    }

    /// Converts a span to patches. Every attribute ends up in a field or in the metadata.
    pub fn interpret(&self, mut span: Span) -> Interpreted {
        name_by_request(&mut span);
        let mut parsed = ParsedSpan::new(&mut span, self.known.dialect);
        let mut observation = ObservationPatch::new(span.id.clone(), Some(span.trace.clone()));
        let mut trace = TracePatch::new(span.trace.clone());
        let experiment_item = experiment::read(&parsed.claims, &span);
        let reading = Reading { encoding: self.known.encoding, stamp: parsed.stamp };
        let keys = metadata::take(Target::Metadata, &mut parsed.claims, reading);
        let class = kind::classify(&mut parsed.claims, &span.name, self.known.hides_generations);
        observation.kind = Field::new(class.kind, parsed.stamp);
        // The model first: its attributes may be part of the content.
        model::extract(&mut observation, &mut parsed, class);
        observation_fields::extract(&mut observation, &mut parsed, &mut span);
        content::extract(&mut observation, &mut parsed);
        self.extract_environment(&mut observation, &mut parsed, &keys);
        let context = SpanContext {
            known: &self.known,
            keys: &keys,
            parent: span.parent.as_ref(),
            start: span.start,
        };
        trace::extract(&mut trace, &mut observation, &mut parsed, context);
        observation.metadata = self.unused_metadata(keys, &parsed, &span);
        Interpreted { observation, trace, experiment_item }
    }

    fn extract_environment(
        &self,
        observation: &mut ObservationPatch,
        parsed: &mut ParsedSpan,
        keys: &Keys,
    ) {
        let stamp = parsed.stamp;
        let environment = parsed.environment().or_else(|| self.known.environment.clone());
        let version = parsed.claims.take_text(Target::Version);
        let version = version.or_else(|| self.known.version.clone());
        let agent = parsed.claims.take_text(Target::Agent).or_else(|| keys.text("agent"));
        observation.environment = Field::if_some(environment, stamp);
        observation.version = Field::if_some(version, stamp);
        observation.agent = Field::if_some(agent, stamp);
    }

    /// Adds unused attributes and the span's origin to the client's metadata.
    fn unused_metadata(&self, mut keys: Keys, parsed: &ParsedSpan, span: &Span) -> Metadata {
        keys.add_ours("attributes", metadata::unused(&parsed.claims));
        keys.add_ours("events", parsed.events.unused());
        keys.add_ours("links", event::links(&span.links));
        keys.add_ours("resourceAttributes", self.known.resource.clone());
        keys.add_ours("scope", self.known.scope.clone());
        keys.into_metadata()
    }
}

/// Uses the request id as the id of a Claude Code model call, as its events do, so that both give
/// the same record. Such a span has no children that refer to it.
fn name_by_request(span: &mut Span) {
    if span.name != "claude_code.llm_request" {
        return;
    }
    let request = span.attributes.text("request_id").and_then(|id| ObservationId::parse(id).ok());
    if let Some(request) = request {
        let span_id = std::mem::replace(&mut span.id, request).to_string();
        span.attributes.0.push(("otel.span.id".to_owned(), AttributeValue::Text(span_id)));
    }
}

/// A span whose fields are being extracted.
struct ParsedSpan {
    claims: Claims,
    events: Events,
    dialect: Dialect,
    /// A complete span is stamped with its end.
    stamp: Stamp,
}

impl ParsedSpan {
    fn new(span: &mut Span, dialect: Dialect) -> Self {
        let is_claude_code = span.name.starts_with("claude_code.");
        let dialect = if is_claude_code { Dialect::ClaudeCode } else { dialect };
        let attributes = std::mem::take(&mut span.attributes);
        let mut parsed = Self {
            claims: Claims::new(attributes, dialect),
            events: Events::new(std::mem::take(&mut span.events)),
            dialect,
            stamp: Stamp::stated(span.end, WriteKind::Create),
        };
        if let Some(listed) = parsed.claims.take_unnamed(LISTED_EVENTS)
            && let Err(other) = parsed.events.add_listed(listed, span.end)
        {
            parsed.claims.put_back(LISTED_EVENTS.to_owned(), other);
        }
        parsed
    }

    /// Returns the span's own environment. The original of a normalised name is stored, too.
    fn environment(&mut self) -> Option<Environment> {
        let (name, sent) = self.claims.take_text_named(Target::Environment)?;
        let environment = Environment::normalise(&sent);
        if !sent.eq_ignore_ascii_case(environment.as_str()) {
            self.claims.put_back(name, AttributeValue::Text(sent));
        }
        Some(environment)
    }
}
