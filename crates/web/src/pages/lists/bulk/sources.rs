use std::collections::BTreeSet;

use ratchet_core::id::{IdError, ObservationId, SessionId, TraceId};
use ratchet_core::payload::Payload;
use ratchet_core::record::trace::Content;
use ratchet_store::catalog::NewDatasetItem;
use ratchet_store::query::{
    Condition, Detail, Direction, Paging, SessionEnds, Test, TimeRange, TraceColumn, TraceOrder,
    TraceQuery,
};

use super::super::session_row::first_and_last;
use crate::filter::ListKind;
use crate::page_error::{PageError, PageResult};
use crate::request_context::{Params, RequestContext};
use crate::web::Web;

/// Maximum number of traces of the selected sessions.
const MAX_TRACES: u64 = 10_000;

fn bad(why: &IdError) -> PageError {
    PageError::Bad(why.to_string())
}

/// The traces that rows are, belong to or consist of, each once.
pub(super) async fn traces_of(
    web: &Web,
    ctx: &RequestContext,
    (ids, on): (&[String], ListKind),
) -> PageResult<Vec<TraceId>> {
    match on {
        ListKind::Traces => {
            ids.iter().map(|id| TraceId::parse(id).map_err(|why| bad(&why))).collect()
        }
        ListKind::Observations => {
            let mut traces = BTreeSet::new();
            for id in ids {
                let id = ObservationId::parse(id).map_err(|why| bad(&why))?;
                let seen = web.store.telemetry.observation(ctx.project_id(), id).await?;
                traces.extend(seen.map(|seen| seen.trace));
            }
            Ok(traces.into_iter().collect())
        }
        ListKind::Sessions => of_sessions(web, ctx, ids).await,
    }
}

async fn of_sessions(web: &Web, ctx: &RequestContext, ids: &[String]) -> PageResult<Vec<TraceId>> {
    let test = Test::AnyOf(ids.to_vec());
    let query = TraceQuery {
        project: ctx.project_id(),
        range: TimeRange::default(),
        conditions: vec![Condition { column: TraceColumn::Session, test }],
        order: (TraceOrder::Timestamp, Direction::Descending),
        paging: Paging::After { cursor: None, limit: MAX_TRACES },
        detail: Detail::Row,
    };
    let found = web.store.telemetry.traces(query).await?;
    if found.cursor.is_some() {
        let why = format!("the selected sessions have more than {MAX_TRACES} traces; select fewer");
        return Err(PageError::Bad(why));
    }
    Ok(found.rows.into_iter().map(|trace| trace.id).collect())
}

/// Whether items of a dataset get the recorded output as the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pages) enum ExpectedOutput {
    Recorded,
    Empty,
}

impl ExpectedOutput {
    /// What a form chose.
    pub(in crate::pages) fn of(form: &Params) -> Self {
        if form.get("expected") == Some("recorded") { Self::Recorded } else { Self::Empty }
    }
}

/// Dataset items of rows; rows that are gone have none.
pub(in crate::pages) async fn items(
    web: &Web,
    ctx: &RequestContext,
    (ids, on): (&[String], ListKind),
    expected: ExpectedOutput,
) -> PageResult<Vec<NewDatasetItem>> {
    let sources = match on {
        ListKind::Sessions => sessions(web, ctx, ids).await?,
        ListKind::Traces | ListKind::Observations => {
            let mut sources = Vec::new();
            for id in ids {
                sources.extend(source(web, ctx, id, on).await?);
            }
            sources
        }
    };
    let item = |source: Source| NewDatasetItem {
        input: source.content.input.as_ref().map(Payload::to_json),
        expected_output: match expected {
            ExpectedOutput::Recorded => source.content.output.as_ref().map(Payload::to_json),
            ExpectedOutput::Empty => None,
        },
        source_trace: Some(source.trace),
        source_observation: source.observation,
        ..NewDatasetItem::default()
    };
    Ok(sources.into_iter().map(item).collect())
}

/// What a row becomes as an item of a dataset.
struct Source {
    trace: String,
    observation: Option<String>,
    content: Content,
}

async fn source(
    web: &Web,
    ctx: &RequestContext,
    id: &str,
    on: ListKind,
) -> PageResult<Option<Source>> {
    let (telemetry, project) = (&web.store.telemetry, ctx.project_id());
    if on == ListKind::Observations {
        let seen = telemetry
            .observation(project, ObservationId::parse(id).map_err(|why| bad(&why))?)
            .await?;
        return Ok(seen.map(|seen| Source {
            trace: seen.trace.to_string(),
            observation: Some(seen.id.to_string()),
            content: seen.content.unwrap_or_default(),
        }));
    }
    let trace = telemetry.trace(project, TraceId::parse(id).map_err(|why| bad(&why))?).await?;
    Ok(trace.map(|trace| Source {
        trace: trace.id.to_string(),
        observation: None,
        content: trace.content.unwrap_or_default(),
    }))
}

/// A session is its first input and its last output.
async fn sessions(web: &Web, ctx: &RequestContext, ids: &[String]) -> PageResult<Vec<Source>> {
    let ids = ids.iter().map(|id| SessionId::parse(id).map_err(|why| bad(&why)));
    let ids = ids.collect::<PageResult<Vec<_>>>()?;
    let ends = web.store.telemetry.session_ends(ctx.project_id(), ids).await?;
    let source = |ends: SessionEnds| {
        let trace = ends.first.as_ref()?.id.to_string();
        Some(Source { trace, observation: None, content: first_and_last(ends) })
    };
    Ok(ends.into_iter().filter_map(source).collect())
}
