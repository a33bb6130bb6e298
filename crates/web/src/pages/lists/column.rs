use ratchet_store::query::TraceOrder;

use crate::components::table::Align;
use crate::filter::On;
use crate::parquet::Kind;

/// What a list can show of each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListColumn {
    Name,
    Time,
    Kind,
    Level,
    Status,
    User,
    Session,
    Environment,
    Agent,
    Tags,
    Model,
    Prompt,
    Steps,
    Errors,
    Latency,
    FirstToken,
    InputTokens,
    OutputTokens,
    Tokens,
    Cost,
    Release,
    Version,
    Trace,
    Parent,
    Id,
    Input,
    Output,
    Metadata,
}

impl ListColumn {
    /// Every one, in the order they stand side by side.
    const ALL: [Self; 28] = [
        Self::Name,
        Self::Time,
        Self::Kind,
        Self::Level,
        Self::Latency,
        Self::FirstToken,
        Self::Tokens,
        Self::InputTokens,
        Self::OutputTokens,
        Self::Cost,
        Self::Steps,
        Self::Errors,
        Self::Model,
        Self::User,
        Self::Session,
        Self::Environment,
        Self::Agent,
        Self::Tags,
        Self::Status,
        Self::Prompt,
        Self::Release,
        Self::Version,
        Self::Trace,
        Self::Parent,
        Self::Id,
        Self::Input,
        Self::Output,
        Self::Metadata,
    ];

    /// The columns of a list, all of them.
    pub(super) fn of(on: On) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |column| column.is_on(on))
    }

    /// The columns of a list that are shown unless the address says otherwise.
    pub(super) fn usual(on: On) -> Vec<Self> {
        match on {
            On::Traces => vec![
                Self::Name,
                Self::Time,
                Self::Latency,
                Self::Tokens,
                Self::Cost,
                Self::Steps,
                Self::User,
                Self::Session,
                Self::Environment,
                Self::Tags,
            ],
            On::Observations => vec![
                Self::Name,
                Self::Time,
                Self::Latency,
                Self::Tokens,
                Self::Cost,
                Self::Model,
                Self::Environment,
                Self::Trace,
                Self::Status,
            ],
        }
    }

    fn is_on(self, on: On) -> bool {
        match self {
            Self::User
            | Self::Session
            | Self::Tags
            | Self::Steps
            | Self::Errors
            | Self::Release => on == On::Traces,
            Self::Kind
            | Self::Status
            | Self::Model
            | Self::Prompt
            | Self::FirstToken
            | Self::Trace
            | Self::Parent => on == On::Observations,
            Self::Name
            | Self::Time
            | Self::Level
            | Self::Environment
            | Self::Agent
            | Self::Latency
            | Self::InputTokens
            | Self::OutputTokens
            | Self::Tokens
            | Self::Cost
            | Self::Version
            | Self::Id
            | Self::Input
            | Self::Output
            | Self::Metadata => true,
        }
    }

    /// The word in the address, and in exports.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Time => "time",
            Self::Kind => "type",
            Self::Level => "level",
            Self::Status => "status",
            Self::User => "user",
            Self::Session => "session",
            Self::Environment => "environment",
            Self::Agent => "agent",
            Self::Tags => "tags",
            Self::Model => "model",
            Self::Prompt => "prompt",
            Self::Steps => "steps",
            Self::Errors => "errors",
            Self::Latency => "latency_seconds",
            Self::FirstToken => "first_token_seconds",
            Self::InputTokens => "input_tokens",
            Self::OutputTokens => "output_tokens",
            Self::Tokens => "tokens",
            Self::Cost => "cost_usd",
            Self::Release => "release",
            Self::Version => "version",
            Self::Trace => "trace",
            Self::Parent => "parent",
            Self::Id => "id",
            Self::Input => "input",
            Self::Output => "output",
            Self::Metadata => "metadata",
        }
    }

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Name => "Name",
            Self::Time => "Time",
            Self::Kind => "Type",
            Self::Level => "Level",
            Self::Status => "Status",
            Self::User => "User",
            Self::Session => "Session",
            Self::Environment => "Environment",
            Self::Agent => "Agent",
            Self::Tags => "Tags",
            Self::Model => "Model",
            Self::Prompt => "Prompt",
            Self::Steps => "Observations",
            Self::Errors => "Errors",
            Self::Latency => "Latency",
            Self::FirstToken => "Time to first token",
            Self::InputTokens => "Input tokens",
            Self::OutputTokens => "Output tokens",
            Self::Tokens => "Tokens",
            Self::Cost => "Cost",
            Self::Release => "Release",
            Self::Version => "Version",
            Self::Trace => "Trace",
            Self::Parent => "Parent",
            Self::Id => "ID",
            Self::Input => "Input",
            Self::Output => "Output",
            Self::Metadata => "Metadata",
        }
    }

    pub(super) const fn align(self) -> Align {
        match self {
            Self::Steps
            | Self::Errors
            | Self::Latency
            | Self::FirstToken
            | Self::InputTokens
            | Self::OutputTokens
            | Self::Tokens
            | Self::Cost => Align::Number,
            Self::Input | Self::Output | Self::Metadata | Self::Status => Align::Wide,
            _ => Align::Text,
        }
    }

    /// What its cells are in an export.
    pub(super) const fn kind(self) -> Kind {
        match self {
            Self::Time => Kind::Moment,
            Self::Tags => Kind::Words,
            Self::Latency | Self::FirstToken | Self::Cost => Kind::Number,
            Self::Steps | Self::Errors | Self::InputTokens | Self::OutputTokens | Self::Tokens => {
                Kind::Whole
            }
            _ => Kind::Text,
        }
    }

    /// Whether it takes what a record carries to show it.
    pub(super) const fn is_content(self) -> bool {
        matches!(self, Self::Input | Self::Output | Self::Metadata)
    }

    /// How the store orders a list by it.
    pub(super) const fn order(self, on: On) -> Option<TraceOrder> {
        match (self, on) {
            (Self::Time, _) => Some(TraceOrder::Timestamp),
            (Self::Name, _) => Some(TraceOrder::Name),
            (Self::Latency, _) => Some(TraceOrder::Latency),
            (Self::Cost, _) => Some(TraceOrder::Cost),
            (Self::Tokens, _) => Some(TraceOrder::TotalTokens),
            (_, On::Observations) => None,
            (Self::User, On::Traces) => Some(TraceOrder::User),
            (Self::Session, On::Traces) => Some(TraceOrder::Session),
            (Self::Release, On::Traces) => Some(TraceOrder::Release),
            (Self::Version, On::Traces) => Some(TraceOrder::Version),
            _ => None,
        }
    }

    /// Reads the word in the address.
    pub(super) fn parse(on: On, word: &str) -> Option<Self> {
        Self::of(on).find(|column| column.word() == word)
    }
}
