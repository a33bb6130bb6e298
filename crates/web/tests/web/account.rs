use ratchet_store::catalog::Role;

use crate::browser::{PASSWORD, Site};

const NEW: &str = "battery staple";

#[tokio::test]
async fn a_new_password_ends_all_other_logins() {
    let site = Site::new().await;
    site.person("ada@example.com", Role::Viewer).await;
    let mut here = site.signed_in("ada@example.com").await;
    let mut there = site.signed_in("ada@example.com").await;
    here.get("/account").await.check(200, "Sign out");
    let change = [("current", PASSWORD), ("new", NEW)];
    here.post("/account/password", &change).await.leads_to("/account");
    here.get("/account").await.check(200, "current");
    there.get("/account").await.leads_to("/sign-in?next=%2Faccount");
    assert_eq!(there.sign_in("ada@example.com", PASSWORD).await.status, 403);
    there.sign_in("ada@example.com", NEW).await.leads_to("/");
}

#[tokio::test]
async fn a_password_is_changed_by_whoever_knows_it() {
    let site = Site::new().await;
    site.person("ada@example.com", Role::Viewer).await;
    let mut browser = site.signed_in("ada@example.com").await;
    browser.get("/account").await;
    let short = browser.post("/account/password", &[("current", PASSWORD), ("new", "short")]).await;
    short.check(422, "8 to 256 characters");
    for _ in 0..5 {
        let wrong = browser.post("/account/password", &[("current", "guess"), ("new", NEW)]).await;
        wrong.check(403, "Wrong");
    }
    let right = browser.post("/account/password", &[("current", PASSWORD), ("new", NEW)]).await;
    right.check(429, "Too many attempts");
}

#[tokio::test]
async fn logins_are_listed_and_ended_one_by_one() {
    let site = Site::new().await;
    site.person("ada@example.com", Role::Viewer).await;
    site.person("bob@example.com", Role::Owner).await;
    let mut here = site.signed_in("ada@example.com").await;
    let mut there = site.signed_in("ada@example.com").await;
    let mut bob = site.signed_in("bob@example.com").await;
    let page = here.get("/account").await;
    page.check(200, "Test/1");
    let (_, rest) = page.text.split_once("name=\"login\" value=\"").unwrap();
    let other = rest.split('"').next().unwrap().to_owned();
    bob.get("/account").await;
    let by_bob = bob.post("/account/logins", &[("login", &other)]).await;
    assert_eq!(by_bob.status, 404, "another person's login looks like none");
    there.get("/account").await.check(200, "");
    here.post("/account/logins", &[("login", &other)]).await.leads_to("/account");
    there.get("/account").await.leads_to("/sign-in?next=%2Faccount");
    here.get("/account").await.check(200, "current");
    assert_eq!(here.post("/account/logins", &[]).await.status, 400);
}

#[tokio::test]
async fn a_person_has_a_bounded_number_of_logins() {
    let site = Site::new().await;
    let ada = site.person("ada@example.com", Role::Viewer).await;
    let mut first = site.signed_in("ada@example.com").await;
    site.advance(std::time::Duration::from_secs(1));
    let now = site.now().plus_nanos(4_000_000_000);
    for _ in 0..50 {
        let begun = site.data.catalog().create_login(ada.id.clone(), String::new(), now);
        begun.await.unwrap();
    }
    first.get("/account").await.leads_to("/sign-in?next=%2Faccount");
    let logins = site.data.catalog().logins_of(ada.id, now).await.unwrap();
    assert_eq!(logins.len(), 50);
}
