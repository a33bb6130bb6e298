//! Public links to a trace or a session, and bookmarks.

use std::time::Duration;

use ratchet_core::payload::Payload;
use ratchet_core::record::media::{MediaHash, MediaType};
use ratchet_store::catalog::{MediaOwner, NewMedia, ReferenceLocation, Role};
use ratchet_testkit::build::{START, batch, generation, json, project, text, trace};

use crate::browser::{Browser, Site, id};

const TRACE: &str = "/project/shop/traces/t";
const SESSION: &str = "/project/shop/sessions/s";
const HOSTILE: &str = "<img src=x onerror=alert(1)>";

/// Two turns of a session and a trace outside of it, each with a model call.
async fn shop() -> Site {
    let site = Site::new().await;
    let mut recorded = batch(&project("shop"));
    for (name, words, session) in [
        ("t", "Where is my refund?", Some("s")),
        ("neighbour", "words of the neighbour", Some("s")),
        ("other", "words of another session", None),
    ] {
        let asked = trace(name).named(HOSTILE).for_user("kimberley").input(text(words));
        let asked = asked.output(text(HOSTILE));
        let asked = match session {
            Some(session) => asked.in_session(session),
            None => asked,
        };
        let call = generation(&format!("call-of-{name}")).of(name).calling("gpt-5");
        let call = call.input(text(&format!("prompt about {words}")));
        recorded = recorded.with(asked).with(call);
    }
    site.record(recorded).await;
    site
}

async fn member(site: &Site) -> Browser {
    site.person("mia@shop.example", Role::Member).await;
    site.signed_in("mia@shop.example").await
}

/// Publishes or revokes by the form of a page; returns the page that follows.
async fn publish(browser: &mut Browser, page: &str, set: &str) -> String {
    browser.get(page).await;
    let sent = browser.post(&format!("{page}/publish"), &[("set", set)]).await;
    assert_eq!(sent.status, 303, "{}", sent.text);
    browser.get(page).await.text
}

fn public_link(page: &str) -> String {
    let (_, rest) = page.split_once("href=\"/public/").unwrap_or_else(|| panic!("no link: {page}"));
    format!("/public/{}", rest.split('"').next().unwrap())
}

/// Stores a file that a trace refers to.
async fn media(site: &Site, of: &str, bytes: &[u8], hash: &str) -> String {
    let store = site.data.folder();
    let hash = MediaHash::parse(hash).unwrap();
    let mut incoming = store.media.receive().unwrap();
    incoming.write(bytes).unwrap();
    store.media.save(&incoming, hash).unwrap();
    let owner = MediaOwner::Trace(of.to_owned());
    let new = NewMedia {
        hash,
        content_type: MediaType::OTHER,
        content_length: bytes.len() as u64,
        location: ReferenceLocation { owner, field: "input".to_owned() },
    };
    let media = store.catalog.announce_media(id("shop"), new, START).await.unwrap();
    store.catalog.media_stored(id("shop"), media.id.clone(), START).await.unwrap();
    media.id
}

#[tokio::test]
async fn a_public_link_shows_its_trace_and_nothing_else() {
    let site = shop().await;
    let ours = media(&site, "t", b"hello", "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=").await;
    let others =
        media(&site, "other", b"world", "SG6kYiTRu0+2gPNPfJrZao8k7Ii+c+qOWmxlJg6cuKc=").await;
    let mut mia = member(&site).await;
    assert!(!mia.get(TRACE).await.text.contains("/public/"), "nothing is public by itself");
    let link = public_link(&publish(&mut mia, TRACE, "yes").await);

    let mut anybody = site.browser();
    let shown = anybody.get(&link).await;
    shown.check(200, "Where is my refund?");
    assert_eq!(shown.header("x-robots-tag"), "noindex, nofollow");
    for secret in ["kimberley", "neighbour", "another session", "/project/", "<img src=x"] {
        assert!(!shown.text.contains(secret), "{secret} in {}", shown.text);
    }
    let at = |rest: &str| format!("{link}{rest}");
    anybody.get(&at("?observation=call-of-t")).await.check(200, "prompt about Where is my");
    for address in ["?trace=neighbour", "/payload?trace=neighbour&side=input"] {
        let answer = anybody.get(&at(address)).await;
        assert!(!answer.text.contains("words of"), "{address}: {}", answer.text);
    }
    for address in [
        "?observation=call-of-neighbour".to_owned(),
        "/payload?observation=call-of-other&side=input".to_owned(),
        "/picture?trace=other&n=0".to_owned(),
        format!("/media/{others}"),
    ] {
        let answer = anybody.get(&at(&address)).await;
        assert_eq!(answer.status, 404, "{address}: {}", answer.text);
    }
    anybody.get(&at(&format!("/media/{ours}"))).await.check(200, "hello");
    anybody.get(&at("/payload?side=input")).await.check(200, "Where is my refund?");
    assert_eq!(anybody.get(TRACE).await.status, 303, "the project stays closed");
}

#[tokio::test]
async fn a_revoked_link_opens_nothing_and_both_are_audited() {
    let site = shop().await;
    site.person("olga@shop.example", Role::Owner).await;
    let mut olga = site.signed_in("olga@shop.example").await;
    let link = public_link(&publish(&mut olga, TRACE, "yes").await);
    let mut anybody = site.browser();
    anybody.get(&link).await.check(200, "refund");
    let page = publish(&mut olga, TRACE, "no").await;
    assert!(!page.contains("/public/"), "{page}");
    for address in [link.as_str(), "/public/unknown"] {
        anybody.get(address).await.check(404, "this link is not public, or no longer");
        for part in ["/payload?side=input", "/picture?n=0", "/media/any"] {
            assert_eq!(anybody.get(&format!("{address}{part}")).await.status, 404);
        }
    }
    assert_ne!(public_link(&publish(&mut olga, TRACE, "yes").await), link, "a new token");
    anybody.get(&link).await.check(404, "");
    let audit = olga.get("/project/shop/settings/audit").await.text;
    assert!(audit.matches("public link").count() >= 3, "{audit}");
}

#[tokio::test]
async fn a_session_link_shows_the_turns_of_the_session_and_no_other_trace() {
    let site = shop().await;
    let mut mia = member(&site).await;
    let link = public_link(&publish(&mut mia, SESSION, "yes").await);
    let mut anybody = site.browser();
    let shown = anybody.get(&link).await;
    shown.check(200, "Where is my refund?").check(200, "words of the neighbour");
    for secret in ["kimberley", "another session", "/project/", "<img src=x"] {
        assert!(!shown.text.contains(secret), "{secret} in {}", shown.text);
    }
    anybody.get(&format!("{link}?trace=t")).await.check(200, "Where is my refund?");
    for address in ["?trace=other", "/payload?trace=other&side=input", "/payload?side=input"] {
        assert_eq!(anybody.get(&format!("{link}{address}")).await.status, 404, "{address}");
    }
    assert_eq!(anybody.get("/public/t").await.status, 404, "the trace has no link of its own");
}

#[tokio::test]
async fn viewers_and_reviewers_create_no_public_links() {
    let site = shop().await;
    for (email, role) in [("vic@shop.example", Role::Viewer), ("rita@shop.example", Role::Reviewer)]
    {
        site.person(email, role).await;
        let mut browser = site.signed_in(email).await;
        browser.get("/account").await;
        for page in [TRACE, SESSION] {
            for what in ["publish", "bookmark"] {
                let sent = browser.post(&format!("{page}/{what}"), &[("set", "yes")]).await;
                assert_eq!(sent.status, 403, "{what} by {email}: {}", sent.text);
            }
            assert!(!browser.get(page).await.text.contains("Create public link"));
        }
    }
    assert_eq!(site.data.catalog().publications(id("shop")).await.unwrap(), []);
}

#[tokio::test]
async fn traces_and_sessions_are_bookmarked() {
    let site = shop().await;
    let mut mia = member(&site).await;
    for page in [TRACE, SESSION] {
        for (set, is_set) in [("yes", true), ("no", false)] {
            // The later of two writes wins.
            site.advance(Duration::from_secs(1));
            mia.get(page).await;
            let sent = mia.post(&format!("{page}/bookmark"), &[("set", set)]).await;
            assert_eq!(sent.status, 303, "{}", sent.text);
            let shown = mia.get(page).await.text;
            assert_eq!(shown.contains("aria-pressed=\"true\""), is_set, "{shown}");
            if page == TRACE {
                let list = mia.get("/project/shop/traces").await.text;
                assert_eq!(list.contains("title=\"Bookmarked\""), is_set, "{list}");
            }
        }
    }
    mia.get(TRACE).await;
    for missing in ["/project/shop/traces/none", "/project/shop/sessions/none"] {
        for what in ["bookmark", "publish"] {
            let sent = mia.post(&format!("{missing}/{what}"), &[("set", "yes")]).await;
            assert_eq!(sent.status, 404, "{missing}/{what}");
        }
    }
}

/// Turns that are too long to be held together, and JSON that is too long to be drawn.
#[tokio::test]
async fn long_turns_of_a_session_are_each_shown_from_their_beginning() {
    let site = Site::new().await;
    let long = format!("\"{}\"", "x".repeat(1_500_000));
    for nth in 0..4 {
        let turn = trace(&format!("t{nth}")).in_session("s").beginning(nth * 1_000);
        let turn = turn.input(text(&format!("question {nth}"))).output(Payload::Json(json(&long)));
        site.record(batch(&project("shop")).with(turn)).await;
    }
    let mut mia = member(&site).await;
    let page = publish(&mut mia, SESSION, "yes").await;
    let link = public_link(&page);
    for (who, shown) in [("members", page), ("anybody", site.browser().get(&link).await.text)] {
        for nth in 0..4 {
            assert!(shown.contains(&format!("question {nth}")), "{who}: turn {nth} in {shown}");
        }
        assert!(!shown.contains("No output recorded"), "{who}: an output is missing");
        assert!(!shown.contains("No input or output"), "{who}: an output is missing");
        assert!(shown.len() < 500_000, "{who}: {} bytes", shown.len());
    }
    site.browser().get(&link).await.check(200, "Load all");
}
