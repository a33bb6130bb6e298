//! An observation's row: conversion from and to patches, and to the public type.

use std::sync::LazyLock;

use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::money::Money;
use ratchet_core::payload::Json;
use ratchet_core::record::field::{Authority, Stamp};
use ratchet_core::record::merge::{Earliest, Latest};
use ratchet_core::record::observation::{Observation, ObservationPatch, PromptLink};
use ratchet_core::record::usage::{Cost, TOTAL, Usage};
use ratchet_core::time::Timestamp;
use rusqlite::{Connection, Row, params};

use super::block::kept_json;
use super::column::{Column, column_value, to_i64, to_u64};
use super::entry::{Entry, EntryMetadata};
use super::facts::{Facts, text};
use super::stamps::{Bit, Stamps};
use super::units;

const KIND: Bit = 1;
const NAME: Bit = 1 << 1;
const PARENT: Bit = 1 << 2;
const COMPLETION_START: Bit = 1 << 3;
const LEVEL: Bit = 1 << 4;
const STATUS_MESSAGE: Bit = 1 << 5;
const VERSION: Bit = 1 << 6;
const ENVIRONMENT: Bit = 1 << 7;
const AGENT: Bit = 1 << 8;
const MODEL: Bit = 1 << 9;
const MODEL_PARAMETERS: Bit = 1 << 10;
const USAGE: Bit = 1 << 11;
const COST: Bit = 1 << 12;
const PROMPT: Bit = 1 << 13;
const INPUT: Bit = 1 << 14;
const OUTPUT: Bit = 1 << 15;
const METADATA: Bit = 1 << 16;

/// The columns of an observation, in the order that the functions here read and write them.
pub(super) const COLUMNS: &str = "o.trace, o.id, o.project, o.start, o.end, o.kind, o.level, \
    o.name, o.parent, o.completion_start, o.status_message, o.version, o.environment, o.agent, \
    o.model, o.model_parameters, o.usage, o.costs, o.input_tokens, o.output_tokens, \
    o.total_tokens, o.cost, o.prompt_name, o.prompt_version, o.stamps, o.payload, o.entry, \
    o.created_at, o.updated_at, o.app_root, o.pricing_tier";

/// Number of these columns: further selected columns follow.
pub(super) const WIDTH: usize = 31;

const INSERT_COLUMNS: &str = "trace, id, project, start, end, kind, level, name, parent, \
    completion_start, status_message, version, environment, agent, model, model_parameters, \
    usage, costs, input_tokens, output_tokens, total_tokens, cost, prompt_name, prompt_version, \
    stamps, payload, entry, created_at, updated_at, app_root, pricing_tier";

/// Whether the row may exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnConflict {
    Fail,
    /// Replaced by the merged row.
    Replace,
}

static INSERT: LazyLock<String> = LazyLock::new(|| write_sql("INSERT"));
static REPLACE: LazyLock<String> = LazyLock::new(|| write_sql("REPLACE"));

fn write_sql(verb: &str) -> String {
    let marks = ["?"; WIDTH].join(", ");
    format!("{verb} INTO observation ({INSERT_COLUMNS}) VALUES ({marks})")
}

/// Position of a row and its payloads.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowPosition {
    pub(super) trace: i64,
    pub(super) project: i64,
    pub(super) payload: Option<i64>,
    pub(super) entry: u32,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Option<Timestamp>,
}

impl RowPosition {
    /// The position of a new row.
    pub(super) fn new(
        trace: i64,
        project: i64,
        payload: Option<(i64, u32)>,
        created_at: Timestamp,
    ) -> Self {
        let entry = payload.map_or(0, |(_, entry)| entry);
        let payload = payload.map(|(block, _)| block);
        Self { trace, project, payload, entry, created_at, updated_at: None }
    }
}

pub(super) fn write(
    db: &Connection,
    on_conflict: OnConflict,
    (patch, facts): (&ObservationPatch, &Facts),
    position: RowPosition,
) -> rusqlite::Result<()> {
    let sql = match on_conflict {
        OnConflict::Fail => &INSERT,
        OnConflict::Replace => &REPLACE,
    };
    let prompt = patch.prompt.value();
    let usage = patch.usage.value().map(encode_usage);
    let costs = facts.cost.as_ref().map(encode_costs);
    db.prepare_cached(sql)?.execute(params![
        position.trace,
        Column(&patch.id),
        position.project,
        Column(facts.start),
        patch.end.0.map(Column),
        Column(facts.kind),
        Column(facts.level),
        text(&patch.name),
        patch.parent.value().map(Column),
        patch.completion_start.value().map(|at| at.nanos()),
        text(&patch.status_message),
        text(&patch.version),
        patch.environment.value().map(Column),
        text(&patch.agent),
        text(&patch.model),
        patch.model_parameters.value().map(Json::as_str),
        usage,
        costs,
        to_i64(facts.input_tokens),
        to_i64(facts.output_tokens),
        to_i64(facts.total_tokens),
        facts.cost.as_ref().map(|cost| cost.total().pico()),
        prompt.map(|prompt| prompt.name.as_str()),
        prompt.map(|prompt| prompt.version),
        stamps_of(patch).encode(),
        position.payload,
        position.entry,
        Column(position.created_at),
        position.updated_at.map(Column),
        patch.app_root,
        facts.pricing_tier,
    ])?;
    Ok(())
}

/// The payloads of a patch, for a block.
pub(super) fn entry_of(patch: &ObservationPatch) -> Entry {
    Entry {
        input: patch.input.value().cloned(),
        output: patch.output.value().cloned(),
        metadata: EntryMetadata::of(&patch.metadata),
    }
}

fn stamps_of(patch: &ObservationPatch) -> Stamps {
    let mut stamps = Stamps::new(patch.start.0.is_some());
    stamps.note(KIND, &patch.kind);
    stamps.note(NAME, &patch.name);
    stamps.note(PARENT, &patch.parent);
    stamps.note(COMPLETION_START, &patch.completion_start);
    stamps.note(LEVEL, &patch.level);
    stamps.note(STATUS_MESSAGE, &patch.status_message);
    stamps.note(VERSION, &patch.version);
    stamps.note(ENVIRONMENT, &patch.environment);
    stamps.note(AGENT, &patch.agent);
    stamps.note(MODEL, &patch.model);
    stamps.note(MODEL_PARAMETERS, &patch.model_parameters);
    stamps.note(USAGE, &patch.usage);
    stamps.note(COST, &patch.cost);
    stamps.note(PROMPT, &patch.prompt);
    stamps.note(INPUT, &patch.input);
    stamps.note(OUTPUT, &patch.output);
    if let Some(stamp) = EntryMetadata::shared_stamp(&patch.metadata) {
        stamps.note_stamp(METADATA, stamp, false);
    }
    stamps
}

/// A stored row.
#[derive(Debug)]
pub(super) struct ObservationRow {
    pub(super) observation: Observation,
    pub(super) payload: Option<i64>,
    pub(super) entry: u32,
    /// As recorded; the public type never has an end before the start.
    end: Option<Timestamp>,
    stamps: Stamps,
}

/// Reads a row selected by [`COLUMNS`]. The trace's id is not among them: the caller knows it.
pub(super) fn read(row: &Row<'_>, trace: TraceId) -> rusqlite::Result<ObservationRow> {
    let start: Column<Timestamp> = row.get(3)?;
    let end = column_value(row.get(4)?);
    let created_at: Column<Timestamp> = row.get(27)?;
    let updated_at: Option<Column<Timestamp>> = row.get(28)?;
    let costs = row.get_ref(17)?.as_blob_or_null()?;
    let cost: Option<i64> = row.get(21)?;
    let stamps = Stamps::decode(row.get_ref(24)?.as_blob()?);
    let observation = Observation {
        id: row.get::<_, Column<ObservationId>>(1)?.0,
        trace,
        kind: row.get::<_, Column<_>>(5)?.0,
        name: row.get(7)?,
        parent: column_value(row.get(8)?),
        app_root: row.get(29)?,
        start: start.0,
        end: end.map(|end: Timestamp| end.max(start.0)),
        completion_start: column_value(row.get(9)?),
        level: row.get::<_, Column<_>>(6)?.0,
        status_message: row.get(10)?,
        version: row.get(11)?,
        environment: row.get::<_, Column<_>>(12)?.0,
        agent: row.get(13)?,
        model: row.get(14)?,
        model_parameters: json(row, 15)?,
        usage: decode_usage(row.get_ref(16)?.as_blob_or_null()?),
        counted: has_counted_usage(&stamps),
        cost: cost.map(|total| decode_cost(costs, Money::from_pico(total))),
        pricing_tier: row.get(30)?,
        prompt: prompt(row.get(22)?, row.get(23)?),
        created_at: created_at.0,
        updated_at: updated_at.map_or(created_at.0, |at| at.0),
        content: None,
    };
    Ok(ObservationRow { observation, end, payload: row.get(25)?, entry: row.get(26)?, stamps })
}

/// Whether usage was counted here because the client sent none.
pub(super) fn has_counted_usage(stamps: &Stamps) -> bool {
    let is_counted =
        |(stamp, is_cleared): (Stamp, bool)| stamp.authority == Authority::Counted && !is_cleared;
    stamps.of(USAGE).is_some_and(is_counted)
}

impl ObservationRow {
    /// The numbers with which the row was added to sums.
    pub(super) fn facts(&self) -> Facts {
        let seen = &self.observation;
        Facts {
            start: seen.start,
            end: seen.end,
            kind: seen.kind,
            level: seen.level,
            input_tokens: seen.usage.input(),
            output_tokens: seen.usage.output(),
            total_tokens: seen.usage.total(),
            cost: seen.cost.clone(),
            counted: seen.counted,
            pricing_tier: seen.pricing_tier.clone(),
        }
    }

    /// Whether usage is known, sent or counted.
    pub(super) fn has_usage(&self) -> bool {
        self.stamps.of(USAGE).is_some()
    }

    /// The patch that is equivalent to the row.
    pub(super) fn into_patch(self, entry: Entry) -> ObservationPatch {
        let Self { observation: seen, end, stamps, .. } = self;
        let said_cost = if stamps.of(COST).is_some() { seen.cost } else { None };
        ObservationPatch {
            id: seen.id,
            trace: Some(seen.trace),
            kind: stamps.field(KIND, Some(seen.kind)),
            name: stamps.field(NAME, seen.name),
            parent: stamps.field(PARENT, seen.parent),
            app_root: seen.app_root,
            start: Earliest(stamps.has_time.then_some(seen.start)),
            end: Latest(end),
            completion_start: stamps.field(COMPLETION_START, seen.completion_start),
            level: stamps.field(LEVEL, Some(seen.level)),
            status_message: stamps.field(STATUS_MESSAGE, seen.status_message),
            version: stamps.field(VERSION, seen.version),
            environment: stamps.field(ENVIRONMENT, Some(seen.environment)),
            agent: stamps.field(AGENT, seen.agent),
            model: stamps.field(MODEL, seen.model),
            model_parameters: stamps.field(MODEL_PARAMETERS, seen.model_parameters),
            usage: stamps.field(USAGE, Some(seen.usage)),
            cost: stamps.field(COST, said_cost),
            prompt: stamps.field(PROMPT, seen.prompt),
            input: stamps.field(INPUT, entry.input),
            output: stamps.field(OUTPUT, entry.output),
            metadata: entry.metadata.into_metadata(stamps.of(METADATA).map(|(stamp, _)| stamp)),
        }
    }
}

fn prompt(name: Option<String>, version: Option<u32>) -> Option<PromptLink> {
    Some(PromptLink { name: name?, version: version? })
}

fn json(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Json>> {
    Ok(row.get_ref(column)?.as_str_or_null()?.and_then(kept_json))
}

fn encode_usage(usage: &Usage) -> Vec<u8> {
    units::encode(usage.kinds().iter().map(|(kind, units)| (kind.as_str(), *units)))
}

fn decode_usage(bytes: Option<&[u8]>) -> Usage {
    Usage::new(bytes.map(units::decode).unwrap_or_default())
}

/// Encodes the kinds only: the total has its own column.
fn encode_costs(cost: &Cost) -> Vec<u8> {
    let pico = |money: &Money| to_u64(money.pico());
    units::encode(cost.kinds().iter().map(|(kind, money)| (kind.as_str(), pico(money))))
}

/// Decodes a cost from the column of its kinds and its total.
pub(super) fn decode_cost(bytes: Option<&[u8]>, total: Money) -> Cost {
    let kinds = bytes.map(units::decode).unwrap_or_default().into_iter();
    let kinds = kinds.map(|(kind, pico)| (kind, Money::from_pico(to_i64(pico))));
    Cost::new(kinds.chain([(TOTAL.to_owned(), total)]).collect())
}
