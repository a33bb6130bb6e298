use std::time::Duration;

use ratchet_core::chat::delivery_retry::ReceiverKind;
use ratchet_store::catalog::{DeliveryState, LeaseStatus, NoticeReceiver, Role};
use ratchet_testkit::webhook_receiver::FakeBrowser;

use crate::browser::{Browser, Site, id};

const PAGE: &str = "/project/shop/settings/notifications";

async fn receivers(site: &Site) -> Vec<NoticeReceiver> {
    site.data.catalog().notice_receivers(id("shop")).await.unwrap()
}

async fn signed_in(site: &Site, role: Role) -> Browser {
    let email = format!("{}@shop.example", role.as_str());
    site.person(&email, role).await;
    let mut browser = site.signed_in(&email).await;
    browser.get(PAGE).await;
    browser
}

#[tokio::test]
async fn a_webhook_is_added_tried_changed_and_removed() {
    let site = Site::new().await;
    let mut owner = signed_in(&site, Role::Owner).await;
    let url = "https://hooks.example.com/services/hush";
    for (fields, why) in [
        (vec![("name", ""), ("url", url), ("turn-ended", "yes")], "visible characters"),
        (vec![("name", "ops"), ("url", "ftp://x"), ("turn-ended", "yes")], "http or https"),
    ] {
        owner.post(PAGE, &fields).await.check(422, why);
    }
    owner.post(PAGE, &[("name", "ops"), ("url", url)]).await.check(422, "at least one");
    let fields = [("name", "ops & co"), ("url", url), ("turn-ended", "yes")];
    let shown = owner.post(PAGE, &fields).await;
    shown.check(200, "whsec_").check(200, "ops &amp; co").check(200, "hooks.example.com/…");
    assert_eq!(shown.header("cache-control"), "no-store");
    let [one] = receivers(&site).await.try_into().unwrap();
    let again = owner.get(PAGE).await;
    assert!(!again.text.contains("whsec_") && !again.text.contains("hush"), "shown once");
    let at = format!("{PAGE}/{}", one.id);
    owner.post(&format!("{at}/test"), &[]).await.leads_to(&format!("{at}?done=sent"));
    owner.get(&at).await.check(200, ">test").check(200, "waiting").check(200, "pending");
    // The notifier records the result.
    let (catalog, secrets) = (site.data.catalog(), site.data.folder().secrets.clone());
    let hold = (10, Duration::from_secs(60));
    let due = catalog.claim_deliveries(hold, secrets, site.now()).await.unwrap();
    let [due] = <[_; 1]>::try_from(due).unwrap();
    let ended =
        catalog.finish_delivery(due, (DeliveryState::Failed, Some(404)), site.now()).await.unwrap();
    assert_eq!(ended, LeaseStatus::Held);
    owner.get(&at).await.check(200, "failed").check(200, "404");
    let asked = owner.post(&format!("{at}/secret"), &[]).await;
    asked.check(200, "Rotate the signing secret of");
    owner.post(&format!("{at}/secret"), &[("sure", "yes")]).await.check(200, "whsec_");
    let change = [("name", "ops"), ("person-needed", "yes"), ("paused", "yes")];
    owner.post(&at, &change).await.leads_to(&format!("{PAGE}?done=saved"));
    owner.get(PAGE).await.check(200, "paused").check(200, "Input needed");
    owner.post(&format!("{at}/remove"), &[]).await.check(200, "Remove ops");
    let removed = owner.post(&format!("{at}/remove"), &[("sure", "yes")]).await;
    removed.leads_to(&format!("{PAGE}?done=removed"));
    assert_eq!(owner.get(&at).await.status, 404);
}

#[tokio::test]
async fn people_and_issue_trackers_are_added_by_an_owner() {
    let site = Site::new().await;
    let mut owner = signed_in(&site, Role::Owner).await;
    let wrong = [("format", "email"), ("name", "Ada"), ("email", "ada")];
    owner.post(PAGE, &wrong).await.check(422, "one address, such as");
    let email = [("format", "email"), ("name", "Ada"), ("email", "ada@example.org")];
    owner.post(PAGE, &email).await.check(200, "ada@example.org");
    let url = "https://api.github.com/repos/acme/shop/issues";
    let github = [("format", "github"), ("name", "repo"), ("url", url), ("token", "hush")];
    let shown = owner.post(PAGE, &github).await;
    assert!(!shown.check(200, "https://api.github.com/…").text.contains("hush"));
    let jira = [
        ("format", "jira"),
        ("name", "board"),
        ("url", "https://acme.example/rest/api/3/issue"),
        ("token", "hush"),
        ("jiraProject", "SHOP"),
    ];
    owner.post(PAGE, &jira).await.check(200, "https://acme.example/…");
    let all = receivers(&site).await;
    // Made at one moment, so their order is that of their ids.
    let of = |kind: ReceiverKind| all.iter().find(|one| one.kind == kind).unwrap();
    assert_eq!((all.len(), of(ReceiverKind::Email).is_paused), (3, false));
    // A tracker keeps its one event.
    for kind in [ReceiverKind::Github, ReceiverKind::Jira] {
        let before = of(kind);
        let at = format!("{PAGE}/{}", before.id);
        owner.post(&at, &[("name", "issues")]).await.leads_to(&format!("{PAGE}?done=saved"));
        let after = receivers(&site).await;
        let after = after.iter().find(|one| one.id == before.id).unwrap();
        assert_eq!(after.events, before.events);
    }
    let mut member = signed_in(&site, Role::Member).await;
    assert_eq!(member.post(PAGE, &email).await.status, 403);
}

#[tokio::test]
async fn a_webhook_at_a_private_address_says_which_setting_allows_it() {
    let site = Site::new().await;
    let mut owner = signed_in(&site, Role::Owner).await;
    let fields = [("name", "ops"), ("url", "https://hooks.internal:8443/x"), ("turn-ended", "yes")];
    owner.post(PAGE, &fields).await.check(200, "whsec_");
    let [one] = receivers(&site).await.try_into().unwrap();
    let at = format!("{PAGE}/{}", one.id);
    owner.post(&format!("{at}/test"), &[]).await.leads_to(&format!("{at}?done=sent"));
    let (catalog, secrets) = (site.data.catalog(), site.data.folder().secrets.clone());
    let hold = (10, Duration::from_secs(60));
    let due = catalog.claim_deliveries(hold, secrets, site.now()).await.unwrap();
    let [due] = <[_; 1]>::try_from(due).unwrap();
    // As the courier does whose look at the name finds no public address.
    let ended =
        catalog.finish_delivery(due, (DeliveryState::Refused, None), site.now()).await.unwrap();
    assert_eq!(ended, LeaseStatus::Held);
    let shown = owner.get(&at).await;
    shown.check(200, "refused").check(200, "blocked").check(200, "the address is private");
    shown.check(200, "outbound.allow = &quot;hooks.internal&quot;");
    assert!(!shown.text.contains("no response"), "{}", shown.text);
}

#[tokio::test]
async fn members_have_their_browsers_told_and_leave_webhooks_alone() {
    let site = Site::new().await;
    let mut owner = signed_in(&site, Role::Owner).await;
    let fields = [("name", "ops"), ("url", "https://example.com/"), ("turn-ended", "yes")];
    owner.post(PAGE, &fields).await.check(200, "whsec_");
    let [hook] = receivers(&site).await.try_into().unwrap();
    let mut member = signed_in(&site, Role::Member).await;
    let page = member.get(PAGE).await;
    page.check(200, "Enable notifications").check(200, "data-push=\"B");
    assert!(!page.text.contains("Add webhook"));
    for what in ["", "/test", "/secret", "/remove"] {
        let path = format!("{PAGE}/{}{what}", hook.id);
        assert_eq!(member.post(&path, &[("sure", "yes")]).await.status, 403, "{what}");
    }
    let (p256dh, auth) = FakeBrowser::new(1).keys();
    let to = format!("{PAGE}/browsers");
    let given = |endpoint| {
        [("name", "Firefox"), ("endpoint", endpoint), ("p256dh", &*p256dh), ("auth", &*auth)]
    };
    member.post(&to, &given("http://push.example.net/x")).await.check(400, "endpoint: ");
    let added = member.post(&to, &given("https://push.example.net/x")).await;
    added.leads_to(&format!("{PAGE}?done=added"));
    let known = receivers(&site).await;
    let browser = known.iter().find(|one| one.kind == ReceiverKind::Browser).unwrap();
    assert_eq!(browser.person.as_deref(), Some("member@shop.example"));
    let remove = format!("{PAGE}/{}/remove", browser.id);
    member.post(&remove, &[("sure", "yes")]).await.leads_to(&format!("{PAGE}?done=removed"));
    let mut viewer = signed_in(&site, Role::Viewer).await;
    assert_eq!(viewer.get(PAGE).await.status, 403);
    assert_eq!(viewer.post(&to, &given("https://push.example.net/x")).await.status, 403);
}

#[tokio::test]
async fn the_worker_is_at_the_root_and_never_stale() {
    let site = Site::new().await;
    let worker = site.get("/service-worker.js").await;
    worker.check(200, "notificationclick");
    assert_eq!(worker.header("cache-control"), "no-cache");
    assert!(worker.header("content-type").starts_with("text/javascript"));
    let policy = worker.header("content-security-policy").to_owned();
    assert!(policy.contains("worker-src 'self'"), "{policy}");
}
