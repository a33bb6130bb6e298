use super::{Scene, Sightings};
use crate::judge::offline::signals::{Signal, Words};
use crate::judge::session_timeline::TimelineAction;

/// Detects how the session ended.
pub(super) fn look(scene: Scene<'_>, seen: &mut Sightings) {
    let last_words = scene.agents().next_back();
    let mut handed_over =
        scene.calls().find(|(_, call)| scene.set.has(Words::ToolHandover, &call.tool));
    if let Some((trace, text)) = last_words {
        if scene.set.has(Words::AgentGaveUp, text) {
            seen.note(Signal::GaveUp, trace);
        }
        if handed_over.is_none() && scene.set.has(Words::AgentHandsOver, text) {
            seen.note(Signal::Handover, trace);
        }
    }
    if let Some((trace, _)) = handed_over.take() {
        seen.note(Signal::Handover, trace);
    }
    let Some(last) = scene.moves.last() else { return };
    if let TimelineAction::UserSays(text) = &last.act
        && scene.set.has(Words::UserRequests, text)
        && !scene.set.has(Words::UserThanks, text)
        && !scene.set.has(Words::UserCloses, text)
    {
        seen.note(Signal::Unanswered, last.trace);
    }
}
