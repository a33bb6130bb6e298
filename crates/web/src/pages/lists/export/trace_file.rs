use axum::BoxError;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream::try_unfold;
use ratchet_core::id::TraceId;
use ratchet_core::record::observation::Observation;
use ratchet_core::record::trace::Trace;
use ratchet_store::query::Detail;
use ratchet_store::telemetry::Telemetry;
use ratchet_store::trace_stream::ObservationCursor;

use super::super::column::ListColumn;
use super::super::row::ListedRow;
use super::super::score_columns::scored;
use super::{cells, jsonl};
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;
use ratchet_store::project::ProjectId;

/// `GET …/traces/{trace}/download`: a trace with its observations, in their order, and the scores of
/// each as one JSON document. It is read as it is taken, so that its size does not matter.
pub(in crate::pages) async fn download(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, trace)): Path<(String, String)>,
) -> PageResult<Response> {
    let missing = || PageError::not_there("trace");
    let id = TraceId::parse(&trace).map_err(|_| missing())?;
    let found = web.store.telemetry.trace(ctx.project_id(), id.clone()).await?;
    let trace = found.ok_or_else(missing)?;
    let source = TraceSource { telemetry: web.store.telemetry.clone(), project: ctx.project_id() };
    let body = Body::from_stream(try_unfold(TraceFile::Trace(source, Box::new(trace)), next));
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name: String = id.to_string().chars().filter(is_plain).take(80).collect();
    let headers = [
        (CONTENT_TYPE, "application/json".to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"trace-{name}.json\"")),
    ];
    Ok((headers, body).into_response())
}

struct TraceSource {
    telemetry: Telemetry,
    project: ProjectId,
}

impl TraceSource {
    /// Rows as JSON objects, separated by commas.
    async fn objects<R: ListedRow>(&self, rows: &[R]) -> Result<String, BoxError> {
        let scored = scored(&self.telemetry, self.project.clone(), rows, None).await?;
        let columns: Vec<ListColumn> = ListColumn::of(R::ON).collect();
        let object = |row: &R| jsonl::line(&cells(row, &columns, &scored)).trim_end().to_owned();
        Ok(rows.iter().map(object).collect::<Vec<_>>().join(",\n"))
    }
}

/// How far a file has come.
enum TraceFile {
    Trace(TraceSource, Box<Trace>),
    /// Observations from here, and whether there were some before.
    Observations(TraceSource, ObservationCursor, bool),
    End,
    Sent,
}

async fn next(file: TraceFile) -> Result<Option<(Bytes, TraceFile)>, BoxError> {
    match file {
        TraceFile::Trace(source, trace) => {
            let id = trace.id.clone();
            let object = source.objects(&[*trace]).await?;
            let from = ObservationCursor::new(source.project.clone(), id, Detail::Content);
            let text = format!("{{\"trace\":{object},\n\"observations\":[");
            Ok(Some((text.into(), TraceFile::Observations(source, from, false))))
        }
        TraceFile::Observations(source, from, has_some) => {
            let walked = source.telemetry.observations_after(from).await?;
            let rows: &[Observation] = &walked.rows;
            let objects = source.objects(rows).await?;
            let comma = if has_some && !rows.is_empty() { ",\n" } else { "" };
            let has_some = has_some || !rows.is_empty();
            let rest = match walked.rest {
                Some(from) => TraceFile::Observations(source, from, has_some),
                None => TraceFile::End,
            };
            Ok(Some((format!("{comma}{objects}").into(), rest)))
        }
        TraceFile::End => Ok(Some((Bytes::from_static(b"]}\n"), TraceFile::Sent))),
        TraceFile::Sent => Ok(None),
    }
}
