use ratchet_core::id::SessionId;
use ratchet_core::limit::elide;
use ratchet_core::moves::{self, Act, Move};
use ratchet_stages::score::gather;
use ratchet_stages::source::Source;

/// Bytes of what was asked, and of what was said last.
const WORDS: usize = 1_500;

/// Tells what a session was about: the task, how much was done, and how it ended.
pub(super) async fn of(source: &Source, session: &SessionId) -> anyhow::Result<String> {
    let evidence = gather::evidence(source, session).await?;
    anyhow::ensure!(!evidence.traces.is_empty(), "there is no session {session}");
    let moves = moves::of(&evidence);
    let words = |act: &Act| match act {
        Act::UserSays(text) | Act::AgentSays(text) => Some(elide(text.trim(), WORDS).into_owned()),
        Act::Calls(_) => None,
    };
    let asked = moves.iter().find(|it| matches!(it.act, Act::UserSays(_)));
    let ended = moves.iter().rev().find(|it| matches!(it.act, Act::AgentSays(_)));
    let said = |found: Option<&Move>| {
        found.and_then(|it| words(&it.act)).unwrap_or_else(|| "(nothing recorded)".to_owned())
    };
    let calls = moves.iter().filter_map(|it| match &it.act {
        Act::Calls(call) => Some(call),
        Act::UserSays(_) | Act::AgentSays(_) => None,
    });
    let calls: Vec<_> = calls.collect();
    let failed = calls.iter().filter(|call| call.failed).count();
    let asks = moves.iter().filter(|it| matches!(it.act, Act::UserSays(_))).count();
    Ok(format!(
        "Task: {}\n\n{} traces, {asks} messages of the user, {} tool calls, {failed} failed\n\n\
         It ended with: {}\n",
        said(asked),
        evidence.traces.len(),
        calls.len(),
        said(ended),
    ))
}
