//! The fields of records: one table per record, from which filters of the API, the filter language
//! and the columns of lists, and exports derive.
//!
//! To add a field: a column (`TraceColumn` …) with its SQL in the store, a row in the table of its
//! record, and, if lists show it or filter by it, a `RecordField` with a row in `FIELDS` and the value
//! of its cell.

use crate::catalog::filter::FilterKind;

mod columns;
mod tables;

pub use columns::{
    ObservationColumn, ScoreColumn, SessionColumn, SessionOrder, TraceColumn, TraceOrder,
};
pub use tables::{OBSERVATION, SCORE, SESSION, TRACE};

/// A field of lists: a column, a filter or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordField {
    Name,
    Time,
    FirstMessage,
    Kind,
    Level,
    Latency,
    Duration,
    FirstToken,
    Tokens,
    InputTokens,
    OutputTokens,
    Cost,
    Traces,
    Observations,
    Errors,
    Scores,
    Model,
    User,
    Session,
    Environment,
    Agent,
    Tags,
    Status,
    Prompt,
    Release,
    Version,
    Trace,
    TraceName,
    Parent,
    Id,
    Input,
    Output,
    Metadata,
    Bookmarked,
    Public,
    Root,
    LastActivity,
}

/// What a field is called and what its values are, the same for every record that has it.
#[derive(Clone, Copy, Debug)]
pub struct FieldFacts {
    pub field: RecordField,
    /// On pages.
    pub label: &'static str,
    /// In the filter language of lists; `None` if lists cannot filter by it.
    pub filter: Option<&'static str>,
    /// In exports and in addresses of lists; `None` if it is no column.
    pub column: Option<&'static str>,
    pub kind: FieldKind,
}

/// What the values of a field are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    Text,
    /// One of a few words.
    Choice,
    Number(NumberUnit),
    Time,
    /// The time by which records are ordered.
    Start,
    Boolean,
    Tags,
    /// An input or an output.
    Payload,
    /// Values by key.
    Object,
    /// Averages of numeric scores, by name.
    ScoreNumbers,
    /// Categories of scores, by name.
    ScoreLabels,
    /// Boolean scores, by name.
    ScoreBooleans,
}

impl FieldKind {
    /// Returns the types of filter conditions on such a field.
    pub const fn filters(self) -> &'static [FilterKind] {
        match self {
            Self::Text | Self::Choice | Self::Payload => {
                &[FilterKind::String, FilterKind::StringOptions, FilterKind::Null]
            }
            Self::Number(_) => &[FilterKind::Number, FilterKind::Null],
            Self::Time | Self::Start => &[FilterKind::Datetime, FilterKind::Null],
            Self::Boolean => &[FilterKind::Boolean],
            Self::Tags => &[FilterKind::ArrayOptions],
            Self::ScoreNumbers => &[FilterKind::NumberObject, FilterKind::Number],
            Self::ScoreLabels => &[FilterKind::CategoryOptions],
            Self::ScoreBooleans => &[FilterKind::BooleanObject],
            Self::Object => &[
                FilterKind::StringObject,
                FilterKind::NumberObject,
                FilterKind::BooleanObject,
                FilterKind::CategoryOptions,
            ],
        }
    }
}

/// What a number is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberUnit {
    Dollars,
    Seconds,
    Count,
    /// A number of its own, such as a score.
    Plain,
}

/// The fields of lists, in the order of their columns.
pub static FIELDS: [FieldFacts; 37] = [
    fact(RecordField::Name, "Name", FieldKind::Text).both("name"),
    fact(RecordField::Time, "Time", FieldKind::Start).column("time"),
    fact(RecordField::FirstMessage, "First message", FieldKind::Payload).column("first_message"),
    fact(RecordField::Kind, "Type", FieldKind::Choice).both("type"),
    fact(RecordField::Level, "Level", FieldKind::Choice).both("level"),
    number(RecordField::Latency, "Latency", NumberUnit::Seconds)
        .filter("latency")
        .column("latency_seconds"),
    number(RecordField::Duration, "Duration", NumberUnit::Seconds)
        .filter("duration")
        .column("duration_seconds"),
    number(RecordField::FirstToken, "Time to first token", NumberUnit::Seconds)
        .filter("first-token")
        .column("first_token_seconds"),
    number(RecordField::Tokens, "Tokens", NumberUnit::Count).both("tokens"),
    number(RecordField::InputTokens, "Input tokens", NumberUnit::Count)
        .filter("input-tokens")
        .column("input_tokens"),
    number(RecordField::OutputTokens, "Output tokens", NumberUnit::Count)
        .filter("output-tokens")
        .column("output_tokens"),
    number(RecordField::Cost, "Cost", NumberUnit::Dollars).filter("cost").column("cost_usd"),
    number(RecordField::Traces, "Traces", NumberUnit::Count).both("traces"),
    number(RecordField::Observations, "Observations", NumberUnit::Count)
        .filter("observations")
        .column("steps"),
    number(RecordField::Errors, "Errors", NumberUnit::Count).both("errors"),
    number(RecordField::Scores, "Scores", NumberUnit::Count).filter("scores"),
    fact(RecordField::Model, "Model", FieldKind::Text).both("model"),
    fact(RecordField::User, "User", FieldKind::Text).both("user"),
    fact(RecordField::Session, "Session", FieldKind::Text).both("session"),
    fact(RecordField::Environment, "Environment", FieldKind::Text)
        .filter("env")
        .column("environment"),
    fact(RecordField::Agent, "Agent", FieldKind::Text).both("agent"),
    fact(RecordField::Tags, "Tags", FieldKind::Tags).filter("tag").column("tags"),
    fact(RecordField::Status, "Status", FieldKind::Text).both("status"),
    fact(RecordField::Prompt, "Prompt", FieldKind::Text).both("prompt"),
    fact(RecordField::Release, "Release", FieldKind::Text).both("release"),
    fact(RecordField::Version, "Version", FieldKind::Text).both("version"),
    fact(RecordField::Trace, "Trace", FieldKind::Text).both("trace"),
    fact(RecordField::TraceName, "Trace name", FieldKind::Text).filter("trace-name"),
    fact(RecordField::Parent, "Parent", FieldKind::Text).column("parent"),
    fact(RecordField::Id, "ID", FieldKind::Text).both("id"),
    fact(RecordField::Input, "Input", FieldKind::Payload).column("input"),
    fact(RecordField::Output, "Output", FieldKind::Payload).column("output"),
    fact(RecordField::Metadata, "Metadata", FieldKind::Object).column("metadata"),
    fact(RecordField::Bookmarked, "Bookmarked", FieldKind::Boolean).filter("bookmarked"),
    fact(RecordField::Public, "Public", FieldKind::Boolean).filter("public"),
    fact(RecordField::Root, "Root", FieldKind::Boolean).filter("root"),
    fact(RecordField::LastActivity, "Last activity", FieldKind::Time).column("last_activity"),
];

const fn fact(field: RecordField, label: &'static str, kind: FieldKind) -> FieldFacts {
    FieldFacts { field, label, filter: None, column: None, kind }
}

const fn number(field: RecordField, label: &'static str, unit: NumberUnit) -> FieldFacts {
    fact(field, label, FieldKind::Number(unit))
}

impl FieldFacts {
    const fn filter(mut self, name: &'static str) -> Self {
        self.filter = Some(name);
        self
    }

    const fn column(mut self, name: &'static str) -> Self {
        self.column = Some(name);
        self
    }

    const fn both(self, name: &'static str) -> Self {
        self.filter(name).column(name)
    }
}

impl RecordField {
    /// Returns what the field is called and what its values are.
    pub fn facts(self) -> &'static FieldFacts {
        // The variants are in the order of the table, which a test holds.
        &FIELDS[self as usize]
    }
}

/// The fields of one record: its columns `C`, and what its list can be sorted by, `O`.
#[derive(Debug)]
pub struct RecordTable<C: 'static, O: 'static = TraceOrder> {
    pub columns: &'static [RecordColumn<C, O>],
    /// The fields that a list shows by default, in order.
    pub default_columns: &'static [RecordField],
}

/// A field of a record: its column in the store and where users meet it.
#[derive(Debug)]
pub struct RecordColumn<C, O = TraceOrder> {
    pub column: C,
    pub kind: FieldKind,
    /// Names in filters of the API, the preferred one first; empty if the API cannot filter by it.
    pub api: &'static [&'static str],
    /// The field of lists that it is, if it is one.
    pub field: Option<RecordField>,
    /// Whether the filter language of lists and charts has it.
    pub is_filter: bool,
    /// Whether lists show it and exports have it.
    pub is_listed: bool,
    /// How a list is sorted by it.
    pub order: Option<O>,
}

impl<C, O: Copy> RecordColumn<C, O> {
    const fn new(column: C, kind: FieldKind, api: &'static [&'static str]) -> Self {
        let (field, is_filter, is_listed, order) = (None, false, false, None);
        Self { column, kind, api, field, is_filter, is_listed, order }
    }

    /// A column of lists and a filter of their language.
    const fn column_and_filter(mut self, field: RecordField) -> Self {
        self.field = Some(field);
        (self.is_filter, self.is_listed) = (true, true);
        self
    }

    /// A filter of the language of lists, but no column.
    const fn filter_only(mut self, field: RecordField) -> Self {
        self.field = Some(field);
        self.is_filter = true;
        self
    }

    /// A column of lists, but no filter of their language.
    const fn column_only(mut self, field: RecordField) -> Self {
        self.field = Some(field);
        self.is_listed = true;
        self
    }

    const fn sorted(mut self, order: O) -> Self {
        self.order = Some(order);
        self
    }
}

impl<C: Copy, O> RecordTable<C, O> {
    /// Returns the field of a name in filters of the API.
    pub fn by_api_name(&'static self, name: &str) -> Option<&'static RecordColumn<C, O>> {
        self.columns.iter().find(|column| column.api.contains(&name))
    }

    /// Returns all names in filters of the API.
    pub fn api_names(&'static self) -> impl Iterator<Item = &'static str> {
        self.columns.iter().flat_map(|column| column.api.iter().copied())
    }

    /// Returns the field that the filter language means, if the record has it.
    pub fn filter(&'static self, field: RecordField) -> Option<&'static RecordColumn<C, O>> {
        self.columns.iter().find(|column| column.is_filter && column.field == Some(field))
    }

    /// Returns the field that a column of a list shows, if the record has it.
    pub fn listed(&'static self, field: RecordField) -> Option<&'static RecordColumn<C, O>> {
        self.columns.iter().find(|column| column.is_listed && column.field == Some(field))
    }

    /// Returns the first field of a kind.
    pub fn of_kind(&'static self, kind: FieldKind) -> Option<&'static RecordColumn<C, O>> {
        self.columns.iter().find(|column| column.kind == kind)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fmt::Debug;

    use super::*;

    #[test]
    fn each_field_has_its_row_and_names_of_its_own() {
        for (index, facts) in FIELDS.iter().enumerate() {
            assert_eq!(facts.field as usize, index, "{:?}", facts.field);
            assert!(facts.filter.is_some() || facts.column.is_some(), "{:?}", facts.field);
        }
        let names = |name: fn(&FieldFacts) -> Option<&'static str>| {
            let names: Vec<_> = FIELDS.iter().filter_map(name).collect();
            assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
        };
        names(|facts| facts.filter);
        names(|facts| facts.column);
    }

    /// Every row can be used somewhere, by names that no other row has.
    fn check<C: Copy + Debug + PartialEq, O>(table: &'static RecordTable<C, O>) {
        for column in table.columns {
            let what = &column.column;
            let is_used = !column.api.is_empty() || column.is_filter || column.is_listed;
            assert!(is_used, "{what:?}");
            for name in column.api {
                assert_eq!(table.by_api_name(name).map(|found| found.column), Some(column.column));
            }
            let Some(facts) = column.field.map(RecordField::facts) else { continue };
            assert!(!column.is_filter || facts.filter.is_some(), "{what:?} has no filter name");
            assert!(!column.is_listed || facts.column.is_some(), "{what:?} has no column name");
            assert_eq!(column.kind, facts.kind, "{what:?}");
            let same = table.columns.iter().filter(|other| other.field == column.field);
            assert_eq!(same.count(), 1, "{what:?}");
        }
        for field in table.default_columns {
            assert!(table.listed(*field).is_some(), "{field:?}");
        }
    }

    #[test]
    fn tables_are_consistent() {
        check(&TRACE);
        check(&OBSERVATION);
        check(&SESSION);
        check(&SCORE);
    }
}
