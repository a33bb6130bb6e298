use ratchet_core::id::SessionId;
use ratchet_core::session::Session;
use rusqlite::{Connection, OptionalExtension, params};

use super::{List, Listed, nothing};
use crate::embedded::column::Column;
use crate::embedded::filter::Where;
use crate::embedded::load::project_number;
use crate::embedded::session_row;
use crate::project::ProjectId;
use crate::query::{Direction, Page, SessionQuery};
use crate::{StoreError, StoreResult};

/// The sessions that match, newest first.
pub(in crate::embedded) fn list(
    db: &Connection,
    query: &SessionQuery,
) -> StoreResult<Page<Session>> {
    let project = project_number(db, &query.project).map_err(StoreError::Database)?;
    let Some(project) = project else { return Ok(nothing(&query.paging)) };
    let mut filter = Where::default();
    filter.and("s.project = ?", [project.into()]);
    filter.within("s.created_at", query.range);
    if !query.environments.is_empty() {
        filter.any_environment("s.environment", &query.environments);
    }
    let list = List {
        select: format!("SELECT {} FROM session s", session_row::COLUMNS),
        count: "SELECT count(*) FROM session s".to_owned(),
        filter,
        order: &["s.created_at", "s.id"],
        direction: Direction::Descending,
        paging: &query.paging,
        known_total: None,
    };
    list.read::<_, 2>(db, |row| {
        let keys = vec![row.get(1)?, row.get(0)?];
        Ok(Some(Listed { row: session_row::read(row)?, keys }))
    })
}

/// One session.
pub(in crate::embedded) fn one(
    db: &Connection,
    project: &ProjectId,
    id: &SessionId,
) -> rusqlite::Result<Option<Session>> {
    let Some(project) = project_number(db, project)? else { return Ok(None) };
    let columns = session_row::COLUMNS;
    db.prepare_cached(&format!("SELECT {columns} FROM session s WHERE s.project = ? AND s.id = ?"))?
        .query_row(params![project, Column(id)], session_row::read)
        .optional()
}
