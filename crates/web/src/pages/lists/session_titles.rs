//! First requests of the sessions that a list of traces names.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use ratchet_core::id::SessionId;
use ratchet_core::record::limit::elide;
use ratchet_core::record::title::title;
use ratchet_store::StoreResult;
use ratchet_store::project::ProjectId;
use ratchet_store::telemetry::Telemetry;

use super::column::ListColumn;
use super::row::{ListedRow, RowFacts};
use super::state::ListState;
use crate::filter::{ListKind, RecordField};
use crate::request_context::RequestContext;

/// Characters of a title in a cell.
const MAX_CHARS: usize = 60;

/// Titles by session; sessions whose first trace has no words have none.
#[derive(Debug, Default)]
pub(super) struct SessionTitles(BTreeMap<SessionId, String>);

/// Reads the titles of the sessions of some rows, where a column shows sessions.
pub(super) async fn of<R: ListedRow>(
    telemetry: &Telemetry,
    project: ProjectId,
    (state, rows): (&ListState, &[R]),
) -> StoreResult<SessionTitles> {
    let is_shown = state.columns.iter().any(|column| column.0 == RecordField::Session);
    if R::ON != ListKind::Traces || !is_shown {
        return Ok(SessionTitles::default());
    }
    let ids: BTreeSet<SessionId> = rows.iter().filter_map(|row| row.facts().session).collect();
    let ids: Vec<SessionId> = ids.into_iter().collect();
    let ends = telemetry.session_ends(project, ids.clone()).await?;
    let titled = ids.into_iter().zip(ends).filter_map(|(id, ends)| {
        let input = ends.first?.content?.input?;
        Some((id, title(input.as_str())?))
    });
    Ok(SessionTitles(titled.collect()))
}

impl SessionTitles {
    /// The cell of a row's session; `None` for other columns, and without a title.
    pub(super) fn cell(
        &self,
        column: ListColumn,
        facts: &RowFacts,
        ctx: &RequestContext,
    ) -> Option<Markup> {
        let session = facts.session.as_ref().filter(|_| column.0 == RecordField::Session)?;
        let title = self.0.get(session)?;
        let id = session.to_string();
        let link = ctx.to(&["sessions", &id]);
        Some(html! { a.quiet-link href=(link) title=(id) { bdi { (elide(title, MAX_CHARS)) } } })
    }
}
