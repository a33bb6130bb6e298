//! All rows that a list matches, not only those of its page.

use ratchet_core::time::Timestamp;
use ratchet_store::query::{Detail, TimeRange};

use super::super::export::MatchingRows;
use super::super::row::ListedRow;
use super::super::state::{ListQuery, ListState};
use crate::filter::ListKind;
use crate::page_error::{PageError, PageResult};
use crate::request_context::{Params, RequestContext};
use crate::scope::Scope;
use crate::web::Web;

/// Rows that one action takes at most.
pub(super) const MAX_ROWS: usize = 10_000;
/// Rows that are read at a time, without their payloads.
const SLICE: u64 = 500;

/// Whether a form is about all rows that match its list.
pub(super) fn is_chosen(form: &Params) -> bool {
    form.get("matching") == Some("yes")
}

/// The ids of all rows that match the list that a form was sent from, newest first. Those that came
/// after `until` are not among them: nobody was asked about them.
pub(super) async fn ids<R: ListedRow>(
    web: &Web,
    ctx: &RequestContext,
    form: &Params,
) -> PageResult<Vec<String>> {
    let ask = ask(web, ctx, form, R::ON).await?;
    let mut rows = MatchingRows::<R>::new(web.store.telemetry.clone(), ask);
    let mut ids = Vec::new();
    while let Some(slice) = rows.next().await? {
        ids.extend(slice.iter().map(|row| row.facts().id));
        if ids.len() > MAX_ROWS {
            return Err(PageError::Bad(format!(
                "more than {MAX_ROWS} rows match; choose a shorter time range or a narrower filter"
            )));
        }
    }
    Ok(ids)
}

async fn ask(
    web: &Web,
    ctx: &RequestContext,
    form: &Params,
    on: ListKind,
) -> PageResult<ListQuery> {
    let params = Params::read(form.get("back").unwrap_or_default());
    let mut listed = ctx.clone();
    listed.scope = Scope::read(params.pairs());
    listed.params = params;
    let state = ListState::load(web, &listed, on).await?.newest_first();
    let filter = &state.parsed;
    if let Some(problem) = filter.problems.first() {
        // A term that is passed over would take rows that nobody meant.
        return Err(PageError::Bad(format!("the filter is not understood: {}", problem.message)));
    }
    let until = form.get("until").and_then(|until| Timestamp::parse(until).ok());
    let ask = state.ask(&listed);
    let range = ask.range.and(TimeRange { from: None, to: until });
    Ok(ListQuery { range, limit: SLICE, detail: Detail::Row, ..ask })
}
