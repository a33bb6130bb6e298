//! The columns of records in the store.

/// The columns of a trace that can be filtered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceColumn {
    Id,
    Timestamp,
    Name,
    User,
    Session,
    Release,
    Version,
    Environment,
    Agent,
    Tags,
    Public,
    Bookmarked,
    Metadata,
    Input,
    Output,
    Level,
    ObservationCount,
    /// Scores on it and on its observations.
    ScoreCount,
    /// Mean of the numeric scores on it and its observations; by name with a key.
    ScoreNumbers,
    /// Categories of the scores on it and its observations, by name.
    ScoreLabels,
    /// `True` or `False` of the boolean scores on it and its observations, by name.
    ScoreBooleans,
    DebugCount,
    DefaultCount,
    WarningCount,
    ErrorCount,
    /// In seconds.
    Latency,
    InputTokens,
    OutputTokens,
    TotalTokens,
    /// In US dollars.
    Cost,
    /// In US dollars: the approximate part of the cost.
    ApproximateCost,
    /// In US dollars.
    InputCost,
    /// In US dollars.
    OutputCost,
    /// The models its observations called: a condition holds if one of them passes it.
    Models,
}

/// The columns of an observation that can be filtered, including its trace's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObservationColumn {
    Id,
    Trace,
    Kind,
    Name,
    Parent,
    /// Whether it has no parent.
    Root,
    Start,
    End,
    Level,
    StatusMessage,
    Version,
    Environment,
    Agent,
    Model,
    PromptName,
    PromptVersion,
    Metadata,
    Input,
    Output,
    /// In seconds.
    Latency,
    /// In seconds.
    TimeToFirstToken,
    /// In seconds, from the first token to the end.
    StreamingLatency,
    /// Output tokens per second.
    TokensPerSecond,
    /// Output tokens per second from the first token on.
    StreamedTokensPerSecond,
    /// All tokens per second.
    TotalTokensPerSecond,
    ScoreCount,
    /// Mean of its numeric scores; by name with a key.
    ScoreNumbers,
    /// Categories of its scores, by name.
    ScoreLabels,
    /// `True` or `False` of its boolean scores, by name.
    ScoreBooleans,
    InputTokens,
    OutputTokens,
    TotalTokens,
    /// In US dollars.
    Cost,
    /// In US dollars: the approximate part of the cost.
    ApproximateCost,
    /// In US dollars.
    InputCost,
    /// In US dollars.
    OutputCost,
    TraceName,
    TraceUser,
    TraceSession,
    TraceTags,
    TraceEnvironment,
    TraceRelease,
    TraceVersion,
    TracePublic,
    TraceBookmarked,
}

/// The columns of a session. Those of its traces are sums over them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionColumn {
    Id,
    /// The start of its first trace.
    CreatedAt,
    /// The start of its last trace.
    LastActivity,
    /// That of its first trace.
    Environment,
    /// The users of its traces: a condition holds if one of them passes it.
    Users,
    /// The agents of its traces, likewise.
    Agents,
    /// The releases of its traces, likewise.
    Releases,
    /// The tags of its traces.
    Tags,
    /// Whether people bookmarked it. Sessions are recorded without it, so that a list replaces it by
    /// the ids of the bookmarked ones.
    Bookmarked,
    /// The input of its first trace; cannot be filtered.
    FirstMessage,
    /// The output of its last trace; cannot be filtered.
    LastOutput,
    TraceCount,
    ErrorCount,
    /// In seconds, from the start of its first trace to the end of the one that ended last.
    Duration,
    TotalTokens,
    /// In US dollars.
    Cost,
    /// Scores on the session itself.
    ScoreCount,
    /// Mean of the numeric scores on the session itself; by name with a key.
    ScoreNumbers,
    /// Categories of the scores on the session itself, by name.
    ScoreLabels,
    /// `True` or `False` of the boolean scores on the session itself, by name.
    ScoreBooleans,
}

/// The columns of a score that can be filtered, including its trace's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoreColumn {
    Id,
    Name,
    DataType,
    Number,
    Text,
    /// Whether the value is a number other than zero.
    Truth,
    Source,
    Timestamp,
    Environment,
    Comment,
    Author,
    Config,
    Queue,
    /// The trace of the score, or of the observation it is on.
    Trace,
    Observation,
    Session,
    DatasetRun,
    Metadata,
    TraceName,
    TraceUser,
    TraceTags,
    TraceRelease,
    TraceVersion,
    /// The session of the score, or of the trace it is on.
    AnySession,
    ObservationName,
    ObservationModel,
    ObservationPromptName,
    ObservationPromptVersion,
    /// Who judged, with versions; `None` for scores that do not say.
    Judge,
    /// Whether a newer verdict took its place.
    Superseded,
}

/// Sort order of traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceOrder {
    #[default]
    Timestamp,
    Id,
    Name,
    User,
    Session,
    Release,
    Version,
    Public,
    Bookmarked,
    Latency,
    Cost,
    TotalTokens,
}

/// Sort order of sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionOrder {
    #[default]
    CreatedAt,
    LastActivity,
    Id,
    TraceCount,
    ErrorCount,
    Duration,
    TotalTokens,
    /// Unknown costs lowest.
    Cost,
}
