use crate::catalog::sql::{FromColumn, Value};

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// It was not there before.
    Made,
    /// It was let in, or came to others of its kind.
    Added,
    /// It is not what it was.
    Changed,
    /// A label stands somewhere else.
    Labelled,
    /// Someone is to look after it.
    Assigned,
    /// Someone is to look after it no longer.
    Unassigned,
    /// It was taken out of somewhere.
    Removed,
    Deleted,
    /// It opens nothing any more.
    Revoked,
    SignedIn,
    /// What it asked was answered.
    Answered,
    /// What it was doing was broken off.
    Stopped,
    /// It goes on no more, and stays to be read.
    Closed,
}

impl Verb {
    pub const ALL: [Self; 13] = [
        Self::Made,
        Self::Added,
        Self::Changed,
        Self::Labelled,
        Self::Assigned,
        Self::Unassigned,
        Self::Removed,
        Self::Deleted,
        Self::Revoked,
        Self::SignedIn,
        Self::Answered,
        Self::Stopped,
        Self::Closed,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Made => "made",
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Labelled => "labelled",
            Self::Assigned => "assigned",
            Self::Unassigned => "unassigned",
            Self::Removed => "removed",
            Self::Deleted => "deleted",
            Self::Revoked => "revoked",
            Self::SignedIn => "signed in",
            Self::Answered => "answered",
            Self::Stopped => "stopped",
            Self::Closed => "closed",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.as_str() == word)
    }
}

/// What kind of thing it was done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noun {
    /// A project: its name, its notes, how long it keeps telemetry.
    Project,
    /// Someone's work in a project.
    Member,
    Person,
    Key,
    RedactionRule,
    /// The origins whose pages may call.
    PageOrigins,
    /// A model of the project's own and its prices.
    Model,
    /// A connection to a provider of models.
    Connection,
    /// A prompt, named by its name.
    Prompt,
    /// A skill, named by its name.
    Skill,
    Dataset,
    /// A case of a dataset.
    DatasetItem,
    /// A run over a dataset.
    DatasetRun,
    Queue,
    QueueItem,
    ScoreConfig,
    Evaluator,
    /// A rule that says what evaluators score.
    EvaluationRule,
    Dashboard,
    /// A chart of a dashboard.
    Widget,
    /// A saved view of a list.
    View,
    /// Traces, one or many.
    Traces,
    Score,
    /// Something that could be changed.
    Suggestion,
    /// Something that runs by itself.
    Schedule,
    /// A program that is told of news.
    Webhook,
    /// A browser that is told of news.
    Browser,
    /// A conversation with an agent that runs here.
    Chat,
}

impl Noun {
    /// Every noun, in the order that a menu shows them.
    pub const ALL: [Self; 28] = [
        Self::Project,
        Self::Member,
        Self::Person,
        Self::Key,
        Self::RedactionRule,
        Self::PageOrigins,
        Self::Model,
        Self::Connection,
        Self::Prompt,
        Self::Skill,
        Self::Dataset,
        Self::DatasetItem,
        Self::DatasetRun,
        Self::Queue,
        Self::QueueItem,
        Self::ScoreConfig,
        Self::Evaluator,
        Self::EvaluationRule,
        Self::Dashboard,
        Self::Widget,
        Self::View,
        Self::Traces,
        Self::Score,
        Self::Suggestion,
        Self::Schedule,
        Self::Webhook,
        Self::Browser,
        Self::Chat,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Member => "member",
            Self::Person => "person",
            Self::Key => "API key",
            Self::RedactionRule => "redaction rule",
            Self::PageOrigins => "page origins",
            Self::Model => "model",
            Self::Connection => "LLM connection",
            Self::Prompt => "prompt",
            Self::Skill => "skill",
            Self::Dataset => "dataset",
            Self::DatasetItem => "dataset item",
            Self::DatasetRun => "dataset run",
            Self::Queue => "queue",
            Self::QueueItem => "queue item",
            Self::ScoreConfig => "score config",
            Self::Evaluator => "evaluator",
            Self::EvaluationRule => "evaluation rule",
            Self::Dashboard => "dashboard",
            Self::Widget => "widget",
            Self::View => "saved view",
            Self::Traces => "traces",
            Self::Score => "score",
            Self::Suggestion => "suggestion",
            Self::Schedule => "schedule",
            Self::Webhook => "webhook",
            Self::Browser => "notified browser",
            Self::Chat => "chat",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|noun| noun.as_str() == word)
    }
}

impl From<Verb> for Value {
    fn from(verb: Verb) -> Self {
        verb.as_str().into()
    }
}

impl FromColumn for Verb {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}

impl From<Noun> for Value {
    fn from(noun: Noun) -> Self {
        noun.as_str().into()
    }
}

impl FromColumn for Noun {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_as_it_is_written() {
        for verb in Verb::ALL {
            assert_eq!(Verb::parse(verb.as_str()), Some(verb));
        }
        for noun in Noun::ALL {
            assert_eq!(Noun::parse(noun.as_str()), Some(noun));
        }
    }
}
