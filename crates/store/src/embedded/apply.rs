//! Applies prepared batches inside the writer's transaction.

use std::collections::HashSet;
use std::sync::Arc;

use ratchet_core::environment::Environment;
use ratchet_core::id::ScoreId;
use ratchet_core::record::clock_skew;
use ratchet_core::record::merge::Merge;
use ratchet_core::record::observation::ObservationPatch;
use ratchet_core::record::price::PriceTable;
use ratchet_core::record::score::ScorePatch;
use ratchet_core::record::trace::TracePatch;
use ratchet_core::time::Timestamp;
use rusqlite::{Connection, params};
use rustc_hash::FxHashMap;

use super::block::Packer;
use super::column::Column;
use super::entry::Entry;
use super::evaluation_outbox;
use super::experiment_row;
use super::facts::{Facts, text};
use super::load::{load_observation, load_observations, load_score, load_trace, project_number};
use super::observation_row::{self, ObservationRow, OnConflict, RowPosition};
use super::payload;
use super::prepare::{Prepared, PreparedObservation, PreparedTrace};
use super::rollup::{RollupDelta, Terms, Words};
use super::score_row::{ScoreRow, ScoreTable};
use super::session_row::SessionChange;
use super::trace_row::TraceRow;
use super::uncounted_tokens::without_stale_count;
use super::user_row::UserChange;
use crate::project::ProjectId;

/// The writer's cache between transactions. All of it can be read again.
#[derive(Debug, Default)]
pub(super) struct WriterCache {
    projects: FxHashMap<ProjectId, i64>,
    terms: Terms,
    next_trace: Option<i64>,
    /// Whether any observation waits for its trace; `None` if unknown.
    pub(super) has_orphans: Option<bool>,
    /// Whether any score waits for its target; `None` if unknown.
    pub(super) has_waiting: Option<bool>,
}

/// Applies batches within one transaction.
pub(super) struct Applier<'a> {
    pub(super) db: &'a Connection,
    pub(super) memory: &'a mut WriterCache,
    pub(super) prices: Arc<PriceTable>,
    /// Projects whose traces are put into the outbox of evaluators.
    pub(super) evaluated: Arc<HashSet<ProjectId>>,
    rollup: RollupDelta,
    /// Change in traces and observations per project.
    tally: FxHashMap<i64, (i64, i64)>,
    /// Fields ignored because the stored value has a later time.
    outdated: usize,
}

/// A trace being written: its new state, and the old one if it exists.
pub(super) struct OpenTrace {
    pub(super) project: i64,
    pub(super) row: TraceRow,
    pub(super) before: Option<TraceRow>,
    pub(super) now: Timestamp,
    /// Whether start and end are still exact after a removal.
    bounds_are_sure: bool,
}

impl OpenTrace {
    /// Opens an existing trace for change.
    pub(super) fn of(project: i64, row: TraceRow, now: Timestamp) -> Self {
        Self { project, before: Some(row.clone()), row, now, bounds_are_sure: true }
    }
}

impl<'a> Applier<'a> {
    /// Starts within an open transaction.
    pub(super) fn new(
        db: &'a Connection,
        memory: &'a mut WriterCache,
        prices: Arc<PriceTable>,
    ) -> Self {
        let (rollup, tally) = (RollupDelta::default(), FxHashMap::default());
        Self { db, memory, prices, evaluated: Arc::default(), rollup, tally, outdated: 0 }
    }

    /// Writes the accumulated counts, after which the transaction can be committed. Returns the
    /// number of fields ignored as outdated.
    pub(super) fn finish(self) -> rusqlite::Result<usize> {
        let sql = "UPDATE project SET traces = traces + ?, observations = observations + ? \
                   WHERE no = ?";
        for (project, (traces, observations)) in &self.tally {
            self.db.prepare_cached(sql)?.execute(params![traces, observations, project])?;
        }
        self.rollup.write(self.db)?;
        Ok(self.outdated)
    }

    pub(super) fn apply(&mut self, batch: &Prepared) -> rusqlite::Result<()> {
        let project = self.project(&batch.project)?;
        self.prices = Arc::clone(&batch.prices);
        let now = batch.received_at;
        let is_evaluated = self.evaluated.contains(&batch.project);
        for trace in &batch.traces {
            let written = self.apply_trace(project, trace, now)?;
            if is_evaluated {
                evaluation_outbox::add(self.db, written, now)?;
            }
        }
        for stray in &batch.orphans {
            self.apply_orphan(project, stray, now)?;
        }
        for score in &batch.scores {
            self.apply_score((project, batch.is_in_order), score, now)?;
        }
        for item in &batch.experiment_items {
            experiment_row::write(self.db, project, item, now)?;
            if is_evaluated {
                evaluation_outbox::add_linked(self.db, project, &item.trace, now)?;
            }
        }
        for events in &batch.events {
            self.apply_events(project, events)?;
        }
        Ok(())
    }

    fn project(&mut self, id: &ProjectId) -> rusqlite::Result<i64> {
        if let Some(no) = self.memory.projects.get(id) {
            return Ok(*no);
        }
        let insert = "INSERT OR IGNORE INTO project (id) VALUES (?)";
        self.db.prepare_cached(insert)?.execute([id.as_str()])?;
        let no = project_number(self.db, id)?.unwrap_or_default();
        self.memory.projects.insert(id.clone(), no);
        Ok(no)
    }

    /// Writes a trace and returns its number.
    pub(super) fn apply_trace(
        &mut self,
        project: i64,
        trace: &PreparedTrace,
        now: Timestamp,
    ) -> rusqlite::Result<i64> {
        let mut open = self.open_trace(project, &trace.patch, now)?;
        let number = open.row.no;
        let first_block = open.row.blocks;
        open.row.blocks += trace.blocks.len() as i64;
        let mut is_used = vec![false; trace.blocks.len()];
        for prepared in &trace.observations {
            let payload = prepared.payload.map(|(block, entry)| {
                (payload::number(open.row.no, first_block + block as i64), entry)
            });
            let is_written = self.apply_observation(&mut open, prepared, payload)?;
            if let Some((block, _)) = prepared.payload.filter(|_| is_written) {
                is_used[block] = true;
            }
        }
        for (at, block) in trace.blocks.iter().enumerate().filter(|(at, _)| is_used[*at]) {
            payload::insert(self.db, open.row.no, first_block + at as i64, block)?;
        }
        self.close_trace(open)?;
        Ok(number)
    }

    /// The trace with the patch applied.
    fn open_trace(
        &mut self,
        project: i64,
        patch: &TracePatch,
        now: Timestamp,
    ) -> rusqlite::Result<OpenTrace> {
        let before = load_trace(self.db, project, &patch.id)?;
        let row = match &before {
            Some(before) => {
                let mut known = before.patch.clone();
                clock_skew::clamp_stored(&mut known, before.updated_at);
                self.outdated += patch.outdated_by(&known);
                TraceRow { patch: known.merge(patch.clone()), ..before.clone() }
            }
            None => {
                self.tally.entry(project).or_default().0 += 1;
                TraceRow::new(self.next_trace()?, patch.clone(), now)
            }
        };
        Ok(OpenTrace { project, row, before, now, bounds_are_sure: true })
    }

    fn next_trace(&mut self) -> rusqlite::Result<i64> {
        let next = match self.memory.next_trace {
            Some(next) => next,
            None => {
                let sql = "SELECT coalesce(max(no), 0) + 1 FROM trace";
                self.db.query_row(sql, [], |row| row.get(0))?
            }
        };
        self.memory.next_trace = Some(next + 1);
        Ok(next)
    }

    /// Writes an observation. Returns whether it was inserted with its own payload, rather than
    /// merged into an existing one.
    fn apply_observation(
        &mut self,
        open: &mut OpenTrace,
        prepared: &PreparedObservation,
        payload: Option<(i64, u32)>,
    ) -> rusqlite::Result<bool> {
        let PreparedObservation { patch, facts, .. } = prepared;
        let stray = self.take_orphan(open, &patch.id)?;
        let known = match &open.before {
            Some(_) => load_observation(self.db, &open.row, &patch.id)?,
            None => None,
        };
        if stray.is_some() || known.is_some() {
            self.merge_observation(open, patch, (known, stray))?;
            return Ok(false);
        }
        let position = RowPosition::new(open.row.no, open.project, payload, open.now);
        observation_row::write(self.db, OnConflict::Fail, (patch, facts), position)?;
        self.enqueue_uncounted(open, patch)?;
        self.count(open, (facts, patch))?;
        Ok(true)
    }

    /// Merges a patch into a stored observation.
    pub(super) fn merge_observation(
        &mut self,
        open: &mut OpenTrace,
        patch: &ObservationPatch,
        (known, stray): (Option<ObservationRow>, Option<(ObservationPatch, Timestamp)>),
    ) -> rusqlite::Result<()> {
        let (stray, waits_since) = stray.unzip();
        let known_since = known.as_ref().map(|known| known.observation.created_at);
        let created_at = [known_since, waits_since].into_iter().flatten().min().unwrap_or(open.now);
        let known_facts = known.as_ref().map(ObservationRow::facts);
        let known_place = known.as_ref().and_then(|known| Some((known.payload?, known.entry)));
        let known = known.map(|known| self.take(open, known)).transpose()?;
        self.outdated += known.as_ref().map_or(0, |known| patch.outdated_by(known));
        let merged = known.iter().chain(&stray).cloned().fold(patch.clone(), Merge::merge);
        let merged = without_stale_count(merged, known.as_ref());
        if let Some(facts) = known_facts.filter(|_| known.as_ref() == Some(&merged)) {
            // A repeated export, after a lost response: the row stays as it is.
            return self.count(open, (&facts, &merged));
        }
        let facts = Facts::of(&merged, &self.prices, created_at);
        let entry = observation_row::entry_of(&merged);
        let is_kept = known.as_ref().is_some_and(|known| observation_row::entry_of(known) == entry);
        let payload = match known_place.filter(|_| is_kept) {
            Some(position) => Some(position),
            None => self.store_entry(&mut open.row, &entry)?,
        };
        let position = RowPosition {
            created_at,
            // Clocks can be set back; a record must not change before its creation.
            updated_at: Some(open.now.max(created_at)),
            ..RowPosition::new(open.row.no, open.project, payload, open.now)
        };
        observation_row::write(self.db, OnConflict::Replace, (&merged, &facts), position)?;
        self.enqueue_uncounted(open, &merged)?;
        self.count(open, (&facts, &merged))
    }

    /// Adds an observation to the sums of its trace, hour and project.
    fn count(
        &mut self,
        open: &mut OpenTrace,
        (facts, patch): (&Facts, &ObservationPatch),
    ) -> rusqlite::Result<()> {
        open.row.sums.add(facts);
        self.tally.entry(open.project).or_default().1 += 1;
        let terms = (self.db, &mut self.memory.terms);
        self.rollup.add(terms, open.project, (facts, words_of(patch)), 1)
    }

    /// Subtracts a stored observation from all sums and returns it as a patch.
    pub(super) fn take(
        &mut self,
        open: &mut OpenTrace,
        known: ObservationRow,
    ) -> rusqlite::Result<ObservationPatch> {
        self.discount(open, &known)?;
        let entry = payload::load_entry(self.db, known.payload, known.entry)?.unwrap_or_default();
        let written_at = known.observation.updated_at;
        let mut patch = known.into_patch(entry);
        clock_skew::clamp_stored(&mut patch, written_at);
        Ok(patch)
    }

    /// Subtracts a stored observation from the sums of its trace, hour and project.
    fn discount(&mut self, open: &mut OpenTrace, known: &ObservationRow) -> rusqlite::Result<()> {
        let facts = known.facts();
        open.row.sums.take(&facts);
        open.bounds_are_sure = false;
        self.tally.entry(open.project).or_default().1 -= 1;
        let seen = &known.observation;
        let words = Words {
            environment: Some(seen.environment.as_str()),
            name: seen.name.as_deref(),
            model: seen.model.as_deref(),
        };
        let terms = (self.db, &mut self.memory.terms);
        self.rollup.add(terms, open.project, (&facts, words), -1)
    }

    fn store_entry(
        &self,
        row: &mut TraceRow,
        entry: &Entry,
    ) -> rusqlite::Result<Option<(i64, u32)>> {
        if entry.is_empty() {
            return Ok(None);
        }
        let mut packer = Packer::default();
        packer.add(entry);
        let block = row.blocks;
        for bytes in packer.finish() {
            payload::insert(self.db, row.no, block, &bytes)?;
        }
        row.blocks += 1;
        Ok(Some((payload::number(row.no, block), 0)))
    }

    /// Writes the trace's row and updates its session and user.
    pub(super) fn close_trace(&mut self, open: OpenTrace) -> rusqlite::Result<()> {
        let OpenTrace { project, mut row, before, now, bounds_are_sure } = open;
        if !bounds_are_sure {
            self.find_bounds(&mut row)?;
        }
        let entry = row.entry();
        if before.as_ref().map(TraceRow::entry).unwrap_or_default() != entry {
            if let Some(old) = row.payload {
                payload::delete(self.db, old)?;
            }
            row.payload = self.store_entry(&mut row, &entry)?.map(|(block, _)| block);
        }
        row.updated_at = row.updated_at.max(now);
        row.write(self.db, project, before.is_none())?;
        SessionChange { before: before.as_ref(), after: Some(&row) }.apply(self.db, project)?;
        UserChange { before: before.as_ref(), after: Some(&row) }.apply(self.db, project)?;
        self.admit_waiting(project, &row, now)
    }

    fn find_bounds(&self, row: &mut TraceRow) -> rusqlite::Result<()> {
        let sql = "SELECT min(start), max(max(start, coalesce(end, start))) FROM observation \
                   WHERE trace = ?";
        let (start, end): (Option<Column<Timestamp>>, Option<Column<Timestamp>>) = self
            .db
            .prepare_cached(sql)?
            .query_row([row.no], |bounds| Ok((bounds.get(0)?, bounds.get(1)?)))?;
        row.sums.start = start.map(|at| at.0);
        row.sums.end = end.map(|at| at.0);
        Ok(())
    }

    /// Merges a patch into a stored score.
    pub(super) fn merge_score(
        &mut self,
        (project, is_in_order): (i64, bool),
        mut patch: ScorePatch,
        now: Timestamp,
    ) -> rusqlite::Result<()> {
        let table = ScoreTable::Given;
        let row = match load_score(self.db, project, &patch.id, table)? {
            Some(mut known) => {
                clock_skew::clamp_stored(&mut known.patch, known.updated_at);
                if is_in_order {
                    patch = patch.after(&known.patch);
                }
                self.outdated += patch.outdated_by(&known.patch);
                let updated_at = known.updated_at.max(now);
                ScoreRow { patch: known.patch.merge(patch), updated_at, ..known }
            }
            None => ScoreRow { no: None, patch, created_at: now, updated_at: now },
        };
        row.write(self.db, project, table)
    }

    /// Deletes a score; returns whether it existed.
    pub(super) fn delete_score(
        &mut self,
        project: &ProjectId,
        id: &ScoreId,
    ) -> rusqlite::Result<bool> {
        let Some(project) = project_number(self.db, project)? else { return Ok(false) };
        let sql = "DELETE FROM score WHERE project = ? AND id = ?";
        let deleted = self.db.prepare_cached(sql)?.execute(params![project, Column(id)])?;
        Ok(deleted > 0)
    }

    /// Deletes a trace with its observations and scores.
    pub(super) fn delete_trace(&mut self, project: i64, row: TraceRow) -> rusqlite::Result<()> {
        let db = self.db;
        let now = row.updated_at;
        // The user's day contains the sums as they were before the observations are subtracted.
        let sums = row.sums;
        let mut open = OpenTrace::of(project, row, now);
        for known in load_observations(db, &open.row)? {
            self.discount(&mut open, &known)?;
        }
        let row = TraceRow { sums, ..open.row };
        db.prepare_cached("DELETE FROM observation WHERE trace = ?")?.execute([row.no])?;
        db.prepare_cached("DELETE FROM uncounted WHERE trace = ?")?.execute([row.no])?;
        payload::delete_all(db, row.no)?;
        let key = params![project, Column(&row.patch.id)];
        db.prepare_cached("DELETE FROM score WHERE project = ? AND trace = ?")?.execute(key)?;
        experiment_row::delete_of_trace(db, project, &row.patch.id)?;
        db.prepare_cached("DELETE FROM stray WHERE project = ? AND id = ?")?.execute(key)?;
        db.prepare_cached("DELETE FROM trace WHERE no = ?")?.execute([row.no])?;
        self.tally.entry(project).or_default().0 -= 1;
        SessionChange { before: Some(&row), after: None }.apply(db, project)?;
        UserChange { before: Some(&row), after: None }.apply(db, project)
    }
}

fn words_of(patch: &ObservationPatch) -> Words<'_> {
    Words {
        environment: patch.environment.value().map(Environment::as_str),
        name: text(&patch.name),
        model: text(&patch.model),
    }
}
