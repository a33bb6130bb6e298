/// Which list is filtered: some words make sense on one of them only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    Traces,
    Observations,
}

impl On {
    const BOTH: &'static [Self] = &[Self::Traces, Self::Observations];

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Traces => "traces",
            Self::Observations => "observations",
        }
    }
}

/// A field that is a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordField {
    Id,
    Name,
    User,
    Session,
    Environment,
    Tag,
    Model,
    Agent,
    Level,
    Release,
    Version,
    Kind,
    Trace,
    TraceName,
    Prompt,
    Status,
}

impl WordField {
    /// Every one, in the order they are offered.
    pub(crate) const ALL: [Self; 16] = [
        Self::Name,
        Self::Level,
        Self::User,
        Self::Session,
        Self::Environment,
        Self::Tag,
        Self::Model,
        Self::Agent,
        Self::Release,
        Self::Version,
        Self::Id,
        Self::Kind,
        Self::Trace,
        Self::TraceName,
        Self::Prompt,
        Self::Status,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Name => "name",
            Self::User => "user",
            Self::Session => "session",
            Self::Environment => "env",
            Self::Tag => "tag",
            Self::Model => "model",
            Self::Agent => "agent",
            Self::Level => "level",
            Self::Release => "release",
            Self::Version => "version",
            Self::Kind => "type",
            Self::Trace => "trace",
            Self::TraceName => "trace-name",
            Self::Prompt => "prompt",
            Self::Status => "status",
        }
    }

    pub(super) const fn on(self) -> &'static [On] {
        match self {
            Self::Id
            | Self::Name
            | Self::User
            | Self::Session
            | Self::Environment
            | Self::Tag
            | Self::Model
            | Self::Agent
            | Self::Level
            | Self::Release
            | Self::Version => On::BOTH,
            Self::Kind | Self::Trace | Self::TraceName | Self::Prompt | Self::Status => {
                &[On::Observations]
            }
        }
    }
}

/// A field that is a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberField {
    Cost,
    Latency,
    Tokens,
    InputTokens,
    OutputTokens,
    Scores,
    Steps,
    Errors,
    FirstToken,
}

/// What a number is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// `0.10` or `$0.10`
    Dollars,
    /// `2s`, `500ms`, `3m`
    Seconds,
    /// `1000` or `1k`
    Count,
}

impl NumberField {
    /// Every one, in the order they are offered.
    pub(crate) const ALL: [Self; 9] = [
        Self::Cost,
        Self::Latency,
        Self::Tokens,
        Self::InputTokens,
        Self::OutputTokens,
        Self::Scores,
        Self::Steps,
        Self::Errors,
        Self::FirstToken,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Cost => "cost",
            Self::Latency => "latency",
            Self::Tokens => "tokens",
            Self::InputTokens => "input-tokens",
            Self::OutputTokens => "output-tokens",
            Self::Scores => "scores",
            Self::Steps => "observations",
            Self::Errors => "errors",
            Self::FirstToken => "first-token",
        }
    }

    pub(super) const fn unit(self) -> Unit {
        match self {
            Self::Cost => Unit::Dollars,
            Self::Latency | Self::FirstToken => Unit::Seconds,
            Self::Tokens
            | Self::InputTokens
            | Self::OutputTokens
            | Self::Scores
            | Self::Steps
            | Self::Errors => Unit::Count,
        }
    }

    pub(super) const fn on(self) -> &'static [On] {
        match self {
            Self::Cost
            | Self::Latency
            | Self::Tokens
            | Self::InputTokens
            | Self::OutputTokens
            | Self::Scores => On::BOTH,
            Self::Steps | Self::Errors => &[On::Traces],
            Self::FirstToken => &[On::Observations],
        }
    }
}

/// Something that is so or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flag {
    Bookmarked,
    /// Anyone with the link may look at the trace.
    Public,
    /// A run begins with the observation.
    Root,
}

impl Flag {
    /// Every one.
    pub(crate) const ALL: [Self; 3] = [Self::Bookmarked, Self::Public, Self::Root];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Bookmarked => "bookmarked",
            Self::Public => "public",
            Self::Root => "root",
        }
    }

    pub(super) const fn on(self) -> &'static [On] {
        match self {
            Self::Bookmarked | Self::Public => On::BOTH,
            Self::Root => &[On::Observations],
        }
    }
}

/// What one can ask by on a list, for people.
pub(crate) fn names(on: On) -> String {
    let words = WordField::ALL.into_iter().filter(|field| field.on().contains(&on));
    let numbers = NumberField::ALL.into_iter().filter(|field| field.on().contains(&on));
    let names = words.map(WordField::name).chain(numbers.map(NumberField::name));
    let names: Vec<&str> = names.chain(["score.NAME", "is"]).collect();
    names.join(", ")
}
