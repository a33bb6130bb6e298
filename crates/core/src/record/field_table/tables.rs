use super::{
    FieldKind, NumberUnit, ObservationColumn as O, RecordColumn, RecordField as F, RecordTable,
    ScoreColumn as S, SessionColumn, SessionOrder, TraceColumn as T, TraceOrder,
};

type ApiNames = &'static [&'static str];

const fn text<C, O: Copy>(column: C, api: ApiNames) -> RecordColumn<C, O> {
    RecordColumn::new(column, FieldKind::Text, api)
}

const fn number<C, O: Copy>(column: C, unit: NumberUnit, api: ApiNames) -> RecordColumn<C, O> {
    RecordColumn::new(column, FieldKind::Number(unit), api)
}

const fn count<C, O: Copy>(column: C, api: ApiNames) -> RecordColumn<C, O> {
    number(column, NumberUnit::Count, api)
}

const fn dollars<C, O: Copy>(column: C, api: ApiNames) -> RecordColumn<C, O> {
    number(column, NumberUnit::Dollars, api)
}

const fn seconds<C, O: Copy>(column: C, api: ApiNames) -> RecordColumn<C, O> {
    number(column, NumberUnit::Seconds, api)
}

const fn of<C, O: Copy>(column: C, kind: FieldKind, api: ApiNames) -> RecordColumn<C, O> {
    RecordColumn::new(column, kind, api)
}

/// The fields of a trace.
pub static TRACE: RecordTable<T> = RecordTable {
    columns: &[
        text(T::Id, &["id"]).column_and_filter(F::Id).sorted(TraceOrder::Id),
        text(T::Name, &["name"]).column_and_filter(F::Name).sorted(TraceOrder::Name),
        of(T::Timestamp, FieldKind::Start, &["timestamp"])
            .column_only(F::Time)
            .sorted(TraceOrder::Timestamp),
        text(T::User, &["userId"]).column_and_filter(F::User).sorted(TraceOrder::User),
        text(T::Session, &["sessionId"]).column_and_filter(F::Session).sorted(TraceOrder::Session),
        text(T::Environment, &["environment"]).column_and_filter(F::Environment),
        text(T::Version, &["version"]).column_and_filter(F::Version).sorted(TraceOrder::Version),
        text(T::Release, &["release"]).column_and_filter(F::Release).sorted(TraceOrder::Release),
        text(T::Agent, &["agent"]).column_and_filter(F::Agent),
        of(T::Tags, FieldKind::Tags, &["tags"]).column_and_filter(F::Tags),
        of(T::Bookmarked, FieldKind::Boolean, &["bookmarked"])
            .filter_only(F::Bookmarked)
            .sorted(TraceOrder::Bookmarked),
        of(T::Public, FieldKind::Boolean, &["public"])
            .filter_only(F::Public)
            .sorted(TraceOrder::Public),
        of(T::Metadata, FieldKind::Object, &["metadata"]).column_only(F::Metadata),
        of(T::Input, FieldKind::Payload, &["input"]).column_only(F::Input),
        of(T::Output, FieldKind::Payload, &["output"]).column_only(F::Output),
        seconds(T::Latency, &["latency"]).column_and_filter(F::Latency).sorted(TraceOrder::Latency),
        count(T::InputTokens, &["inputTokens"]).column_and_filter(F::InputTokens),
        count(T::OutputTokens, &["outputTokens"]).column_and_filter(F::OutputTokens),
        count(T::TotalTokens, &["totalTokens", "tokens"])
            .column_and_filter(F::Tokens)
            .sorted(TraceOrder::TotalTokens),
        dollars(T::Cost, &["totalCost"]).column_and_filter(F::Cost).sorted(TraceOrder::Cost),
        dollars(T::InputCost, &["inputCost"]),
        dollars(T::OutputCost, &["outputCost"]),
        of(T::Level, FieldKind::Choice, &["level"]).column_and_filter(F::Level),
        count(T::WarningCount, &["warningCount"]),
        count(T::ErrorCount, &["errorCount"]).column_and_filter(F::Errors),
        count(T::DefaultCount, &["defaultCount"]),
        count(T::DebugCount, &["debugCount"]),
        of(T::ScoreNumbers, FieldKind::ScoreNumbers, &["scores_avg", "scores"]),
        of(T::ScoreLabels, FieldKind::ScoreLabels, &["score_categories"]),
        of(T::ScoreBooleans, FieldKind::ScoreBooleans, &["score_booleans"]),
        count(T::ObservationCount, &[]).column_and_filter(F::Observations),
        count(T::ScoreCount, &[]).filter_only(F::Scores),
        text(T::Models, &[]).filter_only(F::Model),
    ],
    default_columns: &[
        F::Name,
        F::Time,
        F::Input,
        F::Output,
        F::Latency,
        F::Tokens,
        F::Cost,
        F::User,
        F::Session,
        F::Tags,
    ],
};

/// The fields of an observation, those of its trace among them.
pub static OBSERVATION: RecordTable<O> = RecordTable {
    columns: &[
        text(O::Id, &["id"]).column_and_filter(F::Id),
        of(O::Kind, FieldKind::Choice, &["type"]).column_and_filter(F::Kind),
        text(O::Name, &["name"]).column_and_filter(F::Name).sorted(TraceOrder::Name),
        text(O::Trace, &["traceId"]).column_and_filter(F::Trace),
        text(O::Parent, &["parentObservationId"]).column_only(F::Parent),
        of(O::Root, FieldKind::Boolean, &["isRootObservation"]).filter_only(F::Root),
        of(O::Start, FieldKind::Start, &["startTime"])
            .column_only(F::Time)
            .sorted(TraceOrder::Timestamp),
        of(O::End, FieldKind::Time, &["endTime"]),
        text(O::Environment, &["environment"]).column_and_filter(F::Environment),
        of(O::Level, FieldKind::Choice, &["level"]).column_and_filter(F::Level),
        text(O::StatusMessage, &["statusMessage"]).column_and_filter(F::Status),
        text(O::Version, &["version"]).column_and_filter(F::Version),
        text(O::Agent, &["agent"]).column_and_filter(F::Agent),
        seconds(O::Latency, &["latency"]).column_and_filter(F::Latency).sorted(TraceOrder::Latency),
        seconds(O::TimeToFirstToken, &["timeToFirstToken"]).column_and_filter(F::FirstToken),
        number(O::TokensPerSecond, NumberUnit::Plain, &["tokensPerSecond"]),
        count(O::InputTokens, &["inputTokens"]).column_and_filter(F::InputTokens),
        count(O::OutputTokens, &["outputTokens"]).column_and_filter(F::OutputTokens),
        count(O::TotalTokens, &["totalTokens", "tokens"])
            .column_and_filter(F::Tokens)
            .sorted(TraceOrder::TotalTokens),
        dollars(O::Cost, &["totalCost"]).column_and_filter(F::Cost).sorted(TraceOrder::Cost),
        dollars(O::InputCost, &["inputCost"]),
        dollars(O::OutputCost, &["outputCost"]),
        text(O::Model, &["providedModelName", "model"]).column_and_filter(F::Model),
        text(O::PromptName, &["promptName"]).column_and_filter(F::Prompt),
        count(O::PromptVersion, &["promptVersion"]),
        of(O::Metadata, FieldKind::Object, &["metadata"]).column_only(F::Metadata),
        of(O::Input, FieldKind::Payload, &["input"]).column_only(F::Input),
        of(O::Output, FieldKind::Payload, &["output"]).column_only(F::Output),
        text(O::TraceUser, &["userId"]).filter_only(F::User),
        text(O::TraceSession, &["sessionId"]).filter_only(F::Session),
        text(O::TraceName, &["traceName"]).filter_only(F::TraceName),
        text(O::TraceEnvironment, &["traceEnvironment"]),
        of(O::TraceTags, FieldKind::Tags, &["tags", "traceTags"]).filter_only(F::Tags),
        text(O::TraceRelease, &["release", "traceRelease"]).filter_only(F::Release),
        text(O::TraceVersion, &["traceVersion"]),
        of(O::TracePublic, FieldKind::Boolean, &["public"]).filter_only(F::Public),
        of(O::TraceBookmarked, FieldKind::Boolean, &["bookmarked"]).filter_only(F::Bookmarked),
        of(O::ScoreNumbers, FieldKind::ScoreNumbers, &["scores_avg", "scores"]),
        of(O::ScoreLabels, FieldKind::ScoreLabels, &["score_categories"]),
        of(O::ScoreBooleans, FieldKind::ScoreBooleans, &["score_booleans"]),
        count(O::ScoreCount, &[]).filter_only(F::Scores),
    ],
    default_columns: &[
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
pub static SESSION: RecordTable<SessionColumn, SessionOrder> = RecordTable {
    columns: &[
        text(SessionColumn::Id, &["id"]).column_and_filter(F::Session).sorted(SessionOrder::Id),
        of(SessionColumn::FirstMessage, FieldKind::Payload, &[]).column_only(F::FirstMessage),
        of(SessionColumn::LastOutput, FieldKind::Payload, &[]).column_only(F::Output),
        of(SessionColumn::CreatedAt, FieldKind::Start, &["createdAt"])
            .column_only(F::Time)
            .sorted(SessionOrder::CreatedAt),
        of(SessionColumn::LastActivity, FieldKind::Time, &["lastActivity"])
            .column_only(F::LastActivity)
            .sorted(SessionOrder::LastActivity),
        text(SessionColumn::Environment, &["environment"]).column_and_filter(F::Environment),
        text(SessionColumn::Users, &["userIds", "userId"]).column_and_filter(F::User),
        text(SessionColumn::Agents, &["agent"]).column_and_filter(F::Agent),
        text(SessionColumn::Releases, &["release"]).column_and_filter(F::Release),
        of(SessionColumn::Tags, FieldKind::Tags, &["tags"]).filter_only(F::Tags),
        of(SessionColumn::Bookmarked, FieldKind::Boolean, &[]).filter_only(F::Bookmarked),
        count(SessionColumn::TraceCount, &["countTraces"])
            .column_and_filter(F::Traces)
            .sorted(SessionOrder::TraceCount),
        count(SessionColumn::ErrorCount, &["errorCount"])
            .column_and_filter(F::Errors)
            .sorted(SessionOrder::ErrorCount),
        seconds(SessionColumn::Duration, &["sessionDuration"])
            .column_and_filter(F::Duration)
            .sorted(SessionOrder::Duration),
        count(SessionColumn::TotalTokens, &["totalTokens", "tokens"])
            .column_and_filter(F::Tokens)
            .sorted(SessionOrder::TotalTokens),
        dollars(SessionColumn::Cost, &["totalCost"])
            .column_and_filter(F::Cost)
            .sorted(SessionOrder::Cost),
        count(SessionColumn::ScoreCount, &[]).filter_only(F::Scores),
        of(SessionColumn::ScoreNumbers, FieldKind::ScoreNumbers, &["scores_avg", "scores"]),
        of(SessionColumn::ScoreLabels, FieldKind::ScoreLabels, &["score_categories"]),
        of(SessionColumn::ScoreBooleans, FieldKind::ScoreBooleans, &["score_booleans"]),
    ],
    default_columns: &[
        F::FirstMessage,
        F::Output,
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
        text(S::Id, &["id"]).filter_only(F::Id),
        text(S::Name, &["name"]).filter_only(F::Name),
        of(S::Timestamp, FieldKind::Start, &["timestamp"]),
        of(S::DataType, FieldKind::Choice, &["dataType"]),
        number(S::Number, NumberUnit::Plain, &["value"]),
        text(S::Text, &["stringValue"]),
        of(S::Truth, FieldKind::Boolean, &["booleanValue"]),
        of(S::Source, FieldKind::Choice, &["source"]),
        text(S::Environment, &["environment"]).filter_only(F::Environment),
        text(S::Comment, &["comment"]),
        text(S::Author, &["authorUserId"]),
        text(S::Config, &["configId"]),
        text(S::Queue, &["queueId"]),
        text(S::Trace, &["traceId"]).filter_only(F::Trace),
        text(S::Observation, &["observationId"]),
        text(S::Session, &["sessionId"]).filter_only(F::Session),
        text(S::DatasetRun, &["datasetRunId"]),
        of(S::Metadata, FieldKind::Object, &["metadata"]),
        text(S::TraceName, &["traceName"]).filter_only(F::TraceName),
        text(S::TraceUser, &["userId"]).filter_only(F::User),
        of(S::TraceTags, FieldKind::Tags, &["tags", "traceTags"]).filter_only(F::Tags),
        text(S::TraceRelease, &["release", "traceRelease"]).filter_only(F::Release),
        text(S::TraceVersion, &["traceVersion"]).filter_only(F::Version),
        text(S::ObservationName, &["observationName"]),
        text(S::ObservationModel, &["observationModelName"]).filter_only(F::Model),
        text(S::ObservationPromptName, &["observationPromptName"]).filter_only(F::Prompt),
        count(S::ObservationPromptVersion, &["observationPromptVersion"]),
    ],
    default_columns: &[],
};
