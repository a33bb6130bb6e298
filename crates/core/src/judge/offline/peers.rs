use crate::judge::evidence::Evidence;
use crate::judge::notations::Notations;
use crate::judge::session_timeline::{self, TimelineAction, TimelineEvent};
use crate::money::Money;
use crate::record::trace::TraceSummary;

/// The minimum number of peers for a comparison.
const MIN_PEERS: usize = 5;

/// The size of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Size {
    /// Input and output tokens; `None` where none were counted.
    pub tokens: Option<u64>,
    /// Observations of all traces.
    pub steps: u64,
    /// Tool calls, whether observations or parts of messages.
    pub calls: u64,
    /// Sum of known costs; `None` where none is known.
    pub cost: Option<Money>,
}

impl Size {
    /// Returns the size of a session.
    pub fn of(evidence: &Evidence) -> Self {
        Self::of_with(evidence, Notations::shipped())
    }

    /// Returns the size of a session whose agents use these notations.
    pub fn of_with(evidence: &Evidence, notations: &Notations) -> Self {
        Self::with(evidence, &session_timeline::of_with(evidence, notations))
    }

    /// Returns the size of a session whose timeline is known.
    pub(super) fn with(evidence: &Evidence, moves: &[TimelineEvent]) -> Self {
        let mut tokens = 0_u64;
        let mut cost = None;
        for trace in &evidence.traces {
            let sum = TraceSummary::of(&trace.steps);
            tokens = tokens.saturating_add(sum.total_tokens);
            cost = cost.into_iter().chain(sum.cost).reduce(|sum: Money, more| sum + more);
        }
        let steps = evidence.traces.iter().map(|trace| trace.steps.len()).sum();
        let calls =
            moves.iter().filter(|event| matches!(event.act, TimelineAction::Calls(_))).count();
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let tokens = (tokens > 0).then_some(tokens);
        Self { tokens, steps: count(steps), calls: count(calls), cost }
    }
}

/// The sizes of other sessions of the same agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Peers {
    tokens: Vec<u64>,
    steps: Vec<u64>,
    costs: Vec<Money>,
    callers: usize,
}

impl Peers {
    /// Creates peers from sizes, in any order.
    pub fn new(sizes: impl IntoIterator<Item = Size>) -> Self {
        let mut peers = Self::default();
        for size in sizes {
            peers.tokens.extend(size.tokens);
            peers.steps.push(size.steps);
            peers.costs.extend(size.cost);
            peers.callers += usize::from(size.calls > 0);
        }
        peers.tokens.sort_unstable();
        peers.steps.sort_unstable();
        peers.costs.sort_unstable();
        peers
    }

    /// Returns whether most peers call no tools; `None` with too few peers.
    pub fn do_without_tools(&self) -> Option<bool> {
        (self.steps.len() >= MIN_PEERS).then(|| self.callers * 2 < self.steps.len())
    }

    /// Returns the percentile rank by size, from 0 to 1: by tokens where they are known, else by
    /// observations; `None` with too few peers.
    pub fn rank(&self, size: &Size) -> Option<f64> {
        match size.tokens {
            Some(tokens) if self.tokens.len() >= MIN_PEERS => rank(&self.tokens, &tokens),
            _ => rank(&self.steps, &size.steps),
        }
    }

    /// Returns the percentile rank by cost, from 0 to 1; `None` with too few peers of known cost.
    pub fn cost_rank(&self, cost: Money) -> Option<f64> {
        rank(&self.costs, &cost)
    }
}

/// Returns the percentile rank in sorted values; ties count half.
fn rank<T: Ord>(sorted: &[T], value: &T) -> Option<f64> {
    if sorted.len() < MIN_PEERS {
        return None;
    }
    let under = sorted.partition_point(|other| other < value);
    let up_to = sorted.partition_point(|other| other <= value);
    #[expect(clippy::cast_precision_loss, reason = "counts of sessions, far below 2^52")]
    let share = (under + up_to) as f64 / (2 * sorted.len()) as f64;
    Some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_the_share_of_peers_that_took_less() {
        let size = |tokens| Size { tokens: Some(tokens), steps: tokens, ..Size::default() };
        let peers = Peers::new([5, 1, 4, 2, 3].map(size));
        assert_eq!(peers.rank(&size(0)), Some(0.0));
        assert_eq!(peers.rank(&size(3)), Some(0.5));
        assert_eq!(peers.rank(&size(9)), Some(1.0));
        assert_eq!(peers.rank(&Size { steps: 9, ..Size::default() }), Some(1.0));
        assert_eq!(Peers::new([1, 2].map(size)).rank(&size(9)), None);
        assert_eq!(peers.do_without_tools(), Some(true));
    }

    #[test]
    fn costs_are_compared_where_enough_are_known() {
        let size = |pico| Size { cost: Some(Money::from_pico(pico)), ..Size::default() };
        let known = Peers::new([1, 2, 3, 4, 5].map(size));
        assert_eq!(known.cost_rank(Money::from_pico(9)), Some(1.0));
        assert_eq!(known.cost_rank(Money::from_pico(3)), Some(0.5));
        let unknown = Peers::new([Size::default(); 9]);
        assert_eq!(unknown.cost_rank(Money::from_pico(9)), None);
    }
}
