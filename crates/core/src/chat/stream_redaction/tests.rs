use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::chat::reader::LineReader;
use crate::record::redact::{KnownSecrets, RedactionPattern, Rule};

/// What must not be kept: long enough to be cut in many places, open at its end.
const PATTERN: &str = "sk-[a-z0-9]{6,}";

/// A value that is known to be secret.
const KEY: &str = "sk-known-0123456789";

fn known() -> Redactor {
    Redactor::default().with_secrets(KnownSecrets::new([KEY.to_owned()]))
}

fn rules() -> Redactor {
    let what = RedactionPattern::Pattern(PATTERN.to_owned());
    Redactor::new(&[Rule { what, replacement: "[gone]".to_owned() }]).unwrap()
}

/// What the agent says and what is made of it, as a chat emits it, line by line.
fn chat(lines: &[Value]) -> Vec<Vec<TimedEvent>> {
    let mut reader = LineReader::default();
    let events = |line: &Value| {
        let line = line.to_string();
        let raw = UnorderedEvent { kind: EventKind::Raw, body: line.as_str().into() };
        let made = reader.take(&line, None).events;
        [raw].into_iter().chain(made).map(|event| (Timestamp::default(), event)).collect()
    };
    lines.iter().map(events).collect()
}

fn delta(parent: Option<&str>, kind: &str, text: &str) -> Value {
    let key = kind.trim_end_matches("_delta");
    json!({"type": "stream_event", "parent_tool_use_id": parent, "event": {
        "type": "content_block_delta", "index": 0, "delta": {"type": kind, key: text}}})
}

fn whole(parent: Option<&str>, kind: &str, text: &str) -> Value {
    json!({"type": "assistant", "parent_tool_use_id": parent, "message": {
        "id": "m1", "content": [{"type": kind, kind: text}]}})
}

/// Hands events over a few lines at a time, as they reach the disk.
fn in_batches(events: Vec<Vec<TimedEvent>>, sizes: &[usize], rules: &Redactor) -> Vec<TimedEvent> {
    let (mut redactor, mut passed) = (StreamRedactor::default(), Vec::new());
    let mut rest = events.into_iter().peekable();
    for size in sizes.iter().cycle() {
        if rest.peek().is_none() {
            break;
        }
        let batch = rest.by_ref().take(*size).flatten().collect();
        passed.extend(redactor.pass(batch, rules));
    }
    passed
}

/// Every text that someone could put together from what was passed on: each string of each event,
/// and the words of each voice, one after the other.
fn texts(passed: &[TimedEvent]) -> Vec<String> {
    let mut voices: BTreeMap<(EventKind, Option<String>), String> = BTreeMap::new();
    let mut texts = Vec::new();
    for (_, event) in passed {
        let body: Value = serde_json::from_str(&event.body).unwrap();
        if let EventKind::TextDelta | EventKind::ThinkingDelta = event.kind {
            let parent = body["parent"].as_str().map(str::to_owned);
            let voice = voices.entry((event.kind, parent)).or_default();
            voice.push_str(body["text"].as_str().unwrap());
        }
        collect(&body, &mut texts);
    }
    texts.extend(voices.into_values());
    texts
}

fn collect(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => into.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, into)),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            into.push(key.clone());
            collect(value, into);
        }),
        other => into.push(other.to_string()),
    }
}

/// A text with secrets in it, and where it is cut.
fn cut_text() -> impl Strategy<Value = Vec<String>> {
    cut(prop_oneof!["[a-z ]{0,12}", "sk-[a-z0-9]{6,12}", "sk-", "[\\PC]{0,4}"])
}

/// The same with a value that is known to be secret, and words that begin like it.
fn cut_key() -> impl Strategy<Value = Vec<String>> {
    let key = Just(KEY.to_owned());
    cut(prop_oneof!["[a-z ]{0,12}", key, "sk-?", "sk-known-012", "[\\PC]{0,4}"])
}

fn cut(word: impl Strategy<Value = String>) -> impl Strategy<Value = Vec<String>> {
    let text = prop::collection::vec(word, 1..8).prop_map(|words| words.concat());
    (text, prop::collection::vec(any::<prop::sample::Index>(), 0..12)).prop_map(|(text, cuts)| {
        let letters: Vec<char> = text.chars().collect();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(letters.len() + 1)).collect();
        cuts.extend([0, letters.len()]);
        cuts.sort_unstable();
        cuts.windows(2).map(|pair| letters[pair[0]..pair[1]].iter().collect()).collect()
    })
}

/// How the words of a voice end.
#[derive(Clone, Copy, Debug)]
enum End {
    Whole,
    /// Only some came in pieces.
    Cut(usize),
    Never,
}

fn ends() -> impl Strategy<Value = End> {
    prop_oneof![Just(End::Whole), (0_usize..9).prop_map(End::Cut), Just(End::Never)]
}

fn voice(parent: Option<&'static str>, kind: &str, pieces: &[String], end: End) -> Vec<Value> {
    let events = if let End::Cut(count) = end { count.min(pieces.len()) } else { pieces.len() };
    let delta_kind = format!("{kind}_delta");
    let deltas = pieces[..events].iter().map(|text| delta(parent, &delta_kind, text));
    let mut lines: Vec<Value> = deltas.collect();
    if !matches!(end, End::Never) {
        lines.push(whole(parent, kind, &pieces.concat()));
    }
    lines
}

/// Two voices at once: whose line comes next is up to chance.
fn mixed(first: Vec<Value>, second: Vec<Value>, turns: &[bool]) -> Vec<Value> {
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut lines = Vec::new();
    for takes_first in turns {
        lines.extend(if *takes_first { first.next() } else { second.next() });
    }
    lines.extend(first.chain(second));
    lines.push(json!({"type": "result", "subtype": "success", "result": "done"}));
    lines
}

proptest! {
    #[test]
    fn no_secret_gets_by_however_it_is_cut(
        (said, said_end) in (cut_text(), ends()),
        (other, other_end) in (cut_text(), ends()),
        kind in prop_oneof![Just("text"), Just("thinking")],
        turns in prop::collection::vec(any::<bool>(), 0..20),
        sizes in prop::collection::vec(1_usize..5, 1..6),
    ) {
        let lines = mixed(
            voice(None, kind, &said, said_end),
            voice(Some("t1"), "text", &other, other_end),
            &turns,
        );
        let closed = EventBody::default().text("state", "closed").into_event(EventKind::State);
        let mut events = chat(&lines);
        events.push(vec![(Timestamp::default(), closed)]);
        let passed = in_batches(events, &sizes, &rules());
        let secret = regex::Regex::new(PATTERN).unwrap();
        for text in texts(&passed) {
            prop_assert!(!secret.is_match(&text), "{text}");
        }
        // What is no secret is all there.
        let said: String = said.concat();
        let is_told = |text: &String| *text == rules().text(&said);
        if !matches!(said_end, End::Never) && !said.is_empty() {
            prop_assert!(texts(&passed).iter().any(is_told), "{said:?} in {passed:#?}");
        }
    }

    #[test]
    fn no_known_secret_gets_by_however_it_is_cut(
        (said, said_end) in (cut_key(), ends()),
        (other, other_end) in (cut_key(), ends()),
        turns in prop::collection::vec(any::<bool>(), 0..20),
        sizes in prop::collection::vec(1_usize..5, 1..6),
    ) {
        let lines = mixed(
            voice(None, "text", &said, said_end),
            voice(Some("t1"), "text", &other, other_end),
            &turns,
        );
        let closed = EventBody::default().text("state", "closed").into_event(EventKind::State);
        let mut events = chat(&lines);
        events.push(vec![(Timestamp::default(), closed)]);
        for text in texts(&in_batches(events, &sizes, &known())) {
            prop_assert!(!text.contains(KEY), "{text}");
        }
    }

    #[test]
    fn words_without_a_secret_come_piece_by_piece_though_some_are_known(
        said in cut(prop_oneof!["[a-z ]{0,12}", "[\\PC]{0,4}"]),
        sizes in prop::collection::vec(1_usize..5, 1..6),
    ) {
        let events = chat(&voice(None, "text", &said, End::Whole));
        let passed = in_batches(events.clone(), &sizes, &known());
        prop_assert_eq!(passed, events.concat());
    }

    #[test]
    fn without_rules_nothing_changes(
        said in cut_text(),
        sizes in prop::collection::vec(1_usize..5, 1..6),
    ) {
        let events = chat(&voice(None, "text", &said, End::Whole));
        let passed = in_batches(events.clone(), &sizes, &Redactor::default());
        prop_assert_eq!(passed, events.concat());
    }
}

/// Not all of a message comes in pieces: the rest follows the line that has it whole.
#[test]
fn the_rest_of_a_message_stays_behind_what_is_held_of_it() {
    let text = format!("see s{KEY} and {KEY}.");
    let lines = [
        delta(None, "text_delta", "see s"),
        delta(None, "text_delta", KEY.get(..3).unwrap()),
        whole(None, "text", &text),
    ];
    let passed = in_batches(chat(&lines), &[1], &known());
    let (all, redacted) = (texts(&passed), known().text(&text));
    assert!(all.iter().all(|text| !text.contains(KEY)), "{all:?}");
    assert!(all.contains(&redacted.into_owned()), "{all:?}");
}

#[test]
fn words_come_when_they_are_whole_and_pieces_not_at_all() {
    let lines = [
        delta(None, "text_delta", "my key is sk-abc"),
        delta(None, "text_delta", "def1, keep it"),
        whole(None, "text", "my key is sk-abcdef1, keep it safe"),
    ];
    let passed = in_batches(chat(&lines), &[1], &rules());
    let events: Vec<(EventKind, Value)> = passed
        .iter()
        .map(|(_, events)| (events.kind, serde_json::from_str(&events.body).unwrap()))
        .collect();
    let clean = "my key is [gone], keep it safe";
    assert_eq!(events[0], (EventKind::Raw, whole(None, "text", clean)));
    let texts: String =
        events[1..].iter().map(|(_, body)| body["text"].as_str().unwrap()).collect();
    assert_eq!(texts, clean);
}

#[test]
fn what_is_held_goes_on_when_the_rules_do() {
    let mut redactor = StreamRedactor::default();
    let events = chat(&[delta(None, "text_delta", "sk-abcdef1")]);
    assert_eq!(redactor.pass(events.concat(), &rules()), []);
    let passed = redactor.pass(Vec::new(), &Redactor::default());
    assert_eq!(&*passed[0].1.body, r#"{"text":"sk-abcdef1"}"#);
}

#[test]
fn the_rest_of_a_text_does_not_overtake_what_is_held() {
    let pieces = ["sk", "sk", "-known-0123456789aa ask", "-known-0123456789a"].map(str::to_owned);
    let lines = voice(None, "text", &pieces, End::Cut(3));
    let texts = texts(&in_batches(chat(&lines), &[1], &known()));
    assert!(texts.iter().all(|text| !text.contains(KEY)), "{texts:?}");
}
