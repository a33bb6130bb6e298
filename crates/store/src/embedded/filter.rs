//! Compiles typed conditions to SQL. Texts and numbers are always bound as parameters.

use std::collections::BTreeSet;

use ratchet_core::id::{Id, StoredId};
use ratchet_core::record::observation::{Level, ObservationKind};
use ratchet_core::record::score::DataType;
use ratchet_core::time::Timestamp;
use rusqlite::types::Value;

use crate::query::{
    Compare, Condition, ObservationColumn, ScoreColumn, SessionColumn, Test, TextTest, TimeRange,
    TraceColumn,
};
use crate::{StoreError, StoreResult};
use member_columns::Members;
use score_columns::Judged;

/// Columns of a score.
pub(super) mod score;
/// Score columns of traces and observations.
mod score_columns;
/// Columns of a session.
pub(super) mod session;
/// Columns of the records that belong to one: models of a trace, users of a session.
mod member_columns;

/// A growing WHERE clause and its parameters.
#[derive(Clone, Debug, Default)]
pub(super) struct Where {
    pub(super) clauses: Vec<String>,
    pub(super) params: Vec<Value>,
    /// Conditions on payloads, which SQL cannot evaluate.
    pub(super) content: Vec<(ContentPart, Test)>,
}

/// A payload field of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContentPart {
    Input,
    Output,
    Metadata,
}

/// The type of a filter column.
pub(super) enum Kind {
    Text(String),
    Id(&'static str),
    Number(&'static str),
    Time(&'static str),
    Flag(&'static str),
    Tags(&'static str),
    Content(ContentPart),
    Judged(Judged),
    Members(Members),
}

/// How the values of a counted column are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FacetForm {
    /// One text.
    One,
    /// A JSON array of texts.
    Many,
}

/// How to read a selected column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Number,
    Flag,
}

impl Kind {
    /// SQL to select the values of the column, as a text or a JSON array of texts, and which of
    /// both; `None` if it has none that can be counted.
    pub(super) fn facet(self) -> Option<(String, FacetForm)> {
        match self {
            Self::Text(sql) => Some((sql, FacetForm::One)),
            Self::Tags(sql) => Some((sql.to_owned(), FacetForm::Many)),
            Self::Members(members) => Some((members.shown(), FacetForm::Many)),
            Self::Id(_)
            | Self::Number(_)
            | Self::Time(_)
            | Self::Flag(_)
            | Self::Content(_)
            | Self::Judged(_) => None,
        }
    }

    /// SQL to select the column; `None` if it cannot be selected.
    pub(super) fn shown(self) -> Option<(String, Form)> {
        match self {
            Self::Text(sql) => Some((sql, Form::Text)),
            Self::Id(sql) => Some((id_text(sql), Form::Text)),
            Self::Tags(sql) => Some((sql.to_owned(), Form::Text)),
            Self::Number(sql) => Some((sql.to_owned(), Form::Number)),
            Self::Flag(sql) => Some((sql.to_owned(), Form::Flag)),
            Self::Time(_) | Self::Content(_) | Self::Judged(_) | Self::Members(_) => None,
        }
    }
}

impl Where {
    /// Adds a clause with one parameter for each `?` in it.
    pub(super) fn and(
        &mut self,
        clause: impl Into<String>,
        params: impl IntoIterator<Item = Value>,
    ) {
        self.clauses.push(clause.into());
        self.params.extend(params);
    }

    /// Adds a time range on a column.
    pub(super) fn within(&mut self, column: &str, range: TimeRange) {
        if let Some(from) = range.from {
            self.and(format!("{column} >= ?"), [from.nanos().into()]);
        }
        if let Some(to) = range.to {
            self.and(format!("{column} < ?"), [to.nanos().into()]);
        }
    }

    /// Adds conditions on traces `t`.
    pub(super) fn traces(&mut self, conditions: &[Condition<TraceColumn>]) -> StoreResult<()> {
        check_size(conditions)?;
        conditions.iter().try_for_each(|condition| {
            self.test(trace_kind(condition.column), &condition.test, &condition.column)
        })
    }

    /// Adds conditions on observations `o` and their traces `t`.
    pub(super) fn observations(
        &mut self,
        conditions: &[Condition<ObservationColumn>],
    ) -> StoreResult<()> {
        check_size(conditions)?;
        conditions.iter().try_for_each(|condition| {
            self.test(observation_kind(condition.column), &condition.test, &condition.column)
        })
    }

    /// Adds conditions on sessions `s`.
    pub(super) fn sessions(&mut self, conditions: &[Condition<SessionColumn>]) -> StoreResult<()> {
        check_size(conditions)?;
        conditions.iter().try_for_each(|condition| {
            self.test(session::kind(condition.column)?, &condition.test, &condition.column)
        })
    }

    /// Adds conditions on scores `s` and their traces `t`.
    pub(super) fn scores(&mut self, conditions: &[Condition<ScoreColumn>]) -> StoreResult<()> {
        check_size(conditions)?;
        conditions.iter().try_for_each(|condition| {
            self.test(score::kind(condition.column), &condition.test, &condition.column)
        })
    }

    /// Adds an "in any of these environments" condition.
    pub(super) fn any_environment(&mut self, column: &str, environments: &[String]) {
        self.any_of(&format!("coalesce({column}, 'default')"), environments, text_value);
    }

    /// The clause, including `WHERE`.
    pub(super) fn sql(&self) -> String {
        format!("WHERE {}", self.clauses.join(" AND "))
    }

    fn test(&mut self, kind: Kind, test: &Test, column: &impl std::fmt::Debug) -> StoreResult<()> {
        match (kind, test) {
            (Kind::Content(part), test) => self.content.push((part, test.clone())),
            (Kind::Judged(judged), test) if judged.takes(test) => self.judged(judged, test),
            (Kind::Members(members), test) if Members::takes(test) => self.members(members, test),
            (Kind::Text(sql), Test::IsNull) => self.and(format!("{sql} IS NULL"), []),
            (Kind::Text(sql), Test::IsNotNull) => self.and(format!("{sql} IS NOT NULL"), []),
            (
                Kind::Id(sql)
                | Kind::Number(sql)
                | Kind::Time(sql)
                | Kind::Flag(sql)
                | Kind::Tags(sql),
                Test::IsNull,
            ) => self.and(format!("{sql} IS NULL"), []),
            (
                Kind::Id(sql)
                | Kind::Number(sql)
                | Kind::Time(sql)
                | Kind::Flag(sql)
                | Kind::Tags(sql),
                Test::IsNotNull,
            ) => self.and(format!("{sql} IS NOT NULL"), []),
            (Kind::Text(sql), Test::Text(how, text)) => self.text(&sql, *how, text),
            (Kind::Text(sql), Test::AnyOf(words)) => self.any_of(&sql, words, text_value),
            (Kind::Text(sql), Test::NoneOf(words)) => self.none_of(&sql, words, text_value),
            (Kind::Id(sql), Test::Text(TextTest::Equals, text)) => {
                self.and(format!("{sql} = ?"), [id_value(text)]);
            }
            (Kind::Id(sql), Test::Text(how, text)) => self.text(&id_text(sql), *how, text),
            (Kind::Id(sql), Test::AnyOf(words)) => self.any_of(sql, words, id_value),
            (Kind::Id(sql), Test::NoneOf(words)) => self.none_of(sql, words, id_value),
            (Kind::Number(sql), Test::Number(how, number)) => {
                self.and(comparison(sql, *how), [(*number).into()]);
            }
            (Kind::Number(sql), Test::AnyNumber(numbers)) => {
                let marks = vec!["?"; numbers.len()].join(", ");
                self.and(format!("{sql} IN ({marks})"), numbers.iter().map(|n| Value::Real(*n)));
            }
            (Kind::Time(sql), Test::Time(how, time)) => {
                self.and(comparison(sql, *how), [Timestamp::nanos(*time).into()]);
            }
            (Kind::Flag(sql), Test::Is(yes)) => self.and(format!("{sql} = ?"), [(*yes).into()]),
            (Kind::Tags(sql), Test::AnyOf(words)) => self.tags(sql, words, "> 0"),
            (Kind::Tags(sql), Test::NoneOf(words)) => self.tags(sql, words, "= 0"),
            (Kind::Tags(sql), Test::AllOf(words)) => {
                // One clause for all values: SQLite limits expression depth.
                let distinct: BTreeSet<_> = words.iter().cloned().collect();
                let distinct: Vec<_> = distinct.into_iter().collect();
                self.tags(sql, &distinct, &format!("= {}", distinct.len()));
            }
            (_, test) => {
                let why = format!("the column {column:?} does not support the condition {test:?}");
                return Err(StoreError::BadQuery(why));
            }
        }
        Ok(())
    }

    fn text(&mut self, sql: &str, how: TextTest, text: &str) {
        self.and(text_clause(sql, how, text), [text_value(text)]);
    }

    fn any_of(&mut self, sql: &str, words: &[String], value: fn(&str) -> Value) {
        self.and(format!("{sql} IN ({})", marks(words)), words.iter().map(|word| value(word)));
    }

    fn none_of(&mut self, sql: &str, words: &[String], value: fn(&str) -> Value) {
        let clause = format!("coalesce({sql} NOT IN ({}), 1)", marks(words));
        self.and(clause, words.iter().map(|word| value(word)));
    }

    fn tags(&mut self, sql: &str, words: &[String], how_many: &str) {
        let count =
            format!("SELECT count(*) FROM json_each({sql}) WHERE value IN ({})", marks(words));
        self.and(format!("({count}) {how_many}"), words.iter().map(|word| text_value(word)));
    }
}

/// A condition on a text, with one parameter.
fn text_clause(sql: &str, how: TextTest, text: &str) -> String {
    match how {
        TextTest::Equals => format!("{sql} = ?"),
        TextTest::Differs => format!("coalesce({sql} <> ?, 1)"),
        TextTest::Contains => format!("instr({sql}, ?) > 0"),
        TextTest::Lacks => format!("coalesce(instr({sql}, ?) = 0, 1)"),
        TextTest::Matches => format!("instr(fold({sql}), fold(?)) > 0"),
        TextTest::Misses => format!("coalesce(instr(fold({sql}), fold(?)) = 0, 1)"),
        TextTest::StartsWith => format!("substr({sql}, 1, {}) = ?", text.chars().count()),
        TextTest::EndsWith => match text.chars().count() {
            0 => format!("{sql} IS NOT NULL AND ? IS NOT NULL"),
            length => format!("substr({sql}, -{length}) = ?"),
        },
    }
}

/// Maximum number of conditions; SQLite takes about a thousand clauses.
const MAX_CONDITIONS: usize = 500;
/// Maximum number of values; SQLite takes about thirty-two thousand parameters.
const MAX_WORDS: usize = 30_000;

fn check_size<C>(conditions: &[Condition<C>]) -> StoreResult<()> {
    if conditions.len() > MAX_CONDITIONS {
        let why = format!("{} conditions, at most {MAX_CONDITIONS} are allowed", conditions.len());
        return Err(StoreError::BadQuery(why));
    }
    let words: usize = conditions.iter().map(|condition| words_in(&condition.test)).sum();
    if words > MAX_WORDS {
        let why = format!("conditions with {words} values, at most {MAX_WORDS} are allowed");
        return Err(StoreError::BadQuery(why));
    }
    Ok(())
}

fn words_in(test: &Test) -> usize {
    match test {
        Test::AnyOf(words) | Test::NoneOf(words) | Test::AllOf(words) => words.len(),
        Test::AnyNumber(numbers) => numbers.len(),
        Test::Key(_, test) => words_in(test),
        Test::Text(..)
        | Test::Number(..)
        | Test::Time(..)
        | Test::Is(_)
        | Test::IsNull
        | Test::IsNotNull => 1,
    }
}

fn marks(words: &[String]) -> String {
    vec!["?"; words.len()].join(", ")
}

fn text_value(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// An id in its stored form; a malformed id matches none.
pub(super) fn id_value(text: &str) -> Value {
    match Id::<()>::parse(text).as_ref().map(Id::stored) {
        Ok(StoredId::Bytes(bytes)) => Value::Blob(bytes.to_vec()),
        Ok(StoredId::Text(text)) => Value::Text(text.to_owned()),
        Err(_) => Value::Null,
    }
}

fn id_text(sql: &str) -> String {
    format!("CASE typeof({sql}) WHEN 'blob' THEN lower(hex({sql})) ELSE {sql} END")
}

fn comparison(sql: &str, how: Compare) -> String {
    match how {
        Compare::Equal => format!("{sql} = ?"),
        // NULL is not equal to anything.
        Compare::Unequal => format!("coalesce({sql} <> ?, 1)"),
        Compare::Greater => format!("{sql} > ?"),
        Compare::AtLeast => format!("{sql} >= ?"),
        Compare::Less => format!("{sql} < ?"),
        Compare::AtMost => format!("{sql} <= ?"),
    }
}

fn plain(sql: &str) -> Kind {
    Kind::Text(sql.to_owned())
}

fn environment(sql: &str) -> Kind {
    Kind::Text(format!("coalesce({sql}, 'default')"))
}

fn words(sql: &str, words: impl Iterator<Item = &'static str>) -> Kind {
    let cases: String =
        words.enumerate().map(|(number, word)| format!(" WHEN {number} THEN '{word}'")).collect();
    Kind::Text(format!("CASE {sql}{cases} END"))
}

/// SQL of a trace column; the trace is `t`.
pub(super) fn trace_kind(column: TraceColumn) -> Kind {
    match column {
        TraceColumn::Id => Kind::Id("t.id"),
        TraceColumn::Timestamp => Kind::Time("t.timestamp"),
        TraceColumn::Name => plain("t.name"),
        TraceColumn::User => plain("t.user"),
        TraceColumn::Session => Kind::Id("t.session"),
        TraceColumn::Release => plain("t.release"),
        TraceColumn::Version => plain("t.version"),
        TraceColumn::Environment => environment("t.environment"),
        TraceColumn::Agent => plain("t.agent"),
        TraceColumn::Tags => Kind::Tags("t.tags"),
        TraceColumn::Public => Kind::Flag("coalesce(t.public, 0)"),
        TraceColumn::Bookmarked => Kind::Flag("coalesce(t.bookmarked, 0)"),
        TraceColumn::Metadata => Kind::Content(ContentPart::Metadata),
        TraceColumn::Input => Kind::Content(ContentPart::Input),
        TraceColumn::Output => Kind::Content(ContentPart::Output),
        TraceColumn::Level => plain(
            "CASE WHEN t.errors > 0 THEN 'ERROR' WHEN t.warnings > 0 THEN 'WARNING' \
             WHEN t.defaults > 0 OR t.debugs = 0 THEN 'DEFAULT' ELSE 'DEBUG' END",
        ),
        TraceColumn::ObservationCount => {
            Kind::Number("(t.debugs + t.defaults + t.warnings + t.errors)")
        }
        TraceColumn::ScoreCount => Kind::Number(
            "(SELECT count(*) FROM score s WHERE s.project = t.project AND s.trace = t.id)",
        ),
        TraceColumn::ScoreNumbers => score_columns::of_trace(DataType::Numeric),
        TraceColumn::ScoreLabels => score_columns::of_trace(DataType::Categorical),
        TraceColumn::ScoreBooleans => score_columns::of_trace(DataType::Boolean),
        TraceColumn::DebugCount => Kind::Number("t.debugs"),
        TraceColumn::DefaultCount => Kind::Number("t.defaults"),
        TraceColumn::WarningCount => Kind::Number("t.warnings"),
        TraceColumn::ErrorCount => Kind::Number("t.errors"),
        TraceColumn::Latency => Kind::Number("((t.end - t.start) / 1e9)"),
        TraceColumn::InputTokens => Kind::Number("t.input_tokens"),
        TraceColumn::OutputTokens => Kind::Number("t.output_tokens"),
        TraceColumn::TotalTokens => Kind::Number("t.total_tokens"),
        TraceColumn::InputCost => Kind::Number(
            "((SELECT sum(input_cost(costs)) FROM observation WHERE trace = t.no) / 1e12)",
        ),
        TraceColumn::OutputCost => Kind::Number(
            "((SELECT sum(output_cost(costs)) FROM observation WHERE trace = t.no) / 1e12)",
        ),
        TraceColumn::Models => {
            Kind::Members(Members { rows: "observation m WHERE m.trace = t.no", column: "m.model" })
        }
        TraceColumn::ApproximateCost => Kind::Number("(t.approximate_cost / 1e12)"),
        TraceColumn::Cost => Kind::Number("CASE WHEN t.costs_known > 0 THEN t.cost / 1e12 END"),
    }
}

/// Whether an observation column belongs to its trace.
pub(super) fn is_of_trace(column: ObservationColumn) -> bool {
    matches!(
        column,
        ObservationColumn::Trace
            | ObservationColumn::Agent
            | ObservationColumn::ScoreCount
            | ObservationColumn::ScoreNumbers
            | ObservationColumn::ScoreLabels
            | ObservationColumn::ScoreBooleans
            | ObservationColumn::TraceName
            | ObservationColumn::TraceUser
            | ObservationColumn::TraceSession
            | ObservationColumn::TraceTags
            | ObservationColumn::TraceEnvironment
            | ObservationColumn::TraceRelease
            | ObservationColumn::TraceVersion
            | ObservationColumn::TracePublic
            | ObservationColumn::TraceBookmarked
    )
}

const TO_FIRST_TOKEN: &str = "((o.completion_start - o.start) / 1e9)";
const FROM_FIRST_TOKEN: &str = "((max(o.end, o.start) - o.completion_start) / 1e9)";
const SCORES_OF_OBSERVATION: &str = "(SELECT count(*) FROM score s \
     WHERE s.project = o.project AND s.trace = t.id AND s.observation = o.id)";

/// The agent of an observation is that of its trace: only a few spans name one, and the cost of the
/// others is the agent's too. Sub-agents work for the agent of the trace.
const AGENT: &str = "coalesce(nullif(t.agent, ''), o.agent)";

/// SQL of an observation column; the observation is `o`, its trace `t`.
pub(super) fn observation_kind(column: ObservationColumn) -> Kind {
    match column {
        ObservationColumn::Id => Kind::Id("o.id"),
        ObservationColumn::Trace => Kind::Id("t.id"),
        ObservationColumn::Kind => {
            words("o.kind", ObservationKind::ALL.into_iter().map(ObservationKind::as_str))
        }
        ObservationColumn::Name => plain("o.name"),
        ObservationColumn::Parent => Kind::Id("o.parent"),
        ObservationColumn::Root => Kind::Flag("(o.app_root OR o.parent IS NULL)"),
        ObservationColumn::Start => Kind::Time("o.start"),
        ObservationColumn::End => Kind::Time("max(o.end, o.start)"),
        ObservationColumn::Level => words("o.level", Level::ALL.into_iter().map(Level::as_str)),
        ObservationColumn::StatusMessage => plain("o.status_message"),
        ObservationColumn::Version => plain("o.version"),
        ObservationColumn::Environment => environment("o.environment"),
        ObservationColumn::Agent => plain(AGENT),
        ObservationColumn::Model => plain("o.model"),
        ObservationColumn::PromptName => plain("o.prompt_name"),
        ObservationColumn::PromptVersion => Kind::Number("o.prompt_version"),
        ObservationColumn::Metadata => Kind::Content(ContentPart::Metadata),
        ObservationColumn::Input => Kind::Content(ContentPart::Input),
        ObservationColumn::Output => Kind::Content(ContentPart::Output),
        ObservationColumn::Latency => Kind::Number("((max(o.end, o.start) - o.start) / 1e9)"),
        ObservationColumn::TimeToFirstToken => Kind::Number(TO_FIRST_TOKEN),
        ObservationColumn::TokensPerSecond => {
            Kind::Number("(o.output_tokens / nullif((max(o.end, o.start) - o.start) / 1e9, 0))")
        }
        ObservationColumn::StreamingLatency => Kind::Number(FROM_FIRST_TOKEN),
        ObservationColumn::StreamedTokensPerSecond => Kind::Number(
            "(o.output_tokens / nullif((max(o.end, o.start) - o.completion_start) / 1e9, 0))",
        ),
        ObservationColumn::TotalTokensPerSecond => {
            Kind::Number("(o.total_tokens / nullif((max(o.end, o.start) - o.start) / 1e9, 0))")
        }
        ObservationColumn::ScoreCount => Kind::Number(SCORES_OF_OBSERVATION),
        ObservationColumn::ScoreNumbers => score_columns::of_observation(DataType::Numeric),
        ObservationColumn::ScoreLabels => score_columns::of_observation(DataType::Categorical),
        ObservationColumn::ScoreBooleans => score_columns::of_observation(DataType::Boolean),
        ObservationColumn::InputTokens => Kind::Number("o.input_tokens"),
        ObservationColumn::OutputTokens => Kind::Number("o.output_tokens"),
        ObservationColumn::TotalTokens => Kind::Number("o.total_tokens"),
        ObservationColumn::Cost => Kind::Number("(o.cost / 1e12)"),
        ObservationColumn::ApproximateCost => Kind::Number(
            "(CASE WHEN o.pricing_tier IS NOT NULL AND is_counted(o.stamps) \
             THEN coalesce(o.cost, 0) ELSE 0 END / 1e12)",
        ),
        ObservationColumn::InputCost => Kind::Number("(input_cost(o.costs) / 1e12)"),
        ObservationColumn::OutputCost => Kind::Number("(output_cost(o.costs) / 1e12)"),
        ObservationColumn::TraceName => plain("t.name"),
        ObservationColumn::TraceUser => plain("t.user"),
        ObservationColumn::TraceSession => Kind::Id("t.session"),
        ObservationColumn::TraceTags => Kind::Tags("t.tags"),
        ObservationColumn::TraceEnvironment => environment("t.environment"),
        ObservationColumn::TraceRelease => plain("t.release"),
        ObservationColumn::TraceVersion => plain("t.version"),
        ObservationColumn::TracePublic => Kind::Flag("coalesce(t.public, 0)"),
        ObservationColumn::TraceBookmarked => Kind::Flag("coalesce(t.bookmarked, 0)"),
    }
}
