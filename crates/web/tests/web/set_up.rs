use ratchet_core::secret::Secret;
use ratchet_store::catalog::Role;
use ratchet_web::sign_in::SignIn;
use ratchet_web::web::Access;

use crate::browser::{PASSWORD, Site};

async fn new_site() -> Site {
    let set_up_token = Some(Secret::new("printed"));
    Site::with(Access::People(SignIn { set_up_token, ..SignIn::default() })).await
}

fn fields<'a>(token: &'a str, email: &'a str, password: &'a str) -> [(&'a str, &'a str); 3] {
    [("token", token), ("email", email), ("password", password)]
}

#[tokio::test]
async fn whoever_started_the_server_becomes_its_owner() {
    let site = new_site().await;
    let mut browser = site.browser();
    browser.get("/").await.leads_to("/sign-in?next=%2F");
    browser.get("/sign-in").await.leads_to("/set-up");
    browser.get("/set-up?token=printed").await.check(200, "value=\"printed\"");
    browser.post("/set-up", &fields("printed", "Me@Example.com", PASSWORD)).await.leads_to("/");
    browser.get("/project/lab").await.check(200, "me@example.com");
    let users = site.data.catalog().users().await.unwrap();
    assert_eq!((users.len(), users[0].role), (1, Role::Owner));
}

#[tokio::test]
async fn it_takes_the_token_and_works_once() {
    let site = new_site().await;
    let mut browser = site.browser();
    browser.get("/set-up").await.check(200, "Set-up token");
    for token in ["", "guess", "printed "] {
        let answer = browser.post("/set-up", &fields(token, "eve@example.com", PASSWORD)).await;
        answer.check(403, "Wrong set-up token");
    }
    let answer = browser.post("/set-up", &fields("printed", "me", PASSWORD)).await;
    answer.check(422, "Not a valid email address");
    let answer = browser.post("/set-up", &fields("printed", "me@example.com", "short")).await;
    answer.check(422, "8 to 256 characters");
    assert!(!answer.text.contains("short"), "passwords are not shown again");
    assert!(!site.data.catalog().has_users().await.unwrap());

    browser.post("/set-up", &fields("printed", "me@example.com", PASSWORD)).await.leads_to("/");
    let mut other = site.browser();
    other.get("/set-up?token=printed").await.leads_to("/sign-in");
    other.get("/sign-in").await;
    other
        .post("/set-up", &fields("printed", "eve@example.com", PASSWORD))
        .await
        .leads_to("/sign-in");
    assert_eq!(site.data.catalog().users().await.unwrap().len(), 1);
}

#[tokio::test]
async fn without_a_printed_token_nobody_can() {
    let site = Site::new().await;
    let mut browser = site.browser();
    browser.get("/set-up").await;
    let answer = browser.post("/set-up", &fields("", "eve@example.com", PASSWORD)).await;
    answer.check(403, "Wrong set-up token");
}

#[tokio::test]
async fn guessing_the_token_takes_longer_and_longer() {
    let site = new_site().await;
    let mut browser = site.browser();
    browser.get("/set-up").await;
    for attempt in 0..20 {
        let token = format!("guess-{attempt}");
        let answer = browser.post("/set-up", &fields(&token, "eve@example.com", PASSWORD)).await;
        assert_eq!(answer.status, 403);
    }
    let answer = browser.post("/set-up", &fields("printed", "eve@example.com", PASSWORD)).await;
    answer.check(429, "Too many attempts");
}
