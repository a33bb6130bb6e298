use std::collections::{BTreeMap, BTreeSet};

use super::signals::{Signal, SignalSet};
use crate::judge::session_timeline::{Call, TimelineAction, TimelineEvent};

/// What users and agents say.
mod messages;
/// Calls, their failures and repetitions.
mod calls;
/// What was changed in other people's records.
mod changes;
mod tests_and_edits;
mod ending;
/// Harm that could be done.
mod safety;
/// Words as numbers, to compare texts by.
mod tokens;

/// What was seen of each signal.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sightings(BTreeMap<Signal, Sighting>);

/// What was seen of a signal.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sighting {
    pub(super) count: usize,
    /// How strongly: as often, unless the signal has a scale of its own.
    pub(super) strength: f64,
    /// The traces that show it.
    pub(super) traces: BTreeSet<u32>,
}

impl Sightings {
    /// What was seen of a signal, if anything.
    pub(super) fn of(&self, signal: Signal) -> Option<&Sighting> {
        self.0.get(&signal)
    }

    /// Everything that was seen, in the order of signals.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Signal, &Sighting)> {
        self.0.iter().map(|(signal, sighting)| (*signal, sighting))
    }

    /// Notes that a signal was seen once more.
    fn note(&mut self, signal: Signal, trace: u32) {
        let sighting = self.0.entry(signal).or_default();
        sighting.count += 1;
        sighting.strength += 1.0;
        sighting.traces.insert(trace);
    }

    /// Notes how strongly a signal was seen.
    fn measure(&mut self, signal: Signal, sighting: Sighting) {
        self.0.insert(signal, sighting);
    }
}

/// What peers say of a session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Among {
    /// The share of them that took less.
    pub(super) rank: Option<f64>,
    /// Whether its cost is known, and then the share of them that cost less.
    pub(super) cost: Option<Option<f64>>,
    /// Whether most of them do without tools.
    pub(super) need_no_tools: bool,
}

/// The fewest answers after which an agent that has tools would have called one.
const SEVERAL: usize = 3;

/// What all looking goes by.
#[derive(Clone, Copy, Debug)]
struct Scene<'a> {
    set: &'a SignalSet,
    moves: &'a [TimelineEvent],
}

impl<'a> Scene<'a> {
    /// The calls, with the traces that show them.
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

/// How much a count is on a scale where each doubling counts the same.
fn logarithm(count: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of moves, far below 2^52")]
    let count = count as f64;
    count.ln_1p()
}
