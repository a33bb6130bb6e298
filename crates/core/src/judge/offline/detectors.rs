use std::collections::{BTreeMap, BTreeSet};

use super::signals::{Signal, SignalSet};
use crate::judge::session_timeline::{Call, TimelineAction, TimelineEvent};

/// User and agent messages.
mod messages;
/// Tool calls, their failures and repetitions.
mod calls;
/// Write operations on external records.
mod changes;
mod tests_and_edits;
mod ending;
/// Dangerous commands and leaked secrets.
mod safety;
/// Tokenization, to compare texts.
mod tokens;

/// The detected signals.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sightings(BTreeMap<Signal, Sighting>);

/// A detected signal.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sighting {
    pub(super) count: usize,
    /// The number of occurrences, unless the signal has its own scale.
    pub(super) strength: f64,
    /// The traces that contain it.
    pub(super) traces: BTreeSet<u32>,
}

impl Sightings {
    /// Returns a signal, if it was detected.
    pub(super) fn of(&self, signal: Signal) -> Option<&Sighting> {
        self.0.get(&signal)
    }

    /// Returns all detected signals in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Signal, &Sighting)> {
        self.0.iter().map(|(signal, sighting)| (*signal, sighting))
    }

    /// Counts an occurrence of a signal.
    fn note(&mut self, signal: Signal, trace: u32) {
        let sighting = self.0.entry(signal).or_default();
        sighting.count += 1;
        sighting.strength += 1.0;
        sighting.traces.insert(trace);
    }

    /// Sets the strength of a signal.
    fn measure(&mut self, signal: Signal, sighting: Sighting) {
        self.0.insert(signal, sighting);
    }
}

/// Comparison of a session with its peers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Among {
    /// Percentile rank by size.
    pub(super) rank: Option<f64>,
    /// Whether its cost is known, and then its percentile rank by cost.
    pub(super) cost: Option<Option<f64>>,
    /// Whether most peers call no tools.
    pub(super) need_no_tools: bool,
}

/// The minimum number of answers after which an agent with tools would have called one.
const SEVERAL: usize = 3;

/// The input of all detectors.
#[derive(Clone, Copy, Debug)]
struct Scene<'a> {
    set: &'a SignalSet,
    moves: &'a [TimelineEvent],
}

impl<'a> Scene<'a> {
    /// Returns the tool calls with their traces.
    fn calls(self) -> impl DoubleEndedIterator<Item = (u32, &'a Call)> {
        self.moves.iter().filter_map(|told| match &told.act {
            TimelineAction::Calls(call) => Some((told.trace, call)),
            TimelineAction::UserSays(_) | TimelineAction::AgentSays(_) => None,
        })
    }

    fn users(self) -> impl DoubleEndedIterator<Item = (u32, &'a str)> {
        self.moves.iter().filter_map(|told| match &told.act {
            TimelineAction::UserSays(text) => Some((told.trace, text.as_str())),
            TimelineAction::AgentSays(_) | TimelineAction::Calls(_) => None,
        })
    }

    fn agents(self) -> impl DoubleEndedIterator<Item = (u32, &'a str)> {
        self.moves.iter().filter_map(|told| match &told.act {
            TimelineAction::AgentSays(text) => Some((told.trace, text.as_str())),
            TimelineAction::UserSays(_) | TimelineAction::Calls(_) => None,
        })
    }
}

pub(super) fn look(set: &SignalSet, moves: &[TimelineEvent], among: Among) -> Sightings {
    let scene = Scene { set, moves };
    let mut seen = Sightings::default();
    messages::look(scene, &mut seen);
    calls::look(scene, &mut seen);
    changes::look(scene, &mut seen);
    tests_and_edits::look(scene, &mut seen);
    ending::look(scene, &mut seen);
    safety::look(scene, &mut seen);
    let traces = moves.iter().map(|told| told.trace);
    if !moves.is_empty() {
        let strength = logarithm(moves.len());
        let length = Sighting { count: moves.len(), strength, traces: traces.clone().collect() };
        seen.measure(Signal::Length, length);
    }
    let last = scene.agents().next_back().filter(|_| scene.calls().next().is_none());
    if let Some((trace, _)) = last
        && !among.need_no_tools
        && scene.agents().count() >= SEVERAL
    {
        seen.note(Signal::NoTools, trace);
    }
    let compared = |strength| Sighting { count: 1, strength, traces: traces.clone().collect() };
    if let Some(rank) = among.rank {
        seen.measure(Signal::AmongPeers, compared(rank));
    }
    match among.cost {
        Some(Some(rank)) => seen.measure(Signal::CostAmongPeers, compared(rank)),
        Some(None) => seen.measure(Signal::CostAlone, compared(1.0)),
        None => {}
    }
    seen
}

/// Returns a count on a logarithmic scale.
fn logarithm(count: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of moves, far below 2^52")]
    let count = count as f64;
    count.ln_1p()
}
