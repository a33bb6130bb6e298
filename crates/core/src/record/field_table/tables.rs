use super::{
    FieldKind, NumberUnit, ObservationColumn as O, RecordColumn, RecordField as F, RecordTable,
    ScoreColumn as S, SessionColumn, TraceColumn as T, TraceOrder,
};

type ApiNames = &'static [&'static str];

const fn text<C>(column: C, api: ApiNames) -> RecordColumn<C> {
    RecordColumn::new(column, FieldKind::Text, api)
}

const fn number<C>(column: C, unit: NumberUnit, api: ApiNames) -> RecordColumn<C> {
    RecordColumn::new(column, FieldKind::Number(unit), api)
}

const fn count<C>(column: C, api: ApiNames) -> RecordColumn<C> {
    number(column, NumberUnit::Count, api)
}

const fn dollars<C>(column: C, api: ApiNames) -> RecordColumn<C> {
    number(column, NumberUnit::Dollars, api)
}

const fn seconds<C>(column: C, api: ApiNames) -> RecordColumn<C> {
    number(column, NumberUnit::Seconds, api)
}

const fn of<C>(column: C, kind: FieldKind, api: ApiNames) -> RecordColumn<C> {
    RecordColumn::new(column, kind, api)
}

/// The fields of a trace.
pub static TRACE: RecordTable<T> = RecordTable {
    columns: &[
        text(T::Id, &["id"]).shown(F::Id).sorted(TraceOrder::Id),
        text(T::Name, &["name"]).shown(F::Name).sorted(TraceOrder::Name),
        of(T::Timestamp, FieldKind::Start, &["timestamp"])
            .listed(F::Time)
            .sorted(TraceOrder::Timestamp),
        text(T::User, &["userId"]).shown(F::User).sorted(TraceOrder::User),
        text(T::Session, &["sessionId"]).shown(F::Session).sorted(TraceOrder::Session),
        text(T::Environment, &["environment"]).shown(F::Environment),
        text(T::Version, &["version"]).shown(F::Version).sorted(TraceOrder::Version),
        text(T::Release, &["release"]).shown(F::Release).sorted(TraceOrder::Release),
        text(T::Agent, &["agent"]).shown(F::Agent),
        of(T::Tags, FieldKind::Tags, &["tags"]).shown(F::Tags),
        of(T::Bookmarked, FieldKind::Boolean, &["bookmarked"])
            .asked(F::Bookmarked)
            .sorted(TraceOrder::Bookmarked),
        of(T::Public, FieldKind::Boolean, &["public"]).asked(F::Public).sorted(TraceOrder::Public),
        of(T::Metadata, FieldKind::Object, &["metadata"]).listed(F::Metadata),
        of(T::Input, FieldKind::Payload, &["input"]).listed(F::Input),
        of(T::Output, FieldKind::Payload, &["output"]).listed(F::Output),
        seconds(T::Latency, &["latency"]).shown(F::Latency).sorted(TraceOrder::Latency),
        count(T::InputTokens, &["inputTokens"]).shown(F::InputTokens),
        count(T::OutputTokens, &["outputTokens"]).shown(F::OutputTokens),
        count(T::TotalTokens, &["totalTokens", "tokens"])
            .shown(F::Tokens)
            .sorted(TraceOrder::TotalTokens),
        dollars(T::Cost, &["totalCost"]).shown(F::Cost).sorted(TraceOrder::Cost),
        dollars(T::InputCost, &["inputCost"]),
        dollars(T::OutputCost, &["outputCost"]),
        of(T::Level, FieldKind::Choice, &["level"]).shown(F::Level),
        count(T::WarningCount, &["warningCount"]),
        count(T::ErrorCount, &["errorCount"]).shown(F::Errors),
        count(T::DefaultCount, &["defaultCount"]),
        count(T::DebugCount, &["debugCount"]),
        of(T::ScoreNumbers, FieldKind::ScoreNumbers, &["scores_avg", "scores"]),
        of(T::ScoreLabels, FieldKind::ScoreLabels, &["score_categories"]),
        of(T::ScoreTruths, FieldKind::ScoreBooleans, &["score_booleans"]),
        count(T::ObservationCount, &[]).shown(F::Observations),
        count(T::ScoreCount, &[]).asked(F::Scores),
        text(T::Models, &[]).asked(F::Model),
    ],
    usual: &[
        F::Name,
        F::Time,
        F::Latency,
        F::Tokens,
        F::Cost,
        F::Observations,
        F::User,
        F::Session,
        F::Environment,
        F::Tags,
    ],
};

/// The fields of an observation, those of its trace among them.
pub static OBSERVATION: RecordTable<O> = RecordTable {
    columns: &[
        text(O::Id, &["id"]).shown(F::Id),
        of(O::Kind, FieldKind::Choice, &["type"]).shown(F::Kind),
        text(O::Name, &["name"]).shown(F::Name).sorted(TraceOrder::Name),
        text(O::Trace, &["traceId"]).shown(F::Trace),
        text(O::Parent, &["parentObservationId"]).listed(F::Parent),
        of(O::Root, FieldKind::Boolean, &["isRootObservation"]).asked(F::Root),
        of(O::Start, FieldKind::Start, &["startTime"])
            .listed(F::Time)
            .sorted(TraceOrder::Timestamp),
        of(O::End, FieldKind::Time, &["endTime"]),
        text(O::Environment, &["environment"]).shown(F::Environment),
        of(O::Level, FieldKind::Choice, &["level"]).shown(F::Level),
        text(O::StatusMessage, &["statusMessage"]).shown(F::Status),
        text(O::Version, &["version"]).shown(F::Version),
        text(O::Agent, &["agent"]).shown(F::Agent),
        seconds(O::Latency, &["latency"]).shown(F::Latency).sorted(TraceOrder::Latency),
        seconds(O::TimeToFirstToken, &["timeToFirstToken"]).shown(F::FirstToken),
        number(O::TokensPerSecond, NumberUnit::Plain, &["tokensPerSecond"]),
        count(O::InputTokens, &["inputTokens"]).shown(F::InputTokens),
        count(O::OutputTokens, &["outputTokens"]).shown(F::OutputTokens),
        count(O::TotalTokens, &["totalTokens", "tokens"])
            .shown(F::Tokens)
            .sorted(TraceOrder::TotalTokens),
        dollars(O::Cost, &["totalCost"]).shown(F::Cost).sorted(TraceOrder::Cost),
        dollars(O::InputCost, &["inputCost"]),
        dollars(O::OutputCost, &["outputCost"]),
        text(O::Model, &["providedModelName", "model"]).shown(F::Model),
        text(O::PromptName, &["promptName"]).shown(F::Prompt),
        count(O::PromptVersion, &["promptVersion"]),
        of(O::Metadata, FieldKind::Object, &["metadata"]).listed(F::Metadata),
        of(O::Input, FieldKind::Payload, &["input"]).listed(F::Input),
        of(O::Output, FieldKind::Payload, &["output"]).listed(F::Output),
        text(O::TraceUser, &["userId"]).asked(F::User),
        text(O::TraceSession, &["sessionId"]).asked(F::Session),
        text(O::TraceName, &["traceName"]).asked(F::TraceName),
        text(O::TraceEnvironment, &["traceEnvironment"]),
        of(O::TraceTags, FieldKind::Tags, &["tags", "traceTags"]).asked(F::Tags),
        text(O::TraceRelease, &["release", "traceRelease"]).asked(F::Release),
        text(O::TraceVersion, &["traceVersion"]),
        of(O::TracePublic, FieldKind::Boolean, &["public"]).asked(F::Public),
        of(O::TraceBookmarked, FieldKind::Boolean, &["bookmarked"]).asked(F::Bookmarked),
        of(O::ScoreNumbers, FieldKind::ScoreNumbers, &["scores_avg", "scores"]),
        of(O::ScoreLabels, FieldKind::ScoreLabels, &["score_categories"]),
        of(O::ScoreTruths, FieldKind::ScoreBooleans, &["score_booleans"]),
        count(O::ScoreCount, &[]).asked(F::Scores),
    ],
    usual: &[
        F::Name,
        F::Time,
        F::Latency,
        F::Tokens,
        F::Cost,
        F::Model,
        F::Environment,
        F::Trace,
        F::Status,
    ],
};

/// The fields of a session.
pub static SESSION: RecordTable<SessionColumn> = RecordTable {
    columns: &[
        text(SessionColumn::Id, &["id"]).shown(F::Session),
        of(SessionColumn::FirstMessage, FieldKind::Payload, &[]).listed(F::FirstMessage),
        of(SessionColumn::CreatedAt, FieldKind::Start, &["createdAt"]).listed(F::Time),
        of(SessionColumn::LastActivity, FieldKind::Time, &["lastActivity"]).listed(F::LastActivity),
        text(SessionColumn::Environment, &["environment"]).shown(F::Environment),
        text(SessionColumn::Users, &["userIds", "userId"]).shown(F::User),
        count(SessionColumn::TraceCount, &["countTraces"]).shown(F::Traces),
        count(SessionColumn::ErrorCount, &["errorCount"]).shown(F::Errors),
        seconds(SessionColumn::Duration, &["sessionDuration"]).shown(F::Duration),
        count(SessionColumn::TotalTokens, &["totalTokens", "tokens"]).shown(F::Tokens),
        dollars(SessionColumn::Cost, &["totalCost"]).shown(F::Cost),
        count(SessionColumn::ScoreCount, &[]).asked(F::Scores),
        of(SessionColumn::ScoreNumbers, FieldKind::ScoreNumbers, &["scores_avg", "scores"]),
        of(SessionColumn::ScoreLabels, FieldKind::ScoreLabels, &["score_categories"]),
        of(SessionColumn::ScoreTruths, FieldKind::ScoreBooleans, &["score_booleans"]),
    ],
    usual: &[
        F::Session,
        F::FirstMessage,
        F::User,
        F::Traces,
        F::Duration,
        F::Tokens,
        F::Cost,
        F::Errors,
        F::LastActivity,
    ],
};

/// The fields of a score, those of its trace and observation among them. No list shows scores of
/// their own: the filters are those of charts.
pub static SCORE: RecordTable<S> = RecordTable {
    columns: &[
        text(S::Id, &["id"]).asked(F::Id),
        text(S::Name, &["name"]).asked(F::Name),
        of(S::Timestamp, FieldKind::Start, &["timestamp"]),
        of(S::DataType, FieldKind::Choice, &["dataType"]),
        number(S::Number, NumberUnit::Plain, &["value"]),
        text(S::Text, &["stringValue"]),
        of(S::Truth, FieldKind::Boolean, &["booleanValue"]),
        of(S::Source, FieldKind::Choice, &["source"]),
        text(S::Environment, &["environment"]).asked(F::Environment),
        text(S::Comment, &["comment"]),
        text(S::Author, &["authorUserId"]),
        text(S::Config, &["configId"]),
        text(S::Queue, &["queueId"]),
        text(S::Trace, &["traceId"]).asked(F::Trace),
        text(S::Observation, &["observationId"]),
        text(S::Session, &["sessionId"]).asked(F::Session),
        text(S::DatasetRun, &["datasetRunId"]),
        of(S::Metadata, FieldKind::Object, &["metadata"]),
        text(S::TraceName, &["traceName"]).asked(F::TraceName),
        text(S::TraceUser, &["userId"]).asked(F::User),
        of(S::TraceTags, FieldKind::Tags, &["tags", "traceTags"]).asked(F::Tags),
        text(S::TraceRelease, &["release", "traceRelease"]).asked(F::Release),
        text(S::TraceVersion, &["traceVersion"]).asked(F::Version),
        text(S::ObservationName, &["observationName"]),
        text(S::ObservationModel, &["observationModelName"]).asked(F::Model),
        text(S::ObservationPromptName, &["observationPromptName"]).asked(F::Prompt),
        count(S::ObservationPromptVersion, &["observationPromptVersion"]),
    ],
    usual: &[],
};
