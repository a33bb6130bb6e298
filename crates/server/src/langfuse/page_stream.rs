//! A page of records whose content may be long. What exceeds a few megabytes is read and sent
//! record by record, so that the page takes the memory of a few, not of all.

use std::future::Future;
use std::sync::Arc;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{once, try_unfold};
use ratchet_core::record::trace::Content;
use serde::Serialize;

use super::response;
use crate::app::App;
use crate::error::{ApiError, ApiResult};

/// Bytes after which a chunk is sent.
const CHUNK_BYTES: usize = 1024 * 1024;

/// Reads and serializes the records of a page.
pub(super) trait RowWriter: Send + Sync + 'static {
    type Row: Send + 'static;

    /// Whether the page shows content; rows without it are then loaded.
    fn shows_content(&self) -> bool;

    fn content(row: &Self::Row) -> Option<&Content>;

    /// Whether the row has all that the page shows of it.
    fn is_whole(&self, row: &Self::Row) -> bool {
        !self.shows_content() || Self::content(row).is_some()
    }

    /// Approximate bytes of the row.
    fn bytes(row: &Self::Row) -> usize {
        response::size(std::iter::once(Self::content(row)))
    }

    /// Reads the row again, with its content; `None` if it was deleted meanwhile.
    fn load(&self, row: Self::Row) -> impl Future<Output = ApiResult<Option<Self::Row>>> + Send;

    /// Appends the row to a JSON array.
    ///
    /// # Errors
    /// Fails if it cannot be serialized, which would be a bug.
    fn write(&self, row: &Self::Row, text: &mut Vec<u8>) -> serde_json::Result<()>;
}

/// Responds with a page: at once, or streamed if its content is long. `empty` is the page without
/// rows.
///
/// # Errors
/// Fails when the database does. An error after the start of the response aborts it.
pub(super) async fn respond<W: RowWriter>(
    app: App,
    writer: W,
    rows: Vec<W::Row>,
    empty: impl Serialize,
) -> ApiResult<Response> {
    let empty = serde_json::to_string(&empty).map_err(internal)?;
    let (head, tail) = empty
        .split_once("[]")
        .ok_or_else(|| ApiError::internal("a page was written without its rows"))?;
    let mut page = PageStream {
        app,
        writer: Arc::new(writer),
        rows: rows.into_iter(),
        text: format!("{head}[").into_bytes(),
        tail: Some(format!("]{tail}")),
        has_row: false,
    };
    let first = page.first_chunk().await?;
    let body = if page.tail.is_none() { Body::from(first) } else { page.body(first) };
    Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
}

/// The position in a page.
struct PageStream<W: RowWriter> {
    app: App,
    writer: Arc<W>,
    rows: std::vec::IntoIter<W::Row>,
    /// Text that is not sent yet.
    text: Vec<u8>,
    /// Text after the last row; `None` once it is written.
    tail: Option<String>,
    has_row: bool,
}

impl<W: RowWriter> PageStream<W> {
    /// All rows up to the first that is to be loaded, and as many of the others as fit.
    async fn first_chunk(&mut self) -> ApiResult<Bytes> {
        let is_whole = |row: &&W::Row| self.writer.is_whole(row);
        let count = self.rows.as_slice().iter().take_while(is_whole).count();
        let ready: Vec<_> = self.rows.by_ref().take(count).collect();
        self.write(ready).await?;
        self.fill().await?;
        Ok(self.take_text())
    }

    /// The next chunk; `None` after the last.
    async fn chunk(&mut self) -> ApiResult<Option<Bytes>> {
        if self.tail.is_none() {
            return Ok(None);
        }
        self.fill().await?;
        Ok(Some(self.take_text()))
    }

    /// Loads and writes rows until there is a chunk.
    async fn fill(&mut self) -> ApiResult<()> {
        while self.text.len() < CHUNK_BYTES
            && let Some(row) = self.rows.next()
        {
            let row = self.writer.load(row).await?;
            self.write(row.into_iter().collect()).await?;
        }
        Ok(())
    }

    /// Writes rows, on the CPU pool if they are long.
    async fn write(&mut self, rows: Vec<W::Row>) -> ApiResult<()> {
        let size = rows.iter().map(W::bytes).sum();
        let (writer, mut has_row) = (self.writer.clone(), self.has_row);
        let mut text = std::mem::take(&mut self.text);
        let write = move || {
            for row in &rows {
                if has_row {
                    text.push(b',');
                }
                writer.write(row, &mut text).map_err(internal)?;
                has_row = true;
            }
            Ok::<_, ApiError>((text, has_row))
        };
        (self.text, self.has_row) = self.app.workers.run_sized(size, write).await??;
        Ok(())
    }

    fn take_text(&mut self) -> Bytes {
        if self.rows.as_slice().is_empty()
            && let Some(tail) = self.tail.take()
        {
            self.text.extend(tail.into_bytes());
        }
        std::mem::take(&mut self.text).into()
    }

    fn body(self, first: Bytes) -> Body {
        let rest = try_unfold(self, |mut page| async move {
            let chunk = page.chunk().await;
            // The status is sent already; all that is left is to abort, and to log the reason.
            let chunk = chunk.inspect_err(|error| drop(error.client_message()))?;
            Ok::<_, ApiError>(chunk.map(|bytes| (bytes, page)))
        });
        Body::from_stream(once(std::future::ready(Ok(first))).chain(rest))
    }
}

fn internal(error: serde_json::Error) -> ApiError {
    ApiError::Internal(Box::new(error))
}
