use proptest::prelude::*;
use serde_json::json;

use super::*;

fn view_of(events: &[(EventKind, Value)]) -> TranscriptView {
    let place = |(seq, (kind, body)): (u64, &(EventKind, Value))| ChatEvent {
        seq,
        at: Timestamp::default(),
        kind: *kind,
        body: body.to_string().into(),
    };
    let events: Vec<ChatEvent> = (1..).zip(events).map(place).collect();
    TranscriptView::of(&events)
}

fn message(turn: &str, content: &str) -> (EventKind, Value) {
    (EventKind::Message, json!({"id": "m", "turn": turn, "by": "ada", "content": content}))
}

fn words(text: &str) -> (EventKind, Value) {
    (EventKind::TextDelta, json!({"text": text, "message": "m1"}))
}

fn call(id: &str, parent: Option<&str>) -> (EventKind, Value) {
    let input = json!({"description": "look", "command": "ls -la"});
    (EventKind::ToolUse, json!({"id": id, "name": "Bash", "input": input, "parent": parent}))
}

fn tool(item: &TurnItem) -> &ToolView {
    match &item.part {
        TurnPart::Tool(tool) => tool,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_turn_is_told_from_its_message_to_its_end() {
    let story = view_of(&[
        message("t1", "hi"),
        (EventKind::State, json!({"state": "running", "turn": "t1"})),
        words("Let me "),
        (EventKind::Raw, json!({"type": "stream_event"})),
        words("look."),
        call("c1", None),
        (EventKind::ToolResult, json!({"tool_use_id": "c1", "output": "a\nb", "is_error": true})),
        words("Done."),
        (EventKind::Done, json!({"turn": "t1", "cost": 0.5})),
        message("t2", "thanks"),
    ]);
    assert_eq!((story.turns.len(), story.last), (2, 10));
    let first = &story.turns[0];
    assert_eq!(first.message.as_ref().unwrap().by.as_deref(), Some("ada"));
    assert_eq!(first.end.as_ref().unwrap()["cost"], 0.5);
    let TurnPart::Words { text, .. } = &first.items[0].part else { panic!("{first:?}") };
    assert_eq!((text.as_str(), first.items[0].seq, first.items[0].last), ("Let me look.", 3, 5));
    let used = tool(&first.items[2]);
    assert_eq!((used.gist().as_str(), used.output_text().as_str()), ("ls -la", "a\nb"));
    assert!(used.is_error && first.items[2].last == 7);
    assert!(matches!(&first.items[3].part, TurnPart::Words { text, .. } if text == "Done."));
}

#[test]
fn text_of_an_attempt_that_failed_is_taken_back() {
    let words = |id: &str, text: &str| (EventKind::TextDelta, json!({"text": text, "message": id}));
    let story = view_of(&[
        message("t1", "hi"),
        words("m1", "Kept."),
        words("m2", "Half a sen"),
        (EventKind::Notice, json!({"what": "api_retry", "text": "overloaded", "broken": "m2"})),
        words("m3", "A whole sentence."),
    ]);
    let texts: Vec<_> = story.turns[0]
        .items
        .iter()
        .map(|item| match &item.part {
            TurnPart::Words { text, .. } | TurnPart::Notice { text, .. } => text.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(texts, ["Kept.", "overloaded", "A whole sentence."]);
}

#[test]
fn what_sub_agents_do_lies_in_their_call() {
    let mut events = vec![message("t1", "dig"), call("c1", None), call("c2", Some("c1"))];
    events.push((EventKind::TextDelta, json!({"text": "deep", "parent": "c2"})));
    let story = view_of(&events);
    let outer = tool(&story.turns[0].items[0]);
    assert_eq!(story.turns[0].items[0].last, 4, "a change inside is a change");
    assert_eq!(tool(&outer.inside[0]).inside.len(), 1);
    // However deep they go, the story does not.
    for depth in 2..2_000 {
        events.push(call(&format!("c{}", depth + 1), Some(&format!("c{depth}"))));
    }
    assert!(view_of(&events).turns[0].items.len() > 100);
}

#[test]
fn an_answer_stands_with_its_question() {
    let ask = |id: &str| (EventKind::Permission, json!({"id": id, "tool": "Bash"}));
    let answer = json!({"id": "a1", "decision": "allow", "by": "ada"});
    let story =
        view_of(&[message("t1", "go"), ask("a1"), ask("a2"), (EventKind::Answered, answer)]);
    let asks: Vec<_> = story.turns[0]
        .items
        .iter()
        .map(|item| match &item.part {
            TurnPart::Ask(ask) => (item.last, ask.outcome()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(asks, [(4, Some("allowed by ada".to_owned())), (3, None)]);
}

#[test]
fn the_agent_may_begin_by_itself() {
    let story = view_of(&[
        (EventKind::Notice, json!({"what": "mode", "text": "plan"})),
        (EventKind::State, json!({"state": "running", "turn": "t9"})),
        words("A task has ended."),
        (EventKind::State, json!({"state": "idle"})),
    ]);
    let turns: Vec<_> = story.turns.iter().map(|turn| turn.turn.as_deref()).collect();
    assert_eq!(turns, [None, Some("t9")]);
}

proptest! {
    /// All events are shown, in order.
    #[test]
    fn nothing_is_too_odd(
        events in prop::collection::vec((0..13usize, "[a-c]{1}", prop::option::of("[a-c]{1}")), 0..40),
    ) {
        let events: Vec<(EventKind, Value)> = events
            .into_iter()
            .map(|(kind, id, parent)| {
                let body = json!({"id": id, "tool_use_id": id, "turn": id, "parent": parent, "text": id});
                (EventKind::ALL[kind], body)
            })
            .collect();
        let story = view_of(&events);
        prop_assert_eq!(story.last, events.len() as u64);
        let seqs = story.turns.iter().flat_map(|turn| turn.items.iter().map(|item| item.seq));
        prop_assert!(seqs.collect::<Vec<_>>().is_sorted());
    }
}
