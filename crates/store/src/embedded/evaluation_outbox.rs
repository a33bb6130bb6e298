//! Traces that evaluators have not seen as they are now.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};

use ratchet_core::id::TraceId;
use ratchet_core::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::TelemetryDb;
use super::column::{Column, column_value};
use super::writer::Writer;
use crate::evaluation::{ChangedTrace, LastChange};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// Projects whose traces are put into the outbox. Without a running evaluator, recording does not
/// pay for it.
#[derive(Clone, Debug, Default)]
pub(super) struct EvaluatedProjects(Arc<RwLock<Arc<HashSet<ProjectId>>>>);

impl EvaluatedProjects {
    pub(super) fn current(&self) -> Arc<HashSet<ProjectId>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, projects: HashSet<ProjectId>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(projects);
    }
}

/// Adds a trace, in the commit that writes it.
pub(super) fn add(db: &Connection, trace: i64, now: Timestamp) -> rusqlite::Result<()> {
    let sql = "REPLACE INTO evaluation_outbox (trace, changed_at) VALUES (?, ?)";
    db.prepare_cached(sql)?.execute(params![trace, Column(now)]).map(drop)
}

/// Adds the trace of an experiment item, in the commit that links them. A trace that is not
/// recorded yet is added when it is.
pub(super) fn add_linked(
    db: &Connection,
    project: i64,
    trace: &TraceId,
    now: Timestamp,
) -> rusqlite::Result<()> {
    let sql = "REPLACE INTO evaluation_outbox (trace, changed_at) \
               SELECT no, ? FROM trace WHERE project = ? AND id = ?";
    db.prepare_cached(sql)?.execute(params![Column(now), project, Column(trace)]).map(drop)
}

impl TelemetryDb {
    /// See `Telemetry::set_evaluated_projects`.
    pub(crate) fn set_evaluated_projects(&self, projects: HashSet<ProjectId>) {
        self.shared.evaluated.set(projects);
    }

    /// See `Telemetry::changed_traces`.
    pub(crate) async fn changed_traces(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<ChangedTrace>> {
        let query = move |db: &Connection| -> rusqlite::Result<Vec<ChangedTrace>> {
            let sql = "SELECT o.trace, o.changed_at, t.id, p.id, t.session, t.environment, \
                       coalesce(t.end, t.timestamp) \
                       FROM evaluation_outbox o LEFT JOIN trace t ON t.no = o.trace \
                       LEFT JOIN project p ON p.no = t.project WHERE o.changed_at <= ? LIMIT ?";
            let mut statement = db.prepare_cached(sql)?;
            statement.query_map(params![Column(before), limit], read)?.collect()
        };
        self.shared.readers.read(move |db| query(db).map_err(StoreError::database)).await
    }

    /// See `Telemetry::last_change`.
    pub(crate) async fn last_change(
        &self,
        project: ProjectId,
        trace: TraceId,
    ) -> StoreResult<Option<LastChange>> {
        let query = move |db: &Connection| -> rusqlite::Result<Option<LastChange>> {
            let sql = "SELECT t.updated_at, o.trace IS NOT NULL FROM project p CROSS JOIN trace t \
                       ON t.project = p.no AND t.id = ? LEFT JOIN evaluation_outbox o \
                       ON o.trace = t.no WHERE p.id = ?";
            let values = params![Column(&trace), project.as_str()];
            let read = |row: &Row<'_>| {
                let at = row.get::<_, Column<Timestamp>>(0)?.0;
                Ok(LastChange { at, is_in_outbox: row.get(1)? })
            };
            db.prepare_cached(sql)?.query_row(values, read).optional()
        };
        self.shared.readers.read(move |db| query(db).map_err(StoreError::database)).await
    }

    /// See `Telemetry::forget_changed_traces`.
    pub(crate) async fn forget_changed_traces(
        &self,
        seen: Vec<(i64, Timestamp)>,
    ) -> StoreResult<()> {
        let forget = move |writer: &mut Writer| {
            writer.transact(|applier| {
                let sql = "DELETE FROM evaluation_outbox WHERE trace = ? AND changed_at = ?";
                let mut statement = applier.db.prepare_cached(sql)?;
                seen.iter().try_for_each(|(trace, changed_at)| {
                    statement.execute(params![trace, Column(*changed_at)]).map(drop)
                })
            })
        };
        self.shared.writer.run(forget).await
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<ChangedTrace> {
    let project: Option<String> = row.get(3)?;
    Ok(ChangedTrace {
        number: row.get(0)?,
        changed_at: row.get::<_, Column<Timestamp>>(1)?.0,
        trace: column_value(row.get(2)?),
        // A deleted project has an id that does not parse.
        project: project.and_then(|id| ProjectId::parse(&id).ok()),
        session: column_value(row.get(4)?),
        environment: column_value(row.get(5)?),
        ended_at: row.get::<_, Option<Column<Timestamp>>>(6)?.map(|time| time.0),
    })
}
