//! A trace's row: its own fields, and sums over its observations.

use std::collections::BTreeSet;

use ratchet_core::id::{ObservationId, SessionId};
use ratchet_core::money::Money;
use ratchet_core::record::merge::Earliest;
use ratchet_core::record::trace::{LevelCounts, Trace, TracePatch, TraceSummary};
use ratchet_core::time::Timestamp;
use rusqlite::{Connection, Row, params};

use super::column::{Column, column_value, to_i64, to_u64};
use super::entry::{Entry, EntryMetadata};
use super::facts::{Facts, text};
use super::stamps::{Bit, Stamps};

const NAME: Bit = 1;
const USER: Bit = 1 << 1;
const SESSION: Bit = 1 << 2;
const RELEASE: Bit = 1 << 3;
const VERSION: Bit = 1 << 4;
const ENVIRONMENT: Bit = 1 << 5;
const AGENT: Bit = 1 << 6;
const PUBLIC: Bit = 1 << 7;
const BOOKMARKED: Bit = 1 << 8;
const INPUT: Bit = 1 << 9;
const OUTPUT: Bit = 1 << 10;
const ROOT: Bit = 1 << 11;
const METADATA: Bit = 1 << 12;

/// The columns of a trace in the order that [`read`] expects.
pub(super) const COLUMNS: &str = "t.no, t.id, t.timestamp, t.name, t.user, t.session, t.release, \
    t.version, t.environment, t.agent, t.tags, t.public, t.bookmarked, t.root, t.debugs, \
    t.defaults, t.warnings, t.errors, t.start, t.end, t.input_tokens, t.output_tokens, \
    t.total_tokens, t.cost, t.costs_known, t.stamps, t.payload, t.blocks, t.created_at, \
    t.updated_at, t.approximate_cost";
/// Number of these columns: the index of the next one.
pub(super) const COLUMN_COUNT: usize = 31;

const INSERT: &str = "INSERT INTO trace (no, id, timestamp, name, user, session, release, \
    version, environment, agent, tags, public, bookmarked, root, debugs, defaults, warnings, \
    errors, start, end, input_tokens, output_tokens, total_tokens, cost, costs_known, stamps, \
    payload, blocks, created_at, updated_at, project, approximate_cost) VALUES (?, ?, ?, ?, ?, \
    ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

// Takes the same parameters. The identity of a trace never changes.
const UPDATE: &str = "UPDATE trace SET timestamp = ?3, name = ?4, user = ?5, session = ?6, \
    release = ?7, version = ?8, environment = ?9, agent = ?10, tags = ?11, public = ?12, \
    bookmarked = ?13, root = ?14, debugs = ?15, defaults = ?16, warnings = ?17, errors = ?18, \
    start = ?19, end = ?20, input_tokens = ?21, output_tokens = ?22, total_tokens = ?23, \
    cost = ?24, costs_known = ?25, stamps = ?26, payload = ?27, blocks = ?28, updated_at = ?30, \
    approximate_cost = ?32 \
    WHERE no = ?1 AND id = ?2 AND created_at = ?29 AND project = ?31";

/// Sums over a trace's observations, which can be subtracted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TraceSums {
    pub(super) levels: LevelCounts,
    pub(super) start: Option<Timestamp>,
    pub(super) end: Option<Timestamp>,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) total_tokens: u64,
    pub(super) cost: Money,
    pub(super) costs_known: u64,
    pub(super) approximate_cost: Money,
}

impl TraceSums {
    pub(super) fn add(&mut self, facts: &Facts) {
        *self.levels.at_mut(facts.level) += 1;
        let end = facts.end.unwrap_or(facts.start);
        self.start = Some(self.start.map_or(facts.start, |start| start.min(facts.start)));
        self.end = Some(self.end.map_or(end, |latest| latest.max(end)));
        self.input_tokens = self.input_tokens.saturating_add(facts.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(facts.output_tokens);
        self.total_tokens = self.total_tokens.saturating_add(facts.total_tokens);
        if let Some(cost) = &facts.cost {
            self.cost = self.cost + cost.total();
            self.costs_known += 1;
            self.approximate_cost = self.approximate_cost + facts.approximate_cost();
        }
    }

    /// Subtracts an observation. Start and end may be wrong now: the caller checks.
    pub(super) fn take(&mut self, facts: &Facts) {
        let level = self.levels.at_mut(facts.level);
        *level = level.saturating_sub(1);
        self.input_tokens = self.input_tokens.saturating_sub(facts.input_tokens);
        self.output_tokens = self.output_tokens.saturating_sub(facts.output_tokens);
        self.total_tokens = self.total_tokens.saturating_sub(facts.total_tokens);
        if let Some(cost) = &facts.cost {
            self.cost = self.cost - cost.total();
            self.costs_known = self.costs_known.saturating_sub(1);
            self.approximate_cost = self.approximate_cost - facts.approximate_cost();
        }
    }

    fn known_cost(&self) -> Option<Money> {
        (self.costs_known > 0).then_some(self.cost)
    }
}

#[derive(Clone, Debug)]
pub(super) struct TraceRow {
    pub(super) no: i64,
    pub(super) patch: TracePatch,
    pub(super) sums: TraceSums,
    /// The block with the trace's own content.
    pub(super) payload: Option<i64>,
    /// Number of payload blocks the trace ever had; the index of the next one.
    pub(super) blocks: i64,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
}

impl TraceRow {
    pub(super) fn new(no: i64, patch: TracePatch, now: Timestamp) -> Self {
        let sums = TraceSums::default();
        Self { no, patch, sums, payload: None, blocks: 0, created_at: now, updated_at: now }
    }

    /// Start: as recorded, else that of the first observation, else the time of arrival.
    pub(super) fn timestamp(&self) -> Timestamp {
        self.patch.timestamp.0.or(self.sums.start).unwrap_or(self.created_at)
    }

    /// Number of observations.
    pub(super) fn observations(&self) -> i64 {
        to_i64(self.sums.levels.total())
    }

    /// Name of the agent; the trace's name if there is none.
    fn agent(&self) -> Option<&str> {
        text(&self.patch.agent).or_else(|| text(&self.patch.name))
    }

    /// The trace's own content.
    pub(super) fn entry(&self) -> Entry {
        Entry {
            input: self.patch.input.value().cloned(),
            output: self.patch.output.value().cloned(),
            metadata: EntryMetadata::of(&self.patch.metadata),
        }
    }

    pub(super) fn write(
        &self,
        db: &Connection,
        project: i64,
        is_new: bool,
    ) -> rusqlite::Result<()> {
        let patch = &self.patch;
        let sums = &self.sums;
        let tags = (!patch.tags.is_empty())
            .then(|| serde_json::to_string(&patch.tags).unwrap_or_default());
        db.prepare_cached(if is_new { INSERT } else { UPDATE })?.execute(params![
            self.no,
            Column(&patch.id),
            Column(self.timestamp()),
            text(&patch.name),
            text(&patch.user),
            patch.session.value().map(Column),
            text(&patch.release),
            text(&patch.version),
            patch.environment.value().map(Column),
            self.agent(),
            tags,
            patch.public.value(),
            patch.bookmarked.value(),
            patch.root.value().map(Column),
            to_i64(sums.levels.debug),
            to_i64(sums.levels.default),
            to_i64(sums.levels.warning),
            to_i64(sums.levels.error),
            sums.start.map(Column),
            sums.end.map(Column),
            to_i64(sums.input_tokens),
            to_i64(sums.output_tokens),
            to_i64(sums.total_tokens),
            sums.cost.pico(),
            to_i64(sums.costs_known),
            stamps_of(patch).encode(),
            self.payload,
            self.blocks,
            Column(self.created_at),
            Column(self.updated_at),
            project,
            sums.approximate_cost.pico(),
        ])?;
        Ok(())
    }

    /// Converts to the public type, without content.
    pub(super) fn into_trace(self) -> Trace {
        let timestamp = self.timestamp();
        let agent = self.agent().map(ToOwned::to_owned);
        let Self { patch, sums, created_at, updated_at, .. } = self;
        Trace {
            timestamp,
            agent,
            id: patch.id,
            name: patch.name.into_value(),
            user: patch.user.into_value(),
            session: patch.session.into_value(),
            release: patch.release.into_value(),
            version: patch.version.into_value(),
            environment: patch.environment.into_value().unwrap_or_default(),
            tags: patch.tags.into_iter().collect(),
            public: patch.public.into_value().unwrap_or(false),
            bookmarked: patch.bookmarked.into_value().unwrap_or(false),
            summary: TraceSummary {
                levels: sums.levels,
                start: sums.start,
                end: sums.end,
                input_tokens: sums.input_tokens,
                output_tokens: sums.output_tokens,
                total_tokens: sums.total_tokens,
                cost: sums.known_cost(),
                approximate_cost: sums.approximate_cost,
            },
            created_at,
            updated_at,
            content: None,
        }
    }
}

fn stamps_of(patch: &TracePatch) -> Stamps {
    let mut stamps = Stamps::new(patch.timestamp.0.is_some());
    stamps.note(NAME, &patch.name);
    stamps.note(USER, &patch.user);
    stamps.note(SESSION, &patch.session);
    stamps.note(RELEASE, &patch.release);
    stamps.note(VERSION, &patch.version);
    stamps.note(ENVIRONMENT, &patch.environment);
    stamps.note(AGENT, &patch.agent);
    stamps.note(PUBLIC, &patch.public);
    stamps.note(BOOKMARKED, &patch.bookmarked);
    stamps.note(INPUT, &patch.input);
    stamps.note(OUTPUT, &patch.output);
    stamps.note(ROOT, &patch.root);
    if let Some(stamp) = EntryMetadata::shared_stamp(&patch.metadata) {
        stamps.note_stamp(METADATA, stamp, false);
    }
    stamps
}

/// Reads a row selected by [`COLUMNS`]; `entry` is the content of its own block, if it was fetched.
pub(super) fn read(row: &Row<'_>, entry: Entry) -> rusqlite::Result<TraceRow> {
    let stamps = Stamps::decode(row.get_ref(25)?.as_blob()?);
    let timestamp: Column<Timestamp> = row.get(2)?;
    let tags: BTreeSet<String> = row
        .get_ref(10)?
        .as_str_or_null()?
        .and_then(|tags| serde_json::from_str(tags).ok())
        .unwrap_or_default();
    let metadata_stamp = stamps.of(METADATA).map(|(stamp, _)| stamp);
    let patch = TracePatch {
        id: row.get::<_, Column<_>>(1)?.0,
        timestamp: Earliest(stamps.has_time.then_some(timestamp.0)),
        name: stamps.field(NAME, row.get(3)?),
        user: stamps.field(USER, row.get(4)?),
        session: stamps.field(SESSION, column_value::<SessionId>(row.get(5)?)),
        release: stamps.field(RELEASE, row.get(6)?),
        version: stamps.field(VERSION, row.get(7)?),
        environment: stamps.field(ENVIRONMENT, column_value(row.get(8)?)),
        agent: stamps.field(AGENT, row.get(9)?),
        tags,
        public: stamps.field(PUBLIC, row.get(11)?),
        bookmarked: stamps.field(BOOKMARKED, row.get(12)?),
        metadata: entry.metadata.into_metadata(metadata_stamp),
        input: stamps.field(INPUT, entry.input),
        output: stamps.field(OUTPUT, entry.output),
        root: stamps.field(ROOT, column_value::<ObservationId>(row.get(13)?)),
    };
    let count = |column: usize| row.get(column).map(to_u64);
    let sums = TraceSums {
        levels: LevelCounts {
            debug: count(14)?,
            default: count(15)?,
            warning: count(16)?,
            error: count(17)?,
        },
        start: column_value(row.get(18)?),
        end: column_value(row.get(19)?),
        input_tokens: count(20)?,
        output_tokens: count(21)?,
        total_tokens: count(22)?,
        cost: Money::from_pico(row.get(23)?),
        costs_known: count(24)?,
        approximate_cost: Money::from_pico(row.get(30)?),
    };
    Ok(TraceRow {
        no: row.get(0)?,
        patch,
        sums,
        payload: row.get(26)?,
        blocks: row.get(27)?,
        created_at: row.get::<_, Column<_>>(28)?.0,
        updated_at: row.get::<_, Column<_>>(29)?.0,
    })
}
