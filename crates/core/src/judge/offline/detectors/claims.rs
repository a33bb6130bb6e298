use super::tests_and_edits::{command, is_edit, outcome};
use super::{Detections, DetectorInput};
use crate::judge::offline::signals::{Phrases, Signal, SignalSet};
use crate::judge::session_timeline::{Call, TimelineAction};

/// Detects claims of the agent that nothing in the session supports.
pub(super) fn detect(input: DetectorInput<'_>, detections: &mut Detections) {
    about_work(input, detections);
    about_changes(input, detections);
}

/// Detects a last message that claims passing tests or finished work, without a passing test run
/// after the last edit.
fn about_work(input: DetectorInput<'_>, detections: &mut Detections) {
    let Some((trace, text)) = input.agents().next_back() else { return };
    let (mut has_edited, mut has_run, mut result) = (false, false, None);
    for (_, call) in input.calls() {
        has_run |= command(input.set, call).is_some();
        if is_edit(input.set, call) {
            has_edited = true;
            result = None;
        }
        result = outcome(input.set, call).or(result);
    }
    let has_passed = result == Some(Signal::TestsPassed);
    if has_passed || !(has_edited || has_run) {
        return;
    }
    let has_failed = result == Some(Signal::TestsFailed);
    let is_done = claims(input.set, Phrases::AgentClaimsDone, text);
    if claims(input.set, Phrases::AgentClaimsTests, text) || (is_done && has_failed) {
        detections.count(Signal::FalseClaim, trace);
    } else if is_done && has_edited {
        detections.count(Signal::UnverifiedClaim, trace);
    }
}

/// Detects a message that claims a change of records, where all calls before it only read or
/// failed.
fn about_changes(input: DetectorInput<'_>, detections: &mut Detections) {
    let only_reads = |call: &Call| {
        call.failed()
            || input.set.has(Phrases::ToolLook, &call.tool)
            || input.set.has(Phrases::ToolHandover, &call.tool)
    };
    let mut has_called = false;
    for event in input.moves {
        match &event.act {
            TimelineAction::Calls(call) if !only_reads(call) => return,
            TimelineAction::Calls(_) => has_called = true,
            TimelineAction::AgentSays(text)
                if has_called && claims(input.set, Phrases::AgentClaimsChange, text) =>
            {
                detections.count(Signal::FalseClaim, event.trace);
                return;
            }
            TimelineAction::AgentSays(_) | TimelineAction::UserSays(_) => {}
        }
    }
}

/// Returns whether a sentence of a text makes a claim, without a condition or a negation.
fn claims(set: &SignalSet, words: Phrases, text: &str) -> bool {
    let mut sentences = text.split(['.', '!', '?', '\n', ';']);
    sentences.any(|it| set.has(words, it) && !set.has(Phrases::AgentHedges, it))
}
