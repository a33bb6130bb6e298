use ratchet_core::id::TraceId;
use ratchet_core::record::trace::Trace;
use ratchet_store::query::{Detail, Direction, TimeRange};

use super::column::ListColumn;
use super::row::ListedRow;
use super::state::{ListQuery, ListState};
use crate::filter::{ListKind, TermCondition};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

/// Traces that may share a timestamp.
const LIMIT: u64 = 20;

/// The traces before and after one, in the order of time.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::pages) struct Neighbours {
    pub(in crate::pages) newer: Option<TraceId>,
    pub(in crate::pages) older: Option<TraceId>,
}

/// Finds the neighbours of a trace among those that match the filter, the environment and the agent
/// of the page, at any time. A filter with a text search has none: each step would scan payloads.
pub(in crate::pages) async fn neighbours(
    web: &Web,
    ctx: &RequestContext,
    trace: &Trace,
) -> PageResult<Neighbours> {
    let state = ListState::read(ListKind::Traces, &ctx.params);
    let is_text = |what: &TermCondition| matches!(what, TermCondition::Text(_));
    if state.parsed.filter.terms.iter().any(|term| is_text(&term.what)) {
        return Ok(Neighbours::default());
    }
    let ask = ListQuery { cursor: None, limit: LIMIT, detail: Detail::Row, ..state.ask(ctx) };
    let newer = ListQuery {
        range: TimeRange { from: Some(trace.timestamp), to: None },
        order: (ListColumn::TIME, Direction::Ascending),
        ..ask.clone()
    };
    let older = ListQuery {
        range: TimeRange { from: None, to: Some(trace.timestamp.plus_nanos(1)) },
        order: (ListColumn::TIME, Direction::Descending),
        ..ask
    };
    Ok(Neighbours {
        newer: next(web, &newer, trace).await?,
        older: next(web, &older, trace).await?,
    })
}

/// The first trace behind the given one in the order of a query.
async fn next(web: &Web, ask: &ListQuery, trace: &Trace) -> PageResult<Option<TraceId>> {
    let found = <Trace as ListedRow>::read(&web.store.telemetry, ask).await?.page.rows;
    let itself = found.iter().position(|row| row.id == trace.id);
    let behind = match itself {
        Some(position) => found.into_iter().nth(position + 1),
        // It does not match the filter itself, or shares its time with many others.
        None => found.into_iter().find(|row| row.timestamp != trace.timestamp),
    };
    Ok(behind.map(|row| row.id))
}
