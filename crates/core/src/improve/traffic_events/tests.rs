use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use super::*;

/// Weeks without a change that are tried.
const QUIET_WEEKS: u64 = 200;
const TOPICS: &[&str] = &["refund", "parcel", "invoice", "password", "warranty", "voucher"];

struct World(ChaCha8Rng);

impl World {
    fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    fn chance(&mut self, share: f64) -> bool {
        f64::from(self.0.next_u32()) / f64::from(u32::MAX) < share
    }

    /// A session with a long tail of latencies and costs that go with them.
    fn session(&mut self, is_of_week: bool) -> SessionActivity {
        let latency = (1..=8).map(|_| f64::from(self.0.next_u32() % 100) / 100.0).product::<f64>();
        let latency = 0.5 + 30.0 * latency;
        let topic = TOPICS[self.0.next_u32() as usize % TOPICS.len()];
        let mut terms = BTreeSet::from([topic.to_owned()]);
        if self.chance(0.3) {
            terms.insert("order".to_owned());
        }
        let errors = ["lookup", "search", "book"]
            .map(|tool| (tool.to_owned(), f64::from(u8::from(self.chance(0.05)))));
        SessionActivity {
            is_of_week,
            latency_seconds: Some(latency),
            cost_dollars: Some(latency / 100.0),
            agreement: self.chance(0.4).then(|| f64::from(u8::from(self.chance(0.9)))),
            tool_errors: BTreeMap::from(errors),
            terms,
        }
    }

    fn sessions(&mut self, before: usize, of_week: usize) -> Vec<SessionActivity> {
        (0..before + of_week).map(|n| self.session(n >= before)).collect()
    }
}

fn events(sessions: Vec<SessionActivity>) -> Vec<WeekEvent> {
    let quiet = World::new(7).sessions(60, 30);
    let agents = BTreeMap::from([("bot".to_owned(), sessions), ("quiet".to_owned(), quiet)]);
    traffic_events(Timestamp::default(), &agents)
}

/// What changes in the week, as edits of its sessions.
fn with_change(change: impl Fn(usize, &mut SessionActivity)) -> Vec<WeekEvent> {
    let mut sessions = World::new(1).sessions(150, 80);
    let of_week = sessions.iter_mut().filter(|session| session.is_of_week);
    of_week.enumerate().for_each(|(n, session)| change(n, session));
    events(sessions)
}

fn only(events: &[WeekEvent]) -> (EventKind, String) {
    let [event] = events else { panic!("{events:?}") };
    assert_eq!(event.agent.as_deref(), Some("bot"));
    (event.kind, event.text.clone())
}

#[test]
fn a_broken_tool_is_one_event_with_its_rates() {
    let found = with_change(|n, session| {
        if n % 3 == 0 {
            session.tool_errors.insert("search".to_owned(), 1.0);
        }
    });
    let (kind, text) = only(&found);
    assert_eq!(kind, EventKind::ToolErrors);
    assert!(text.starts_with("Error rate of search rose from ") && text.contains("n 80"), "{text}");
}

#[test]
fn twice_the_latency_is_an_event() {
    let found = with_change(|_, session| {
        session.latency_seconds = session.latency_seconds.map(|seconds| 2.0 * seconds);
    });
    let (kind, text) = only(&found);
    assert_eq!(kind, EventKind::Latency);
    assert!(text.contains("rose") && text.contains(" s (median)"), "{text}");
}

#[test]
fn a_judge_that_begins_to_disagree_is_an_event() {
    let found = with_change(|n, session| session.agreement = Some(f64::from(n % 2 == 0)));
    assert_eq!(only(&found).0, EventKind::JudgeAgreement);
}

#[test]
fn words_of_one_new_topic_are_one_event() {
    let found = with_change(|n, session| {
        if n % 4 == 0 {
            session.terms.extend(["strike", "delay"].map(str::to_owned));
        }
    });
    let (kind, text) = only(&found);
    assert_eq!(kind, EventKind::TopicVolume);
    let rose = "Share of sessions about \u{201c}delay, strike\u{201d} rose from 0% to 25% (n 80";
    assert!(text.starts_with(rose), "{text}");
}

#[test]
fn weeks_without_a_change_have_nearly_no_events() {
    let false_alarms = (0..QUIET_WEEKS).filter(|seed| {
        let sessions = World::new(1_000 + seed).sessions(60, 25);
        !traffic_events(Timestamp::default(), &BTreeMap::from([("bot".to_owned(), sessions)]))
            .is_empty()
    });
    // Expected are 0.8; 5 and more occur in one of 1,000 runs.
    assert!(false_alarms.count() < 5);
}

#[test]
fn few_sessions_tell_nothing() {
    assert_eq!(events(World::new(3).sessions(11, 200)), []);
    assert_eq!(traffic_events(Timestamp::default(), &BTreeMap::new()), []);
}
