use crate::evidence::Evidence;
use crate::moves::{self, Act, Move};
use crate::trace::TraceSummary;

/// The fewest peers that a session is held against.
const FEWEST: usize = 5;

/// What a session took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Size {
    /// Tokens in and out; `None` where nobody counted them.
    pub tokens: Option<u64>,
    /// Steps: observations of all its traces.
    pub steps: u64,
    /// Calls of tools, be they steps or part of messages.
    pub calls: u64,
}

impl Size {
    /// The size of a session.
    pub fn of(evidence: &Evidence) -> Self {
        Self::with(evidence, &moves::of(evidence))
    }

    /// The size of a session of which is known what happened.
    pub(super) fn with(evidence: &Evidence, moves: &[Move]) -> Self {
        let sums = evidence.traces.iter().map(|trace| TraceSummary::of(&trace.steps));
        let tokens = sums.fold(0_u64, |sum, trace| sum.saturating_add(trace.total_tokens));
        let steps = evidence.traces.iter().map(|trace| trace.steps.len()).sum();
        let calls = moves.iter().filter(|told| matches!(told.act, Act::Calls(_))).count();
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        Self { tokens: (tokens > 0).then_some(tokens), steps: count(steps), calls: count(calls) }
    }
}

/// What other sessions of the same agent took; none where there is nothing to compare with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Peers {
    tokens: Vec<u64>,
    steps: Vec<u64>,
    /// How many call tools.
    callers: usize,
}

impl Peers {
    /// The peers of a session: other sessions of the same agent, in any order.
    pub fn new(sizes: impl IntoIterator<Item = Size>) -> Self {
        let mut peers = Self::default();
        for size in sizes {
            peers.tokens.extend(size.tokens);
            peers.steps.push(size.steps);
            peers.callers += usize::from(size.calls > 0);
        }
        peers.tokens.sort_unstable();
        peers.steps.sort_unstable();
        peers
    }

    /// Whether most peers do without tools; `None` where there are too few to tell.
    pub fn do_without_tools(&self) -> Option<bool> {
        (self.steps.len() >= FEWEST).then(|| self.callers * 2 < self.steps.len())
    }

    /// The share of peers that took less, from 0 to 1: by tokens where they are known, else by
    /// steps; `None` where there are too few.
    pub fn rank(&self, size: &Size) -> Option<f64> {
        match size.tokens {
            Some(tokens) if self.tokens.len() >= FEWEST => rank(&self.tokens, tokens),
            _ => rank(&self.steps, size.steps),
        }
    }
}

/// The share of sorted values under one; equals count half.
fn rank(sorted: &[u64], value: u64) -> Option<f64> {
    if sorted.len() < FEWEST {
        return None;
    }
    let under = sorted.partition_point(|other| *other < value);
    let up_to = sorted.partition_point(|other| *other <= value);
    #[expect(clippy::cast_precision_loss, reason = "counts of sessions, far below 2^52")]
    let share = (under + up_to) as f64 / (2 * sorted.len()) as f64;
    Some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_the_share_of_peers_that_took_less() {
        let size = |tokens| Size { tokens: Some(tokens), steps: tokens, calls: 0 };
        let peers = Peers::new([5, 1, 4, 2, 3].map(size));
        assert_eq!(peers.rank(&size(0)), Some(0.0));
        assert_eq!(peers.rank(&size(3)), Some(0.5));
        assert_eq!(peers.rank(&size(9)), Some(1.0));
        assert_eq!(peers.rank(&Size { tokens: None, steps: 9, calls: 0 }), Some(1.0));
        assert_eq!(Peers::new([1, 2].map(size)).rank(&size(9)), None);
        assert_eq!(peers.do_without_tools(), Some(true));
    }
}
