use ratchet_core::counted::counted;
use ratchet_core::id::SessionId;
use ratchet_core::judge::notations::Notations;
use ratchet_core::judge::session_timeline::{self, TimelineAction, TimelineEvent};
use ratchet_core::record::limit::elide;
use ratchet_stages::score::evidence;
use ratchet_stages::source::Source;

/// Maximum bytes of the first message and of the last one.
const WORDS: usize = 1_500;

/// Tells what a session was about: the task, how much was done, and how it ended.
pub(super) async fn of(
    (source, notations): (&Source, &Notations),
    session: &SessionId,
) -> anyhow::Result<String> {
    let evidence = evidence::evidence(source, session).await?;
    anyhow::ensure!(!evidence.traces.is_empty(), "session {session} not found");
    let moves = session_timeline::of_with(&evidence, notations);
    let words = |act: &TimelineAction| match act {
        TimelineAction::UserSays(text) | TimelineAction::AgentSays(text) => {
            Some(elide(text.trim(), WORDS).into_owned())
        }
        TimelineAction::Calls(_) => None,
    };
    let asked = moves.iter().find(|it| matches!(it.act, TimelineAction::UserSays(_)));
    let ended = moves.iter().rev().find(|it| matches!(it.act, TimelineAction::AgentSays(_)));
    let said = |found: Option<&TimelineEvent>| {
        found.and_then(|it| words(&it.act)).unwrap_or_else(|| "(nothing recorded)".to_owned())
    };
    let calls = moves.iter().filter_map(|it| match &it.act {
        TimelineAction::Calls(call) => Some(call),
        TimelineAction::UserSays(_) | TimelineAction::AgentSays(_) => None,
    });
    let calls: Vec<_> = calls.collect();
    let failed = calls.iter().filter(|call| call.failed()).count();
    let asks = moves.iter().filter(|it| matches!(it.act, TimelineAction::UserSays(_))).count();
    Ok(format!(
        "Task: {}\n\n{}, {}, {}, {failed} failed\n\n\
         Final output: {}\n",
        said(asked),
        counted(evidence.traces.len(), "trace"),
        counted(asks, "user message"),
        counted(calls.len(), "tool call"),
        said(ended),
    ))
}
