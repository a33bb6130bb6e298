//! Jobs that were given up, as owners see them.

use std::time::Duration;

use ratchet_core::job::{JobKind, JobPhase, Retry};
use ratchet_store::catalog::{JobFailure, JobRecord, LeaseStatus, NewJob, Role};

use crate::browser::{Site, id};

const SETTINGS: &str = "/project/shop/settings";
const KIND: JobKind = JobKind::ScheduleRun;

async fn give_up(site: &Site, name: &str, reason: &str) {
    let (catalog, now) = (site.data.catalog(), site.now());
    let new = NewJob {
        kind: KIND,
        id: name.to_owned(),
        group: None,
        payload: "{}".to_owned(),
        priority: 0,
        run_at: now,
        max_attempts: 1,
        is_held: false,
    };
    let owner = ("w".to_owned(), Duration::from_secs(60));
    let claimed = catalog.claim_job(id("shop"), new, owner, now).await.unwrap().unwrap();
    let failure = JobFailure { error: reason.to_owned(), retry: Retry::Never, result: None };
    let status = catalog.fail_job(claimed.lease(), failure, now).await.unwrap();
    assert_eq!(status, LeaseStatus::Held);
}

async fn job(site: &Site, name: &str) -> Option<JobRecord> {
    site.data.catalog().job(id("shop"), KIND, name.to_owned()).await.unwrap()
}

#[tokio::test]
async fn owners_see_jobs_that_were_given_up_and_retry_or_discard_them() {
    let site = Site::new().await;
    site.person("owner@shop.example", Role::Owner).await;
    site.person("member@shop.example", Role::Member).await;
    let mut owner = site.signed_in("owner@shop.example").await;
    assert!(!owner.get(SETTINGS).await.check(200, "Retention").text.contains("Failed jobs"));
    give_up(&site, "5/nightly", "no <key>").await;
    give_up(&site, "6/nightly", "no key").await;
    let page = owner.get(SETTINGS).await;
    page.check(200, "Failed jobs").check(200, "Scheduled run").check(200, "no &lt;key&gt;");
    let mut member = site.signed_in("member@shop.example").await;
    assert!(!member.get(SETTINGS).await.check(200, "Retention").text.contains("nightly"));
    let path = format!("{SETTINGS}/jobs");
    let form = |name, what| [("kind", "schedule-run"), ("id", name), ("do", what)];
    owner.post(&path, &form("5/nightly", "retry")).await.leads_to(&format!("{SETTINGS}?done=sent"));
    let retried = job(&site, "5/nightly").await.unwrap();
    assert!(matches!(retried.state.phase, JobPhase::Queued { .. }), "{retried:?}");
    owner.post(&path, &form("5/nightly", "retry")).await.check(400, "only dead letters");
    let discard = form("6/nightly", "discard");
    owner.post(&path, &discard).await.check(200, "Discard this job?");
    assert!(job(&site, "6/nightly").await.is_some(), "asked first");
    let sure = [&discard[..], &[("sure", "yes")]].concat();
    owner.post(&path, &sure).await.leads_to(&format!("{SETTINGS}?done=deleted"));
    assert_eq!(job(&site, "6/nightly").await, None);
    for form in [form("7/nightly", "burn"), [("kind", "letter"), ("id", "x"), ("do", "retry")]] {
        owner.get(SETTINGS).await;
        assert_eq!(owner.post(&path, &form).await.status, 400);
    }
    assert_eq!(owner.post(&path, &form("7/nightly", "retry")).await.status, 404);
}
