//! Tables other than lists as files: CSV or JSON Lines, read slice by slice while they are sent.

use std::future::Future;

use axum::BoxError;
use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream::try_unfold;
use maud::{Markup, html};
use ratchet_store::StoreResult;

use super::lists::{CellValue, Format, csv, jsonl};
use crate::frame::menu;
use crate::page_error::{PageError, PageResult};
use crate::request_context::{Link, RequestContext};

const FORMATS: [Format; 2] = [Format::Csv, Format::Jsonl];

/// The rows of a table, slice by slice.
pub(super) trait TableRows: Sized + Send + 'static {
    const COLUMNS: &'static [&'static str];

    /// The next slice, which may be empty; `None` at the end.
    fn next(&mut self) -> impl Future<Output = StoreResult<Option<Vec<Vec<CellValue>>>>> + Send;
}

/// A menu of files.
pub(super) fn export_menu(file: &Link) -> Markup {
    menu(
        "Export",
        "Export",
        &html! {
            @for format in FORMATS {
                a href=(file.clone().with("format", format.word())) download { (format.title()) }
            }
        },
    )
}

/// The table as a file in the format of the address.
pub(super) fn file<T: TableRows>(
    ctx: &RequestContext,
    name: &str,
    rows: T,
) -> PageResult<Response> {
    let wanted = ctx.params.get("format").unwrap_or_default();
    let format = FORMATS.into_iter().find(|format| format.word() == wanted);
    let format = format.ok_or_else(|| PageError::Bad("format must be csv or jsonl".to_owned()))?;
    let body = Body::from_stream(try_unfold(Some((rows, true)), move |state| piece(state, format)));
    let day = ratchet_core::calendar::day(ctx.now);
    let file = format!("attachment; filename=\"{name}-{day}.{}\"", format.word());
    let headers = [(CONTENT_TYPE, format.content_type().to_owned()), (CONTENT_DISPOSITION, file)];
    Ok((headers, body).into_response())
}

/// The rest of a table, and whether nothing of it is sent yet.
type Rest<T> = Option<(T, bool)>;

async fn piece<T: TableRows>(
    rest: Rest<T>,
    format: Format,
) -> Result<Option<(Bytes, Rest<T>)>, BoxError> {
    let Some((mut rows, is_first)) = rest else { return Ok(None) };
    let line = match format {
        Format::Csv => csv::line,
        Format::Jsonl | Format::Parquet => jsonl::line,
    };
    let mut text = String::new();
    if is_first && format == Format::Csv {
        text = T::COLUMNS.join(",") + "\r\n";
    }
    let Some(slice) = rows.next().await? else {
        return Ok(is_first.then(|| (Bytes::from(text), None)));
    };
    for row in slice {
        let cells: Vec<_> = T::COLUMNS.iter().copied().zip(row).collect();
        text.push_str(&line(&cells));
    }
    Ok(Some((Bytes::from(text), Some((rows, false)))))
}
