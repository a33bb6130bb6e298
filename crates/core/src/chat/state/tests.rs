use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

fn turn(n: u8) -> TraceId {
    TraceId::parse(&format!("turn-{n}")).unwrap()
}

fn ask(n: u8) -> PermissionPromptId {
    PermissionPromptId::new(format!("ask-{n}"))
}

/// Who does what next. Turns and questions have a few names each, so that they meet often.
fn happenings() -> impl Strategy<Value = ChatInput> {
    prop_oneof![
        4 => (0..6u8).prop_map(|n| ChatInput::Sent(turn(n))),
        1 => Just(ChatInput::Woken),
        6 => Just(ChatInput::Started),
        1 => (6..9u8).prop_map(|n| ChatInput::Began(turn(n))),
        6 => (0..4u8).prop_map(|n| ChatInput::Asked(ask(n))),
        8 => (0..4u8).prop_map(|n| ChatInput::Answered(ask(n))),
        1 => (0..4u8).prop_map(|n| ChatInput::Withdrawn(ask(n))),
        1 => Just(ChatInput::Interrupted),
        4 => Just(ChatInput::Ended),
        1 => Just(ChatInput::Parked),
        1 => Just(ChatInput::Died),
        1 => (0..12u8).prop_map(|n| if n == 0 { ChatInput::Closed } else { ChatInput::Ended }),
    ]
}

/// An independent model of the state.
#[derive(Default)]
struct Onlooker {
    /// The turn whose start was reported, but not its end.
    turn: Option<TraceId>,
    open: BTreeSet<PermissionPromptId>,
    /// How often each question was asked and how often an answer was taken.
    asked: BTreeMap<PermissionPromptId, (u32, u32)>,
}

impl Onlooker {
    fn saw(&mut self, before: &ChatState, happening: &ChatInput, after: &ChatState) {
        match happening {
            ChatInput::Sent(turn) | ChatInput::Began(turn) => {
                assert_eq!(self.turn, None, "two turns at once");
                self.turn = Some(turn.clone());
            }
            ChatInput::Asked(ask) => {
                // Asked again while it is open, it is the same question.
                let is_new = self.open.insert(ask.clone());
                self.asked.entry(ask.clone()).or_default().0 += u32::from(is_new);
            }
            ChatInput::Answered(ask) => {
                assert!(self.open.remove(ask), "an answer to what nobody asked");
                self.asked.entry(ask.clone()).or_default().1 += 1;
            }
            ChatInput::Withdrawn(ask) => {
                assert!(self.open.remove(ask), "withdrawn without being open");
            }
            ChatInput::Ended => {
                assert!(self.turn.take().is_some(), "the end of nothing");
            }
            ChatInput::Died | ChatInput::Closed | ChatInput::Parked => {
                let lost = self.turn.take();
                assert!(lost.is_none() || *happening != ChatInput::Parked, "parked at work");
                let failed = *after == ChatState::Failed;
                let was_starting = matches!(before, ChatState::Starting { .. });
                assert!(
                    *happening != ChatInput::Died || failed == (lost.is_some() || was_starting)
                );
                self.open.clear();
            }
            ChatInput::Interrupted if matches!(before, ChatState::Starting { .. }) => {
                assert!(self.turn.take().is_some(), "nothing was on its way");
            }
            ChatInput::Woken | ChatInput::Started | ChatInput::Interrupted => {}
        }
        assert_eq!(after.turn(), self.turn.as_ref());
        assert_eq!(open_asks(after), self.open);
        let waits = after.name() == ChatStateName::Waiting;
        assert_eq!(waits, !self.open.is_empty(), "waiting is having something asked");
        let twice = self.asked.iter().find(|(_, (asked, answered))| answered > asked);
        assert_eq!(twice, None, "answered more often than asked");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Two clients, an agent and crashes, in any order: what was accepted makes one sensible story.
    #[test]
    fn any_interleaving_tells_a_sensible_story(
        story in prop::collection::vec(happenings(), 0..60),
    ) {
        let mut state = ChatState::Starting { turn: None };
        let mut onlooker = Onlooker::default();
        for happening in story {
            let followed = next(&state, happening.clone());
            if state == ChatState::Closed {
                prop_assert_eq!(&followed, &Err(InvalidTransition::Closed));
            }
            if let Err(InvalidTransition::Busy { turn }) = &followed {
                prop_assert_eq!(state.turn(), Some(turn), "the refusal names what runs");
            }
            let Ok(after) = followed else { continue };
            onlooker.saw(&state, &happening, &after);
            state = after;
        }
    }

    /// However it came to wait, answers end it, in any order, and each is taken once.
    #[test]
    fn every_waiting_ends(
        story in prop::collection::vec(happenings(), 0..60),
        is_backwards: bool,
    ) {
        let mut state = ChatState::Starting { turn: None };
        for happening in story {
            state = next(&state, happening).unwrap_or(state);
        }
        let mut asks: Vec<_> = open_asks(&state).into_iter().collect();
        if is_backwards {
            asks.reverse();
        }
        for ask in asks {
            state = next(&state, ChatInput::Answered(ask.clone())).unwrap();
            let again = next(&state, ChatInput::Answered(ask.clone()));
            prop_assert_eq!(again, Err(InvalidTransition::NotOpen { ask }));
        }
        prop_assert!(state.name() != ChatStateName::Waiting);
    }

    /// Whatever happened, a chat that is not closed takes a message sooner or later.
    #[test]
    fn nothing_but_closing_is_a_dead_end(story in prop::collection::vec(happenings(), 0..60)) {
        let mut state = ChatState::Starting { turn: None };
        for happening in story {
            state = next(&state, happening).unwrap_or(state);
        }
        prop_assume!(state != ChatState::Closed);
        if matches!(state, ChatState::Starting { .. }) {
            state = next(&state, ChatInput::Started).unwrap();
        }
        if state.turn().is_some() {
            state = next(&state, ChatInput::Ended).unwrap();
        }
        prop_assert!(next(&state, ChatInput::Sent(turn(9))).is_ok());
    }
}

#[track_caller]
fn check(
    before: &ChatState,
    happening: ChatInput,
    expected: Result<&ChatState, InvalidTransition>,
) {
    assert_eq!(next(before, happening), expected.cloned());
}

#[test]
fn a_message_wakes_a_parked_chat_with_its_turn() {
    let starting = ChatState::Starting { turn: Some(turn(1)) };
    check(&ChatState::Parked, ChatInput::Sent(turn(1)), Ok(&starting));
    check(&ChatState::Failed, ChatInput::Sent(turn(1)), Ok(&starting));
    check(&starting, ChatInput::Started, Ok(&ChatState::Running { turn: turn(1) }));
    check(&starting, ChatInput::Sent(turn(2)), Err(InvalidTransition::Busy { turn: turn(1) }));
}

#[test]
fn a_message_that_waits_for_its_process_can_be_taken_back() {
    let starting = ChatState::Starting { turn: Some(turn(1)) };
    check(&starting, ChatInput::Interrupted, Ok(&ChatState::Parked));
    let woken = ChatState::Starting { turn: None };
    check(&woken, ChatInput::Interrupted, Err(InvalidTransition::NoTurn));
}

#[test]
fn a_task_in_the_background_may_ask_after_its_turn() {
    let asks = BTreeSet::from([ask(1)]);
    let waiting = ChatState::Waiting { turn: None, asks: asks.clone() };
    check(&ChatState::Idle, ChatInput::Asked(ask(1)), Ok(&waiting));
    check(&waiting, ChatInput::Answered(ask(1)), Ok(&ChatState::Idle));
    let both = ChatState::Waiting { turn: Some(turn(1)), asks };
    check(&waiting, ChatInput::Sent(turn(1)), Ok(&both));
    check(&both, ChatInput::Ended, Ok(&waiting));
}

#[test]
fn words_are_read_as_they_are_written() {
    for word in ChatStateName::ALL {
        assert_eq!(ChatStateName::parse(word.as_str()), Some(word));
    }
    assert_eq!(ChatStateName::parse("asleep"), None);
}
