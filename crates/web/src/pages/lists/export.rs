use axum::BoxError;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream::try_unfold;
use ratchet_store::StoreResult;
use ratchet_store::query::Detail;
use ratchet_store::telemetry::Telemetry;

use super::column::ListColumn;
use super::row::{CellValue, ListedRow};
use super::score_columns;
use super::score_columns::Scored;
use super::search::search;
use super::state::{ListQuery, ListState};
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

pub(in crate::pages) mod csv;
/// One JSON object on each line.
pub(in crate::pages) mod jsonl;
/// One trace with all it has.
pub(super) mod trace_file;
mod parquet;

/// Rows that are read at a time: their payloads are held together.
const SLICE: u64 = 25;

/// What an export looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pages) enum Format {
    Csv,
    /// One JSON object on each line.
    Jsonl,
    Parquet,
}

impl Format {
    pub(super) const ALL: [Self; 3] = [Self::Csv, Self::Jsonl, Self::Parquet];

    /// The word for it, and the end of the file's name.
    pub(in crate::pages) const fn word(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
            Self::Parquet => "parquet",
        }
    }

    pub(in crate::pages) const fn title(self) -> &'static str {
        match self {
            Self::Csv => "CSV",
            Self::Jsonl => "JSON Lines",
            Self::Parquet => "Parquet",
        }
    }

    pub(in crate::pages) const fn content_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8",
            Self::Jsonl => "application/x-ndjson",
            Self::Parquet => "application/vnd.apache.parquet",
        }
    }
}

/// All rows that match, with everything they carry, as a file. Reads slice by slice as the file is
/// taken, so that its size does not matter.
pub(super) async fn export<R: ListedRow>(
    State(web): State<Web>,
    ctx: RequestContext,
) -> PageResult<Response> {
    let wanted = ctx.params.get("format").unwrap_or_default();
    let format = Format::ALL.into_iter().find(|format| format.word() == wanted);
    let format =
        format.ok_or_else(|| PageError::Bad("format must be csv, jsonl or parquet".to_owned()))?;
    // Any other order than that of time would look at all rows again for each slice.
    let state = ListState::load(&web, &ctx, R::ON).await?.newest_first();
    let ask = ListQuery { limit: SLICE, detail: Detail::Content, ..state.ask(&ctx) };
    let rows = MatchingRows::<R>::new(web.store.telemetry.clone(), ask);
    let writing = Writing::begin(format, ListColumn::of(R::ON).collect());
    let body = Body::from_stream(try_unfold(Part::Head(rows, writing), piece));
    let list = R::ON.word();
    let day = ratchet_core::calendar::day(ctx.now);
    let file = format!("attachment; filename=\"{list}-{day}.{}\"", format.word());
    let headers = [(CONTENT_TYPE, format.content_type().to_owned()), (CONTENT_DISPOSITION, file)];
    Ok((headers, body).into_response())
}

/// How far a file has come.
enum Part<R> {
    /// Nothing of it is sent.
    Head(MatchingRows<R>, Writing),
    Rows(MatchingRows<R>, Writing),
    Sent,
}

/// The next piece of the file.
async fn piece<R: ListedRow>(part: Part<R>) -> Result<Option<(Bytes, Part<R>)>, BoxError> {
    let (mut rows, mut writing) = match part {
        Part::Head(rows, writing) => {
            let head = writing.head();
            return Ok(Some((head, Part::Rows(rows, writing))));
        }
        Part::Rows(rows, writing) => (rows, writing),
        Part::Sent => return Ok(None),
    };
    let Some(slice) = rows.next().await? else {
        return Ok(Some((writing.end()?, Part::Sent)));
    };
    let (telemetry, project) = (&rows.telemetry, rows.ask.project.clone());
    let scored = score_columns::scored(telemetry, project, &slice, None).await?;
    let bytes = writing.rows(&slice, &scored)?;
    Ok(Some((bytes, Part::Rows(rows, writing))))
}

/// A file in the making.
enum Writing {
    Csv(Vec<ListColumn>),
    Jsonl(Vec<ListColumn>),
    Parquet(Box<parquet::ParquetExport>),
}

impl Writing {
    fn begin(format: Format, columns: Vec<ListColumn>) -> Self {
        match format {
            Format::Csv => Self::Csv(columns),
            Format::Jsonl => Self::Jsonl(columns),
            Format::Parquet => Self::Parquet(Box::new(parquet::ParquetExport::new(columns))),
        }
    }

    /// Header of the file.
    fn head(&self) -> Bytes {
        match self {
            Self::Csv(columns) => csv::head(columns).into(),
            Self::Jsonl(_) | Self::Parquet(_) => Bytes::new(),
        }
    }

    /// Takes up more rows with what was judged of them, and gives what of the file is made.
    fn rows<R: ListedRow>(&mut self, rows: &[R], scored: &Scored) -> Result<Bytes, BoxError> {
        let lines = |columns: &[ListColumn], line: fn(&[ExportCell]) -> String| {
            let lines = rows.iter().map(|row| line(&cells(row, columns, scored)));
            Bytes::from(lines.collect::<String>())
        };
        match self {
            Self::Csv(columns) => Ok(lines(columns, csv::line)),
            Self::Jsonl(columns) => Ok(lines(columns, jsonl::line)),
            Self::Parquet(writing) => Ok(writing.rows(rows, scored)?),
        }
    }

    /// Footer of the file.
    fn end(self) -> Result<Bytes, BoxError> {
        match self {
            Self::Csv(_) | Self::Jsonl(_) => Ok(Bytes::new()),
            Self::Parquet(writing) => Ok(writing.end()?),
        }
    }
}

/// A cell and what its column is called.
pub(in crate::pages) type ExportCell = (&'static str, CellValue);

/// The column with what was judged of a row.
const SCORES: &str = "scores";

/// All that a row carries, and what was judged of it.
fn cells<R: ListedRow>(row: &R, columns: &[ListColumn], scored: &Scored) -> Vec<ExportCell> {
    let own = columns.iter().map(|column| (column.word(), row.value(*column)));
    own.chain([(SCORES, scored.exported(&row.facts().id))]).collect()
}

/// All rows that match, slice by slice.
#[derive(Debug)]
pub(super) struct MatchingRows<R> {
    telemetry: Telemetry,
    ask: ListQuery,
    is_over: bool,
    _row: std::marker::PhantomData<fn() -> R>,
}

impl<R: ListedRow> MatchingRows<R> {
    pub(super) fn new(telemetry: Telemetry, ask: ListQuery) -> Self {
        Self { telemetry, ask, is_over: false, _row: std::marker::PhantomData }
    }

    /// The next slice, which may be empty; `None` at the end.
    pub(super) async fn next(&mut self) -> StoreResult<Option<Vec<R>>> {
        if self.is_over {
            return Ok(None);
        }
        let (rows, cursor) = match search::<R>(&self.telemetry, &self.ask).await? {
            Some(found) => (found.rows, found.cursor),
            None => {
                let page = R::read(&self.telemetry, &self.ask).await?.page;
                (page.rows, page.cursor)
            }
        };
        self.is_over = cursor.is_none();
        self.ask.cursor = cursor;
        Ok(Some(rows))
    }
}
