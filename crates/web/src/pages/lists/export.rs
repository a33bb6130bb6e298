use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream::try_unfold;
use ratchet_store::query::Detail;
use ratchet_store::telemetry::Telemetry;
use ratchet_store::{StoreError, StoreResult};

use super::bar;
use super::column::ListColumn;
use super::row::{CellValue, ListedRow};
use super::search::search;
use super::state::{Ask, ListState};
use crate::filter::On;
use crate::place::Place;
use crate::refusal::{PageResult, Refusal};
use crate::web::Web;

/// Tables with commas.
mod csv;
/// One JSON object on each line.
mod jsonl;

/// Rows that are read at a time: their payloads are held together.
const SLICE: u64 = 25;

/// What an export looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// A table with commas.
    Csv,
    /// One JSON object on each line.
    Jsonl,
}

impl Format {
    /// Every format.
    pub(super) const ALL: [Self; 2] = [Self::Csv, Self::Jsonl];

    /// The word for it, and the end of the file's name.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
        }
    }

    /// What people call it.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Csv => "CSV",
            Self::Jsonl => "JSON Lines",
        }
    }

    const fn content_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8",
            Self::Jsonl => "application/x-ndjson",
        }
    }
}

/// All rows that match, with everything they carry, as a file. Reads slice by slice as the file is
/// taken, so that its size does not matter.
pub(super) async fn export<R: ListedRow>(
    State(web): State<Web>,
    place: Place,
) -> PageResult<Response> {
    let wanted = place.params.get("format").unwrap_or_default();
    let format = Format::ALL.into_iter().find(|format| format.word() == wanted);
    let format = format.ok_or_else(|| Refusal::Bad("format must be csv or jsonl".to_owned()))?;
    // Any other order than that of time would look at all rows again for each slice.
    let state = ListState::read(R::ON, &place.params).newest_first();
    if bar::asks_to_leave_out_only(&state.parsed.filter) {
        let why = "a text can be left out only where another is searched for";
        return Err(Refusal::Bad(why.to_owned()));
    }
    let ask = Ask { limit: SLICE, detail: Detail::Content, ..state.ask(&place) };
    let rows = Rows::<R>::new(web.store.telemetry.clone(), ask);
    let body = Body::from_stream(try_unfold((rows, Part::Head), move |(rows, part)| {
        piece(format, rows, part)
    }));
    let list = match R::ON {
        On::Traces => "traces",
        On::Observations => "observations",
    };
    let day = ratchet_core::calendar::day(place.now);
    let file = format!("attachment; filename=\"{list}-{day}.{}\"", format.word());
    let headers = [(CONTENT_TYPE, format.content_type().to_owned()), (CONTENT_DISPOSITION, file)];
    Ok((headers, body).into_response())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Head,
    Rows,
}

/// The next piece of the file.
async fn piece<R: ListedRow>(
    format: Format,
    mut rows: Rows<R>,
    part: Part,
) -> Result<Option<(Bytes, (Rows<R>, Part))>, StoreError> {
    let columns: Vec<ListColumn> = ListColumn::of(R::ON).collect();
    let text = match part {
        Part::Head => match format {
            Format::Csv => csv::head(&columns),
            Format::Jsonl => String::new(),
        },
        Part::Rows => {
            let Some(slice) = rows.next().await? else { return Ok(None) };
            let lines = slice.iter().map(|row| {
                let cells: Vec<_> =
                    columns.iter().map(|column| (*column, row.value(*column))).collect();
                line(format, &cells)
            });
            lines.collect()
        }
    };
    Ok(Some((Bytes::from(text), (rows, Part::Rows))))
}

fn line(format: Format, cells: &[(ListColumn, CellValue)]) -> String {
    match format {
        Format::Csv => csv::line(cells),
        Format::Jsonl => jsonl::line(cells),
    }
}

/// All rows that match, slice by slice.
#[derive(Debug)]
struct Rows<R> {
    telemetry: Telemetry,
    ask: Ask,
    is_over: bool,
    _row: std::marker::PhantomData<fn() -> R>,
}

impl<R: ListedRow> Rows<R> {
    fn new(telemetry: Telemetry, ask: Ask) -> Self {
        Self { telemetry, ask, is_over: false, _row: std::marker::PhantomData }
    }

    /// The next slice, which may be empty; `None` at the end.
    async fn next(&mut self) -> StoreResult<Option<Vec<R>>> {
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
