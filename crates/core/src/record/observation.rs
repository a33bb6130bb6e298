use crate::environment::Environment;
use crate::id::{ObservationId, TraceId};
use crate::money::Money;
use crate::payload::{Json, Payload};
use crate::record::field::{Authority, Field};
use crate::record::merge::{Earliest, Latest, Merge, Metadata};
use crate::record::trace::Content;
use crate::record::usage::{Cost, Usage};
use crate::time::Timestamp;

/// What kind of step an observation is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObservationKind {
    /// A step of no particular kind.
    #[default]
    Span,
    Generation,
    Event,
    /// An agent or sub-agent at work.
    Agent,
    Tool,
    Chain,
    Retriever,
    Evaluator,
    Embedding,
    Guardrail,
}

impl ObservationKind {
    /// Every kind, in the order of the enum.
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

    /// The word for it, as clients write it.
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

    /// Reads the word in any case.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(word))
    }
}

/// How much attention an observation wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Only for those who look closely.
    Debug,
    #[default]
    Default,
    Warning,
    Error,
}

impl Level {
    /// Every level, from quiet to loud.
    pub const ALL: [Self; 4] = [Self::Debug, Self::Default, Self::Warning, Self::Error];

    /// The word for it, as clients write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "DEBUG",
            Self::Default => "DEFAULT",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
        }
    }

    /// Reads the word in any case.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str().eq_ignore_ascii_case(word))
    }
}

/// The prompt version an observation used. Name and version only make sense together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PromptLink {
    pub name: String,
    pub version: u32,
}

/// What one event or span says about an observation; merged, it is the record itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservationPatch {
    pub id: ObservationId,
    /// Which trace it belongs to. An update event may not say; the store then finds it by id.
    pub trace: Option<TraceId>,
    pub kind: Field<ObservationKind>,
    pub name: Field<String>,
    /// The step it is part of.
    pub parent: Field<ObservationId>,
    /// Whether anyone said that the application begins here, though the step has a parent: the
    /// caller's, in another service. Never unsaid.
    pub app_root: bool,
    /// When it began: the earliest anyone said.
    pub start: Earliest,
    /// When it ended: the latest anyone said.
    pub end: Latest,
    /// When the first token came.
    pub completion_start: Field<Timestamp>,
    /// How much attention it wants.
    pub level: Field<Level>,
    pub status_message: Field<String>,
    /// The version of the code that ran.
    pub version: Field<String>,
    pub environment: Field<Environment>,
    /// The agent or sub-agent at work, where the step says so itself.
    pub agent: Field<String>,
    /// The model as the provider names it.
    pub model: Field<String>,
    /// Temperature and the like, a JSON object.
    pub model_parameters: Field<Json>,
    pub usage: Field<Usage>,
    /// What the client says it cost; wins over the price table.
    pub cost: Field<Cost>,
    /// The prompt version it used.
    pub prompt: Field<PromptLink>,
    pub input: Field<Payload>,
    pub output: Field<Payload>,
    /// Keys and values of the client's own, and all attributes nobody claimed.
    pub metadata: Metadata,
}

impl ObservationPatch {
    /// Whether its units were counted here because nobody said them.
    pub fn has_counted_usage(&self) -> bool {
        let word = self.usage.word();
        word.is_some_and(|said| said.stamp.authority == Authority::Counted && said.value.is_some())
    }

    /// A patch that says nothing yet.
    pub fn new(id: ObservationId, trace: Option<TraceId>) -> Self {
        Self {
            id,
            trace,
            kind: Field::unsaid(),
            name: Field::unsaid(),
            parent: Field::unsaid(),
            app_root: false,
            start: Earliest::default(),
            end: Latest::default(),
            completion_start: Field::unsaid(),
            level: Field::unsaid(),
            status_message: Field::unsaid(),
            version: Field::unsaid(),
            environment: Field::unsaid(),
            agent: Field::unsaid(),
            model: Field::unsaid(),
            model_parameters: Field::unsaid(),
            usage: Field::unsaid(),
            cost: Field::unsaid(),
            prompt: Field::unsaid(),
            input: Field::unsaid(),
            output: Field::unsaid(),
            metadata: Metadata::default(),
        }
    }
}

impl ObservationPatch {
    /// How many of its words are not believed, because what is kept has a later time.
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

/// An observation as people see it: one step of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    pub id: ObservationId,
    /// Which trace it belongs to.
    pub trace: TraceId,
    pub kind: ObservationKind,
    pub name: Option<String>,
    /// The step it is part of.
    pub parent: Option<ObservationId>,
    /// Whether the application begins here, whatever the parent.
    pub app_root: bool,
    pub start: Timestamp,
    /// When it ended, never before it began.
    pub end: Option<Timestamp>,
    /// When the first token came.
    pub completion_start: Option<Timestamp>,
    /// How much attention it wants.
    pub level: Level,
    pub status_message: Option<String>,
    /// The version of the code that ran.
    pub version: Option<String>,
    pub environment: Environment,
    /// The agent or sub-agent at work.
    pub agent: Option<String>,
    /// The model as the provider names it.
    pub model: Option<String>,
    /// Temperature and the like, a JSON object.
    pub model_parameters: Option<Json>,
    pub usage: Usage,
    /// Whether its units were counted here because nobody said them: then they are approximate.
    pub counted: bool,
    /// What it cost, or `None` when nobody knows. Unknown is not free.
    pub cost: Option<Cost>,
    /// The tier of prices that its cost was worked out with; `None` if the client said the cost.
    pub pricing_tier: Option<String>,
    /// The prompt version it used.
    pub prompt: Option<PromptLink>,
    /// When the record was first written.
    pub created_at: Timestamp,
    /// When the record last changed.
    pub updated_at: Timestamp,
    /// What it carries; `None` when the query did not ask.
    pub content: Option<Content>,
}

impl Observation {
    /// Whether a run begins here: without a parent, or where the client says that its part begins.
    pub fn is_root(&self) -> bool {
        self.app_root || self.parent.is_none()
    }

    /// Nanoseconds from start to end.
    pub fn latency(&self) -> Option<i64> {
        Some(self.end?.since(self.start))
    }

    /// How much of its cost is approximate: all that follows from units counted here.
    pub fn approximate_cost(&self) -> Money {
        let cost = self.cost.as_ref().filter(|_| self.has_approximate_cost());
        cost.map(Cost::total).unwrap_or_default()
    }

    /// Whether its cost follows from units counted here. A cost that the client said does not.
    pub fn has_approximate_cost(&self) -> bool {
        self.counted && self.cost.is_some() && self.pricing_tier.is_some()
    }

    /// Nanoseconds from start to the first token.
    pub fn time_to_first_token(&self) -> Option<i64> {
        Some(self.completion_start?.since(self.start))
    }
}
