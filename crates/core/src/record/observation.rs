use crate::environment::Environment;
use crate::id::{ObservationId, TraceId};
use crate::money::Money;
use crate::payload::{Json, Payload};
use crate::record::field::{Authority, Field};
use crate::record::merge::{Earliest, Latest, Merge, Metadata};
use crate::record::trace::Content;
use crate::record::usage::{Cost, Usage};
use crate::time::Timestamp;

/// The type of an observation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObservationKind {
    #[default]
    Span,
    Generation,
    Event,
    /// An agent or sub-agent.
    Agent,
    Tool,
    Chain,
    Retriever,
    Evaluator,
    Embedding,
    Guardrail,
}

impl ObservationKind {
    /// All types, in declaration order.
    pub const ALL: [Self; 10] = [
        Self::Span,
        Self::Generation,
        Self::Event,
        Self::Agent,
        Self::Tool,
        Self::Chain,
        Self::Retriever,
        Self::Evaluator,
        Self::Embedding,
        Self::Guardrail,
    ];

    /// Returns the API name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Span => "SPAN",
            Self::Generation => "GENERATION",
            Self::Event => "EVENT",
            Self::Agent => "AGENT",
            Self::Tool => "TOOL",
            Self::Chain => "CHAIN",
            Self::Retriever => "RETRIEVER",
            Self::Evaluator => "EVALUATOR",
            Self::Embedding => "EMBEDDING",
            Self::Guardrail => "GUARDRAIL",
        }
    }

    /// Parses the API name in any case.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(name))
    }
}

/// The severity level of an observation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    Debug,
    #[default]
    Default,
    Warning,
    Error,
}

impl Level {
    /// All levels, lowest first.
    pub const ALL: [Self; 4] = [Self::Debug, Self::Default, Self::Warning, Self::Error];

    /// Returns the API name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "DEBUG",
            Self::Default => "DEFAULT",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
        }
    }

    /// Parses the API name in any case.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str().eq_ignore_ascii_case(name))
    }
}

/// The prompt version that an observation used. Name and version are only meaningful together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PromptLink {
    pub name: String,
    pub version: u32,
}

/// A partial update of an observation by one event or span; merged, it is the record itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservationPatch {
    pub id: ObservationId,
    /// An update event may omit it; the store then looks it up by id.
    pub trace: Option<TraceId>,
    pub kind: Field<ObservationKind>,
    pub name: Field<String>,
    pub parent: Field<ObservationId>,
    /// Whether a client marked this observation as the root of its application, though it has a
    /// parent in another service. Never reset.
    pub app_root: bool,
    /// The earliest start that was sent.
    pub start: Earliest,
    /// The latest end that was sent.
    pub end: Latest,
    /// Time of the first token.
    pub completion_start: Field<Timestamp>,
    pub level: Field<Level>,
    pub status_message: Field<String>,
    /// Version of the code.
    pub version: Field<String>,
    pub environment: Field<Environment>,
    /// The agent or sub-agent, where the observation names it.
    pub agent: Field<String>,
    /// The provider's model name.
    pub model: Field<String>,
    /// Temperature and others, a JSON object.
    pub model_parameters: Field<Json>,
    pub usage: Field<Usage>,
    /// The cost sent by the client; takes precedence over the price table.
    pub cost: Field<Cost>,
    pub prompt: Field<PromptLink>,
    pub input: Field<Payload>,
    pub output: Field<Payload>,
    /// Client metadata, and attributes without a rule.
    pub metadata: Metadata,
}

impl ObservationPatch {
    /// Returns whether its usage was counted by Ratchet because the client sent none.
    pub fn has_counted_usage(&self) -> bool {
        let name = self.usage.stamped();
        name.is_some_and(|said| said.stamp.authority == Authority::Counted && said.value.is_some())
    }

    /// Creates an empty patch.
    pub fn new(id: ObservationId, trace: Option<TraceId>) -> Self {
        Self {
            id,
            trace,
            kind: Field::unset(),
            name: Field::unset(),
            parent: Field::unset(),
            app_root: false,
            start: Earliest::default(),
            end: Latest::default(),
            completion_start: Field::unset(),
            level: Field::unset(),
            status_message: Field::unset(),
            version: Field::unset(),
            environment: Field::unset(),
            agent: Field::unset(),
            model: Field::unset(),
            model_parameters: Field::unset(),
            usage: Field::unset(),
            cost: Field::unset(),
            prompt: Field::unset(),
            input: Field::unset(),
            output: Field::unset(),
            metadata: Metadata::default(),
        }
    }
}

impl ObservationPatch {
    /// Returns the number of fields that lose because the stored value has a later time.
    pub fn outdated_by(&self, kept: &Self) -> usize {
        let fields = [
            self.kind.is_outdated_by(&kept.kind),
            self.name.is_outdated_by(&kept.name),
            self.parent.is_outdated_by(&kept.parent),
            self.completion_start.is_outdated_by(&kept.completion_start),
            self.level.is_outdated_by(&kept.level),
            self.status_message.is_outdated_by(&kept.status_message),
            self.version.is_outdated_by(&kept.version),
            self.environment.is_outdated_by(&kept.environment),
            self.agent.is_outdated_by(&kept.agent),
            self.model.is_outdated_by(&kept.model),
            self.model_parameters.is_outdated_by(&kept.model_parameters),
            self.usage.is_outdated_by(&kept.usage),
            self.cost.is_outdated_by(&kept.cost),
            self.prompt.is_outdated_by(&kept.prompt),
            self.input.is_outdated_by(&kept.input),
            self.output.is_outdated_by(&kept.output),
        ];
        fields.into_iter().filter(|is_outdated| *is_outdated).count()
            + self.metadata.outdated_by(&kept.metadata)
    }
}

impl Merge for ObservationPatch {
    fn merge(self, other: Self) -> Self {
        Self {
            id: self.id,
            trace: self.trace.max(other.trace),
            kind: self.kind.merge(other.kind),
            name: self.name.merge(other.name),
            parent: self.parent.merge(other.parent),
            app_root: self.app_root || other.app_root,
            start: self.start.merge(other.start),
            end: self.end.merge(other.end),
            completion_start: self.completion_start.merge(other.completion_start),
            level: self.level.merge(other.level),
            status_message: self.status_message.merge(other.status_message),
            version: self.version.merge(other.version),
            environment: self.environment.merge(other.environment),
            agent: self.agent.merge(other.agent),
            model: self.model.merge(other.model),
            model_parameters: self.model_parameters.merge(other.model_parameters),
            usage: self.usage.merge(other.usage),
            cost: self.cost.merge(other.cost),
            prompt: self.prompt.merge(other.prompt),
            input: self.input.merge(other.input),
            output: self.output.merge(other.output),
            metadata: self.metadata.merge(other.metadata),
        }
    }
}

/// An observation: a span, generation or event of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    pub id: ObservationId,
    pub trace: TraceId,
    pub kind: ObservationKind,
    pub name: Option<String>,
    pub parent: Option<ObservationId>,
    /// Whether it is the root of its application, whatever its parent.
    pub app_root: bool,
    pub start: Timestamp,
    /// Never before the start.
    pub end: Option<Timestamp>,
    /// Time of the first token.
    pub completion_start: Option<Timestamp>,
    pub level: Level,
    pub status_message: Option<String>,
    /// Version of the code.
    pub version: Option<String>,
    pub environment: Environment,
    /// The agent or sub-agent.
    pub agent: Option<String>,
    /// The provider's model name.
    pub model: Option<String>,
    /// Temperature and others, a JSON object.
    pub model_parameters: Option<Json>,
    pub usage: Usage,
    /// Whether its usage was counted by Ratchet because the client sent none: then it is
    /// approximate.
    pub counted: bool,
    /// `None` when unknown. Unknown is not free.
    pub cost: Option<Cost>,
    /// The pricing tier used; `None` if the client sent the cost.
    pub pricing_tier: Option<String>,
    pub prompt: Option<PromptLink>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// `None` when the query did not request it.
    pub content: Option<Content>,
}

impl Observation {
    /// Returns whether it is a root: without a parent, or marked as the root of its application.
    pub fn is_root(&self) -> bool {
        self.app_root || self.parent.is_none()
    }

    /// Returns the nanoseconds from start to end.
    pub fn latency(&self) -> Option<i64> {
        Some(self.end?.since(self.start))
    }

    /// Returns the approximate part of its cost: all of it, if its usage was counted by Ratchet.
    pub fn approximate_cost(&self) -> Money {
        let cost = self.cost.as_ref().filter(|_| self.has_approximate_cost());
        cost.map(Cost::total).unwrap_or_default()
    }

    /// Returns whether its cost is computed from usage counted by Ratchet. A client's cost is not.
    pub fn has_approximate_cost(&self) -> bool {
        self.counted && self.cost.is_some() && self.pricing_tier.is_some()
    }

    /// Returns the nanoseconds from start to the first token.
    pub fn time_to_first_token(&self) -> Option<i64> {
        Some(self.completion_start?.since(self.start))
    }
}
