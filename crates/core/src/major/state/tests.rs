use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

fn turn(n: u8) -> TraceId {
    TraceId::parse(&format!("turn-{n}")).unwrap()
}

fn ask(n: u8) -> AskId {
    AskId::new(format!("ask-{n}"))
}

/// Who does what next. Turns and questions have a few names each, so that they meet often.
fn happenings() -> impl Strategy<Value = Happening> {
    prop_oneof![
        4 => (0..6u8).prop_map(|n| Happening::Sent(turn(n))),
        1 => Just(Happening::Woken),
        6 => Just(Happening::Started),
        1 => (6..9u8).prop_map(|n| Happening::Began(turn(n))),
        6 => (0..4u8).prop_map(|n| Happening::Asked(ask(n))),
        8 => (0..4u8).prop_map(|n| Happening::Answered(ask(n))),
        1 => (0..4u8).prop_map(|n| Happening::Withdrawn(ask(n))),
        1 => Just(Happening::Interrupted),
        4 => Just(Happening::Ended),
        1 => Just(Happening::Parked),
        1 => Just(Happening::Died),
        1 => (0..12u8).prop_map(|n| if n == 0 { Happening::Closed } else { Happening::Ended }),
    ]
}

/// What an onlooker who trusts nobody writes down.
#[derive(Default)]
struct Onlooker {
    /// The turn that someone was told has begun and nobody was told has ended.
    turn: Option<TraceId>,
    open: BTreeSet<AskId>,
    /// How often each question was asked and how often an answer was taken.
    asked: BTreeMap<AskId, (u32, u32)>,
}

impl Onlooker {
    fn saw(&mut self, before: &MajorState, happening: &Happening, after: &MajorState) {
        match happening {
            Happening::Sent(turn) | Happening::Began(turn) => {
                assert_eq!(self.turn, None, "two turns at once");
                self.turn = Some(turn.clone());
            }
            Happening::Asked(ask) => {
                // Asked again while it is open, it is the same question.
                let is_new = self.open.insert(ask.clone());
                self.asked.entry(ask.clone()).or_default().0 += u32::from(is_new);
            }
            Happening::Answered(ask) => {
                assert!(self.open.remove(ask), "an answer to what nobody asked");
                self.asked.entry(ask.clone()).or_default().1 += 1;
            }
            Happening::Withdrawn(ask) => {
                assert!(self.open.remove(ask), "withdrawn without being open");
            }
            Happening::Ended => {
                assert!(self.turn.take().is_some(), "the end of nothing");
            }
            Happening::Died | Happening::Closed | Happening::Parked => {
                let lost = self.turn.take();
                assert!(lost.is_none() || *happening != Happening::Parked, "parked at work");
                let failed = *after == MajorState::Failed;
                let was_starting = matches!(before, MajorState::Starting { .. });
                assert!(
                    *happening != Happening::Died || failed == (lost.is_some() || was_starting)
                );
                self.open.clear();
            }
            Happening::Interrupted if matches!(before, MajorState::Starting { .. }) => {
                assert!(self.turn.take().is_some(), "nothing was on its way");
            }
            Happening::Woken | Happening::Started | Happening::Interrupted => {}
        }
        assert_eq!(after.turn(), self.turn.as_ref());
        assert_eq!(open_asks(after), self.open);
        let waits = after.word() == StateWord::Waiting;
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
        let mut state = MajorState::Starting { turn: None };
        let mut onlooker = Onlooker::default();
        for happening in story {
            let followed = next(&state, happening.clone());
            if state == MajorState::Closed {
                prop_assert_eq!(&followed, &Err(Unfit::Closed));
            }
            if let Err(Unfit::Busy { turn }) = &followed {
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
        let mut state = MajorState::Starting { turn: None };
        for happening in story {
            state = next(&state, happening).unwrap_or(state);
        }
        let mut asks: Vec<_> = open_asks(&state).into_iter().collect();
        if is_backwards {
            asks.reverse();
        }
        for ask in asks {
            state = next(&state, Happening::Answered(ask.clone())).unwrap();
            let again = next(&state, Happening::Answered(ask.clone()));
            prop_assert_eq!(again, Err(Unfit::NotOpen { ask }));
        }
        prop_assert!(state.word() != StateWord::Waiting);
    }

    /// Whatever happened, a session that is not closed takes a message sooner or later.
    #[test]
    fn nothing_but_closing_is_a_dead_end(story in prop::collection::vec(happenings(), 0..60)) {
        let mut state = MajorState::Starting { turn: None };
        for happening in story {
            state = next(&state, happening).unwrap_or(state);
        }
        prop_assume!(state != MajorState::Closed);
        if matches!(state, MajorState::Starting { .. }) {
            state = next(&state, Happening::Started).unwrap();
        }
        if state.turn().is_some() {
            state = next(&state, Happening::Ended).unwrap();
        }
        prop_assert!(next(&state, Happening::Sent(turn(9))).is_ok());
    }
}

#[track_caller]
fn check(before: &MajorState, happening: Happening, expected: Result<&MajorState, Unfit>) {
    assert_eq!(next(before, happening), expected.cloned());
}

#[test]
fn a_message_wakes_a_parked_session_with_its_turn() {
    let starting = MajorState::Starting { turn: Some(turn(1)) };
    check(&MajorState::Parked, Happening::Sent(turn(1)), Ok(&starting));
    check(&MajorState::Failed, Happening::Sent(turn(1)), Ok(&starting));
    check(&starting, Happening::Started, Ok(&MajorState::Running { turn: turn(1) }));
    check(&starting, Happening::Sent(turn(2)), Err(Unfit::Busy { turn: turn(1) }));
}

#[test]
fn a_message_that_waits_for_its_process_can_be_taken_back() {
    let starting = MajorState::Starting { turn: Some(turn(1)) };
    check(&starting, Happening::Interrupted, Ok(&MajorState::Parked));
    let woken = MajorState::Starting { turn: None };
    check(&woken, Happening::Interrupted, Err(Unfit::NoTurn));
}

#[test]
fn a_task_in_the_background_may_ask_after_its_turn() {
    let asks = BTreeSet::from([ask(1)]);
    let waiting = MajorState::Waiting { turn: None, asks: asks.clone() };
    check(&MajorState::Idle, Happening::Asked(ask(1)), Ok(&waiting));
    check(&waiting, Happening::Answered(ask(1)), Ok(&MajorState::Idle));
    let both = MajorState::Waiting { turn: Some(turn(1)), asks };
    check(&waiting, Happening::Sent(turn(1)), Ok(&both));
    check(&both, Happening::Ended, Ok(&waiting));
}

#[test]
fn words_are_read_as_they_are_written() {
    for word in StateWord::ALL {
        assert_eq!(StateWord::parse(word.as_str()), Some(word));
    }
    assert_eq!(StateWord::parse("asleep"), None);
}
