//! A score's row.

use std::sync::LazyLock;

use ratchet_core::id::{ObservationId, SessionId, TraceId};
use ratchet_core::payload::Json;
use ratchet_core::record::merge::Earliest;
use ratchet_core::record::score::{Score, ScorePatch, ScoreSource, ScoreTarget, ScoreValue};
use ratchet_core::time::Timestamp;
use rusqlite::{Connection, Row, params};

use super::column::{Column, column_value};
use super::entry::{Entry, EntryMetadata};
use super::facts::text;
use super::stamps::{Bit, Stamps};

const TARGET: Bit = 1;
const NAME: Bit = 1 << 1;
const VALUE: Bit = 1 << 2;
const SOURCE: Bit = 1 << 3;
const ENVIRONMENT: Bit = 1 << 4;
const COMMENT: Bit = 1 << 5;
const AUTHOR: Bit = 1 << 6;
const CONFIG: Bit = 1 << 7;
const QUEUE: Bit = 1 << 8;
const METADATA: Bit = 1 << 9;

/// The columns of a score in the order that [`read`] expects.
pub(super) const COLUMNS: &str = "s.no, s.id, s.trace, s.observation, s.session, s.dataset_run, \
    s.name, s.data_type, s.number, s.text, s.source, s.timestamp, s.environment, s.comment, \
    s.author, s.config, s.queue, s.metadata, s.stamps, s.created_at, s.updated_at";

/// The same without comments and long metadata, and with the beginning of long texts. SQLite holds
/// all columns of what it sorts.
pub(super) const SHORT_COLUMNS: &str = "s.no, s.id, s.trace, s.observation, s.session, \
    s.dataset_run, s.name, s.data_type, s.number, substr(s.text, 1, 1000) AS text, s.source, \
    s.timestamp, s.environment, NULL AS comment, s.author, s.config, s.queue, \
    CASE WHEN length(s.metadata) <= 4000 THEN s.metadata END AS metadata, s.stamps, \
    s.created_at, s.updated_at";

/// The columns and values of an `INSERT`, after the table name.
const VALUES: &str = "(no, id, trace, observation, session, dataset_run, name, \
    data_type, number, text, source, timestamp, environment, comment, author, config, queue, \
    metadata, stamps, created_at, updated_at, project) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, \
    ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScoreTable {
    /// Visible scores.
    Given,
    /// Scores that wait for their target.
    Waiting,
}

impl ScoreTable {
    /// Table name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Given => "score",
            Self::Waiting => "waiting_score",
        }
    }

    fn insert(self) -> &'static str {
        static GIVEN: LazyLock<String> =
            LazyLock::new(|| format!("REPLACE INTO {} {VALUES}", ScoreTable::Given.name()));
        static WAITING: LazyLock<String> =
            LazyLock::new(|| format!("REPLACE INTO {} {VALUES}", ScoreTable::Waiting.name()));
        match self {
            Self::Given => &GIVEN,
            Self::Waiting => &WAITING,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct ScoreRow {
    pub(super) no: Option<i64>,
    pub(super) patch: ScorePatch,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
}

impl ScoreRow {
    /// Upserts the row. A score without target, name or value is incomplete, and recording never
    /// sends one.
    pub(super) fn write(
        &self,
        db: &Connection,
        project: i64,
        table: ScoreTable,
    ) -> rusqlite::Result<()> {
        let patch = &self.patch;
        let (Some(target), Some(value)) = (patch.target.value(), patch.value.value()) else {
            return Ok(());
        };
        let (trace, observation, session, dataset_run) = split(target);
        let (form, metadata) = EntryMetadata::of(&patch.metadata).encode();
        let metadata = (form != 0).then(|| [&[form], metadata.as_bytes()].concat());
        db.prepare_cached(table.insert())?.execute(params![
            self.no,
            Column(&patch.id),
            trace.map(Column),
            observation.map(Column),
            session.map(Column),
            dataset_run,
            text(&patch.name).unwrap_or_default(),
            value.data_type().as_str(),
            value.number(),
            value.text(),
            patch.source.value().copied().unwrap_or_default().as_str(),
            Column(patch.timestamp.0.unwrap_or(self.created_at)),
            patch.environment.value().map(Column),
            text(&patch.comment),
            text(&patch.author),
            text(&patch.config),
            text(&patch.queue),
            metadata,
            stamps_of(patch).encode(),
            Column(self.created_at),
            Column(self.updated_at),
            project,
        ])?;
        Ok(())
    }

    /// Converts to the public type; `None` if it is incomplete.
    pub(super) fn into_score(self) -> Option<Score> {
        let Self { patch, created_at, updated_at, .. } = self;
        let metadata = patch.metadata.values().map(|(k, v)| (k.to_owned(), v.clone())).collect();
        Some(Score {
            id: patch.id,
            target: patch.target.into_value()?,
            name: patch.name.into_value()?,
            value: patch.value.into_value()?,
            source: patch.source.into_value().unwrap_or_default(),
            timestamp: patch.timestamp.0.unwrap_or(created_at),
            environment: patch.environment.into_value().unwrap_or_default(),
            comment: patch.comment.into_value(),
            author: patch.author.into_value(),
            config: patch.config.into_value(),
            queue: patch.queue.into_value(),
            metadata,
            created_at,
            updated_at,
        })
    }
}

type Split<'a> =
    (Option<&'a TraceId>, Option<&'a ObservationId>, Option<&'a SessionId>, Option<&'a str>);

fn split(target: &ScoreTarget) -> Split<'_> {
    match target {
        ScoreTarget::Trace(trace) => (Some(trace), None, None, None),
        ScoreTarget::Observation(trace, observation) => {
            (Some(trace), Some(observation), None, None)
        }
        ScoreTarget::Session(session) => (None, None, Some(session), None),
        ScoreTarget::DatasetRun(run) => (None, None, None, Some(run)),
    }
}

fn stamps_of(patch: &ScorePatch) -> Stamps {
    let mut stamps = Stamps::new(patch.timestamp.0.is_some());
    stamps.note(TARGET, &patch.target);
    stamps.note(NAME, &patch.name);
    stamps.note(VALUE, &patch.value);
    stamps.note(SOURCE, &patch.source);
    stamps.note(ENVIRONMENT, &patch.environment);
    stamps.note(COMMENT, &patch.comment);
    stamps.note(AUTHOR, &patch.author);
    stamps.note(CONFIG, &patch.config);
    stamps.note(QUEUE, &patch.queue);
    if let Some(stamp) = EntryMetadata::shared_stamp(&patch.metadata) {
        stamps.note_stamp(METADATA, stamp, false);
    }
    stamps
}

/// Reads stored metadata.
pub(super) fn metadata_of(metadata: Option<&[u8]>) -> Vec<(String, Json)> {
    let Some((form, text)) = metadata.and_then(<[u8]>::split_first) else { return Vec::new() };
    EntryMetadata::decode(*form, std::str::from_utf8(text).unwrap_or_default()).values()
}

/// Reads a row selected by [`COLUMNS`].
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<ScoreRow> {
    let stamps = Stamps::decode(row.get_ref(18)?.as_blob()?);
    let source: String = row.get(10)?;
    let timestamp: Column<Timestamp> = row.get(11)?;
    let metadata = row.get_ref(17)?.as_blob_or_null()?.and_then(<[u8]>::split_first);
    let metadata = metadata.map_or(EntryMetadata::None, |(form, text)| {
        EntryMetadata::decode(*form, std::str::from_utf8(text).unwrap_or_default())
    });
    let entry = Entry { metadata, ..Entry::default() };
    let patch = ScorePatch {
        id: row.get::<_, Column<_>>(1)?.0,
        target: stamps.field(TARGET, target(row)?),
        name: stamps.field(NAME, row.get(6)?),
        value: stamps.field(VALUE, value(row)?),
        source: stamps.field(SOURCE, ScoreSource::parse(&source)),
        timestamp: Earliest(stamps.has_time.then_some(timestamp.0)),
        environment: stamps.field(ENVIRONMENT, column_value(row.get(12)?)),
        comment: stamps.field(COMMENT, row.get(13)?),
        author: stamps.field(AUTHOR, row.get(14)?),
        config: stamps.field(CONFIG, row.get(15)?),
        queue: stamps.field(QUEUE, row.get(16)?),
        metadata: entry.metadata.into_metadata(stamps.of(METADATA).map(|(stamp, _)| stamp)),
    };
    Ok(ScoreRow {
        no: row.get(0)?,
        patch,
        created_at: row.get::<_, Column<_>>(19)?.0,
        updated_at: row.get::<_, Column<_>>(20)?.0,
    })
}

fn target(row: &Row<'_>) -> rusqlite::Result<Option<ScoreTarget>> {
    let trace: Option<TraceId> = column_value(row.get(2)?);
    let observation: Option<ObservationId> = column_value(row.get(3)?);
    let session: Option<SessionId> = column_value(row.get(4)?);
    let dataset_run: Option<String> = row.get(5)?;
    Ok(match (trace, observation) {
        (Some(trace), Some(observation)) => Some(ScoreTarget::Observation(trace, observation)),
        (Some(trace), None) => Some(ScoreTarget::Trace(trace)),
        (None, _) => session.map(ScoreTarget::Session).or(dataset_run.map(ScoreTarget::DatasetRun)),
    })
}

fn value(row: &Row<'_>) -> rusqlite::Result<Option<ScoreValue>> {
    Ok(value_of(row.get_ref(7)?.as_str()?, row.get(8)?, row.get(9)?))
}

/// The value in the columns `data_type`, `number` and `text`.
pub(super) fn value_of(
    data_type: &str,
    number: Option<f64>,
    text: Option<String>,
) -> Option<ScoreValue> {
    match data_type {
        "NUMERIC" => number.map(ScoreValue::Numeric),
        "BOOLEAN" => number.map(|number| ScoreValue::Boolean(number != 0.0)),
        "CATEGORICAL" => text.map(|label| ScoreValue::Categorical { label, number }),
        "TEXT" => text.map(ScoreValue::Text),
        _ => text.map(ScoreValue::Correction),
    }
}
