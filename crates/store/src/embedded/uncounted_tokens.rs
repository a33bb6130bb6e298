//! Model calls without usage. They are queued here on writing; their tokens are counted later, off
//! the write path, and usage sent by a client replaces the count.

use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::record::field::{Field, Stamp};
use ratchet_core::record::observation::ObservationPatch;
use ratchet_core::record::price::{ModelCall, PriceTable};
use ratchet_core::record::usage::Usage;
use ratchet_core::time::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::TelemetryDb;
use super::apply::{Applier, OpenTrace};
use super::column::{Column, column_value};
use super::load::{load_observation, load_trace, project_number};
use super::observation_row;
use super::payload::Blocks;
use super::writer::Writer;
use crate::project::ProjectId;
use crate::token_count::{TokenCount, Uncounted};
use crate::{StoreError, StoreResult};

impl TelemetryDb {
    /// See `Telemetry::uncounted`.
    pub(crate) async fn uncounted(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<Uncounted>> {
        let prices = self.shared.prices.clone();
        let read = move |db: &Connection| -> rusqlite::Result<Vec<Uncounted>> {
            let noted = noted(db, before, limit)?;
            let mut blocks = Blocks::new(db);
            noted
                .into_iter()
                .map(|noted| {
                    let prices = noted.project.as_ref().map(|project| prices.of(project));
                    noted.read(db, &mut blocks, prices.as_deref())
                })
                .collect()
        };
        self.shared.readers.read(move |db| read(db).map_err(StoreError::database)).await
    }

    /// See `Telemetry::drop_uncounted`.
    pub(crate) async fn drop_uncounted(&self, before: Timestamp, limit: u32) -> StoreResult<usize> {
        let any = move |db: &Connection| -> rusqlite::Result<bool> {
            let sql = "SELECT EXISTS (SELECT 1 FROM uncounted WHERE since < ?)";
            db.prepare_cached(sql)?.query_row([Column(before)], |row| row.get(0))
        };
        // The writer is a bottleneck: it is used only if there is something to do.
        if !self.shared.readers.read(move |db| any(db).map_err(StoreError::database)).await? {
            return Ok(0);
        }
        let forget = move |writer: &mut Writer| {
            writer.transact(|applier| {
                let sql = "DELETE FROM uncounted WHERE (trace, id) IN \
                           (SELECT trace, id FROM uncounted WHERE since < ? LIMIT ?)";
                applier.db.prepare_cached(sql)?.execute(params![Column(before), limit])
            })
        };
        self.shared.writer.run(forget).await
    }

    /// See `Telemetry::write_counts`.
    pub(crate) async fn write_counts(
        &self,
        counts: Vec<TokenCount>,
        now: Timestamp,
    ) -> StoreResult<()> {
        let prices = self.shared.prices.clone();
        let keep = move |writer: &mut Writer| {
            writer.transact(|applier| {
                for count in &counts {
                    if let Some(project) = &count.of.project {
                        applier.prices = prices.of(project);
                    }
                    applier.save_count(count, now)?;
                }
                Ok(())
            })
        };
        self.shared.writer.run(keep).await
    }
}

impl Applier<'_> {
    /// Queues a model call without usage for token counting.
    pub(super) fn enqueue_uncounted(
        &self,
        open: &OpenTrace,
        patch: &ObservationPatch,
    ) -> rusqlite::Result<()> {
        let has_content = patch.input.value().is_some() || patch.output.value().is_some();
        let is_uncounted = patch.model.value().is_some() && patch.usage.stamped().is_none();
        if !(has_content && is_uncounted) {
            return Ok(());
        }
        let sql = "REPLACE INTO uncounted (trace, id, since) VALUES (?, ?, ?)";
        let values = params![open.row.no, Column(&patch.id), Column(open.now)];
        self.db.prepare_cached(sql)?.execute(values).map(drop)
    }

    /// Saves a count, unless the call was changed or deleted since.
    fn save_count(&mut self, count: &TokenCount, now: Timestamp) -> rusqlite::Result<()> {
        let TokenCount { of, usage } = count;
        let sql = "DELETE FROM uncounted WHERE trace = ? AND id = ? AND since = ?";
        let key = params![of.trace_no, Column(&of.id), Column(of.since)];
        let is_as_read = self.db.prepare_cached(sql)?.execute(key)? > 0;
        let (Some(usage), Some(trace), Some(project)) = (usage, &of.trace, &of.project) else {
            return Ok(());
        };
        let Some(project) = project_number(self.db, project)? else { return Ok(()) };
        let row = load_trace(self.db, project, trace)?.filter(|row| row.no == of.trace_no);
        let Some(row) = row.filter(|_| is_as_read) else { return Ok(()) };
        let Some(known) = load_observation(self.db, &row, &of.id)? else { return Ok(()) };
        if known.has_usage() {
            return Ok(());
        }
        let mut patch = ObservationPatch::new(of.id.clone(), Some(trace.clone()));
        patch.usage = Field::new(usage.clone(), Stamp::counted(now));
        let mut open = OpenTrace::of(project, row, now);
        self.merge_observation(&mut open, &patch, (Some(known), None))?;
        self.close_trace(open)
    }
}

/// Removes a count from a merged observation whose content has changed, so that it is counted
/// again.
pub(super) fn without_stale_count(
    merged: ObservationPatch,
    known: Option<&ObservationPatch>,
) -> ObservationPatch {
    let Some(known) = known.filter(|known| known.has_counted_usage()) else { return merged };
    let is_same = known.input == merged.input
        && known.output == merged.output
        && known.model.value() == merged.model.value();
    if is_same || !merged.has_counted_usage() {
        return merged;
    }
    ObservationPatch { usage: Field::unset(), ..merged }
}

/// A queued call.
struct Noted {
    trace_no: i64,
    id: ObservationId,
    since: Timestamp,
    trace: Option<TraceId>,
    project: Option<ProjectId>,
}

fn noted(db: &Connection, before: Timestamp, limit: u32) -> rusqlite::Result<Vec<Noted>> {
    let sql = "SELECT u.trace, u.id, u.since, t.id, p.id FROM uncounted u \
               LEFT JOIN trace t ON t.no = u.trace LEFT JOIN project p ON p.no = t.project \
               WHERE u.since < ? LIMIT ?";
    let mut statement = db.prepare_cached(sql)?;
    let read = |row: &Row<'_>| {
        let project: Option<String> = row.get(4)?;
        Ok(Noted {
            trace_no: row.get(0)?,
            id: row.get::<_, Column<ObservationId>>(1)?.0,
            since: row.get::<_, Column<Timestamp>>(2)?.0,
            trace: column_value(row.get(3)?),
            // A deleted project has an id that does not parse.
            project: project.and_then(|id| ProjectId::parse(&id).ok()),
        })
    };
    statement.query_map(params![Column(before), limit], read)?.collect()
}

impl Noted {
    /// The call with the content to count; none if it was deleted or its model has no price.
    fn read(
        self,
        db: &Connection,
        blocks: &mut Blocks<'_>,
        prices: Option<&PriceTable>,
    ) -> rusqlite::Result<Uncounted> {
        let Self { trace_no, id, since, trace, project } = self;
        let mut uncounted =
            Uncounted { trace_no, id, since, trace, project, input: None, output: None };
        let (Some(trace), Some(prices)) = (&uncounted.trace, prices) else { return Ok(uncounted) };
        let columns = observation_row::COLUMNS;
        let sql = format!("SELECT {columns} FROM observation o WHERE o.trace = ? AND o.id = ?");
        let known = db
            .prepare_cached(&sql)?
            .query_row(params![trace_no, Column(&uncounted.id)], |row| {
                observation_row::read(row, trace.clone())
            })
            .optional()?;
        let Some(known) = known.filter(|known| !known.has_usage()) else { return Ok(uncounted) };
        let one = Usage::new([("input".to_owned(), 1), ("output".to_owned(), 1)].into());
        let seen = &known.observation;
        let is_known = seen.model.as_deref().is_some_and(|model| {
            let (parameters, at) = (seen.model_parameters.as_ref(), seen.start);
            let call = ModelCall { model, usage: &one, parameters, metadata: None, at };
            prices.priced(call).is_some()
        });
        if is_known && let Some(entry) = blocks.entry(known.payload, known.entry)? {
            uncounted.input = entry.input;
            uncounted.output = entry.output;
        }
        Ok(uncounted)
    }
}
