//! Observations without a trace id. Update events may omit it: the observation belongs to the trace
//! that contains its id. An unknown one waits in a placeholder trace with its own id, until a later
//! event names its trace; then it moves. So the order of events does not matter.

use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::record::observation::ObservationPatch;
use ratchet_core::record::trace::TracePatch;
use ratchet_core::time::Timestamp;
use rusqlite::params;

use super::apply::{Applier, OpenTrace};
use super::block::Packer;
use super::column::Column;
use super::facts::Facts;
use super::load::{find_observation, load_observation, load_trace};
use super::observation_row;
use super::prepare::{PreparedObservation, PreparedTrace};

impl Applier<'_> {
    /// Applies an observation without a trace id.
    pub(super) fn apply_orphan(
        &mut self,
        project: i64,
        patch: &ObservationPatch,
        now: Timestamp,
    ) -> rusqlite::Result<()> {
        let trace = match find_observation(self.db, project, &patch.id)? {
            Some((_, trace)) => trace,
            None => {
                let sql = "INSERT OR IGNORE INTO stray (project, id) VALUES (?, ?)";
                self.db.prepare_cached(sql)?.execute(params![project, Column(&patch.id)])?;
                self.memory.has_orphans = Some(true);
                patch.id.cast()
            }
        };
        let facts = Facts::of(patch, &self.prices, now);
        let mut packer = Packer::default();
        let entry = observation_row::entry_of(patch);
        let payload = (!entry.is_empty()).then(|| packer.add(&entry));
        let observation = PreparedObservation { patch: patch.clone(), facts, payload };
        let trace = PreparedTrace {
            patch: TracePatch::new(trace),
            observations: vec![observation],
            blocks: packer.finish(),
        };
        self.apply_trace(project, &trace, now).map(drop)
    }

    /// Takes an observation out of its placeholder trace, now that its trace is known. Returns
    /// since when it waited.
    pub(super) fn take_orphan(
        &mut self,
        home: &OpenTrace,
        id: &ObservationId,
    ) -> rusqlite::Result<Option<(ObservationPatch, Timestamp)>> {
        let wrapper: TraceId = id.cast();
        if !self.has_orphans()? || wrapper == home.row.patch.id {
            return Ok(None);
        }
        let project = home.project;
        let sql = "DELETE FROM stray WHERE project = ? AND id = ?";
        let was_stray = self.db.prepare_cached(sql)?.execute(params![project, Column(id)])? > 0;
        if !was_stray {
            return Ok(None);
        }
        let Some(before) = load_trace(self.db, project, &wrapper)? else { return Ok(None) };
        let Some(known) = load_observation(self.db, &before, id)? else { return Ok(None) };
        let since = known.observation.created_at;
        let mut open = OpenTrace::of(project, before, home.now);
        let patch = self.take(&mut open, known)?;
        self.db
            .prepare_cached("DELETE FROM observation WHERE trace = ? AND id = ?")?
            .execute(params![open.row.no, Column(id)])?;
        let is_bare =
            open.row.sums.levels.total() == 0 && open.row.patch == TracePatch::new(wrapper);
        if is_bare {
            self.delete_trace(project, open.row)?;
        } else {
            self.close_trace(open)?;
        }
        Ok(Some((ObservationPatch { trace: None, ..patch }, since)))
    }

    fn has_orphans(&mut self) -> rusqlite::Result<bool> {
        if let Some(known) = self.memory.has_orphans {
            return Ok(known);
        }
        let sql = "SELECT EXISTS (SELECT 1 FROM stray)";
        let any = self.db.query_row(sql, [], |row| row.get(0))?;
        self.memory.has_orphans = Some(any);
        Ok(any)
    }
}
