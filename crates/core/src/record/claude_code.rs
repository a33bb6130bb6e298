//! What Claude Code tells of its work: transcripts it keeps and events it sends.
//!
//! Both become the same records under the same ids, so that whoever imports one and receives the
//! other has one trace and not two. A trace is a turn: one prompt and all that it set off.

/// What turns, model calls, tools and sub-agents are called.
pub mod id;
/// JSON whose shape nobody promises.
pub(crate) mod object;
/// The lines of a transcript.
mod line;
/// From lines to patches.
pub mod transcript;
/// From events to patches.
pub mod event;

use crate::record::merge::Merge;
use crate::record::observation::ObservationPatch;
use crate::record::trace::TracePatch;

/// The agent that all of this is about.
pub const AGENT: &str = "claude-code";
/// What a turn is called, as in Claude Code's own spans.
const TURN: &str = "claude_code.interaction";
/// What a model call is called, likewise.
const MODEL_CALL: &str = "claude_code.llm_request";

/// What some lines or events say about traces and observations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patches {
    pub traces: Vec<TracePatch>,
    /// About observations; each says which trace it belongs to.
    pub observations: Vec<ObservationPatch>,
}

impl Patches {
    /// Whether they say nothing.
    pub fn is_empty(&self) -> bool {
        self.traces.is_empty() && self.observations.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.traces.len() + self.observations.len()
    }

    /// Adds what others say.
    pub fn extend(&mut self, others: Self) {
        self.traces.extend(others.traces);
        self.observations.extend(others.observations);
    }

    /// The same, with each record spoken of once.
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
