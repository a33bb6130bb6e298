use ratchet_core::record::score::DataType;

use super::member_columns::Members;
use super::{Kind, environment, score_columns};
use crate::query::SessionColumn;
use crate::{StoreError, StoreResult};

/// Seconds from the start of the first trace to the end of the one that ended last.
pub(in crate::embedded) const DURATION: &str = "(((SELECT max(max(t.timestamp, coalesce(t.end, t.timestamp))) FROM trace t \
     WHERE t.project = s.project AND t.session = s.id) - s.created_at) / 1e9)";

/// SQL of a session column; the session is `s`.
pub(in crate::embedded) fn kind(column: SessionColumn) -> StoreResult<Kind> {
    Ok(match column {
        SessionColumn::Id => Kind::Id("s.id"),
        SessionColumn::CreatedAt => Kind::Time("s.created_at"),
        SessionColumn::LastActivity => Kind::Time("s.last_at"),
        SessionColumn::Environment => environment("s.environment"),
        SessionColumn::Users => of_traces("m.user"),
        SessionColumn::Agents => of_traces("m.agent"),
        SessionColumn::Releases => of_traces("m.release"),
        SessionColumn::Tags => Kind::Members(Members {
            rows: "trace m, json_each(m.tags) tag WHERE m.project = s.project AND m.session = s.id",
            column: "tag.value",
        }),
        SessionColumn::FirstMessage | SessionColumn::LastOutput => {
            let why = "messages of a session cannot be filtered";
            return Err(StoreError::BadQuery(why.to_owned()));
        }
        SessionColumn::Bookmarked => {
            let why = "bookmarks are filtered by the ids of the bookmarked sessions";
            return Err(StoreError::BadQuery(why.to_owned()));
        }
        SessionColumn::TraceCount => Kind::Number("s.traces"),
        SessionColumn::ErrorCount => Kind::Number("s.errors"),
        SessionColumn::Duration => Kind::Number(DURATION),
        SessionColumn::TotalTokens => Kind::Number("s.total_tokens"),
        SessionColumn::Cost => Kind::Number("CASE WHEN s.costs_known > 0 THEN s.cost / 1e12 END"),
        SessionColumn::ScoreCount => Kind::Number(
            "(SELECT count(*) FROM score c WHERE c.project = s.project AND c.session = s.id)",
        ),
        SessionColumn::ScoreNumbers => score_columns::of_session(DataType::Numeric),
        SessionColumn::ScoreLabels => score_columns::of_session(DataType::Categorical),
        SessionColumn::ScoreBooleans => score_columns::of_session(DataType::Boolean),
    })
}

/// A column of its traces.
fn of_traces(column: &'static str) -> Kind {
    let rows = "trace m WHERE m.project = s.project AND m.session = s.id";
    Kind::Members(Members { rows, column })
}
