//! Weekly documents, from the review of a week to real receivers.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ratchet_core::backoff::Backoff;
use ratchet_core::calendar::Zone;
use ratchet_core::chat::delivery_retry::DELIVERY_BACKOFF;
use ratchet_core::chat::notification::NotificationKind;
use ratchet_core::improve::report::digest::ReportDigest;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::record::observation::Level;
use ratchet_core::record::score::ScoreSource;
use ratchet_core::time::Timestamp;
use ratchet_remote::backoff_clock::{BackoffClock, SystemBackoffClock};
use ratchet_remote::smtp::{SmtpSecurity, SmtpServer};
use ratchet_stages::improve::continuous;
use ratchet_stages::improve::publication::{self, PublicationTarget, Published};
use ratchet_stages::improve::settings::FeedbackSettings;
use ratchet_stages::notify::{self, DeliveryLimits, JiraRequest, MailSettings, Notifier};
use ratchet_store::catalog::{DeliveryOutcome, NewReceiver, NoticeDelivery, NoticeReceiver};
use ratchet_testkit::build::{START, text, tool, trace};
use ratchet_testkit::mail_server::MailServer;
use ratchet_testkit::wait;
use ratchet_testkit::webhook_receiver::{Inbox, InboxAnswer, ReceivedMessage};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::weekly_review::Shop;

const DAY: i64 = 86_400 * 1_000_000_000;
const TITLE: &str = "Weekly improvement report 2026-03-01: support";

/// Six requests of three sessions that the agent could not answer, and ten that it could. Names say
/// which people find correct.
async fn record_failures(shop: &Shop, week: i64) {
    shop.record(|mut batch| {
        for n in 0..16 {
            let (kind, answer) = match n < 6 {
                true => ("W5", "I don't have that information."),
                false => ("W6", "It arrives today."),
            };
            let one = trace(&format!("week-{week}-{kind}-{n}"))
                .beginning(week * 7 * 86_400_000 + 1_000)
                .agent("support")
                .in_session(&format!("session-{week}-{}", n % 3))
                .for_user(&format!("user-{n}"))
                .in_environment("production")
                .input(text("When does the shop open?"))
                .output(text(answer));
            batch = batch.with(one);
        }
        batch
    })
    .await;
}

/// A week whose sample is drawn.
async fn drawn() -> Shop {
    let shop = Shop::open().await;
    record_failures(&shop, 0).await;
    shop.draw().await;
    shop
}

/// The same, reviewed.
async fn reviewed() -> Shop {
    let shop = drawn().await;
    shop.answer(shop.drawn_traces().await, ScoreSource::Api).await;
    shop
}

fn target<'a>(shop: &'a Shop, zone: &'a Zone) -> PublicationTarget<'a> {
    let server = "https://ratchet.test";
    PublicationTarget { project: &shop.id, server, zone, is_remote: false }
}

async fn publish(shop: &Shop, now: Timestamp) -> Vec<Published> {
    let (zone, settings) = (Zone::utc(), FeedbackSettings::default());
    publication::publish(&shop.site(), target(shop, &zone), &settings, now).await.unwrap()
}

async fn add(shop: &Shop, new: NewReceiver) -> NoticeReceiver {
    let (catalog, secrets) = (shop.data.catalog(), shop.data.folder().secrets.clone());
    catalog.add_notice_receiver(shop.id.clone(), new, secrets, START).await.unwrap()
}

async fn deliveries(shop: &Shop, to: &NoticeReceiver) -> Vec<NoticeDelivery> {
    let read = async || {
        let (project, id) = (shop.id.clone(), to.id.clone());
        shop.data.catalog().notice_deliveries(project, id, 100).await.unwrap()
    };
    let has_ended = |one: &NoticeDelivery| one.outcome != DeliveryOutcome::Waiting;
    wait::for_value_async("deliveries that have ended", read, |all| {
        !all.is_empty() && all.iter().all(has_ended)
    })
    .await
}

/// Time that goes on from a moment.
#[derive(Debug)]
struct Ticking(Timestamp, Instant);

impl BackoffClock for Ticking {
    fn now(&self) -> Timestamp {
        self.0.plus_nanos(self.1.elapsed().as_nanos().try_into().unwrap())
    }

    fn jitter(&self) -> f64 {
        0.5
    }

    fn pause(&self, wait: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        SystemBackoffClock.pause(wait)
    }
}

fn page(digest: &ReportDigest) -> String {
    format!("<p>{}</p>", digest.headline())
}

/// A server that delivers, until it is dropped.
fn deliver(shop: &Shop, mail: Option<u16>) -> JoinSet<()> {
    let (first, cap) = (Duration::from_millis(2), Duration::from_millis(20));
    let server = |port| SmtpServer {
        host: "localhost".to_owned(),
        port: Some(port),
        security: SmtpSecurity::Plain,
        login: None,
        from: "Ratchet <ratchet@example.org>".to_owned(),
    };
    let backoff = Backoff { first, cap, ..DELIVERY_BACKOFF };
    let notifier = Notifier {
        store: shop.data.folder().clone(),
        server: "https://ratchet.test".to_owned(),
        outbound: "localhost".parse().unwrap(),
        pace: Arc::new(Ticking(shop.monday, Instant::now())),
        limits: DeliveryLimits { backoff, ..DeliveryLimits::default() },
        mail: mail.map(|port| MailSettings { server: server(port), page }),
    };
    let mut running = JoinSet::new();
    running.spawn(async move { notifier.run(std::future::pending()).await });
    running
}

fn json(message: &ReceivedMessage) -> Value {
    serde_json::from_slice(&message.body).unwrap()
}

#[tokio::test]
async fn a_document_is_published_once_when_the_review_of_its_week_is_closed() {
    let shop = drawn().await;
    let traces = shop.drawn_traces().await;
    assert_eq!(traces.len(), 16);
    shop.answer(traces[1..].to_vec(), ScoreSource::Api).await;
    assert_eq!(publish(&shop, shop.monday).await, [], "one trace waits for review");
    shop.answer(traces, ScoreSource::Api).await;
    let (one, other) = tokio::join!(publish(&shop, shop.monday), publish(&shop, shop.monday));
    let published: Vec<Published> = one.into_iter().chain(other).collect();
    let expected = Published {
        agent: "support".to_owned(),
        week: "2026-03-01".to_owned(),
        proposals: 1,
        tasks: 1,
    };
    assert_eq!(published, [expected], "two servers publish it once");
    assert_eq!(publish(&shop, shop.monday.plus_nanos(7 * DAY)).await, [], "nor a week later");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_channel_gets_the_document_or_the_task_in_its_own_form() {
    let (shop, inbox, mails) = (reviewed().await, Inbox::start(), MailServer::start());
    let anywhere = OutboundPolicy::unrestricted();
    let events = vec![NotificationKind::ImprovementReport];
    let (hook, secret) =
        notify::webhook("hook", &inbox.url("hook"), events.clone(), &anywhere).unwrap();
    add(&shop, hook).await;
    add(&shop, notify::slack("team", &inbox.url("slack"), events.clone(), &anywhere).unwrap())
        .await;
    let ada = add(&shop, notify::email("Ada", "ada@example.org", events).unwrap()).await;
    let issues = inbox.url("repos/acme/shop/issues");
    add(&shop, notify::github("repo", (&issues, "gh-token"), &anywhere).unwrap()).await;
    let jira = JiraRequest {
        name: "board",
        url: &inbox.url("rest/api/3/issue"),
        user: "ada@example.org",
        token: "jira-token",
        project: "SHOP",
    };
    add(&shop, notify::jira(jira, &anywhere).unwrap()).await;
    // The first request, whichever it is, is repeated.
    inbox.answer([InboxAnswer::Status(503)]);
    assert_eq!(publish(&shop, shop.monday).await.len(), 1);
    let _running = deliver(&shop, Some(mails.port()));
    let mut received: Vec<ReceivedMessage> = (0..5).map(|_| inbox.next()).collect();
    received.sort_by(|one, other| one.path.cmp(&other.path));
    let of = |path: &str| received.iter().find(|one| one.path == path).unwrap();
    let (_, payload) = of("/hook").verified(secret.expose());
    assert_eq!(payload["type"], "improvement.report");
    let data = &payload["data"];
    let url =
        "https://ratchet.test/project/shop/reports/2026-03-01?part=improvements&agent=support";
    assert_eq!((&data["title"], &data["url"]), (&Value::from(TITLE), &Value::from(url)));
    assert_eq!(data["report"]["proposals"][0]["component"], "Knowledge");
    let slack = json(of("/slack"));
    assert_eq!(slack["blocks"][0]["text"]["text"], TITLE);
    assert_eq!(slack["blocks"].as_array().unwrap().last().unwrap()["elements"][0]["url"], url);
    let issue = of("/repos/acme/shop/issues");
    assert_eq!(issue.header("authorization"), "Bearer gh-token");
    assert!(issue.header("idempotency-key").starts_with("proposal-"));
    let issue = json(issue);
    assert!(issue["title"].as_str().unwrap().starts_with("support: "), "{issue}");
    assert!(issue["body"].as_str().unwrap().contains("**Evidence**: week-0-W5-"), "{issue}");
    let task = of("/rest/api/3/issue");
    assert!(task.header("authorization").starts_with("Basic "));
    assert_eq!(json(task)["fields"]["project"]["key"], "SHOP");
    let mail = mails.next();
    assert_eq!(mail.to, ["ada@example.org"]);
    assert_eq!(mail.header("Subject"), TITLE);
    assert!(mail.header("Content-Type").starts_with("multipart/alternative"), "{}", mail.data);
    assert!(mail.data.contains("<p>One proposal: "), "{}", mail.data);
    let ended = deliveries(&shop, &ada).await;
    assert_eq!((ended[0].outcome, ended[0].status), (DeliveryOutcome::Delivered, Some(250)));
    assert!(inbox.is_empty() && mails.is_empty(), "each got it once");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_email_is_retried_until_the_server_takes_it_and_given_up_when_it_never_will() {
    let (shop, mails) = (reviewed().await, MailServer::start());
    let events = vec![NotificationKind::ImprovementReport];
    let ada = add(&shop, notify::email("Ada", "ada@example.org", events.clone()).unwrap()).await;
    publish(&shop, shop.monday).await;
    mails.answer([451, 421, 451]);
    let running = deliver(&shop, Some(mails.port()));
    let ended = deliveries(&shop, &ada).await;
    assert_eq!((ended[0].outcome, ended[0].tries), (DeliveryOutcome::Delivered, 4));
    drop(running);
    mails.next();
    // Another person, whose mailbox does not exist: a test message.
    let eve = add(&shop, notify::email("Eve", "eve@example.org", events.clone()).unwrap()).await;
    let trial = || notify::trial("test-1".to_owned());
    let post = async |to: &NoticeReceiver| {
        let (project, id) = (shop.id.clone(), to.id.clone());
        shop.data.catalog().post_notice_to(project, id, trial(), shop.monday).await.unwrap();
    };
    mails.answer([550]);
    post(&eve).await;
    let running = deliver(&shop, Some(mails.port()));
    let ended = deliveries(&shop, &eve).await;
    assert_eq!((ended[0].outcome, ended[0].status), (DeliveryOutcome::Failed, Some(550)));
    drop(running);
    // A server without settings for e-mail says so.
    let bob = add(&shop, notify::email("Bob", "bob@example.org", events).unwrap()).await;
    post(&bob).await;
    let _running = deliver(&shop, None);
    let ended = deliveries(&shop, &bob).await;
    assert_eq!((ended[0].outcome, ended[0].tries), (DeliveryOutcome::Failed, 1));
    assert!(mails.is_empty());
}

#[tokio::test]
async fn the_document_lists_later_weeks_that_wait_for_review() {
    let mut shop = reviewed().await;
    let events = vec![NotificationKind::ImprovementReport];
    let ada = add(&shop, notify::email("Ada", "ada@example.org", events).unwrap()).await;
    shop.next_week();
    record_failures(&shop, 1).await;
    shop.draw().await;
    let published = publish(&shop, shop.monday).await;
    assert_eq!(published[0].week, "2026-03-01", "the latest closed week");
    let hold = (9, Duration::from_secs(60));
    let secrets = shop.data.folder().secrets.clone();
    let due = shop.data.catalog().claim_deliveries(hold, secrets, shop.monday).await.unwrap();
    assert_eq!(due[0].receiver, ada.id);
    let message: Value = serde_json::from_str(&due[0].message).unwrap();
    let open = &message["data"]["report"]["open"];
    let expected = "support: 16 of 16 traces of the week of 2026-03-08 wait for review";
    assert_eq!(open, &serde_json::json!([expected]));
    // The next one follows when it is reviewed, without a second task for the same proposal.
    shop.answer(shop.drawn_traces().await, ScoreSource::Api).await;
    let published = publish(&shop, shop.monday.plus_nanos(7 * DAY)).await;
    assert_eq!((published[0].week.as_str(), published[0].tasks), ("2026-03-08", 0));
}

#[tokio::test]
async fn new_patterns_are_announced_between_documents_above_a_threshold_and_not_too_often() {
    let shop = reviewed().await;
    let zone = Zone::utc();
    let check = async |threshold, now| {
        let settings = FeedbackSettings { threshold, ..FeedbackSettings::default() };
        let (site, target) = (shop.site(), target(&shop, &zone));
        continuous::check(&site, target, &settings, now).await.unwrap()
    };
    let now = START.plus_nanos(DAY);
    assert_eq!(check(None, now).await, [""; 0], "off by default");
    assert_eq!(check(Some(7), now).await, [""; 0], "six failures");
    let told = check(Some(6), now).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("support: "), "{told:?}");
    assert_eq!(check(Some(6), now).await, [""; 0], "each once a week");
    // A pattern of another kind in the same week waits for the end of the cool-down.
    shop.record(|mut batch| {
        for n in 0..6 {
            let id = format!("late-W5-{n}");
            let call = tool(&format!("{id}-call")).of(&id);
            let failed = call.named("get_price").level(Level::Error);
            let one = trace(&id)
                .beginning(86_400_000)
                .agent("support")
                .in_session(&format!("late-{}", n % 3))
                .in_environment("production");
            batch = batch.with(one).with(failed.beginning(86_400_000));
        }
        batch
    })
    .await;
    shop.answer((0..6).map(|n| format!("late-W5-{n}")).collect(), ScoreSource::Api).await;
    assert_eq!(check(Some(6), now).await, [""; 0], "within the cool-down");
    let told = check(Some(6), now.plus_nanos(DAY)).await;
    assert!(told.len() == 1 && told[0].contains("get_price"), "{told:?}");
}
