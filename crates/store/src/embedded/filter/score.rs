use super::{ContentPart, Kind, environment, plain};
use crate::query::{Condition, ScoreColumn, Test, TextTest};

/// What a column of a score is in SQL, the score known as `s` and its trace as `t`.
pub(super) fn kind(column: ScoreColumn) -> Kind {
    match column {
        ScoreColumn::Id => Kind::Id("s.id"),
        ScoreColumn::Name => plain("s.name"),
        ScoreColumn::DataType => plain("s.data_type"),
        ScoreColumn::Number => Kind::Number("s.number"),
        ScoreColumn::Text => plain("s.text"),
        ScoreColumn::Source => plain("s.source"),
        ScoreColumn::Timestamp => Kind::Time("s.timestamp"),
        ScoreColumn::Environment => environment("s.environment"),
        ScoreColumn::Comment => plain("s.comment"),
        ScoreColumn::Author => plain("s.author"),
        ScoreColumn::Config => plain("s.config"),
        ScoreColumn::Queue => plain("s.queue"),
        ScoreColumn::Trace => Kind::Id("s.trace"),
        ScoreColumn::Observation => Kind::Id("s.observation"),
        ScoreColumn::Session => Kind::Id("s.session"),
        ScoreColumn::DatasetRun => plain("s.dataset_run"),
        ScoreColumn::Metadata => Kind::Content(ContentPart::Metadata),
        ScoreColumn::TraceName => plain("t.name"),
        ScoreColumn::TraceUser => plain("t.user"),
        ScoreColumn::TraceTags => Kind::Tags("t.tags"),
    }
}

/// Whether a condition looks at the score's trace.
pub(in crate::embedded) fn is_on_trace(condition: &Condition<ScoreColumn>) -> bool {
    use ScoreColumn::{TraceName, TraceTags, TraceUser};
    matches!(condition.column, TraceName | TraceUser | TraceTags)
}

/// Whether a condition leaves few scores, found by an index of their own.
pub(in crate::embedded) fn is_narrow(condition: &Condition<ScoreColumn>) -> bool {
    use ScoreColumn::{DatasetRun, Id, Session, Trace};
    let is_reference = matches!(condition.column, Id | Trace | Session | DatasetRun);
    is_reference && matches!(condition.test, Test::Text(TextTest::Equals, _) | Test::AnyOf(_))
}
