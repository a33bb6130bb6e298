use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ratchet_core::backoff::Backoff;
use ratchet_core::chat::delivery_retry::DELIVERY_BACKOFF;
use ratchet_core::chat::notification::NotificationKind;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::time::Timestamp;
use ratchet_remote::backoff_clock::{BackoffClock, SystemBackoffClock};
use ratchet_stages::chat::{ChatLimits, ChatService};
use ratchet_stages::notify::{self, DeliveryLimits, Notifier};
use ratchet_store::catalog::{DeliveryOutcome, NoticeDelivery, NoticeReceiver};
use ratchet_testkit::build::START;
use ratchet_testkit::wait;
use ratchet_testkit::webhook_receiver::{FakeBrowser, Inbox, InboxAnswer, ReceivedMessage};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::talk::Stage;

/// Time that goes on from when the tests' store begins.
#[derive(Debug)]
struct FromStart(Instant);

impl BackoffClock for FromStart {
    fn now(&self) -> Timestamp {
        START.plus_nanos(self.0.elapsed().as_nanos().try_into().unwrap())
    }

    fn jitter(&self) -> f64 {
        0.5
    }

    fn pause(&self, wait: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        SystemBackoffClock.pause(wait)
    }
}

/// A server that tells, until it is dropped as if it had died.
fn tell(stage: &Stage, answer: Duration) -> JoinSet<()> {
    tell_within(stage, answer, "localhost")
}

/// The same, of those at addresses that are allowed.
fn tell_within(stage: &Stage, answer: Duration, allowed: &str) -> JoinSet<()> {
    let (first, cap) = (Duration::from_millis(2), Duration::from_millis(20));
    let backoff = Backoff { first, cap, ..DELIVERY_BACKOFF };
    let courier = Notifier {
        store: stage.data.folder().clone(),
        server: "https://ratchet.test".to_owned(),
        outbound: allowed.parse().unwrap(),
        pace: Arc::new(FromStart(Instant::now())),
        limits: DeliveryLimits { answer, backoff, ..DeliveryLimits::default() },
        mail: None,
    };
    let mut running = JoinSet::new();
    running.spawn(async move { courier.run(std::future::pending()).await });
    running
}

const LONG: Duration = Duration::from_secs(60);

async fn webhook(
    stage: &Stage,
    url: &str,
    events: &[NotificationKind],
) -> (NoticeReceiver, String) {
    let anywhere = OutboundPolicy::unrestricted();
    let (new, secret) = notify::webhook("ops", url, events.to_vec(), &anywhere).unwrap();
    let (catalog, secrets) = (stage.data.catalog(), stage.data.folder().secrets.clone());
    let made = catalog.add_notice_receiver(stage.shop.clone(), new, secrets, START).await;
    (made.unwrap(), secret.expose().to_owned())
}

async fn browser(stage: &Stage, url: &str, browser: &FakeBrowser) -> NoticeReceiver {
    let (point, auth) = browser.keys();
    let (events, anywhere) =
        (NotificationKind::SUBSCRIBABLE.to_vec(), OutboundPolicy::unrestricted());
    let new = notify::browser("Firefox", (url, &point, &auth), (events, None), &anywhere).unwrap();
    let (catalog, secrets) = (stage.data.catalog(), stage.data.folder().secrets.clone());
    catalog.add_notice_receiver(stage.shop.clone(), new, secrets, START).await.unwrap()
}

/// What became of everything for a receiver, once nothing is left to do.
async fn ended(stage: &Stage, to: &NoticeReceiver) -> Vec<NoticeDelivery> {
    let read = async || {
        let (project, id) = (stage.shop.clone(), to.id.clone());
        stage.data.catalog().notice_deliveries(project, id, 100).await.unwrap()
    };
    let has_ended = |one: &NoticeDelivery| one.outcome != DeliveryOutcome::Waiting;
    wait::for_value_async("deliveries that have ended", read, |all| {
        !all.is_empty() && all.iter().all(has_ended)
    })
    .await
}

/// Has the agent do something; returns once it rests or waits for a person.
async fn turn(stage: &Stage, chats: &ChatService, words: &str, state: &str) -> String {
    let chat_id = stage.new_chat(chats).await;
    let mut client = stage.look_on(chats, &chat_id, 0).await;
    stage.say(chats, &chat_id, words).await.unwrap();
    client.until_state(state).await;
    chat_id.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_turn_is_told_signed_and_again_until_it_arrives() {
    let stage = Stage::fake();
    let chats = stage.serve(ChatLimits::default()).await;
    let inbox = Inbox::start();
    let (ops, secret) =
        webhook(&stage, &inbox.url("hook?x=1"), &NotificationKind::SUBSCRIBABLE).await;
    let asked_only = Inbox::start();
    let (_, other) = webhook(&stage, &asked_only.url(""), &[NotificationKind::PersonNeeded]).await;
    inbox.answer([
        InboxAnswer::Status(500),
        InboxAnswer::Busy(429, 0),
        InboxAnswer::HangUp,
        InboxAnswer::Elsewhere,
        InboxAnswer::Status(404),
    ]);
    let _telling = tell(&stage, LONG);
    let chat_id = turn(&stage, &chats, "hello", "idle").await;
    let heard: Vec<ReceivedMessage> = (0..6).map(|_| inbox.next()).collect();
    let (id, body) = heard[0].verified(&secret);
    for again in &heard {
        assert_eq!(again.verified(&secret), (id.clone(), body.clone()));
        assert_eq!(again.path, "/hook?x=1", "nobody sends us elsewhere");
    }
    assert_eq!(
        (&body["type"], &body["data"]["session"]),
        (&"turn.ended".into(), &chat_id.clone().into())
    );
    assert_eq!(body["data"]["url"], format!("https://ratchet.test/project/shop/chats/{chat_id}"));
    let all = ended(&stage, &ops).await;
    let [one] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!((one.outcome, one.tries, one.status), (DeliveryOutcome::Delivered, 6, Some(204)));
    assert_eq!((&one.notice, one.session.as_ref()), (&id, Some(&chat_id)));
    // Input is needed: both receivers are notified, with the id of the prompt.
    let waits = turn(&stage, &chats, "ask", "waiting").await;
    for (inbox, secret) in [(&inbox, &secret), (&asked_only, &other)] {
        let (_, body) = inbox.next().verified(secret);
        assert_eq!(
            (&body["type"], &body["data"]["session"]),
            (&"person.needed".into(), &waits.clone().into())
        );
        let ask = &body["data"]["ask"];
        assert!(ask["id"].is_string() && ask["kind"] == "permission", "{ask}");
        assert!(!body.to_string().contains("\"ls\""), "the command stays here: {body}");
    }
    // A receiver that is gone gets no more messages.
    inbox.answer([InboxAnswer::Status(410)]);
    turn(&stage, &chats, "die", "failed").await;
    let (_, body) = inbox.next().verified(&secret);
    assert_eq!(body["type"], "session.failed");
    ended(&stage, &ops).await;
    let known = stage.data.catalog().notice_receiver(stage.shop.clone(), ops.id).await.unwrap();
    assert!(known.is_paused);
    assert!(asked_only.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_crash_between_the_event_and_its_receiver_loses_it() {
    let stage = Stage::fake();
    let chats = stage.serve(ChatLimits::default()).await;
    let inbox = Inbox::start();
    let (ops, secret) = webhook(&stage, &inbox.url(""), &NotificationKind::SUBSCRIBABLE).await;
    // No notifier is running.
    turn(&stage, &chats, "hello", "idle").await;
    assert!(inbox.is_empty());
    // The notifier is killed during the delivery.
    inbox.answer([InboxAnswer::Silence]);
    let first = tell(&stage, LONG);
    let begun = inbox.next().verified(&secret);
    drop(first);
    let _second = tell(&stage, LONG);
    assert_eq!(inbox.next().verified(&secret), begun);
    let all = ended(&stage, &ops).await;
    assert_eq!(all.iter().map(|one| one.outcome).collect::<Vec<_>>(), [DeliveryOutcome::Delivered]);
    assert!(inbox.is_empty());
    assert_eq!(stage.data.telemetry().pending_notifications(10).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_told_inside_unless_settings_allow_it() {
    let stage = Stage::fake();
    let chats = stage.serve(ChatLimits::default()).await;
    let inbox = Inbox::start();
    let (ops, _) = webhook(&stage, &inbox.url(""), &NotificationKind::SUBSCRIBABLE).await;
    // A name tells only when it is looked up where it leads.
    let named = inbox.url("").replace("127.0.0.1", "localhost");
    let (by_name, _) = webhook(&stage, &named, &NotificationKind::SUBSCRIBABLE).await;
    let _telling = tell_within(&stage, LONG, "10.0.0.0/8");
    turn(&stage, &chats, "hello", "idle").await;
    for receiver in [&ops, &by_name] {
        let all = ended(&stage, receiver).await;
        let [one] = all.as_slice() else { panic!("{all:?}") };
        assert_eq!((one.outcome, one.tries, one.status), (DeliveryOutcome::Refused, 1, None));
    }
    assert!(inbox.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_who_does_not_answer_holds_nobody_up() {
    let stage = Stage::fake();
    let chats = stage.serve(ChatLimits::default()).await;
    let (silent, quick) = (Inbox::start(), Inbox::start());
    webhook(&stage, &silent.url(""), &NotificationKind::SUBSCRIBABLE).await;
    let (ops, _) = webhook(&stage, &quick.url(""), &NotificationKind::SUBSCRIBABLE).await;
    silent.answer([InboxAnswer::Silence; 3]);
    let _telling = tell(&stage, LONG);
    for _ in 0..3 {
        turn(&stage, &chats, "hello", "idle").await;
        quick.next();
    }
    silent.next();
    assert!(silent.is_empty(), "one at a time");
    assert_eq!(ended(&stage, &ops).await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn browsers_read_what_they_are_pushed_and_go_when_they_are_gone() {
    let stage = Stage::fake();
    let chats = stage.serve(ChatLimits::default()).await;
    let inbox = Inbox::start();
    let (ann, bob) = (FakeBrowser::new(1), FakeBrowser::new(2));
    let first = browser(&stage, &inbox.url("push/ann"), &ann).await;
    let again = browser(&stage, &inbox.url("push/ann"), &ann).await;
    assert_eq!(first.id, again.id, "the same browser is told once");
    let contact = None;
    let key = notify::vapid(stage.data.folder(), contact, START).await.unwrap();
    let _telling = tell(&stage, LONG);
    // The end of a short turn is no reason to interrupt anybody: the question is the first push.
    turn(&stage, &chats, "hello", "idle").await;
    let waits = turn(&stage, &chats, "question", "waiting").await;
    let pushed = inbox.next();
    let result: Value = ann.read(&pushed);
    assert_eq!(
        (&result["type"], &result["data"]["ask"]["text"]),
        (&"person.needed".into(), &"Which?".into())
    );
    assert_eq!(result["data"]["path"], format!("/project/shop/chats/{waits}"));
    assert_eq!((pushed.header("urgency"), pushed.header("ttl")), ("high", "86400"));
    let claims = FakeBrowser::verified_claims(&pushed, &key.public());
    assert_eq!(format!("{}/", claims["aud"].as_str().unwrap()), inbox.url(""));
    assert_eq!(claims["sub"], "https://ratchet.test");
    let expires = claims["exp"].as_i64().unwrap() - START.millis() / 1_000;
    assert!((1..=86_400).contains(&expires), "{expires}");
    ended(&stage, &first).await;
    browser(&stage, &inbox.url("push/bob"), &bob).await;
    inbox.answer([InboxAnswer::Status(410), InboxAnswer::Status(410)]);
    turn(&stage, &chats, "question", "waiting").await;
    inbox.next();
    inbox.next();
    let read = async || stage.data.catalog().notice_receivers(stage.shop.clone()).await.unwrap();
    wait::for_value_async("the removal of both browsers", read, Vec::is_empty).await;
}
