use std::collections::{BTreeMap, BTreeSet};

use super::signals::{Phrases, Signal, SignalSet};
use crate::judge::session_timeline::{Call, TimelineAction, TimelineEvent};

/// User and agent messages.
mod messages;
/// Tool calls, their failures and repetitions.
mod calls;
/// Write operations on external records.
mod changes;
mod tests_and_edits;
/// Claims without support.
mod claims;
mod ending;
/// Dangerous commands and leaked secrets.
mod safety;
/// Tokenization, to compare texts.
mod tokens;

/// The detected signals.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Detections(BTreeMap<Signal, Detection>);

/// A detected signal.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Detection {
    pub(super) count: usize,
    /// The number of occurrences, unless the signal has its own scale.
    pub(super) strength: f64,
    /// The traces that contain it.
    pub(super) traces: BTreeSet<u32>,
    /// The calls in which it was found, by tool.
    pub(super) tools: BTreeMap<String, ToolCalls>,
}

/// Calls of a tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ToolCalls {
    pub(super) count: usize,
    /// The traces that contain them.
    pub(super) traces: BTreeSet<u32>,
}

impl Detections {
    /// Returns a signal, if it was detected.
    pub(super) fn of(&self, signal: Signal) -> Option<&Detection> {
        self.0.get(&signal)
    }

    /// Returns all detected signals in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Signal, &Detection)> {
        self.0.iter().map(|(signal, detection)| (*signal, detection))
    }

    /// Counts an occurrence of a signal.
    fn count(&mut self, signal: Signal, trace: u32) {
        let detection = self.0.entry(signal).or_default();
        detection.count += 1;
        detection.strength += 1.0;
        detection.traces.insert(trace);
    }

    /// Counts an occurrence of a signal in a call.
    fn count_call(&mut self, signal: Signal, trace: u32, tool: &str) {
        self.count(signal, trace);
        let detection = self.0.entry(signal).or_default();
        let calls = detection.tools.entry(tool.to_owned()).or_default();
        calls.count += 1;
        calls.traces.insert(trace);
    }

    /// Turns the strength of a counted signal into its share of all calls. The share of few calls
    /// is shrunk: one failure in two calls is less of a pattern than ten in twenty.
    fn share(&mut self, signal: Signal, calls: usize) {
        if let Some(detection) = self.0.get_mut(&signal) {
            detection.strength = ratio(detection.count, calls + SHRINKAGE);
        }
    }

    /// Sets the strength of a signal.
    fn measure(&mut self, signal: Signal, detection: Detection) {
        self.0.insert(signal, detection);
    }
}

/// Comparison of a session with its peers.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerRanks {
    /// Percentile rank by size.
    pub(super) rank: Option<f64>,
    /// Whether its cost is known, and then its percentile rank by cost.
    pub(super) cost: Option<Option<f64>>,
    /// Whether most peers call no tools; `None` with too few peers.
    pub(super) need_no_tools: Option<bool>,
}

/// The minimum number of answers after which an agent with tools would have called one.
const MIN_ANSWERS: usize = 3;

/// The input of all detectors.
#[derive(Clone, Copy, Debug)]
struct DetectorInput<'a> {
    set: &'a SignalSet,
    moves: &'a [TimelineEvent],
    /// Whether the last trace has an output: its answer, wherever the timeline shows it.
    has_output: bool,
}

impl<'a> DetectorInput<'a> {
    /// Returns the tool calls with their traces.
    fn calls(self) -> impl DoubleEndedIterator<Item = (u32, &'a Call)> {
        self.moves.iter().filter_map(|event| match &event.act {
            TimelineAction::Calls(call) => Some((event.trace, call)),
            TimelineAction::UserSays(_) | TimelineAction::AgentSays(_) => None,
        })
    }

    fn users(self) -> impl DoubleEndedIterator<Item = (u32, &'a str)> {
        self.moves.iter().filter_map(|event| match &event.act {
            TimelineAction::UserSays(text) => Some((event.trace, text.as_str())),
            TimelineAction::AgentSays(_) | TimelineAction::Calls(_) => None,
        })
    }

    /// Returns whether the user asks to change records, not only for information.
    fn asks_change(self) -> bool {
        self.users().any(|(_, text)| self.set.has(Phrases::UserAsksChange, text))
    }

    fn agents(self) -> impl DoubleEndedIterator<Item = (u32, &'a str)> {
        self.moves.iter().filter_map(|event| match &event.act {
            TimelineAction::AgentSays(text) => Some((event.trace, text.as_str())),
            TimelineAction::UserSays(_) | TimelineAction::Calls(_) => None,
        })
    }
}

pub(super) fn detect(
    set: &SignalSet,
    moves: &[TimelineEvent],
    among: PeerRanks,
    has_output: bool,
) -> Detections {
    let input = DetectorInput { set, moves, has_output };
    let mut detections = Detections::default();
    messages::detect(input, &mut detections);
    calls::detect(input, &mut detections);
    changes::detect(input, &mut detections);
    tests_and_edits::detect(input, &mut detections);
    claims::detect(input, &mut detections);
    ending::detect(input, &mut detections);
    safety::detect(input, &mut detections);
    let traces = moves.iter().map(|event| event.trace);
    if !moves.is_empty() {
        let strength = logarithm(moves.len());
        let length = Detection {
            count: moves.len(),
            strength,
            traces: traces.clone().collect(),
            ..Detection::default()
        };
        detections.measure(Signal::Length, length);
    }
    no_tools(input, among.need_no_tools, &mut detections);
    let compared = |strength| Detection {
        count: 1,
        strength,
        traces: traces.clone().collect(),
        ..Detection::default()
    };
    if let Some(rank) = among.rank {
        detections.measure(Signal::AmongPeers, compared(rank));
    }
    match among.cost {
        Some(Some(rank)) => detections.measure(Signal::CostAmongPeers, compared(rank)),
        Some(None) => detections.measure(Signal::CostAlone, compared(1.0)),
        None => {}
    }
    detections
}

/// Detects several answers without a tool call, where the agent has tools: its peers call them, or
/// the user asks for something that needs one.
fn no_tools(input: DetectorInput<'_>, need_none: Option<bool>, detections: &mut Detections) {
    let Some((trace, _)) = input.agents().next_back() else { return };
    let needs_one = match need_none {
        Some(need_none) => !need_none,
        None => input.asks_change(),
    };
    let is_talk = input.calls().next().is_none() && input.agents().count() >= MIN_ANSWERS;
    if is_talk && needs_one {
        detections.count(Signal::NoTools, trace);
    }
}

/// Calls without an incident that are added to those that were made.
const SHRINKAGE: usize = 5;

fn ratio(part: usize, whole: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of calls, far below 2^52")]
    let ratio = part as f64 / whole.max(1) as f64;
    ratio
}

/// Returns a count on a logarithmic scale.
fn logarithm(count: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of moves, far below 2^52")]
    let count = count as f64;
    count.ln_1p()
}
