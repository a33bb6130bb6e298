/// How far an item of an annotation queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ItemStatus {
    /// Waits for a person.
    Pending,
    /// A person is done with it.
    Completed,
}

impl ItemStatus {
    /// Every status.
    pub const ALL: [Self; 2] = [Self::Pending, Self::Completed];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Completed => "COMPLETED",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

/// What an item of an annotation queue asks a person to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ItemKind {
    /// A trace.
    Trace,
    /// One step of a trace.
    Observation,
    /// Traces that belong together.
    Session,
}

impl ItemKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Trace, Self::Observation, Self::Session];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trace => "TRACE",
            Self::Observation => "OBSERVATION",
            Self::Session => "SESSION",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// What a comment is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CommentedKind {
    /// A trace.
    Trace,
    /// One step of a trace.
    Observation,
    /// Traces that belong together.
    Session,
    /// A version of a prompt.
    Prompt,
}

impl CommentedKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Trace, Self::Observation, Self::Session, Self::Prompt];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trace => "TRACE",
            Self::Observation => "OBSERVATION",
            Self::Session => "SESSION",
            Self::Prompt => "PROMPT",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}
