//! Frameworks wrap a call into spans that say the same: the pair is shown as one row.

use ratchet_core::record::observation::{Level, Observation, ObservationKind};

/// Name of the span that Claude Code records inside each tool call.
const TOOL_EXECUTION: &str = "claude_code.tool.execution";

/// Observations that are shown as another one.
pub(super) struct Kept(Vec<Option<usize>>);

impl Kept {
    /// The observation that is shown for another; itself unless it was merged.
    pub(super) fn of(&self, step: usize) -> usize {
        let mut at = step;
        while let Some(next) = self.0[at] {
            at = next;
        }
        at
    }

    /// Number of merged observations by the one that is shown for them.
    pub(super) fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.0.len()];
        for (step, kept) in self.0.iter().enumerate() {
            if kept.is_some() {
                counts[self.of(step)] += 1;
            }
        }
        counts
    }
}

/// Merges each wrapper with its only child: the plain span of the two is no longer shown.
pub(super) fn merge(
    steps: &[Observation],
    order: &[usize],
    children: &mut [Vec<usize>],
    parents: &mut [Option<usize>],
) -> Kept {
    let mut kept = Kept(vec![None; steps.len()]);
    // Inner pairs first, so that a chain of wrappers becomes one row.
    for outer in order.iter().rev().copied() {
        let [only] = children[outer][..] else { continue };
        let inner = kept.of(only);
        if !says_the_same(&steps[outer], &steps[inner]) {
            continue;
        }
        if is_wrapper(&steps[outer], &steps[inner]) {
            kept.0[outer] = Some(inner);
            parents[inner] = parents[outer];
            children[outer].clear();
        } else if is_wrapper(&steps[inner], &steps[outer]) {
            kept.0[inner] = Some(outer);
            children[outer] = std::mem::take(&mut children[inner]);
            for step in &children[outer] {
                parents[*step] = Some(outer);
            }
        }
    }
    kept
}

/// Whether a span adds nothing to another: no model, no cost, no error of its own.
fn is_wrapper(span: &Observation, shown: &Observation) -> bool {
    let is_plain = matches!(span.kind, ObservationKind::Span | ObservationKind::Chain);
    let is_failure = span.level == Level::Error && shown.level != Level::Error;
    is_plain && !is_failure && span.model.is_none() && span.cost.is_none()
}

fn says_the_same(outer: &Observation, inner: &Observation) -> bool {
    let (Some(one), Some(other)) = (&outer.name, &inner.name) else { return false };
    let is_execution = outer.kind == ObservationKind::Tool && other == TOOL_EXECUTION;
    is_execution || (!one.is_empty() && one.eq_ignore_ascii_case(other))
}
