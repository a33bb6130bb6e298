use super::{Detections, DetectorInput};
use crate::judge::offline::signals::{Phrases, Signal};
use crate::judge::session_timeline::TimelineAction;

/// Detects how the session ended.
pub(super) fn detect(input: DetectorInput<'_>, detections: &mut Detections) {
    let last_message = input.agents().next_back();
    let mut handed_over =
        input.calls().find(|(_, call)| input.set.has(Phrases::ToolHandover, &call.tool));
    if let Some((trace, text)) = last_message {
        if input.set.has(Phrases::AgentGaveUp, text) {
            detections.count(Signal::GaveUp, trace);
        }
        if handed_over.is_none() && input.set.has(Phrases::AgentHandsOver, text) {
            detections.count(Signal::Handover, trace);
        }
    }
    if let Some((trace, _)) = handed_over.take() {
        detections.count(Signal::Handover, trace);
    }
    let Some(last) = input.moves.last() else { return };
    if let TimelineAction::UserSays(text) = &last.act
        && input.set.has(Phrases::UserRequests, text)
        && !input.set.has(Phrases::UserThanks, text)
        && !input.set.has(Phrases::UserCloses, text)
    {
        detections.count(Signal::Unanswered, last.trace);
    }
}
