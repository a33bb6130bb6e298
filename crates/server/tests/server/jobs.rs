//! Jobs as administrators see them, and what can be done with dead letters.

use std::time::Duration;

use ratchet_core::chat::notification::NotificationKind;
use ratchet_core::job::JobKind;
use ratchet_core::secret::Secret;
use ratchet_store::catalog::{
    AuditAction, AuditQuery, DeliveryState, LeaseStatus, NewNotice, NewReceiver, ReceiverChange,
    ReceiverKeys, Role,
};
use serde_json::{Value, json};

use crate::contract::walk::make_dead_letter;
use crate::harness::{Reply, TestServer, project};

const JOBS: &str = "/api/v1/projects/shop/jobs";

async fn send(server: &TestServer, method: &str, path: &str) -> Reply {
    server.request(method, &format!("{JOBS}{path}")).key(Role::Owner).send().await
}

async fn listed(server: &TestServer, query: &str) -> Value {
    send(server, "GET", query).await.check(200, "").json()
}

fn ids(page: &Value) -> Vec<&str> {
    page["jobs"].as_array().unwrap().iter().map(|job| job["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn jobs_are_listed_by_kind_and_state_page_by_page() {
    let server = TestServer::start().await;
    for id in ["a/1", "a/2", "a/3"] {
        make_dead_letter(&server, (JobKind::ScoreSession, id), "the model is gone").await;
    }
    make_dead_letter(&server, (JobKind::ScheduleRun, "5/nightly"), "no key").await;
    let first = listed(&server, "?limit=3").await;
    assert_eq!(ids(&first), ["a/3", "a/2", "a/1"]);
    let cursor = first["cursor"].as_str().unwrap().replace('/', "%2F");
    let second = listed(&server, &format!("?limit=3&cursor={cursor}")).await;
    assert_eq!((ids(&second), &second["cursor"]), (vec!["5/nightly"], &Value::Null));
    assert_eq!(ids(&listed(&server, "?kind=schedule-run&state=dead").await), ["5/nightly"]);
    assert_eq!(ids(&listed(&server, "?state=queued").await), [""; 0]);
    let job = &second["jobs"][0];
    let expected = json!({
        "id": "5/nightly", "kind": "schedule-run", "group": null, "state": "dead",
        "isHeld": false, "attempts": 1, "maxAttempts": 1, "nextAttemptAt": null,
        "leaseHolder": null, "leaseExpiresAt": null, "createdAt": "2026-11-15T12:00:00.000Z",
        "startedAt": "2026-11-15T12:00:00.000Z", "finishedAt": "2026-11-15T12:00:00.000Z",
        "reason": "no key",
    });
    assert_eq!(job, &expected);
    for (query, part) in [
        ("?kind=letter", "kind: one of notice, schedule-run, score-session"),
        ("?state=lost", "state: one of queued, leased, done, dead"),
        ("?limit=0", "limit: from 1 to 1000"),
        ("?cursor=x", "cursor: malformed"),
        ("?page=2", "unknown field `page`"),
    ] {
        send(&server, "GET", query).await.check(400, part);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_dead_letter_is_retried_or_discarded_once_and_by_name() {
    let server = TestServer::start().await;
    for id in ["a/1", "a/2"] {
        make_dead_letter(&server, (JobKind::ScoreSession, id), "the model is gone").await;
    }
    let revived = send(&server, "POST", "/score-session/a%2F1/retry").await.check(200, "").json();
    assert_eq!((&revived["state"], &revived["attempts"]), (&json!("queued"), &json!(0)));
    assert_eq!(revived["nextAttemptAt"], "2026-11-15T12:00:00.000Z");
    assert_eq!(revived["reason"], "the model is gone", "it is known until an attempt succeeds");
    let only_dead = "score-session job a/1 is queued; only dead letters can be retried";
    send(&server, "POST", "/score-session/a%2F1/retry").await.check(400, only_dead);
    send(&server, "DELETE", "/score-session/a%2F1").await.check(400, only_dead);
    let gone = send(&server, "DELETE", "/score-session/a%2F2").await.check(200, "").json();
    assert_eq!(gone, json!({"kind": "score-session", "discarded": "a/2"}));
    for (method, path, part) in [
        ("DELETE", "/score-session/a%2F2", "score-session job a/2 not found"),
        ("POST", "/score-session/a%2F2/retry", "score-session job a/2 not found"),
        ("POST", "/notice/a%2F1/retry", "notice job a/1 not found"),
        ("DELETE", "/letter/a%2F1", "letter job a/1 not found"),
    ] {
        send(&server, method, path).await.check(404, part);
    }
    assert_eq!(ids(&listed(&server, "").await), ["a/1"]);
    let audit = server.app.store.catalog.audit(AuditQuery::newest(Some(project()), 2)).await;
    let [gone, revived] = &audit.unwrap().rows[..] else { panic!("two entries") };
    assert_eq!((gone.verb, gone.object.as_str()), (AuditAction::Deleted, "a/2"));
    assert_eq!((revived.verb, revived.became.as_deref()), (AuditAction::Changed, Some("queued")));
    assert_eq!(revived.was.as_deref(), Some("score-session dead: the model is gone"));
    server.stop().await;
}

/// Adds a webhook that gets one message, and gives the delivery up.
async fn failed_delivery(server: &TestServer) -> String {
    let (store, now) = (&server.app.store, server.app.clock.now());
    let (catalog, secrets) = (&store.catalog, &store.secrets);
    let keys = ReceiverKeys::Webhook {
        url: Secret::new("https://example.com/hush"),
        secret: Secret::new("hush"),
    };
    let kind = NotificationKind::WeekReport;
    let new = NewReceiver { name: "ops".into(), keys, events: vec![kind], person: None };
    let made = catalog.add_notice_receiver(project(), new, secrets.clone(), now).await.unwrap();
    let notice = NewNotice {
        id: "n".into(),
        kind,
        session: None,
        is_minor: false,
        message: r#""hush""#.into(),
    };
    catalog.post_notice(project(), notice, now).await.unwrap();
    let claim = (1, Duration::from_secs(60));
    let mut due = catalog.claim_deliveries(claim, secrets.clone(), now).await.unwrap();
    let outcome = (DeliveryState::Failed, Some(500));
    let status = catalog.finish_delivery(due.remove(0), outcome, now).await.unwrap();
    assert_eq!(status, LeaseStatus::Held);
    made.id
}

async fn pause(server: &TestServer, receiver: &str, is_paused: bool) {
    let (store, now) = (&server.app.store, server.app.clock.now());
    let change = ReceiverChange { is_paused: Some(is_paused), ..ReceiverChange::default() };
    let change = (change, store.secrets.clone());
    let receiver = receiver.to_owned();
    store.catalog.change_notice_receiver(project(), receiver, change, now).await.unwrap();
}

#[tokio::test]
async fn a_retried_delivery_waits_until_its_receiver_is_resumed() {
    let server = TestServer::start().await;
    let receiver = failed_delivery(&server).await;
    let page = listed(&server, "?kind=notice").await;
    let job = &page["jobs"][0];
    assert_eq!((&job["group"], &job["reason"]), (&json!(receiver), &json!("HTTP status 500")));
    assert!(!page.to_string().contains("hush"), "neither content nor addresses: {page}");
    pause(&server, &receiver, true).await;
    let path = format!("/notice/{receiver}%2Fn/retry");
    let revived = send(&server, "POST", &path).await.check(200, "").json();
    assert_eq!((&revived["state"], &revived["isHeld"]), (&json!("queued"), &json!(true)));
    pause(&server, &receiver, false).await;
    assert_eq!(listed(&server, "?kind=notice").await["jobs"][0]["isHeld"], false);
    server.stop().await;
}
