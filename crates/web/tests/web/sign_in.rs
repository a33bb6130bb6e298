use std::time::Duration;

use ratchet_store::catalog::Role;

use crate::browser::{Browser, HOST, PASSWORD, Site, id};

const PAGE: &str = "/project/shop";
const DAY: Duration = Duration::from_secs(24 * 3_600);

#[tokio::test]
async fn people_are_sent_to_sign_in_and_back() {
    let site = Site::new().await;
    site.person("ada@example.com", Role::Member).await;
    let mut browser = site.browser();
    let wanted = "/project/shop?env=prod";
    let sent = browser.get(wanted).await;
    sent.leads_to("/sign-in?next=%2Fproject%2Fshop%3Fenv%3Dprod");
    browser.get(sent.header("location")).await.check(200, wanted);
    let fields = [("email", " Ada@Example.com"), ("password", PASSWORD), ("next", wanted)];
    browser.post("/sign-in", &fields).await.leads_to(wanted);
    browser.get(wanted).await.check(200, "ada@example.com");
    browser.get("/sign-in?next=/account").await.leads_to("/account");
}

#[tokio::test]
async fn a_script_is_told_and_not_sent_elsewhere() {
    let site = Site::new().await;
    let script = [("sec-fetch-dest", "empty")];
    let response = site.browser().send("GET", PAGE, &script, String::new()).await;
    assert_eq!(response.status, 401);
}

#[tokio::test]
async fn nobody_is_told_who_has_an_account() {
    let site = Site::new().await;
    site.person("ada@example.com", Role::Member).await;
    site.person("robot@example.com", Role::IngestOnly).await;
    let mut answers = Vec::new();
    for (email, password) in [
        ("ada@example.com", "wrong horse"),
        ("eve@example.com", PASSWORD),
        ("robot@example.com", PASSWORD),
        ("no address", PASSWORD),
        ("ada@example.com", ""),
        ("", ""),
    ] {
        let mut browser = site.browser();
        let answer = browser.sign_in(email, password).await;
        answer.check(403, "Wrong email or password.");
        assert!(!browser.jar.contains_key("ratchet-session"), "{email}");
        let shown = answer.text.replace(&format!("value=\"{email}\""), "value=\"\"");
        answers.push(shown.replace(&browser.form_token, ""));
        browser.get(PAGE).await.leads_to("/sign-in?next=%2Fproject%2Fshop");
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:#?}");
}

#[tokio::test]
async fn cookies_are_as_closed_as_the_channel_lets_them_be() {
    let site = Site::new().await;
    site.person("ada@example.com", Role::Member).await;
    let answer = site.browser().sign_in("ada@example.com", PASSWORD).await;
    let cookie = session_cookie(answer.cookies());
    assert!(cookie.starts_with("ratchet-session="), "{cookie}");
    assert!(cookie.ends_with("; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax"), "{cookie}");

    let mut browser = site.browser();
    browser.headers.push(("x-forwarded-proto".into(), "https".into()));
    let answer = browser.sign_in("ada@example.com", PASSWORD).await;
    let cookie = session_cookie(answer.cookies());
    assert!(cookie.starts_with("__Host-ratchet-session="), "{cookie}");
    assert!(cookie.ends_with("; HttpOnly; SameSite=Lax; Secure"), "{cookie}");
    browser.get(PAGE).await.check(200, "");
    // What was given over TLS is worth nothing in the clear.
    browser.headers.pop();
    browser.get(PAGE).await.leads_to("/sign-in?next=%2Fproject%2Fshop");
}

fn session_cookie(cookies: Vec<&str>) -> &str {
    cookies.into_iter().find(|line| line.contains("session=")).unwrap()
}

#[tokio::test]
async fn every_sign_in_has_a_token_of_its_own() {
    let site = Site::new().await;
    site.person("ada@example.com", Role::Member).await;
    let mut planted = site.browser();
    planted.jar.insert("ratchet-session".into(), "planted-by-someone".into());
    planted.get("/sign-in").await.check(200, "Sign in");
    planted.sign_in("ada@example.com", PASSWORD).await.leads_to("/");
    assert_ne!(planted.jar["ratchet-session"], "planted-by-someone");

    let first = site.signed_in("ada@example.com").await;
    let second = site.signed_in("ada@example.com").await;
    assert_ne!(first.jar["ratchet-session"], second.jar["ratchet-session"]);
    let data = std::fs::read(site.data.path().join("catalog.db")).unwrap();
    let wal = std::fs::read(site.data.path().join("catalog.db-wal")).unwrap_or_default();
    let token = first.jar["ratchet-session"].as_bytes();
    let is_kept = |bytes: &[u8]| bytes.windows(token.len()).any(|window| window == token);
    assert!(!is_kept(&data) && !is_kept(&wal), "only a hash is kept");
}

#[tokio::test]
async fn signing_out_ends_the_session_for_copies_of_it_too() {
    let site = Site::new().await;
    site.person("ada@example.com", Role::Member).await;
    let mut browser = site.signed_in("ada@example.com").await;
    browser.get("/account").await.check(200, "ada@example.com");
    let mut copy = browser.clone();
    let answer = browser.post("/sign-out", &[]).await;
    answer.leads_to("/sign-in");
    assert!(!browser.jar.contains_key("ratchet-session"));
    copy.get(PAGE).await.leads_to("/sign-in?next=%2Fproject%2Fshop");
    // A form of the old page says so, too, and changes nothing.
    let late = copy.post("/account/logins", &[("login", "others")]).await;
    late.leads_to("/sign-in?next=%2F");
}

#[tokio::test]
async fn a_session_ends_when_left_alone_and_in_the_end() {
    let site = Site::new().await;
    site.person("ada@example.com", Role::Member).await;
    let mut left_alone = site.signed_in("ada@example.com").await;
    let mut busy = site.signed_in("ada@example.com").await;
    site.advance(6 * DAY);
    busy.get(PAGE).await.check(200, "");
    site.advance(DAY);
    left_alone.get(PAGE).await.leads_to("/sign-in?next=%2Fproject%2Fshop");
    for _ in 0..22 {
        busy.get(PAGE).await.check(200, "");
        site.advance(DAY);
    }
    busy.get(PAGE).await.check(200, "");
    site.advance(DAY);
    busy.get(PAGE).await.leads_to("/sign-in?next=%2Fproject%2Fshop");
}

#[tokio::test]
async fn nobody_is_sent_to_another_server() {
    let site = Site::new().await;
    site.person("ada@example.com", Role::Member).await;
    for next in ["//evil.example", "https://evil.example", "/\\evil.example", "evil", "/sign-out"] {
        let mut browser = site.browser();
        browser.get("/sign-in").await;
        let fields = [("email", "ada@example.com"), ("password", PASSWORD), ("next", next)];
        browser.post("/sign-in", &fields).await.leads_to("/");
    }
}

async fn fail(browser: &mut Browser, email: &str) -> u16 {
    browser.sign_in(email, "wrong horse").await.status
}

#[tokio::test]
async fn whoever_guesses_at_an_account_waits_longer_and_longer() {
    let site = Site::new().await;
    site.person("ada@example.com", Role::Member).await;
    let mut browser = site.browser();
    for attempt in 0..5 {
        assert_eq!(fail(&mut browser, "ada@example.com").await, 403, "attempt {attempt}");
    }
    let refused = browser.sign_in("ada@example.com", PASSWORD).await;
    refused.check(429, "Too many attempts. Try again in 1 second.");
    assert_eq!(refused.header("retry-after"), "1");
    // In other letters it is the same account.
    assert_eq!(browser.sign_in(" ADA@example.com", PASSWORD).await.status, 429);
    // Its person is elsewhere, and gets in.
    let mut elsewhere = site.browser();
    elsewhere.address = "198.51.100.7:1".parse().unwrap();
    elsewhere.sign_in("ada@example.com", PASSWORD).await.leads_to("/");
    for wait in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
        let wait = Duration::from_secs(wait);
        site.advance(wait - Duration::from_millis(1));
        assert_eq!(fail(&mut browser, "ada@example.com").await, 429, "{wait:?}");
        site.advance(Duration::from_millis(1));
        assert_eq!(fail(&mut browser, "ada@example.com").await, 403, "{wait:?}");
    }
    // Who knows the password gets in after the wait, and is forgiven.
    site.advance(Duration::from_secs(300));
    browser.sign_in("ada@example.com", PASSWORD).await.leads_to("/");
    assert_eq!(fail(&mut site.browser(), "ada@example.com").await, 403);
}

#[tokio::test]
async fn an_account_is_not_guessed_at_from_everywhere() {
    let site = Site::new().await;
    site.person("ada@example.com", Role::Member).await;
    for attempt in 0..50 {
        let mut browser = site.browser();
        browser.address = format!("198.51.100.{attempt}:1").parse().unwrap();
        assert_eq!(fail(&mut browser, "ada@example.com").await, 403, "attempt {attempt}");
    }
    let mut ada = site.browser();
    assert_eq!(ada.sign_in("ada@example.com", PASSWORD).await.status, 429);
    // However many they are, its person waits for half a minute at most.
    site.advance(Duration::from_secs(30));
    ada.sign_in("ada@example.com", PASSWORD).await.leads_to("/");
}

#[tokio::test]
async fn whoever_guesses_at_many_accounts_waits_too() {
    let site = Site::new().await;
    site.person("ada@example.com", Role::Member).await;
    let mut browser = site.browser();
    for attempt in 0..20 {
        let email = format!("nobody-{attempt}@example.com");
        assert_eq!(fail(&mut browser, &email).await, 403, "{email}");
    }
    browser.sign_in("ada@example.com", PASSWORD).await.check(429, "Too many attempts");
    // A header that anyone can write does not help.
    browser.headers.push(("x-forwarded-for".into(), "198.51.100.9".into()));
    assert_eq!(browser.sign_in("ada@example.com", PASSWORD).await.status, 429);
    let mut elsewhere = site.browser();
    elsewhere.address = "198.51.100.7:1".parse().unwrap();
    elsewhere.sign_in("ada@example.com", PASSWORD).await.leads_to("/");
}

#[tokio::test]
async fn many_attempts_at_once_get_no_more_tries() {
    let site = Site::new().await;
    site.person("ada@example.com", Role::Member).await;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..12 {
        let mut browser = site.browser();
        browser.get("/sign-in").await;
        tasks.spawn(async move {
            let fields = [("email", "ada@example.com"), ("password", "wrong horse")];
            browser.post("/sign-in", &fields).await.status
        });
    }
    let statuses = tasks.join_all().await;
    assert_eq!(statuses.iter().filter(|status| **status == 403).count(), 5, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 429).count(), 7, "{statuses:?}");
}

#[tokio::test]
async fn a_project_of_others_looks_like_none() {
    let site = Site::new().await;
    let ada = site.person("ada@example.com", Role::Member).await;
    site.person("owner@example.com", Role::Owner).await;
    let mut browser = site.signed_in("ada@example.com").await;
    browser.get(PAGE).await.check(200, "");
    let theirs = browser.get("/project/lab").await;
    let missing = browser.get("/project/lib").await;
    assert_eq!((theirs.status, missing.status), (404, 404));
    assert_eq!(theirs.text, missing.text);
    assert!(!browser.get(PAGE).await.text.contains("/project/lab"), "not in the menu either");

    let catalog = site.data.catalog();
    catalog.set_membership(id("lab"), ada.id.clone(), Role::Viewer, site.now()).await.unwrap();
    browser.get("/project/lab").await.check(200, "");
    catalog.end_membership(id("shop"), ada.id.clone(), site.now()).await.unwrap();
    assert_eq!(browser.get(PAGE).await.status, 404);
    site.signed_in("owner@example.com").await.get("/project/lab").await.check(200, "");
    // A removed user is signed out at once.
    catalog.delete_user(ada.id, site.now()).await.unwrap();
    browser.get(PAGE).await.leads_to("/sign-in?next=%2Fproject%2Fshop");
}

#[tokio::test]
async fn without_sign_in_everyone_at_this_machine_is_the_owner() {
    let site = Site::open().await;
    let mut browser = site.browser();
    browser.headers[0].1 = HOST.into();
    browser.get(PAGE).await.check(403, "only at localhost");
    browser.headers[0].1 = "localhost:3000".into();
    browser.get(PAGE).await.check(200, "Local user");
    browser.get("/project/lab").await.check(200, "");
    browser.get("/sign-in?next=/project/lab").await.leads_to("/project/lab");
    browser.get("/set-up").await.leads_to("/sign-in");
    assert_eq!(browser.get("/account").await.status, 404);
    let mut rebound = site.browser();
    rebound.headers[0].1 = "localhost.evil.example:3000".into();
    for path in ["/", PAGE, "/sign-in", "/traces"] {
        rebound.get(path).await.check(403, "only at localhost");
    }
}
