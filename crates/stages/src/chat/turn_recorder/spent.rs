use std::collections::BTreeMap;

use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::record::claude_code::Patches;
use ratchet_core::record::usage::Usage;

/// What a turn used, as far as the transcript tells it. The agent shortens a conversation with a
/// call of the model that it keeps no line of, but it does count it.
#[derive(Debug, Default)]
pub(super) struct Spent {
    /// What each call of the model used, which model it was, and in which turn.
    calls: BTreeMap<ObservationId, (Option<TraceId>, String, Usage)>,
    is_shortened: bool,
}

impl Spent {
    /// Notes what lines of the transcript say.
    pub(super) fn note(&mut self, patches: &Patches) {
        for step in &patches.observations {
            if let (Some(model), Some(usage)) = (step.model.value(), step.usage.value()) {
                let call = (step.trace.clone(), model.clone(), usage.clone());
                self.calls.insert(step.id.clone(), call);
            }
        }
    }

    /// Notes that the conversation was shortened.
    pub(super) fn shortened(&mut self) {
        self.is_shortened = true;
    }

    /// What the calls of a turn used of each model, as far as they are told.
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

    /// What shortening used of each model, if the conversation was shortened: what of all that the
    /// agent counted no line tells.
    pub(super) fn shortening(&self, all: &BTreeMap<String, Usage>) -> Vec<(String, Usage)> {
        if !self.is_shortened {
            return Vec::new();
        }
        let rest = |(model, all): (&String, &Usage)| {
            let mut kinds = all.kinds().clone();
            kinds.remove("total");
            let told = self.calls.values().filter(|(_, of, _)| of == model);
            for (kind, count) in told.flat_map(|(_, _, usage)| usage.kinds()) {
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
