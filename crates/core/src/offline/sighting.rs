use std::collections::{BTreeMap, BTreeSet, HashMap};

use regex::Regex;
use serde_json::Value;

use super::signals::{Signal, SignalSet};
use crate::moves::{Act, Call, Move};
use crate::redact::preset;

/// The presets of redaction that find secrets, not personal data.
const SECRETS: [&str; 3] = ["api-key", "bearer", "private-key"];

/// What was seen of each signal.
pub(super) type Seen = BTreeMap<Signal, Sighting>;

/// What was seen of a signal.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sighting {
    /// How often, or how strongly.
    pub(super) strength: f64,
    /// The traces that show it.
    pub(super) traces: BTreeSet<u32>,
}

/// Looks for every signal.
pub(super) fn look(set: &SignalSet, moves: &[Move], rank: Option<f64>) -> Seen {
    let mut seen = Seen::new();
    for told in moves {
        match &told.act {
            Act::UserSays(text) => words_of_user(set, &mut seen, told.trace, text),
            Act::AgentSays(text) => {
                note(&mut seen, Signal::AgentSaid, told.trace);
                if has_secret(text) {
                    note(&mut seen, Signal::Secret, told.trace);
                }
            }
            Act::Calls(call) => call_of_agent(set, &mut seen, told.trace, call),
        }
    }
    failures(&mut seen, moves);
    repetitions(&mut seen, moves);
    ending(set, &mut seen, moves);
    if let Some(rank) = rank {
        seen.entry(Signal::AmongPeers).or_default().strength = rank;
    }
    seen
}

fn note(seen: &mut Seen, signal: Signal, trace: u32) {
    let sighting = seen.entry(signal).or_default();
    sighting.strength += 1.0;
    sighting.traces.insert(trace);
}

fn words_of_user(set: &SignalSet, seen: &mut Seen, trace: u32, text: &str) {
    for signal in [Signal::UserCorrection, Signal::UserThanks] {
        if set.says(signal, text) {
            note(seen, signal, trace);
        }
    }
}

fn call_of_agent(set: &SignalSet, seen: &mut Seen, trace: u32, call: &Call) {
    note(seen, Signal::ToolCall, trace);
    if call.failed {
        note(seen, Signal::ToolError, trace);
    }
    let Some(tools) = &set.tools else { return };
    if tools.handover.is_match(&call.tool) {
        note(seen, Signal::Handover, trace);
    }
    if tools.shell.is_match(&call.tool)
        && let Some(command) = command(&call.input)
        && set.dangers.iter().any(|danger| danger.is_match(command))
    {
        note(seen, Signal::Danger, trace);
    }
}

/// The command that a shell was given.
fn command(input: &Value) -> Option<&str> {
    let keys = ["command", "cmd", "script", "code"];
    input.as_str().or_else(|| keys.iter().find_map(|key| input.get(*key)?.as_str()))
}

fn has_secret(text: &str) -> bool {
    static FOUND: std::sync::LazyLock<Vec<Regex>> = std::sync::LazyLock::new(|| {
        let presets = SECRETS.iter().filter_map(|name| preset::find(name).ok());
        presets.filter_map(|preset| Regex::new(&preset.pattern).ok()).collect()
    });
    FOUND.iter().any(|pattern| pattern.is_match(text))
}

/// Which failures were made good by a later call of the same tool.
fn failures(seen: &mut Seen, moves: &[Move]) {
    let mut open: HashMap<&str, Vec<u32>> = HashMap::new();
    for (trace, call) in calls(moves) {
        if call.failed {
            open.entry(&call.tool).or_default().push(trace);
        } else if let Some(failed) = open.remove(call.tool.as_str()) {
            for trace in failed {
                note(seen, Signal::Recovery, trace);
            }
        }
    }
    for trace in open.into_values().flatten() {
        note(seen, Signal::OpenError, trace);
    }
}

/// Which calls repeat an earlier one and give the same.
fn repetitions(seen: &mut Seen, moves: &[Move]) {
    let mut known: HashMap<(&str, String), Option<&str>> = HashMap::new();
    for (trace, call) in calls(moves) {
        let asked = (call.tool.as_str(), call.input.to_string());
        let given = call.output.as_deref();
        if known.insert(asked, given).is_some_and(|before| before == given) {
            note(seen, Signal::RepeatedCall, trace);
        }
    }
}

fn calls(moves: &[Move]) -> impl Iterator<Item = (u32, &Call)> {
    moves.iter().filter_map(|told| match &told.act {
        Act::Calls(call) => Some((told.trace, call)),
        Act::UserSays(_) | Act::AgentSays(_) => None,
    })
}

/// How the session ended.
fn ending(set: &SignalSet, seen: &mut Seen, moves: &[Move]) {
    let Some(last) = moves.last() else { return };
    let last_words = moves.iter().rev().find_map(|told| match &told.act {
        Act::AgentSays(text) => Some((told.trace, text)),
        Act::UserSays(_) | Act::Calls(_) => None,
    });
    if let Some((trace, text)) = last_words {
        for signal in [Signal::GaveUp, Signal::Handover] {
            if set.says(signal, text) {
                note(seen, signal, trace);
            }
        }
    }
    let is_thanks = |text: &str| set.says(Signal::UserThanks, text);
    if let Act::UserSays(text) = &last.act
        && !is_thanks(text)
    {
        note(seen, Signal::Unanswered, last.trace);
    }
}
