//! Deployments by webhook, rollbacks whose deployment fails, and what a watch offers.

use ratchet_core::job::{JobKind, JobPhase};
use ratchet_core::secret::Secret;
use ratchet_testkit::webhook_receiver::{Inbox, InboxAnswer};

use super::*;

const SECRET: &str = "whsec_cmF0Y2hldC10ZXN0LXNlY3JldA==";

fn deploying() -> PromotionPolicy {
    PromotionPolicy { deploys: true, ..watched() }
}

async fn webhook_shop(inbox: &Inbox) -> (Shop, u32) {
    let address = Secret::new(inbox.url("/deploy"));
    let target = DeployTarget::Webhook(address, Some(Secret::new(SECRET)));
    let mut shop = Shop::open(deploying(), Some(target)).await;
    shop.worker.outbound = "localhost".parse().unwrap();
    shop.prompt(&["production"]).await.unwrap();
    let next = shop.prompt(&[]).await.unwrap();
    (shop, next)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_gets_a_signed_order_and_is_asked_again_only_if_that_may_help() {
    let inbox = Inbox::start();
    inbox.answer([InboxAnswer::Status(503), InboxAnswer::Status(200)]);
    let (shop, next) = webhook_shop(&inbox).await;
    let promotion = shop.promote(next).await;
    shop.worker.deployments().await.unwrap();
    assert_eq!(shop.stored(&promotion.id).await.promotion.state, PromotionState::Deploying);
    shop.clock.advance(MINUTE);
    shop.worker.deployments().await.unwrap();
    assert_eq!(shop.stored(&promotion.id).await.promotion.state, PromotionState::Live);
    let (first, second) = (inbox.next().verified(SECRET), inbox.next().verified(SECRET));
    assert_eq!(first.0, format!("{}-1", promotion.id), "the key of the order");
    assert_eq!(first, second, "the same order under the same key");
    assert_eq!(second.1["content"]["prompts"]["shop"], next);

    let third = shop.prompt(&[]).await.unwrap();
    inbox.answer([InboxAnswer::Status(422)]);
    let refused = shop.promote(third).await;
    shop.worker.deployments().await.unwrap();
    let failed = shop.stored(&refused.id).await.promotion;
    assert_eq!((failed.state, shop.production().await), (PromotionState::Failed, Some(next)));
    inbox.next();
    shop.clock.advance(MINUTE);
    shop.worker.deployments().await.unwrap();
    assert!(inbox.is_empty(), "what the receiver refused is not sent again");
}

/// When the next attempt of a deployment is due; `None` once it is given up.
async fn due(shop: &Shop, promotion: &str) -> Option<i64> {
    let key = format!("{promotion}-1");
    let job = shop.catalog().job(shop.id.clone(), JobKind::Deployment, key).await.unwrap().unwrap();
    match job.state.phase {
        JobPhase::Queued { run_at } => Some(run_at.millis()),
        JobPhase::Dead => None,
        other @ (JobPhase::Leased { .. } | JobPhase::Done) => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pauses_between_attempts_of_a_deployment_grow_and_the_attempts_end() {
    let inbox = Inbox::start();
    inbox.answer([InboxAnswer::Status(503)]);
    let (shop, next) = webhook_shop(&inbox).await;
    let promotion = shop.promote(next).await;
    shop.worker.deployments().await.unwrap();
    let first = inbox.next().verified(SECRET);
    let mut pauses = Vec::new();
    while let Some(due) = due(&shop, &promotion.id).await {
        assert_eq!(shop.stored(&promotion.id).await.promotion.state, PromotionState::Deploying);
        let pause = due - shop.clock.now().millis();
        shop.clock.advance(pause - 1);
        shop.worker.deployments().await.unwrap();
        assert!(inbox.is_empty(), "asked again before the pause of {pause} ms was over");
        shop.clock.advance(1);
        inbox.answer([InboxAnswer::Status(503)]);
        shop.worker.deployments().await.unwrap();
        assert_eq!(inbox.next().verified(SECRET), first, "the same order under the same key");
        pauses.push(pause);
    }
    assert!(pauses.is_sorted_by(|one, next| one * 2 == *next), "{pauses:?}");
    assert_eq!(pauses, [3_750, 7_500, 15_000], "half a pause is random");
    let failed = shop.stored(&promotion.id).await.promotion;
    assert_eq!((failed.state, shop.production().await), (PromotionState::Failed, Some(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_whose_deployment_fails_says_so() {
    let inbox = Inbox::start();
    let (shop, next) = webhook_shop(&inbox).await;
    let first = shop.promote(next).await;
    shop.worker.deployments().await.unwrap();
    let last = shop.prompt(&[]).await.unwrap();
    let second = shop.promote(last).await;
    shop.worker.deployments().await.unwrap();
    assert_eq!(shop.stored(&first.id).await.promotion.state, PromotionState::Superseded);
    inbox.answer([InboxAnswer::Status(422)]);
    let by = shop.catalog().signer();
    let rollback = Action::Rollback { by: by.clone(), reason: "slow".to_owned() };
    shop.act(&second.id, rollback).await;
    shop.worker.deployments().await.unwrap();
    let outcome = shop.stored(&second.id).await.promotion.outcome.unwrap();
    assert!(outcome.text.contains("of what served before, failed"), "{}", outcome.text);
    assert!(outcome.restore_fault.is_some());
    let about = AuditQuery::about(shop.id.clone(), AuditObject::Promotion, second.id, 100);
    let entries = shop.catalog().audit(about).await.unwrap().rows;
    let told = entries.iter().filter_map(|entry| entry.became.as_deref());
    assert!(told.into_iter().any(|line| line.contains("failed: the webhook answered 422")));
    // The version before serves again, and can be rolled back as well.
    assert_eq!(shop.production().await, Some(next));
    shop.act(&first.id, Action::Rollback { by, reason: "worse too".to_owned() }).await;
    assert_eq!(shop.production().await, Some(1));
}

#[tokio::test]
async fn a_worse_version_offers_its_rollback_and_scores_of_another_judge_do_not_count() {
    let policy = PromotionPolicy { automatic_rollback: false, ..watched() };
    let mut shop = Shop::open(policy, None).await;
    shop.prompt(&["production"]).await.unwrap();
    let next = shop.prompt(&[]).await.unwrap();
    shop.record(200, 90).await;
    let promotion = shop.promote(next).await;
    // A stricter judge says nothing about the version.
    shop.record_judged(80, 10, "4").await;
    shop.record(70, 90).await;
    shop.worker.watch_all().await.unwrap();
    let watched = shop.stored(&promotion.id).await.promotion;
    let quality = watched.watch.unwrap().marks[0].clone();
    assert_eq!((quality.after_sessions, quality.is_worse), (10, false), "{quality:?}");
    shop.record(130, 20).await;
    shop.worker.watch_all().await.unwrap();
    let watched = shop.stored(&promotion.id).await.promotion;
    assert!(watched.watch.unwrap().is_worse());
    // Nobody rolled it back, also not at the end of the watch; people are told.
    assert_eq!((watched.state, shop.production().await), (PromotionState::Live, Some(next)));
    let about = AuditQuery::about(shop.id.clone(), AuditObject::Promotion, promotion.id, 100);
    let entries = shop.catalog().audit(about).await.unwrap().rows;
    let told = entries.iter().filter_map(|entry| entry.became.as_deref());
    assert_eq!(told.filter(|line| line.contains("significantly worse")).count(), 1);
}

#[tokio::test]
async fn scores_on_sessions_count_and_those_that_come_too_late_do_not() {
    let mut shop = Shop::open(watched(), None).await;
    shop.prompt(&["production"]).await.unwrap();
    let next = shop.prompt(&[]).await.unwrap();
    shop.record(200, 90).await;
    shop.clock.advance(1);
    let promotion = shop.promote(next).await;
    shop.record_judged(10, 90, "none").await;
    let mut built = batch(&shop.id);
    for nth in 201..=210_usize {
        // Half within the hour, half after it.
        let millis = shop.clock.millis() + if nth <= 205 { 0 } else { 90 * MINUTE };
        let judged = score(&format!("session-{nth}")).of_session(&format!("s{nth}"));
        let judged = judged.on("quality").number(0.0).metadata("evaluator_version", "\"3\"");
        built = built.with(judged.in_environment("production").given(millis));
    }
    shop.data.telemetry().record(built.build()).await.unwrap();
    shop.clock.advance(100 * MINUTE);
    shop.worker.watch_all().await.unwrap();
    let watch = shop.stored(&promotion.id).await.promotion.watch.unwrap();
    assert_eq!((watch.sessions_after, watch.marks[0].after_sessions), (10, 5), "{watch:?}");
}
