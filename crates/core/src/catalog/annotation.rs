/// How far an item of an annotation queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ItemStatus {
    Pending,
    /// A person is done with it.
    Completed,
}

impl ItemStatus {
    pub const ALL: [Self; 2] = [Self::Pending, Self::Completed];

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
    Trace,
    /// One step of a trace.
    Observation,
    Session,
}

impl ItemKind {
    pub const ALL: [Self; 3] = [Self::Trace, Self::Observation, Self::Session];

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
    Trace,
    /// One step of a trace.
    Observation,
    Session,
    /// A version of a prompt.
    Prompt,
}

impl CommentedKind {
    pub const ALL: [Self; 4] = [Self::Trace, Self::Observation, Self::Session, Self::Prompt];

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
