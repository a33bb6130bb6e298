use std::collections::BTreeMap;

use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::record::claude_code::Patches;
use ratchet_core::record::usage::Usage;

/// Usage of a turn according to the transcript. The agent compacts a conversation with a model call
/// that it counts, but that the transcript lacks.
#[derive(Debug, Default)]
pub(super) struct Spent {
    /// Turn, model and usage of each call.
    calls: BTreeMap<ObservationId, (Option<TraceId>, String, Usage)>,
    is_shortened: bool,
}

impl Spent {
    /// Notes usage from transcript lines.
    pub(super) fn note(&mut self, patches: &Patches) {
        for step in &patches.observations {
            if let (Some(model), Some(usage)) = (step.model.value(), step.usage.value()) {
                let call = (step.trace.clone(), model.clone(), usage.clone());
                self.calls.insert(step.id.clone(), call);
            }
        }
    }

    /// Notes a compaction.
    pub(super) fn shortened(&mut self) {
        self.is_shortened = true;
    }

    /// Usage of a turn by model, as far as known.
    pub(super) fn in_turn(&self, turn: &TraceId) -> BTreeMap<String, Usage> {
        let mut models: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        let calls = self.calls.values().filter(|(of, _, _)| of.as_ref() == Some(turn));
        for (_, model, usage) in calls {
            let sums = models.entry(model.clone()).or_default();
            for (kind, count) in usage.kinds().iter().filter(|(kind, _)| *kind != "total") {
                *sums.entry(kind.clone()).or_default() += count;
            }
        }
        models.into_iter().map(|(model, sums)| (model, Usage::new(sums))).collect()
    }

    /// Usage of a compaction by model: what the agent counted and the transcript lacks.
    pub(super) fn shortening(&self, all: &BTreeMap<String, Usage>) -> Vec<(String, Usage)> {
        if !self.is_shortened {
            return Vec::new();
        }
        let rest = |(model, all): (&String, &Usage)| {
            let mut kinds = all.kinds().clone();
            kinds.remove("total");
            let calls = self.calls.values().filter(|(_, of, _)| of == model);
            for (kind, count) in calls.flat_map(|(_, _, usage)| usage.kinds()) {
                if let Some(left) = kinds.get_mut(kind) {
                    *left = left.saturating_sub(*count);
                }
            }
            kinds.retain(|_, count| *count > 0);
            (!kinds.is_empty()).then(|| (model.clone(), Usage::new(kinds)))
        };
        all.iter().filter_map(rest).collect()
    }
}
