/// The status of an annotation queue item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ItemStatus {
    Pending,
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

    /// Parses the API name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }
}

/// The type of object that an annotation queue item refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ItemKind {
    Trace,
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

    /// Parses the API name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// The type of object that a comment is attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CommentedKind {
    Trace,
    Observation,
    Session,
    /// A prompt version.
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

    /// Parses the API name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}
