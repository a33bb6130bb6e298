//! One session with all its traces. A long one is streamed, so that it takes the memory of a few
//! traces, not of the whole.

use std::collections::VecDeque;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{once, try_unfold};
use ratchet_core::record::session::Session;
use ratchet_core::record::trace::Trace;
use ratchet_remote::langfuse::wire::session::{SessionTraces, SessionView, SessionWithTraces};
use ratchet_remote::langfuse::wire::trace::TraceView;
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Condition, Detail, Direction, Paging, TimeRange, TraceColumn, TraceOrder, TraceQuery,
};

use crate::app::App;
use crate::error::{ApiError, ApiResult};
use crate::langfuse::response;

/// Traces found at a time, without their content.
const SLICE: u64 = 500;
/// Bytes after which a chunk is sent.
const CHUNK_BYTES: usize = 1024 * 1024;

/// The position in a response.
pub(super) struct SessionStream {
    app: App,
    project: ProjectId,
    of_session: Condition<TraceColumn>,
    /// Text before the first trace; `None` once it is sent.
    head: Option<String>,
    /// Traces found but not sent, without their content.
    found: VecDeque<Trace>,
    rest: Rest,
    has_sent_trace: bool,
}

/// What follows the traces that were found.
enum Rest {
    /// More traces behind a cursor.
    Traces(Option<String>),
    /// The end of the list.
    End,
    /// Nothing: the end is sent.
    Nothing,
}

impl SessionStream {
    pub(super) fn new(app: App, project: ProjectId, session: &Session) -> ApiResult<Self> {
        let view = SessionView::new(session, project.as_str());
        let empty =
            SessionWithTraces { session: view, content: SessionTraces { traces: Vec::new() } };
        let text =
            serde_json::to_string(&empty).map_err(|why| ApiError::Internal(Box::new(why)))?;
        let head = text.strip_suffix("]}").map(str::to_owned);
        if head.is_none() {
            return Err(ApiError::internal("a session was written without its traces"));
        }
        let of_session = Condition::equals(TraceColumn::Session, session.id.to_string());
        let (found, rest) = (VecDeque::new(), Rest::Traces(None));
        Ok(Self { app, project, of_session, head, found, rest, has_sent_trace: false })
    }

    /// Responds: at once, or streamed if there is more than a chunk.
    ///
    /// # Errors
    /// Fails when the database does. An error after the start of the response aborts it.
    pub(super) async fn answer(mut self) -> ApiResult<Response> {
        let first = self.chunk().await?.unwrap_or_default();
        let body = if matches!(self.rest, Rest::Nothing) {
            Body::from(first)
        } else {
            let rest = try_unfold(self, |mut stream| async move {
                let chunk = stream.chunk().await;
                // The status is sent already; all that is left is to abort, and to log the reason.
                let chunk = chunk.inspect_err(|error| drop(error.client_message()))?;
                Ok::<_, ApiError>(chunk.map(|bytes| (bytes, stream)))
            });
            Body::from_stream(once(std::future::ready(Ok(first))).chain(rest))
        };
        Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
    }

    /// The next chunk; `None` after the last.
    async fn chunk(&mut self) -> ApiResult<Option<Bytes>> {
        if matches!(self.rest, Rest::Nothing) {
            return Ok(None);
        }
        let mut bytes = self.head.take().unwrap_or_default().into_bytes();
        while bytes.len() < CHUNK_BYTES {
            let Some(found) = self.next_trace().await? else {
                bytes.extend(b"]}");
                self.rest = Rest::Nothing;
                break;
            };
            // One that was deleted meanwhile is not there.
            let trace = self.app.store.telemetry.trace(self.project.clone(), found.id).await?;
            let Some(trace) = trace else { continue };
            if self.has_sent_trace {
                bytes.push(b',');
            }
            bytes.extend(self.written(trace).await?);
            self.has_sent_trace = true;
        }
        Ok(Some(bytes.into()))
    }

    async fn next_trace(&mut self) -> ApiResult<Option<Trace>> {
        while self.found.is_empty() {
            let Rest::Traces(cursor) = &mut self.rest else { return Ok(None) };
            let query = TraceQuery {
                project: self.project.clone(),
                range: TimeRange::default(),
                conditions: vec![self.of_session.clone()],
                order: (TraceOrder::Timestamp, Direction::Ascending),
                paging: Paging::After { cursor: cursor.take(), limit: SLICE },
                detail: Detail::Row,
            };
            let page = self.app.store.telemetry.traces(query).await?;
            self.found = page.rows.into();
            self.rest = page.cursor.map_or(Rest::End, |cursor| Rest::Traces(Some(cursor)));
        }
        Ok(self.found.pop_front())
    }

    async fn written(&self, trace: Trace) -> ApiResult<Vec<u8>> {
        let size = response::size([trace.content.as_ref()].into_iter());
        let project = self.project.clone();
        let write = move || {
            serde_json::to_vec(&TraceView::new(&trace, project.as_str()))
                .map_err(|why| ApiError::Internal(Box::new(why)))
        };
        self.app.workers.run_sized(size, write).await?
    }
}
