//! Titles of sessions: the first request.

use std::collections::BTreeMap;

use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::payload::Payload;
use ratchet_core::record::title::title;
use ratchet_core::record::trace::Trace;
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::client::{Position, TraceRefFilter};
use ratchet_store::query::{
    Condition, Detail, Direction, Paging, TimeRange, TraceColumn, TraceOrder, TraceQuery,
};

use super::{Source, SourceResult};

/// Traces that are looked at: the first one may have no words.
const LOOKED_AT: u64 = 2;

/// Returns the title of a session; `None` where its first traces have no words.
///
/// # Errors
/// Fails if the source cannot be read.
pub async fn session_title(source: &Source, session: &SessionId) -> SourceResult<Option<String>> {
    let traces = match source {
        Source::Local(telemetry, project) => {
            let query = TraceQuery {
                project: project.clone(),
                range: TimeRange::default(),
                conditions: vec![Condition::equals(TraceColumn::Session, session.to_string())],
                order: (TraceOrder::Timestamp, Direction::Ascending),
                paging: Paging::After { cursor: None, limit: LOOKED_AT },
                detail: Detail::Content,
            };
            telemetry.traces(query).await?.rows
        }
        Source::Remote(_) => match first_trace(source, session).await? {
            Some(id) => source.trace(&id).await?.into_iter().collect(),
            None => Vec::new(),
        },
    };
    let input = |trace: &Trace| {
        let content = trace.content.as_ref()?;
        content.input.as_ref().map(Payload::as_str).and_then(title)
    };
    Ok(traces.iter().find_map(input))
}

/// Returns the titles of sessions, by id; those without words are left out.
///
/// # Errors
/// Fails if the source cannot be read.
pub async fn session_titles(
    source: &Source,
    sessions: Vec<SessionId>,
) -> SourceResult<BTreeMap<SessionId, String>> {
    let mut titles = BTreeMap::new();
    for session in sessions {
        if let Some(title) = session_title(source, &session).await? {
            titles.insert(session, title);
        }
    }
    Ok(titles)
}

async fn first_trace(source: &Source, session: &SessionId) -> SourceResult<Option<TraceId>> {
    let asked = TraceRefFilter { session: Some(session.clone()), ..TraceRefFilter::default() };
    let mut first: Option<(Timestamp, TraceId)> = None;
    let mut next = Some(Position::Start);
    while let Some(at) = next {
        let slice = source.trace_refs(&asked, &at).await?;
        let listed = slice.rows.into_iter().map(|trace| (trace.timestamp, trace.trace));
        first = first.into_iter().chain(listed).min();
        next = slice.next;
    }
    Ok(first.map(|(_, trace)| trace))
}
