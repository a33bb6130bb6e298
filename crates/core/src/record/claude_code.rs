//! Claude Code: its transcript files and telemetry events, converted to patches.
//!
//! Both give the same records with the same ids, so that importing transcripts and receiving events
//! results in one trace, not two. A trace is a turn: one prompt and everything it triggered.

/// Ids of turns, model calls, tools and sub-agents.
pub mod id;
/// Lenient reading of undocumented JSON.
pub(crate) mod object;
/// Lines of a transcript.
mod line;
/// Transcripts to patches.
pub mod transcript;
/// Events to patches.
pub mod event;

use crate::record::merge::Merge;
use crate::record::observation::ObservationPatch;
use crate::record::trace::TracePatch;

/// The agent name of these traces.
pub const AGENT: &str = "claude-code";
/// The name of a turn, as in Claude Code's own spans.
const TURN: &str = "claude_code.interaction";
/// The name of a model call, likewise.
const MODEL_CALL: &str = "claude_code.llm_request";

/// Patches from some lines or events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patches {
    pub traces: Vec<TracePatch>,
    /// Each names its trace.
    pub observations: Vec<ObservationPatch>,
}

impl Patches {
    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.traces.is_empty() && self.observations.is_empty()
    }

    /// Returns the number of patches.
    pub fn len(&self) -> usize {
        self.traces.len() + self.observations.len()
    }

    /// Appends other patches.
    pub fn extend(&mut self, others: Self) {
        self.traces.extend(others.traces);
        self.observations.extend(others.observations);
    }

    /// Merges patches of the same record.
    #[must_use]
    pub fn merged(self) -> Self {
        let trace_key = |patch: &TracePatch| patch.id.clone();
        let key = |patch: &ObservationPatch| (patch.trace.clone(), patch.id.clone());
        Self {
            traces: merged_by(self.traces, trace_key),
            observations: merged_by(self.observations, key),
        }
    }
}

fn merged_by<K: Ord, T: Merge + Clone>(patches: Vec<T>, key: impl Fn(&T) -> K) -> Vec<T> {
    let mut merged = std::collections::BTreeMap::<K, T>::new();
    for patch in patches {
        let key = key(&patch);
        let known = merged.remove(&key);
        let patch = match known {
            Some(known) => known.merge(patch),
            None => patch,
        };
        merged.insert(key, patch);
    }
    merged.into_values().collect()
}
