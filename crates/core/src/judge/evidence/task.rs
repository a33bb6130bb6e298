use serde_json::Value;

use super::Evidence;
use crate::judge::session_timeline::{self, Call, TimelineAction, TimelineEvent};

/// Names of agents' todo list tools, in lower case and without separators.
const PLAN_TOOLS: [&str; 5] = ["todowrite", "updateplan", "writetodos", "settodos", "taskcreate"];
/// Argument keys that hold the list.
const LIST_KEYS: [&str; 5] = ["todos", "plan", "tasks", "items", "steps"];
/// Keys that hold the text of an item.
const ITEM_TEXT_KEYS: [&str; 6] = ["content", "step", "subject", "title", "description", "task"];
/// The maximum number of later user messages.
const MAX_LATER_MESSAGES: usize = 20;
/// The length of the prefix that is searched for redirections.
const PREFIX_CHARS: usize = 240;
/// Prefixes of redirecting messages.
const REDIRECTION_PREFIXES: [&str; 12] = [
    "no",
    "nope",
    "stop",
    "wait",
    "actually",
    "instead",
    "undo",
    "revert",
    "wrong",
    "rather",
    "hold on",
    "scratch that",
];
/// Phrases that redirect wherever they occur.
const CORRECTIONS: [&str; 20] = [
    " instead",
    "not what i",
    "that's wrong",
    "that is wrong",
    "that's not",
    "that is not",
    "i meant",
    "i said",
    "i asked",
    "don't ",
    "do not ",
    "please stop",
    "change of plan",
    "forget about",
    "never mind",
    "nevermind",
    "you forgot",
    "you missed",
    "still fails",
    "request interrupted",
];

/// The task of a session: the user's request, the agent's plan, and later changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskContext {
    /// The user's first request.
    pub request: Option<Words>,
    /// The agent's first todo list, one item per line.
    pub todos: Option<Words>,
    /// Later user messages in order; redirections take precedence where there are many.
    pub later: Vec<Words>,
}

/// A text with the trace that contains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    pub trace: u32,
    pub text: String,
    /// Whether it redirects the work: a correction, a stop, a change of mind.
    pub redirects: bool,
}

impl TaskContext {
    /// Extracts the task of a session.
    ///
    /// ```
    /// use ratchet_core::judge::evidence::{Evidence, TaskContext};
    /// use ratchet_core::id::SessionId;
    ///
    /// let nothing = Evidence::new(SessionId::parse("s-1")?, Vec::new());
    /// assert_eq!(TaskContext::of(&nothing), TaskContext::default());
    /// # Ok::<(), ratchet_core::id::IdError>(())
    /// ```
    pub fn of(evidence: &Evidence) -> Self {
        Self::of_moves(&session_timeline::of(evidence))
    }

    /// Extracts the task from a timeline.
    pub fn of_moves(moves: &[TimelineEvent]) -> Self {
        let mut messages = moves.iter().filter_map(|event| match &event.act {
            TimelineAction::UserSays(text) => {
                Some(Words { trace: event.trace, text: text.clone(), redirects: redirects(text) })
            }
            TimelineAction::AgentSays(_) | TimelineAction::Calls(_) => None,
        });
        let request = messages.next().map(|first| Words { redirects: false, ..first });
        let todos = moves.iter().find_map(|event| match &event.act {
            TimelineAction::Calls(call) => {
                Some(Words { trace: event.trace, text: todos(call)?, redirects: false })
            }
            TimelineAction::UserSays(_) | TimelineAction::AgentSays(_) => None,
        });
        Self { request, todos, later: kept(messages.collect()) }
    }

    /// Returns the user's redirections.
    pub fn redirections(&self) -> impl Iterator<Item = &Words> {
        self.later.iter().filter(|message| message.redirects)
    }
}

/// Selects later messages, in order: redirections before others where there are too many.
fn kept(later: Vec<Words>) -> Vec<Words> {
    let redirections =
        later.iter().filter(|message| message.redirects).count().min(MAX_LATER_MESSAGES);
    let (mut turns, mut others) = (redirections, MAX_LATER_MESSAGES - redirections);
    let mut keep = |message: &Words| {
        let room = if message.redirects { &mut turns } else { &mut others };
        let has_room = *room > 0;
        *room -= usize::from(has_room);
        has_room
    };
    later.into_iter().filter(|message| keep(message)).collect()
}

/// Returns whether a message redirects the work. A heuristic on typical phrases.
fn redirects(text: &str) -> bool {
    let opening: String = text.trim_start().chars().take(PREFIX_CHARS).collect();
    let opening = opening.to_lowercase().replace('’', "'");
    let begins = |turn: &str| {
        let rest = opening.strip_prefix(turn);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
    };
    REDIRECTION_PREFIXES.iter().any(|turn| begins(turn))
        || CORRECTIONS.iter().any(|cue| opening.contains(cue))
}

/// Returns the todo list that a call writes.
fn todos(call: &Call) -> Option<String> {
    let name: String = call.tool.chars().filter(char::is_ascii_alphanumeric).collect();
    let name = name.to_ascii_lowercase();
    if !PLAN_TOOLS.iter().any(|tool| name.ends_with(tool)) {
        return None;
    }
    let list = LIST_KEYS.iter().find_map(|key| call.input.get(*key));
    let items = match list {
        Some(Value::Array(items)) => items.iter().filter_map(item).collect(),
        Some(Value::String(text)) => vec![text.as_str()],
        _ => item(&call.input).into_iter().collect(),
    };
    (!items.is_empty()).then(|| items.join("\n"))
}

fn item(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text),
        other => ITEM_TEXT_KEYS.iter().find_map(|key| other.get(*key)?.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sessions::{agent, generation, session, tool, trace, turn, user};

    fn context(evidence: &Evidence) -> (Option<String>, Option<String>, Vec<(u32, String)>) {
        let context = TaskContext::of(evidence);
        let redirections =
            context.redirections().map(|message| (message.trace, message.text.clone()));
        let redirections = redirections.collect();
        let text = |message: Option<Words>| message.map(|message| message.text);
        (text(context.request), text(context.todos), redirections)
    }

    #[test]
    fn a_session_in_turns_of_plain_text() {
        let todos = json!({"todos": [{"content": "Find the till", "status": "pending"},
            {"content": "Fix it", "status": "pending"}]});
        let evidence = session(vec![
            turn(
                json!("Fix the till."),
                vec![tool("TodoWrite", todos, json!("ok"))],
                json!("On it."),
            ),
            turn(json!("Thanks, go on."), vec![], json!("Done.")),
            turn(json!("No, leave the tests alone."), vec![], json!("Sorry.")),
        ]);
        let (request, todos, redirections) = context(&evidence);
        assert_eq!(request.as_deref(), Some("Fix the till."));
        assert_eq!(todos.as_deref(), Some("Find the till\nFix it"));
        assert_eq!(redirections, [(3, "No, leave the tests alone.".to_owned())]);
    }

    #[test]
    fn a_conversation_that_grows_in_one_trace() {
        let call = json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": "t", "name": "update_plan", "input": {"plan": [{"step": "Look"}]}}]});
        let evidence = session(vec![trace(vec![
            generation(json!([user("Book a flight.")]), agent("Where to?")),
            generation(
                json!([user("Book a flight."), agent("Where to?"), user("Actually, a train.")]),
                call,
            ),
        ])]);
        let (request, todos, redirections) = context(&evidence);
        assert_eq!(request.as_deref(), Some("Book a flight."));
        assert_eq!(todos.as_deref(), Some("Look"));
        assert_eq!(redirections, [(1, "Actually, a train.".to_owned())]);
    }

    #[test]
    fn what_harnesses_write_is_no_request() {
        let evidence = session(vec![
            turn(json!("<local-command-stdout>x</local-command-stdout>"), vec![], json!("a")),
            turn(
                json!("<system-reminder>be kind</system-reminder>Name the tests."),
                vec![],
                json!("b"),
            ),
        ]);
        assert_eq!(context(&evidence).0.as_deref(), Some("Name the tests."));
    }

    #[test]
    fn redirections_are_distinguished_from_other_messages() {
        for text in
            ["No.", "stop!", "I’d use tabs instead", "That's not what I asked for", "wait, why?"]
        {
            assert!(redirects(text), "{text}");
        }
        for text in [
            "Now run them.",
            "Note the name",
            "nothing else",
            "Great, thank you",
            "Stopwatch page next",
        ] {
            assert!(!redirects(text), "{text}");
        }
    }

    #[test]
    fn of_many_messages_redirections_are_preferred() {
        let message =
            |trace: u32| Words { trace, text: String::new(), redirects: trace.is_multiple_of(10) };
        let kept: Vec<u32> =
            kept((1..=100).map(message).collect()).iter().map(|w| w.trace).collect();
        assert_eq!(kept.len(), MAX_LATER_MESSAGES);
        assert!((1..=10).all(|n| kept.contains(&(n * 10))));
        assert!(kept.is_sorted());
    }
}
