//! Finds observations by way of their traces, if few traces can match.
//!
//! SQLite cannot know that a session has few traces, and would walk all observations in time order
//! to find those of one session.

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::embedded::filter::id_value;
use crate::query::{Condition, ObservationColumn, Test, TextTest, TraceColumn};

/// Maximum number of traces whose observations are all read.
const MAX_TRACES: i64 = 2_000;
/// Maximum number of values that are looked up.
const MAX_WORDS: usize = 100;

/// Join order of observations and traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JoinOrder {
    /// All observations in time order, each with its trace.
    ByObservation,
    /// The few traces that can match, each with its observations.
    ByTrace,
}

impl JoinOrder {
    /// The better join order for these conditions.
    pub(super) fn of(
        db: &Connection,
        project: i64,
        conditions: &[Condition<ObservationColumn>],
    ) -> rusqlite::Result<Self> {
        for condition in conditions {
            if let Some((column, values)) = looked_up(condition)
                && is_few(db, project, column, values)?
            {
                return Ok(Self::ByTrace);
            }
        }
        Ok(Self::ByObservation)
    }

    /// The `FROM` clause with observations `o` and traces `t`. CROSS forces the join order.
    pub(super) fn from(self) -> &'static str {
        match self {
            Self::ByObservation => "FROM observation o JOIN trace t ON t.no = o.trace",
            Self::ByTrace => "FROM trace t CROSS JOIN observation o ON o.trace = t.no",
        }
    }

    /// The project column of the index to use.
    pub(super) fn project(self) -> &'static str {
        match self {
            Self::ByObservation => "o.project = ?",
            Self::ByTrace => "t.project = ?",
        }
    }
}

/// Whether some condition selects few traces by index.
pub(super) fn are_few_traces(
    db: &Connection,
    project: i64,
    conditions: &[Condition<TraceColumn>],
) -> rusqlite::Result<bool> {
    for Condition { column, test } in conditions {
        let column = match column {
            TraceColumn::Id => "id",
            TraceColumn::Session => "session",
            TraceColumn::User => "user",
            _ => continue,
        };
        if let Some(values) = values(column, test)
            && is_few(db, project, column, values)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The trace column and values that a condition selects.
fn looked_up(condition: &Condition<ObservationColumn>) -> Option<(&'static str, Vec<Value>)> {
    let column = match condition.column {
        ObservationColumn::Trace => "id",
        ObservationColumn::TraceSession => "session",
        ObservationColumn::TraceUser => "user",
        _ => return None,
    };
    Some((column, values(column, &condition.test)?))
}

/// The values that a condition selects for a trace column.
fn values(column: &str, test: &Test) -> Option<Vec<Value>> {
    let words = match test {
        Test::Text(TextTest::Equals, word) => std::slice::from_ref(word),
        Test::AnyOf(words) if words.len() <= MAX_WORDS => words,
        _ => return None,
    };
    let value = |word: &String| match column {
        "user" => Value::Text(word.clone()),
        _ => id_value(word),
    };
    Some(words.iter().map(value).collect())
}

fn is_few(
    db: &Connection,
    project: i64,
    column: &str,
    values: Vec<Value>,
) -> rusqlite::Result<bool> {
    let marks = vec!["?"; values.len()].join(", ");
    let sql = format!(
        "SELECT count(*) FROM (SELECT 1 FROM trace WHERE project = ? AND {column} IN ({marks}) \
         LIMIT {MAX_TRACES})"
    );
    let params = std::iter::once(Value::Integer(project)).chain(values);
    let count: i64 =
        db.prepare_cached(&sql)?.query_row(params_from_iter(params), |row| row.get(0))?;
    Ok(count < MAX_TRACES)
}
