//! Alerts about the weekly review, to real receivers.

use std::sync::Arc;

use ratchet_core::calendar::Zone;
use ratchet_core::chat::notification::NotificationKind;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::record::score::ScoreSource;
use ratchet_core::time::Timestamp;
use ratchet_remote::backoff_clock::SystemBackoffClock;
use ratchet_stages::notify::{self, DeliveryLimits, Notifier};
use ratchet_stages::review::alerts::{self, AlertTarget};
use ratchet_store::catalog::NewReceiver;
use ratchet_testkit::build::START;
use ratchet_testkit::webhook_receiver::Inbox;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::weekly_review::Shop;

const DAY: i64 = 86_400 * 1_000_000_000;

async fn check(shop: &Shop, now: Timestamp) -> Vec<String> {
    let zone = Zone::utc();
    let target = AlertTarget { project: &shop.id, server: "https://ratchet.test", zone: &zone };
    alerts::check(&shop.site(), target, now).await.unwrap()
}

async fn add(shop: &Shop, new: NewReceiver) {
    let (catalog, secrets) = (shop.data.catalog(), shop.data.folder().secrets.clone());
    catalog.add_notice_receiver(shop.id.clone(), new, secrets, START).await.unwrap();
}

fn deliver(shop: &Shop) -> JoinSet<()> {
    let notifier = Notifier {
        store: shop.data.folder().clone(),
        server: "https://ratchet.test".to_owned(),
        outbound: "localhost".parse().unwrap(),
        pace: Arc::new(SystemBackoffClock),
        limits: DeliveryLimits::default(),
        mail: None,
    };
    let mut running = JoinSet::new();
    running.spawn(async move { notifier.run(std::future::pending()).await });
    running
}

/// A week whose sample waits for review, with a Slack channel and a webhook.
async fn drawn(inbox: &Inbox) -> (Shop, String) {
    let shop = Shop::open().await;
    shop.record_example("support").await;
    shop.draw().await;
    let (events, anywhere) = (vec![NotificationKind::ReviewAlert], OutboundPolicy::unrestricted());
    let url = inbox.url("hook");
    let (new, secret) = notify::webhook("ops", &url, events.clone(), &anywhere).unwrap();
    add(&shop, new).await;
    add(&shop, notify::slack("team", &inbox.url("slack"), events, &anywhere).unwrap()).await;
    (shop, secret.expose().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_state_is_told_once_to_slack_and_webhooks_when_the_week_is_reviewed() {
    let inbox = Inbox::start();
    let (shop, secret) = drawn(&inbox).await;
    let traces = shop.drawn_traces().await;
    shop.answer(traces[..40].to_vec(), ScoreSource::Api).await;
    let now = shop.monday.plus_nanos(DAY);
    assert_eq!(check(&shop, now).await, Vec::<String>::new(), "the week is provisional");
    shop.answer(traces, ScoreSource::Api).await;
    let told = check(&shop, now).await;
    assert_eq!(told.len(), 1, "{told:?}");
    // The server died after this, or another one looks at the same time.
    assert_eq!(check(&shop, now).await, Vec::<String>::new());
    let _running = deliver(&shop);
    let mut received = [inbox.next(), inbox.next()];
    received.sort_by(|one, other| one.path.cmp(&other.path));
    let [hook, slack] = received;
    let (_, payload) = hook.verified(&secret);
    assert_eq!(payload["type"], "review.alert");
    let changes = payload["data"]["changes"].as_array().unwrap();
    let growth = changes.iter().find(|one| one["subject"] == "metric/dataset_growth").unwrap();
    assert_eq!((&growth["from"], &growth["state"]), (&Value::Null, &Value::from("not met")));
    assert!(growth["action"].as_str().unwrap().starts_with("Add the failures"), "{growth}");
    let body: Value = serde_json::from_slice(&slack.body).unwrap();
    let text = body.to_string();
    assert!(body["blocks"][0]["text"]["text"].as_str().unwrap().starts_with("support: "), "{text}");
    assert!(text.contains("Add the failures") && text.contains("ratchet.test/project/shop"));
    assert!(inbox.is_empty(), "each got it once");
}

#[tokio::test]
async fn a_review_that_is_overdue_is_told_once() {
    let inbox = Inbox::start();
    let (shop, _) = drawn(&inbox).await;
    assert!(check(&shop, shop.monday.plus_nanos(6 * DAY)).await.is_empty());
    let late = shop.monday.plus_nanos(8 * DAY);
    let told = check(&shop, late).await;
    assert!(told[0].starts_with("support: The review of the week of"), "{told:?}");
    assert!(check(&shop, late).await.is_empty());
}
