use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_util::StreamExt as _;
use futures_util::stream;
use ratchet_store::catalog::Role;
use ratchet_web::form_budget::FormLimits;
use ratchet_web::sign_in::SignIn;
use ratchet_web::web::{Access, WebSettings};
use tokio::task::JoinSet;

use crate::browser::{Browser, PARTS, PASSWORD, Site};

/// Forms of one sender that are read at once.
const EACH: usize = 4;
/// Forms that one sender begins and does not end.
const SLOW: usize = 40;
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
const SHORT: Duration = Duration::from_millis(50);
/// More than any test takes.
const LONG: Duration = Duration::from_secs(600);

async fn site(forms: FormLimits) -> Site {
    let settings = WebSettings { forms, ..WebSettings::default() };
    let site = Site::made(Access::People(SignIn::default()), settings).await;
    site.person("ada@example.com", Role::Owner).await;
    site.person("eve@example.com", Role::Viewer).await;
    site
}

/// Little room, and much time.
fn narrow() -> FormLimits {
    let (people_bytes, strangers_bytes) = (5_000_000, 40_000);
    FormLimits { people_bytes, strangers_bytes, each: EACH, time: LONG, upload_time: LONG }
}

/// A form that announces much, begins, and never ends.
fn unending(begun: &str) -> Body {
    let begun: Result<Bytes, std::io::Error> = Ok(Bytes::from(begun.to_owned()));
    Body::from_stream(stream::iter([begun]).chain(stream::pending()))
}

/// Sends forms that never end, until all but those that may be read at once were sent away.
async fn slow_forms(browser: &Browser, path: &'static str, length: &'static str) -> JoinSet<()> {
    let mut slow = JoinSet::new();
    for _ in 0..SLOW {
        let mut browser = browser.clone();
        slow.spawn(async move {
            let body = unending(&format!("form_token={}&a=", browser.form_token));
            let headers = [FORM, ("content-length", length)];
            let answer = browser.send("POST", path, &headers, body).await;
            answer.check(503, "too many forms are being submitted");
        });
    }
    for _ in EACH..SLOW {
        slow.join_next().await.unwrap().unwrap();
    }
    slow
}

#[tokio::test]
async fn slow_strangers_keep_nobody_from_signing_in() {
    let site = site(narrow()).await;
    let mut slow = site.browser();
    slow.get("/sign-in").await;
    let _slow = slow_forms(&slow, "/sign-in", "31000").await;
    let mut far = site.browser();
    far.address = "198.51.100.7:5000".parse().unwrap();
    assert_eq!(far.sign_in("ada@example.com", PASSWORD).await.status, 303, "from elsewhere");
    let mut near = site.browser();
    assert_eq!(near.sign_in("ada@example.com", PASSWORD).await.status, 303, "from the same place");
}

#[tokio::test]
async fn slow_forms_of_one_person_hold_nobody_up() {
    let site = site(narrow()).await;
    let mut eve = site.signed_in("eve@example.com").await;
    eve.get("/account").await;
    let _slow = slow_forms(&eve, "/account/password", "3900000").await;
    let mut ada = site.signed_in("ada@example.com").await;
    ada.get("/account").await;
    ada.post("/sign-out", &[]).await.leads_to("/sign-in");
    eve.post("/account/password", &[("current", PASSWORD), ("new", "short")]).await.check(422, "");
}

#[tokio::test]
async fn behind_a_trusted_proxy_the_forwarded_address_counts() {
    let site = site(narrow()).await;
    let behind = |forwarded: &str| {
        let mut browser = site.browser();
        browser.address = "127.0.0.1:5000".parse().unwrap();
        browser.headers.push(("x-forwarded-for".to_owned(), forwarded.to_owned()));
        browser
    };
    let mut quiet = behind("203.0.113.50");
    quiet.get("/sign-in").await;
    let token = quiet.form_token.clone();
    let mut waiting = quiet.clone();
    let body = unending(&format!("form_token={token}&a="));
    let mut one = JoinSet::new();
    one.spawn(async move { waiting.send("POST", "/sign-in", &[FORM], body).await });
    let mut loud = behind("198.51.100.7");
    loud.get("/sign-in").await;
    let _slow = slow_forms(&loud, "/sign-in", "31000").await;
    assert!(one.try_join_next().is_none(), "another client behind the proxy is left alone");
}

#[tokio::test]
async fn a_form_has_one_deadline_however_it_comes() {
    let site = site(FormLimits { time: SHORT, upload_time: SHORT, ..narrow() }).await;
    let mut browser = site.signed_in("ada@example.com").await;
    browser.get("/account").await;
    let token = browser.form_token.clone();
    // A byte now and then is no better than nothing.
    let drip = stream::unfold(tokio::time::interval(SHORT / 10), async |mut drops| {
        drops.tick().await;
        Some((Ok::<_, std::io::Error>(Bytes::from("a")), drops))
    });
    let answer = browser.send("POST", "/sign-out", &[FORM], Body::from_stream(drip)).await;
    answer.check(408, "took longer than 0.05 s");
    let by_script = [("x-form-token", token.as_str()), ("content-type", "application/json")];
    let answer = browser.send("POST", "/sign-out", &by_script, unending("{")).await;
    answer.check(408, "took longer");
    let answer = browser.send("POST", "/sign-out", &[PARTS], unending("--x\r\n")).await;
    answer.check(408, "took longer");
    let begun = format!(
        "--x\r\nContent-Disposition: form-data; name=\"form_token\"\r\n\r\n{token}\r\n--x\r\n"
    );
    let path = "/project/shop/chats/new";
    let answer = browser.send("POST", path, &[PARTS], unending(&begun)).await;
    assert!([404, 408].contains(&answer.status), "{}", answer.text);
    browser.get("/account").await.check(200, "ada@example.com");
}
