use super::tests_and_edits::command;
use super::{Detections, DetectorInput};
use crate::judge::offline::signals::{Phrases, Signal, SignalSet};
use crate::judge::session_timeline::{Call, TimelineAction};

/// Detects how the session ended.
pub(super) fn detect(input: DetectorInput<'_>, detections: &mut Detections) {
    let last_message = input.agents().next_back();
    let mut handed_over =
        input.calls().find(|(_, call)| input.set.has(Phrases::ToolHandover, &call.tool));
    let mut last_words = last_message.into_iter().chain(before_goodbye(input));
    if let Some((trace, _)) = last_words.find(|(_, text)| has_given_up(input.set, text)) {
        detections.count(Signal::GaveUp, trace);
    }
    if let Some((trace, text)) = last_message
        && handed_over.is_none()
        && input.set.has(Phrases::AgentHandsOver, text)
    {
        detections.count(Signal::Handover, trace);
    }
    if let Some((trace, _)) = handed_over.take() {
        detections.count(Signal::Handover, trace);
    }
    let Some(last) = input.moves.last() else { return };
    if let TimelineAction::Calls(call) = &last.act
        && last_message.is_some()
        && !input.has_output
        && !is_final(input.set, call)
    {
        detections.count(Signal::Unfinished, last.trace);
    }
    if let TimelineAction::UserSays(text) = &last.act
        && input.set.has(Phrases::UserRequests, text)
        && !input.set.has(Phrases::UserThanks, text)
        && !input.set.has(Phrases::UserCloses, text)
    {
        detections.count(Signal::Unanswered, last.trace);
    }
}

/// Returns whether a message reports failure. A refusal is none: it says what may not be, not what
/// did not succeed.
fn has_given_up(set: &SignalSet, text: &str) -> bool {
    set.has(Phrases::AgentGaveUp, text) && !set.has(Phrases::AgentRefuses, text)
}

/// Returns whether a call ends the work, so that no answer follows.
fn is_final(set: &SignalSet, call: &Call) -> bool {
    let ends = |command: &str| set.has(Phrases::CommandFinal, command);
    set.has(Phrases::ToolFinal, &call.tool)
        || set.has(Phrases::ToolHandover, &call.tool)
        || command(set, call).is_some_and(ends)
}

/// Returns the agent's last message before the user said goodbye: what follows is politeness. Thanks
/// with another question are no goodbye.
fn before_goodbye<'a>(input: DetectorInput<'a>) -> Option<(u32, &'a str)> {
    let is_goodbye = |text: &str| {
        let closes = input.set.has(Phrases::UserCloses, text);
        (closes || input.set.has(Phrases::UserThanks, text)) && !text.contains('?')
    };
    let words =
        input.moves.iter().enumerate().rev().filter_map(|(place, event)| match &event.act {
            TimelineAction::UserSays(text) => Some((place, text)),
            TimelineAction::AgentSays(_) | TimelineAction::Calls(_) => None,
        });
    let (goodbye, _) = words.take_while(|(_, text)| is_goodbye(text)).last()?;
    let earlier = DetectorInput { moves: input.moves.get(..goodbye)?, ..input };
    earlier.agents().next_back()
}
