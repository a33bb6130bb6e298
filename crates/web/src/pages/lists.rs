//! Lists of what was recorded: filter, columns, order, pages, the same for traces, observations and
//! sessions.

/// What a list can show of each row.
pub(super) mod column;
/// List state from the URL.
mod state;
/// What a row of a list is.
mod row;
/// What was judged of rows.
mod score_columns;
/// First requests of sessions.
mod session_titles;
/// A trace as a row.
mod trace_row;
/// An observation as a row.
mod observation_row;
/// A session as a row.
mod session_row;
/// Free text, newest first and within a time.
mod search;
/// The field for the filter, and everything that can be clicked instead.
mod bar;
/// Completion of the filter.
mod suggest;
/// What there is to choose from.
mod facets;
mod summary;
mod page;
/// Rows that come later, and a look at one.
mod live;
/// One row beside the list.
mod panel;
mod export;
mod change;
/// Lists as people like to see them.
mod views;
/// What can be done with chosen rows.
pub(super) mod bulk;
/// The traces before and after one in its list.
mod neighbours;

use axum::Router;
use axum::routing::{get, post};
use ratchet_core::record::observation::Observation;
use ratchet_core::record::trace::Trace;

pub(super) use self::export::trace_file::download;
pub(super) use self::export::{Format, csv, jsonl};
pub(super) use self::neighbours::{Neighbours, neighbours};
pub(super) use self::row::{CellValue, ListedRow, trace_link};
pub(super) use self::session_row::{SessionRow, errors};
use crate::web::Web;

pub(super) fn routes() -> Router<Web> {
    of::<Trace>().merge(of::<Observation>()).merge(of::<SessionRow>())
}

fn of<R: ListedRow>() -> Router<Web> {
    let list = R::ON.word();
    // Beside the list, not below it: what is below it are ids.
    let beside = |what: &str| format!("/project/{{project}}/list/{list}/{what}");
    Router::new()
        .route(&format!("/project/{{project}}/{list}"), get(page::show::<R>))
        .route(&beside("newer"), get(live::newer::<R>))
        .route(&beside("peek"), get(live::peek::<R>))
        .route(&beside("panel"), get(panel::show::<R>))
        .route(&beside("export"), get(export::export::<R>))
        .route(&beside("save-view"), post(views::save::<R>))
        .route(&beside("forget-view"), post(views::forget::<R>))
        .route(&beside("do"), post(bulk::act::<R>))
}
