//! Prepares a batch on the caller's thread, as far as possible without the database.

use std::sync::Arc;

use ratchet_core::catalog::experiment::ExperimentItem;
use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::record::merge::Merge;
use ratchet_core::record::observation::ObservationPatch;
use ratchet_core::record::price::PriceTable;
use ratchet_core::record::score::ScorePatch;
use ratchet_core::record::trace::TracePatch;
use ratchet_core::time::Timestamp;
use rustc_hash::FxHashMap;

use super::block::Packer;
use super::chat_row::PreparedEvents;
use super::facts::Facts;
use super::media_refs;
use super::observation_row::entry_of;
use crate::catalog::ContentReference;
use crate::live_tail::Arrival;
use crate::project::ProjectId;
use crate::telemetry::Batch;

/// A batch prepared as far as possible without the database.
#[derive(Debug)]
pub struct Prepared {
    pub(super) project: ProjectId,
    /// Current model prices, also used for merges later.
    pub(super) prices: Arc<PriceTable>,
    pub(super) received_at: Timestamp,
    pub(super) traces: Vec<PreparedTrace>,
    /// Observations without a trace id.
    pub(super) orphans: Vec<ObservationPatch>,
    pub(super) scores: Vec<ScorePatch>,
    pub(super) experiment_items: Vec<ExperimentItem>,
    pub(super) events: Vec<PreparedEvents>,
    /// Media references.
    pub(super) references: Vec<ContentReference>,
    /// Whether its scores are newer than stored ones, whatever their timestamps.
    pub(super) is_in_order: bool,
    /// Approximate bytes in memory while queued.
    pub(super) weight: usize,
}

impl Prepared {
    /// Number of observations.
    pub fn len(&self) -> usize {
        self.traces.iter().map(|trace| trace.observations.len()).sum::<usize>() + self.orphans.len()
    }

    /// Whether it has no observations.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// For scores dated by this server: the later write wins, even if the clock was set back in
    /// between.
    #[must_use]
    pub fn in_order(mut self) -> Self {
        self.is_in_order = true;
        self
    }

    /// Returns the batch as it can be written, unless it references media: those references must be
    /// noted first, with [`Catalog::note_media_refs`](crate::catalog::Catalog::note_media_refs).
    pub fn without_media(self) -> Option<WritableBatch> {
        self.references.is_empty().then_some(WritableBatch(self))
    }

    /// Ids of its records, for the live tail.
    pub(super) fn arrivals(&self) -> Vec<Arrival> {
        let mut arrivals = Vec::with_capacity(self.traces.len() + self.len());
        for PreparedTrace { patch, observations, .. } in &self.traces {
            let seen = observations.iter().map(|seen| seen.patch.id.clone());
            arrivals.extend(seen.map(|id| Arrival::Observation(patch.id.clone(), id)));
            arrivals.push(Arrival::Trace(patch.id.clone()));
        }
        // Unless its trace is known, it waits in a trace with its own id.
        for stray in &self.orphans {
            arrivals.push(Arrival::Observation(stray.id.cast(), stray.id.clone()));
            arrivals.push(Arrival::Trace(stray.id.cast()));
        }
        arrivals
    }
}

/// A prepared batch whose media references are in the catalog, so that no sweep deletes the media
/// from under it.
#[derive(Debug)]
pub struct WritableBatch(Prepared);

impl WritableBatch {
    /// Takes a batch whose media references were just noted.
    pub(super) fn noted(prepared: Prepared) -> Self {
        Self(prepared)
    }

    pub(super) fn into_prepared(self) -> Prepared {
        self.0
    }
}

/// The part of a batch that belongs to one trace.
#[derive(Debug)]
pub(super) struct PreparedTrace {
    pub(super) patch: TracePatch,
    pub(super) observations: Vec<PreparedObservation>,
    pub(super) blocks: Vec<Vec<u8>>,
}

/// An observation ready for insertion, unless it is stored already.
#[derive(Debug)]
pub(super) struct PreparedObservation {
    pub(super) patch: ObservationPatch,
    pub(super) facts: Facts,
    /// Index of the new block with its payloads, and the index in it.
    pub(super) payload: Option<(usize, u32)>,
}

/// Merges duplicates, prices model calls and compresses payloads.
pub(super) fn prepare(batch: Batch, prices: Arc<PriceTable>) -> Prepared {
    let Batch { project, traces, observations, scores, experiment_items, received_at } = batch;
    let references = media_refs::of(&traces, &observations);
    let mut grouped = Grouped::default();
    for patch in traces {
        grouped.add_trace(patch);
    }
    let mut orphans = Vec::new();
    for patch in observations {
        match &patch.trace {
            Some(trace) => {
                let at = grouped.place_of(trace);
                grouped.add_observation(at, patch);
            }
            None => orphans.push(patch),
        }
    }
    let mut weight = 0;
    let finish = |(patch, observations)| {
        let prepared = pack(patch, observations, &prices, received_at);
        weight += prepared.blocks.iter().map(Vec::len).sum::<usize>();
        weight += prepared.observations.len() * size_of::<PreparedObservation>();
        prepared
    };
    let traces = grouped.traces.into_iter().map(finish).collect();
    Prepared {
        project,
        prices,
        received_at,
        traces,
        orphans,
        scores,
        experiment_items,
        events: Vec::new(),
        references,
        is_in_order: false,
        weight,
    }
}

/// Patches by trace, each observation once.
#[derive(Default)]
struct Grouped {
    traces: Vec<(TracePatch, Vec<ObservationPatch>)>,
    trace_at: FxHashMap<TraceId, usize>,
    observation_at: FxHashMap<(usize, ObservationId), usize>,
}

impl Grouped {
    fn add_trace(&mut self, patch: TracePatch) {
        let at = self.place_of(&patch.id);
        if let Some((known, _)) = self.traces.get_mut(at) {
            let before = std::mem::replace(known, TracePatch::new(patch.id.clone()));
            *known = before.merge(patch);
        }
    }

    fn add_observation(&mut self, at: usize, patch: ObservationPatch) {
        let Some((_, observations)) = self.traces.get_mut(at) else { return };
        let next = observations.len();
        let known = *self.observation_at.entry((at, patch.id.clone())).or_insert(next);
        let Some(known) = observations.get_mut(known) else { return observations.push(patch) };
        let before = std::mem::replace(known, ObservationPatch::new(patch.id.clone(), None));
        *known = before.merge(patch);
    }

    fn place_of(&mut self, trace: &TraceId) -> usize {
        if let Some(at) = self.trace_at.get(trace) {
            return *at;
        }
        let at = self.traces.len();
        self.traces.push((TracePatch::new(trace.clone()), Vec::new()));
        self.trace_at.insert(trace.clone(), at);
        at
    }
}

fn pack(
    patch: TracePatch,
    observations: Vec<ObservationPatch>,
    prices: &PriceTable,
    received_at: Timestamp,
) -> PreparedTrace {
    let mut packer = Packer::default();
    let prepared = observations.into_iter().map(|patch| {
        let entry = entry_of(&patch);
        PreparedObservation {
            facts: Facts::of(&patch, prices, received_at),
            payload: (!entry.is_empty()).then(|| packer.add(&entry)),
            patch,
        }
    });
    let mut observations: Vec<_> = prepared.collect();
    // Sorted by primary key, neighbours are written one after the other.
    observations.sort_unstable_by(|a, b| a.patch.id.cmp(&b.patch.id));
    PreparedTrace { patch, observations, blocks: packer.finish() }
}
