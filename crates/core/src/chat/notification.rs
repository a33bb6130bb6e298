use std::time::Duration;

use serde_json::{Value, json};

use super::event::{ChatEvent, EventKind};
use super::state::ChatStateName;
use crate::id::SessionId;
use crate::message::Message;

/// Maximum characters of a text that is sent: enough to know what it is about. The rest can be read
/// after signing in.
const SHOWN: usize = 200;
/// Maximum characters of the agent's id of a prompt.
const NAME: usize = 100;
/// Duration from which the end of a turn is worth an interruption: by then people look elsewhere.
const LONG_TURN: Duration = Duration::from_mins(1);

/// Type of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NotificationKind {
    /// A turn ended, successfully or not.
    TurnEnded,
    /// The agent waits for a person.
    PersonNeeded,
    /// Its process died or did not start.
    ChatFailed,
    /// A scheduled run has made or changed the report of a week.
    WeekReport,
    /// The weekly document of proposals was published.
    ImprovementReport,
    /// A proposal that is worth a task was made.
    Proposal,
    /// A new pattern of failures reached the threshold between two weekly documents.
    FailurePattern,
    /// A sample of traces waits for review.
    ReviewDrawn,
    /// A weekly metric, a rule or a review changed its state.
    ReviewAlert,
    /// A gate blocked a run.
    GateBlocked,
    /// A promotion went live, failed, was confirmed or rolled back, or production became worse.
    Promotion,
    Test,
}

impl NotificationKind {
    pub const ALL: [Self; 12] = [
        Self::TurnEnded,
        Self::PersonNeeded,
        Self::ChatFailed,
        Self::WeekReport,
        Self::ImprovementReport,
        Self::Proposal,
        Self::FailurePattern,
        Self::ReviewDrawn,
        Self::ReviewAlert,
        Self::GateBlocked,
        Self::Promotion,
        Self::Test,
    ];
    /// Types that receivers can subscribe to.
    pub const SUBSCRIBABLE: [Self; 11] = [
        Self::TurnEnded,
        Self::PersonNeeded,
        Self::ChatFailed,
        Self::WeekReport,
        Self::ImprovementReport,
        Self::Proposal,
        Self::FailurePattern,
        Self::ReviewDrawn,
        Self::ReviewAlert,
        Self::GateBlocked,
        Self::Promotion,
    ];

    /// Name in webhooks and the API. `session.failed` keeps its name: receivers have stored it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TurnEnded => "turn.ended",
            Self::PersonNeeded => "person.needed",
            Self::ChatFailed => "session.failed",
            Self::WeekReport => "week.report",
            Self::ImprovementReport => "improvement.report",
            Self::Proposal => "proposal.significant",
            Self::FailurePattern => "failure.pattern",
            Self::ReviewDrawn => "review.drawn",
            Self::ReviewAlert => "review.alert",
            Self::GateBlocked => "gate.blocked",
            Self::Promotion => "promotion",
            Self::Test => "test",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// What people are notified of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    pub kind: NotificationKind,
    /// A sentence for people.
    text: String,
    /// A JSON object.
    facts: Value,
    is_minor: bool,
}

/// Where it happened.
#[derive(Clone, Copy, Debug)]
pub struct NotificationSource<'a> {
    pub project: &'a str,
    pub chat: &'a SessionId,
    /// Title of the chat.
    pub title: Option<&'a str>,
    /// Public URL of the server, without a trailing slash.
    pub server: &'a str,
}

impl Notification {
    /// Returns the notification of an event, if it has one.
    pub fn of(event: &ChatEvent) -> Option<Self> {
        let body = || serde_json::from_str::<Value>(&event.body).ok();
        match event.kind {
            EventKind::Done => body().map(|body| turn_ended(&body)),
            EventKind::Question | EventKind::Permission => {
                body().map(|body| person_needed(event.kind, &body))
            }
            EventKind::State => body().and_then(|body| chat_failed(&body)),
            EventKind::Raw
            | EventKind::Message
            | EventKind::TextDelta
            | EventKind::ThinkingDelta
            | EventKind::ToolUse
            | EventKind::ToolResult
            | EventKind::Answered
            | EventKind::Error
            | EventKind::Notice => None,
        }
    }

    /// Whether it is the end of a short turn, which is not worth an interruption.
    pub const fn is_minor(&self) -> bool {
        self.is_minor
    }

    /// Returns the message for receivers: a few thousand bytes at most.
    pub fn message(&self, source: NotificationSource<'_>) -> Message {
        let NotificationSource { project, chat, title, server } = source;
        let path = format!("/project/{project}/chats/{chat}");
        let title = title.map(|title| short(title, SHOWN));
        let url = format!("{server}{path}");
        let mut data = json!({
            "project": project,
            "session": chat.to_string(),
            "title": title,
            "path": path,
            "url": url,
        });
        if let (Some(data), Some(facts)) = (data.as_object_mut(), self.facts.as_object()) {
            data.extend(facts.clone());
        }
        Message {
            event: self.kind.as_str().to_owned(),
            title: title.unwrap_or_else(|| "Chat".to_owned()),
            text: self.text.clone(),
            sections: Vec::new(),
            link: Some(url),
            data,
        }
    }
}

/// Returns the message of a test.
pub fn test_message(project: &str, server: &str) -> Message {
    let path = format!("/project/{project}/settings/notifications");
    let url = format!("{server}{path}");
    Message {
        event: NotificationKind::Test.as_str().to_owned(),
        title: "Ratchet".to_owned(),
        text: "Test notification".to_owned(),
        sections: Vec::new(),
        data: json!({"project": project, "path": path, "url": url}),
        link: Some(url),
    }
}

/// Id of the notification of an event: the same for every delivery attempt.
pub fn notice_id(chat: &SessionId, seq: u64) -> String {
    format!("{chat}-{seq}")
}

fn turn_ended(body: &Value) -> Notification {
    let outcome = if body["is_error"] == true { "failed" } else { "done" };
    // The agent's last message is not sent: it may be confidential.
    let facts =
        json!({"state": ChatStateName::Idle.as_str(), "turn": body["turn"], "outcome": outcome});
    let text = if outcome == "done" { "Turn finished" } else { "Turn failed" };
    let took = body["duration_ms"].as_u64().map(Duration::from_millis);
    let is_minor = took.is_some_and(|took| took < LONG_TURN);
    Notification { kind: NotificationKind::TurnEnded, text: text.to_owned(), facts, is_minor }
}

fn person_needed(kind: EventKind, body: &Value) -> Notification {
    let questions = body["questions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let asked = questions.first().map_or(&body["message"], |first| &first["question"]);
    let text = match kind {
        // The exact input may contain a secret; the chat page shows it.
        EventKind::Permission => format!("may it use {}?", text(&body["tool"])),
        _ => text(asked).to_owned(),
    };
    let text = short(&text, SHOWN);
    let ask = json!({
        "id": short(text_or(&body["id"], ""), NAME),
        "kind": kind.as_str(),
        "text": text,
        "more": questions.len().saturating_sub(1),
    });
    let facts = json!({"state": ChatStateName::Waiting.as_str(), "ask": ask});
    Notification { kind: NotificationKind::PersonNeeded, text, facts, is_minor: false }
}

fn chat_failed(body: &Value) -> Option<Notification> {
    if body["state"] != ChatStateName::Failed.as_str() {
        return None;
    }
    let why = short(text_or(&body["why"], ""), SHOWN);
    let text = format!("The agent stopped: {why}");
    let facts = json!({"state": ChatStateName::Failed.as_str(), "why": why});
    Some(Notification { kind: NotificationKind::ChatFailed, text, facts, is_minor: false })
}

fn text(value: &Value) -> &str {
    text_or(value, "something")
}

fn text_or<'a>(value: &'a Value, other: &'a str) -> &'a str {
    value.as_str().filter(|text| !text.trim().is_empty()).unwrap_or(other)
}

/// The start of a text, on one line.
fn short(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split(|c: char| c.is_control() || c.is_whitespace()).collect();
    let line = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most {
        return line;
    }
    let kept: String = line.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Timestamp;

    fn event(kind: EventKind, body: &Value) -> ChatEvent {
        let at = Timestamp::from_nanos(0);
        ChatEvent { seq: 7, at, kind, body: body.to_string().into() }
    }

    fn notification(kind: EventKind, body: &Value) -> Option<Value> {
        let chat = SessionId::parse("s1").unwrap();
        let (title, server) = (Some("Ship\nit"), "https://ratchet.test");
        let source = NotificationSource { project: "shop", chat: &chat, title, server };
        let notice = Notification::of(&event(kind, body))?;
        Some(notice.message(source).payload(Timestamp::from_nanos(0)))
    }

    #[test]
    fn words_are_read_as_they_are_written() {
        for kind in NotificationKind::ALL {
            assert_eq!(NotificationKind::parse(kind.as_str()), Some(kind));
        }
        assert!(!NotificationKind::SUBSCRIBABLE.contains(&NotificationKind::Test));
    }

    #[test]
    fn the_end_of_a_turn_says_how_it_went_and_not_what_was_said() {
        let body = json!({"turn": "t1", "is_error": false, "result": "the password is hush"});
        let notification = notification(EventKind::Done, &body).unwrap();
        assert_eq!(
            notification,
            json!({
                "type": "turn.ended",
                "timestamp": "1970-01-01T00:00:00.000Z",
                "data": {
                    "project": "shop", "session": "s1", "title": "Ship it",
                    "path": "/project/shop/chats/s1",
                    "url": "https://ratchet.test/project/shop/chats/s1",
                    "state": "idle", "turn": "t1", "outcome": "done",
                },
            })
        );
    }

    #[test]
    fn a_question_is_told_with_its_id_and_a_permission_without_the_command() {
        let question = json!({"id": "q1", "questions": [{"question": "Which?"}, {}]});
        let asked = notification(EventKind::Question, &question).unwrap();
        let expected = json!({"id": "q1", "kind": "question", "text": "Which?", "more": 1});
        assert_eq!(asked["data"]["ask"], expected);
        assert_eq!(
            (&asked["type"], &asked["data"]["state"]),
            (&json!("person.needed"), &json!("waiting"))
        );
        let form =
            notification(EventKind::Question, &json!({"id": "f", "message": "Colour?"})).unwrap();
        assert_eq!(form["data"]["ask"]["text"], "Colour?");
        let permission = json!({"id": "p1", "tool": "Bash", "input": {"command": "echo hush"}});
        let asked = notification(EventKind::Permission, &permission).unwrap().to_string();
        assert!(asked.contains("may it use Bash?") && !asked.contains("hush"), "{asked}");
    }

    #[test]
    fn only_the_end_of_a_long_turn_is_worth_an_interruption() {
        let ended = |millis: u64| event(EventKind::Done, &json!({"duration_ms": millis}));
        assert!(Notification::of(&ended(59_999)).unwrap().is_minor());
        assert!(!Notification::of(&ended(60_000)).unwrap().is_minor());
        let asked = event(EventKind::Question, &json!({"id": "q1"}));
        assert!(!Notification::of(&asked).unwrap().is_minor());
    }

    #[test]
    fn of_states_only_failure_is_news() {
        assert_eq!(notification(EventKind::State, &json!({"state": "idle"})), None);
        assert_eq!(notification(EventKind::TextDelta, &json!({"text": "Hi"})), None);
        let failed = notification(EventKind::State, &json!({"state": "failed", "why": "signal 9"}));
        assert_eq!(failed.unwrap()["data"]["why"], "signal 9");
    }

    #[test]
    fn whatever_is_asked_the_message_stays_small() {
        for odd in ["\u{1F980}", "\"", "\\", "\u{0}", "x\u{7f}", "\u{2028}"] {
            let long = odd.repeat(100_000);
            let body = json!({"id": long, "questions": [{"question": long}], "tool": long});
            for kind in [EventKind::Question, EventKind::Permission] {
                let notification = notification(kind, &body).unwrap().to_string();
                assert!(notification.len() < 3_000, "{} bytes of {odd:?}", notification.len());
            }
        }
        assert!(
            Notification::of(&ChatEvent {
                body: "no JSON".into(),
                ..event(EventKind::Done, &Value::Null)
            })
            .is_none()
        );
    }
}
