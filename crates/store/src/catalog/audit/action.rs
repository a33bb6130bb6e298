use crate::catalog::sql::{FromColumn, Value};

/// The kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditAction {
    Made,
    /// Joined others of its kind, such as an item to a queue.
    Added,
    Changed,
    /// A label was moved.
    Labelled,
    /// A reviewer was assigned.
    Assigned,
    /// A reviewer was unassigned.
    Unassigned,
    /// Taken out of a collection, such as an item from a queue.
    Removed,
    Deleted,
    /// A credential was revoked.
    Revoked,
    SignedIn,
    /// A permission prompt was answered.
    Answered,
    /// A turn was interrupted.
    Stopped,
    /// A chat was closed; it stays readable.
    Closed,
}

impl AuditAction {
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

    /// Parses its name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.as_str() == word)
    }
}

/// The kind of object that was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditObject {
    Project,
    /// A membership in a project.
    Member,
    Person,
    Key,
    RedactionRule,
    /// Allowed CORS origins.
    PageOrigins,
    Model,
    /// An LLM connection.
    Connection,
    /// Identified by name.
    Prompt,
    /// Identified by name.
    Skill,
    Dataset,
    DatasetItem,
    DatasetRun,
    Queue,
    QueueItem,
    ScoreConfig,
    Evaluator,
    EvaluationRule,
    Dashboard,
    Widget,
    View,
    /// One or more traces.
    Traces,
    Score,
    Comment,
    /// Of folders of before the backlog.
    Suggestion,
    Proposal,
    /// Identified by agent and week.
    FeedbackReport,
    Schedule,
    /// A dead letter of the job queue.
    Job,
    Webhook,
    /// A browser with push notifications.
    Browser,
    Chat,
    Agent,
    /// A target of experiments, identified by name.
    Target,
    /// A decision on a run.
    Gate,
    AgentVersion,
    Promotion,
    /// An A/B test of a prompt.
    AbTest,
    /// Of the offline judge.
    SignalOverrides,
    /// Identified by its trace or session.
    PublicLink,
}

impl AuditObject {
    /// Every noun, in menu order.
    pub const ALL: [Self; 40] = [
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
        Self::Comment,
        Self::Suggestion,
        Self::Proposal,
        Self::FeedbackReport,
        Self::Schedule,
        Self::Job,
        Self::Webhook,
        Self::Browser,
        Self::Chat,
        Self::Agent,
        Self::Target,
        Self::Gate,
        Self::AgentVersion,
        Self::Promotion,
        Self::AbTest,
        Self::SignalOverrides,
        Self::PublicLink,
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
            Self::Comment => "comment",
            Self::Suggestion => "suggestion",
            Self::Proposal => "proposal",
            Self::FeedbackReport => "feedback report",
            Self::Schedule => "schedule",
            Self::Job => "job",
            Self::Webhook => "webhook",
            Self::Browser => "notified browser",
            Self::Chat => "chat",
            Self::Agent => "agent",
            Self::Target => "target",
            Self::Gate => "gate",
            Self::AgentVersion => "agent version",
            Self::Promotion => "promotion",
            Self::AbTest => "A/B test",
            Self::SignalOverrides => "signal overrides",
            Self::PublicLink => "public link",
        }
    }

    /// Parses its name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|noun| noun.as_str() == word)
    }
}

impl From<AuditAction> for Value {
    fn from(verb: AuditAction) -> Self {
        verb.as_str().into()
    }
}

impl FromColumn for AuditAction {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}

impl From<AuditObject> for Value {
    fn from(noun: AuditObject) -> Self {
        noun.as_str().into()
    }
}

impl FromColumn for AuditObject {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_as_it_is_written() {
        for verb in AuditAction::ALL {
            assert_eq!(AuditAction::parse(verb.as_str()), Some(verb));
        }
        for noun in AuditObject::ALL {
            assert_eq!(AuditObject::parse(noun.as_str()), Some(noun));
        }
    }
}
