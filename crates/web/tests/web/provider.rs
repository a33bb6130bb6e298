use std::time::Duration;

use ratchet_core::secret::Secret;
use ratchet_remote::http::on_this_machine;
use ratchet_remote::oidc::{Provider, ProviderSettings};
use ratchet_store::catalog::{Admission, Role};
use ratchet_testkit::provider::{CLIENT_ID, CLIENT_SECRET, ScriptedProvider, Signing};
use ratchet_web::sign_in::{OidcLogin, SignIn};
use ratchet_web::web::Access;
use serde_json::{Value, json};

use crate::browser::{Answer, Browser, Site, id};

/// A site whose people a scripted provider vouches for.
async fn vouched_site(admission: Option<Admission>) -> (Site, ScriptedProvider) {
    let scripted = ScriptedProvider::start();
    let provider = Provider::new(ProviderSettings {
        issuer: scripted.issuer(),
        client_id: CLIENT_ID.to_owned(),
        client_secret: Some(Secret::new(CLIENT_SECRET)),
    });
    let oidc = OidcLogin {
        provider: provider.unwrap(),
        label: "Example".to_owned(),
        domains: vec!["example.com".to_owned()],
        admission,
    };
    let sign_in = SignIn { oidc: Some(Box::new(oidc)), ..SignIn::default() };
    let site = Site::with(Access::People(sign_in)).await;
    site.person("owner@example.com", Role::Owner).await;
    (site, scripted)
}

fn viewers() -> Option<Admission> {
    Some(Admission { role: Role::Viewer, project: Some(id("shop")) })
}

/// Goes to the provider, and returns the address that it sends the browser back to.
async fn travel(browser: &mut Browser, next: &str) -> String {
    let away = browser.get(&format!("/sign-in/provider?next={next}")).await;
    assert_eq!(away.status, 303, "{}", away.text);
    let there = on_this_machine().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let answer = there.get(away.header("location")).send().await.unwrap();
    let back = answer.headers()["location"].to_str().unwrap();
    back.strip_prefix("http://ratchet.example").unwrap().to_owned()
}

async fn sign_in(browser: &mut Browser) -> Answer {
    let back = travel(browser, "/account").await;
    browser.get(&back).await
}

#[tokio::test]
async fn someone_with_the_same_address_is_recognised_from_then_on() {
    let (site, provider) = vouched_site(None).await;
    let ada = site.person("ada@example.com", Role::Member).await;
    let mut browser = site.browser();
    browser.get("/sign-in?next=/account").await.check(200, "Sign in with Example");
    sign_in(&mut browser).await.leads_to("/account");
    browser.get("/account").await.check(200, "ada@example.com");
    // Another address, the same subject: the same person.
    provider.say(Signing::Rs256, json!({"email": "countess@example.com"}));
    let mut again = site.browser();
    sign_in(&mut again).await.leads_to("/account");
    again.get("/account").await.check(200, "ada@example.com");
    // A removed user cannot sign in by OIDC either.
    site.data.catalog().delete_user(ada.id, site.now()).await.unwrap();
    sign_in(&mut site.browser()).await.check(403, "no account on this server");
}

#[tokio::test]
async fn newcomers_come_in_if_they_may() {
    let (site, provider) = vouched_site(viewers()).await;
    let mut browser = site.browser();
    sign_in(&mut browser).await.leads_to("/account");
    browser.get("/project/shop").await.check(200, "Ada Lovelace");
    assert_eq!(browser.get("/project/lab").await.status, 404);
    let users = site.data.catalog().users().await.unwrap();
    let ada = users.iter().find(|user| user.email == "ada@example.com").unwrap();
    assert_eq!(ada.role, Role::Viewer);
    assert_eq!(site.browser().sign_in("ada@example.com", "").await.status, 403, "no password");
    for (claims, why) in [
        (json!({"sub": "eve", "email": "eve@evil.example"}), "another domain"),
        (json!({"sub": "eve", "email_verified": false}), "not verified"),
        (json!({"sub": "eve", "email": null}), "no address"),
        (json!({"sub": "eve", "email": "ada@example.com@evil.example"}), "no address"),
    ] {
        provider.say(Signing::Es256, claims);
        let answer = sign_in(&mut site.browser()).await;
        assert_eq!(answer.status, 403, "{why}");
    }
    assert_eq!(site.data.catalog().users().await.unwrap().len(), 2);
}

#[tokio::test]
async fn whoever_was_removed_does_not_come_back_as_a_newcomer() {
    let (site, _provider) = vouched_site(viewers()).await;
    sign_in(&mut site.browser()).await.leads_to("/account");
    let users = site.data.catalog().users().await.unwrap();
    let ada = users.into_iter().find(|user| user.email == "ada@example.com").unwrap();
    site.data.catalog().delete_user(ada.id, site.now()).await.unwrap();
    sign_in(&mut site.browser()).await.check(403, "no account on this server");
    // An owner who makes them anew means it.
    site.person("ada@example.com", Role::Member).await;
    sign_in(&mut site.browser()).await.leads_to("/account");
}

#[tokio::test]
async fn what_other_sites_make_a_browser_ask_for_is_no_attempt_of_its_person() {
    let (site, _provider) = vouched_site(viewers()).await;
    let mut browser = site.browser();
    sign_in(&mut browser).await.leads_to("/account");
    for _ in 0..30 {
        let callback = "/sign-in/provider/callback?code=x&state=y";
        browser.get(callback).await.check(403, "sign-in has expired");
    }
    browser.get("/account").await.check(200, "ada@example.com");
    sign_in(&mut site.browser()).await.leads_to("/account");
}

#[tokio::test]
async fn a_token_that_lies_is_not_believed() {
    let (site, provider) = vouched_site(viewers()).await;
    let lies: [(&str, Signing, Value); 14] = [
        ("another sign-in's", Signing::Es256, json!({"nonce": "other"})),
        ("no sign-in's", Signing::Es256, json!({"nonce": null})),
        ("for others", Signing::Es256, json!({"aud": "someone-else"})),
        ("for nobody", Signing::Es256, json!({"aud": []})),
        ("for several", Signing::Es256, json!({"aud": [CLIENT_ID, "someone-else"]})),
        ("asked for by others", Signing::Es256, json!({"azp": "someone-else"})),
        ("by others", Signing::Es256, json!({"iss": "https://evil.example"})),
        ("too old", Signing::Es256, json!({"exp": 1_772_437_000})),
        ("too young", Signing::Es256, json!({"iat": 1_994_743_000u64})),
        ("about nobody", Signing::Es256, json!({"sub": ""})),
        ("unsigned", Signing::Nothing, json!({})),
        ("signed with what everyone knows", Signing::Hs256, json!({})),
        ("signed by a stranger", Signing::Stranger, json!({})),
        ("signed with a key that is not shown", Signing::Unknown, json!({})),
    ];
    for (what, signing, claims) in lies {
        provider.say(signing, claims);
        let mut browser = site.browser();
        let answer = sign_in(&mut browser).await;
        assert_eq!(answer.status, 502, "{what}: {}", answer.text);
        assert!(!browser.jar.contains_key("ratchet-session"), "{what}");
    }
    provider.say(Signing::Es256, json!({"aud": [CLIENT_ID, "someone-else"], "azp": CLIENT_ID}));
    sign_in(&mut site.browser()).await.leads_to("/account");
}

#[tokio::test]
async fn a_sign_in_belongs_to_one_browser_and_one_time() {
    let (site, _provider) = vouched_site(viewers()).await;
    let mut browser = site.browser();
    let back = travel(&mut browser, "/account").await;
    // Someone else is handed the link.
    site.browser().get(&back).await.check(403, "sign-in has expired");
    // Someone else has begun a sign-in of their own.
    let mut other = site.browser();
    travel(&mut other, "/account").await;
    other.get(&back).await.check(403, "sign-in has expired");
    let before = browser.clone();
    browser.get(&back).await.leads_to("/account");
    assert!(!browser.jar.contains_key("ratchet-departure"));
    before.clone().get(&back).await.check(403, "sign-in has expired");
    // Without the state, or with another.
    let mut third = site.browser();
    let back = travel(&mut third, "/account").await;
    let (code, _) = back.split_once("&state=").unwrap();
    third.clone().get(code).await.check(403, "sign-in has expired");
    third.clone().get(&format!("{code}&state=guess")).await.check(403, "sign-in has expired");
    // Too late.
    site.advance(Duration::from_secs(600));
    third.get(&back).await.check(403, "sign-in has expired");
}

#[tokio::test]
async fn what_a_provider_refuses_is_told() {
    let (site, _provider) = vouched_site(viewers()).await;
    let mut browser = site.browser();
    let back = travel(&mut browser, "/account").await;
    let (_, state) = back.split_once("&state=").unwrap();
    let callback = "/sign-in/provider/callback";
    let declined =
        browser.clone().get(&format!("{callback}?error=access_denied&state={state}")).await;
    declined.check(403, "did not sign you in");
    let mut again = site.browser();
    let back = travel(&mut again, "/account").await;
    let (_, state) = back.split_once("&state=").unwrap();
    again.get(&format!("{callback}?code=guess&state={state}")).await.check(502, "is not reachable");
}

#[tokio::test]
async fn nobody_is_sent_elsewhere_afterwards() {
    let (site, _provider) = vouched_site(viewers()).await;
    let mut browser = site.browser();
    let back = travel(&mut browser, "//evil.example").await;
    browser.get(&back).await.leads_to("/");
}

#[tokio::test]
async fn without_a_provider_there_is_no_such_page() {
    let site = Site::new().await;
    for path in ["/sign-in/provider", "/sign-in/provider/callback?code=a&state=b"] {
        assert_eq!(site.browser().get(path).await.status, 404);
    }
}

#[tokio::test]
async fn a_provider_that_is_down_leaves_passwords_to_sign_in_with() {
    let issuer = "http://127.0.0.1:1".to_owned();
    let settings = ProviderSettings { issuer, client_id: "x".to_owned(), client_secret: None };
    let provider = Provider::new(settings).unwrap();
    let oidc =
        OidcLogin { provider, label: "Example".to_owned(), domains: Vec::new(), admission: None };
    let sign_in = SignIn { oidc: Some(Box::new(oidc)), ..SignIn::default() };
    let site = Site::with(Access::People(sign_in)).await;
    site.person("ada@example.com", Role::Member).await;
    let answer = site.browser().get("/sign-in/provider").await;
    answer.check(502, "is not reachable").check(502, "Password");
}
