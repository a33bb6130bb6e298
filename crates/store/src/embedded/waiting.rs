//! Scores sent with a public key before their target exists. They wait in a separate table: once
//! their trace or session arrives they become ordinary scores, without it they expire. So an
//! anonymous client can fill neither lists nor the disk with scores on nothing.

use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::record::merge::Merge;
use ratchet_core::record::score::public::is_public;
use ratchet_core::record::score::{ScorePatch, ScoreTarget};
use ratchet_core::time::Timestamp;
use rusqlite::params;

use super::TelemetryDb;
use super::apply::Applier;
use super::column::Column;
use super::load::load_score;
use super::score_row::{self, ScoreRow, ScoreTable};
use super::trace_row::TraceRow;
use super::writer::Writer;
use crate::StoreResult;

/// How long a score waits for its target.
const WAIT_NANOS: i64 = 3_600 * 1_000_000_000;
/// Maximum number of waiting scores per project; beyond it, the oldest are deleted.
const MAX_WAITING: i64 = 10_000;
/// Maximum number of rows deleted per slice.
const SLICE: u32 = 2_000;

impl TelemetryDb {
    /// See `Telemetry::delete_waiting_scores`.
    pub(crate) async fn delete_waiting_scores(&self, now: Timestamp) -> StoreResult<u64> {
        let slice = move |writer: &mut Writer| {
            writer.transact(|applier| {
                let sql = "DELETE FROM waiting_score WHERE no IN (SELECT no FROM waiting_score \
                           WHERE created_at < ? LIMIT ?)";
                let values = params![Column(oldest(now)), SLICE];
                applier.db.prepare_cached(sql)?.execute(values).map(|rows| rows as u64)
            })
        };
        self.shared.writer.run(slice).await
    }
}

impl Applier<'_> {
    /// Applies a score patch.
    pub(super) fn apply_score(
        &mut self,
        (project, is_in_order): (i64, bool),
        patch: &ScorePatch,
        now: Timestamp,
    ) -> rusqlite::Result<()> {
        if is_public(&patch.id) && !self.is_target_there(project, patch)? {
            return self.hold(project, patch.clone(), now);
        }
        self.merge_score((project, is_in_order), patch.clone(), now)
    }

    fn is_target_there(&self, project: i64, patch: &ScorePatch) -> rusqlite::Result<bool> {
        let exists = |sql, id: &dyn rusqlite::ToSql| {
            self.db.prepare_cached(sql)?.exists(params![project, id])
        };
        match patch.target.value() {
            Some(ScoreTarget::Trace(trace) | ScoreTarget::Observation(trace, _)) => {
                exists("SELECT 1 FROM trace WHERE project = ? AND id = ?", &Column(trace))
            }
            Some(ScoreTarget::Session(session)) => {
                exists("SELECT 1 FROM session WHERE project = ? AND id = ?", &Column(session))
            }
            Some(ScoreTarget::DatasetRun(_)) | None => Ok(true),
        }
    }

    /// Stores a score until its target exists.
    fn hold(&mut self, project: i64, patch: ScorePatch, now: Timestamp) -> rusqlite::Result<()> {
        let table = ScoreTable::Waiting;
        let known = load_score(self.db, project, &patch.id, table)?;
        // A score that has waited too long counts as deleted.
        let row = match known.filter(|known| known.created_at >= oldest(now)) {
            Some(known) => ScoreRow { patch: known.patch.merge(patch), updated_at: now, ..known },
            None => ScoreRow { no: None, patch, created_at: now, updated_at: now },
        };
        row.write(self.db, project, table)?;
        self.memory.has_waiting = Some(true);
        self.trim_waiting(project)
    }

    fn trim_waiting(&self, project: i64) -> rusqlite::Result<()> {
        let sql = "SELECT count(*) FROM waiting_score WHERE project = ?";
        let waiting: i64 = self.db.prepare_cached(sql)?.query_row([project], |row| row.get(0))?;
        if waiting <= MAX_WAITING {
            return Ok(());
        }
        let sql = "DELETE FROM waiting_score WHERE no IN (SELECT no FROM waiting_score \
                   WHERE project = ? ORDER BY no LIMIT ?)";
        self.db.prepare_cached(sql)?.execute(params![project, waiting - MAX_WAITING]).map(drop)
    }

    /// Admits the scores that waited for a trace, or for its session.
    pub(super) fn admit_waiting(
        &mut self,
        project: i64,
        trace: &TraceRow,
        now: Timestamp,
    ) -> rusqlite::Result<()> {
        if !self.has_waiting()? {
            return Ok(());
        }
        let (id, session): (&TraceId, Option<&SessionId>) =
            (&trace.patch.id, trace.patch.session.value());
        for row in self.waiting_for("trace", project, &Column(id))? {
            self.admit(project, row, now)?;
        }
        if let Some(session) = session {
            for row in self.waiting_for("session", project, &Column(session))? {
                self.admit(project, row, now)?;
            }
        }
        Ok(())
    }

    fn waiting_for(
        &self,
        column: &str,
        project: i64,
        id: &dyn rusqlite::ToSql,
    ) -> rusqlite::Result<Vec<ScoreRow>> {
        let columns = score_row::COLUMNS;
        let sql =
            format!("SELECT {columns} FROM waiting_score s WHERE s.project = ? AND s.{column} = ?");
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map(params![project, id], score_row::read)?;
        rows.collect()
    }

    fn admit(&mut self, project: i64, row: ScoreRow, now: Timestamp) -> rusqlite::Result<()> {
        let sql = "DELETE FROM waiting_score WHERE no = ?";
        self.db.prepare_cached(sql)?.execute([row.no])?;
        if row.created_at < oldest(now) {
            return Ok(());
        }
        // Public scores are never ordered by arrival.
        let is_in_order = false;
        self.merge_score((project, is_in_order), row.patch, now)
    }

    fn has_waiting(&mut self) -> rusqlite::Result<bool> {
        if let Some(known) = self.memory.has_waiting {
            return Ok(known);
        }
        let sql = "SELECT EXISTS (SELECT 1 FROM waiting_score)";
        let any = self.db.query_row(sql, [], |row| row.get(0))?;
        self.memory.has_waiting = Some(any);
        Ok(any)
    }
}

/// Arrival time of the oldest score that may still wait.
fn oldest(now: Timestamp) -> Timestamp {
    now.plus_nanos(-WAIT_NANOS)
}
