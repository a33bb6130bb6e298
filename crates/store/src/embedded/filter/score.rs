use super::{ContentPart, Kind, environment, plain};
use crate::query::{Condition, ScoreColumn, Test, TextTest};

/// SQL of a score column; the score is `s`, its trace `t` and its observation `o`.
pub(in crate::embedded) fn kind(column: ScoreColumn) -> Kind {
    match column {
        ScoreColumn::Id => Kind::Id("s.id"),
        ScoreColumn::Name => plain("s.name"),
        ScoreColumn::DataType => plain("s.data_type"),
        ScoreColumn::Number => Kind::Number("s.number"),
        ScoreColumn::Text => plain("s.text"),
        ScoreColumn::Truth => Kind::Flag("(coalesce(s.number, 0) <> 0)"),
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
        ScoreColumn::TraceRelease => plain("t.release"),
        ScoreColumn::TraceVersion => plain("t.version"),
        ScoreColumn::AnySession => Kind::Id("coalesce(s.session, t.session)"),
        ScoreColumn::ObservationName => plain("o.name"),
        ScoreColumn::ObservationModel => plain("o.model"),
        ScoreColumn::ObservationPromptName => plain("o.prompt_name"),
        ScoreColumn::ObservationPromptVersion => Kind::Number("o.prompt_version"),
        ScoreColumn::Judge => plain("judge_of(s.metadata)"),
        ScoreColumn::Superseded => Kind::Flag("is_superseded(s.metadata)"),
    }
}

/// The `FROM` clause for these columns: scores, joined with traces and observations where needed.
///
/// Scores outlive deleted traces and may precede theirs: they have no user and no tags then.
pub(in crate::embedded) fn from(columns: &[ScoreColumn]) -> &'static str {
    use ScoreColumn::{
        AnySession, ObservationModel, ObservationName, ObservationPromptName,
        ObservationPromptVersion, TraceName, TraceRelease, TraceTags, TraceUser, TraceVersion,
    };
    let is_on_observation = |column: &ScoreColumn| {
        let (o, p) = (ObservationName, ObservationPromptName);
        [o, ObservationModel, p, ObservationPromptVersion].contains(column)
    };
    let is_on_trace = |column: &ScoreColumn| {
        [AnySession, TraceName, TraceRelease, TraceTags, TraceUser, TraceVersion].contains(column)
    };
    if columns.iter().any(is_on_observation) {
        "score s LEFT JOIN trace t ON t.project = s.project AND t.id = s.trace \
         LEFT JOIN observation o ON o.trace = t.no AND o.id = s.observation"
    } else if columns.iter().any(is_on_trace) {
        "score s LEFT JOIN trace t ON t.project = s.project AND t.id = s.trace"
    } else {
        "score s"
    }
}

/// Whether a condition selects few scores by index.
pub(in crate::embedded) fn is_narrow(condition: &Condition<ScoreColumn>) -> bool {
    use ScoreColumn::{DatasetRun, Id, Session, Trace};
    let is_reference = matches!(condition.column, Id | Trace | Session | DatasetRun);
    is_reference && matches!(condition.test, Test::Text(TextTest::Equals, _) | Test::AnyOf(_))
}

/// Whether a condition selects the scores of one name, which has an index.
pub(in crate::embedded) fn is_one_name(condition: &Condition<ScoreColumn>) -> bool {
    condition.column == ScoreColumn::Name
        && matches!(condition.test, Test::Text(TextTest::Equals, _))
}
