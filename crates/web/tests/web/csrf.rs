use ratchet_store::catalog::Role;
use ratchet_web::sign_in::SignIn;
use ratchet_web::web::Access;

use crate::browser::{Answer, Browser, HOST, PARTS, PASSWORD, Site};

const CHANGES: [&str; 4] = ["POST", "PUT", "PATCH", "DELETE"];

/// Every address there is a route for, with something in place of its parameters. The router
/// shows them when it is printed; sources would have to be understood.
fn routes(site: &Site) -> Vec<String> {
    let printed = format!("{:?}", site.router);
    let mut routes: Vec<String> =
        printed.split('"').filter(|text| text.starts_with('/')).map(filled).collect();
    routes.push("/nowhere".to_owned());
    routes.sort();
    routes.dedup();
    for known in
        ["/account/password", "/project/shop/list/traces/do", "/project/shop/traces/x/scores"]
    {
        assert!(routes.iter().any(|route| route == known), "no {known} among {routes:?}");
    }
    routes
}

fn filled(route: &str) -> String {
    let part = |part: &str| match part {
        "{project}" => "shop".to_owned(),
        part if part.starts_with('{') => "x".to_owned(),
        part => part.to_owned(),
    };
    route.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// Every method is tried with a form, and the one of forms with every kind of body.
async fn check_all_refused(site: &Site, browser: &mut Browser) {
    let form = [("content-type", "application/x-www-form-urlencoded")];
    for route in routes(site) {
        for method in CHANGES {
            let answer = browser.send(method, &route, &form, "form_token=guess".to_owned()).await;
            assert_eq!(answer.status, 403, "{method} {route}");
            assert!(answer.text.contains("form token is missing or expired"), "{method} {route}");
        }
        for body in ["", "form_token="] {
            let answer = browser.send("POST", &route, &form, body.to_owned()).await;
            assert_eq!(answer.status, 403, "{route} {body}");
        }
        let json = [("content-type", "application/json")];
        let answer = browser.send("POST", &route, &json, "{}".to_owned()).await;
        assert_eq!(answer.status, 403, "{route} as JSON");
        let parts =
            "--x\r\nContent-Disposition: form-data; name=\"form_token\"\r\n\r\nguess\r\n--x--\r\n";
        let answer = browser.send("POST", &route, &[PARTS], parts.to_owned()).await;
        assert_eq!(answer.status, 403, "{route} in parts");
    }
}

#[tokio::test]
async fn no_page_changes_anything_without_its_token() {
    let site = Site::new().await;
    site.person("ada@example.com", Role::Owner).await;
    check_all_refused(&site, &mut site.browser()).await;
    let mut browser = site.signed_in("ada@example.com").await;
    check_all_refused(&site, &mut browser).await;
    browser.get("/account").await.check(200, "ada@example.com");
}

#[tokio::test]
async fn nor_on_a_server_without_sign_in() {
    let site = Site::open().await;
    let mut browser = site.browser();
    check_all_refused(&site, &mut browser).await;
}

#[tokio::test]
async fn no_other_site_changes_anything_even_with_the_token() {
    let site = Site::new().await;
    site.person("ada@example.com", Role::Owner).await;
    let browser = site.signed_in("ada@example.com").await;
    for header in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "https://evil.example"),
        ("origin", "null"),
    ] {
        let mut forged = browser.clone();
        forged.get("/account").await;
        forged.headers.push((header.0.to_owned(), header.1.to_owned()));
        forged.post("/sign-out", &[]).await.check(403, "cross-site request rejected");
        forged.headers.pop();
        forged.get("/account").await.check(200, "");
    }
    for header in
        [("sec-fetch-site", "same-origin".to_owned()), ("origin", format!("http://{HOST}"))]
    {
        let mut ours = site.signed_in("ada@example.com").await;
        ours.get("/account").await;
        ours.headers.push((header.0.to_owned(), header.1));
        ours.post("/sign-out", &[]).await.leads_to("/sign-in");
    }
}

#[tokio::test]
async fn only_a_trusted_proxy_names_the_host_that_a_page_came_from() {
    let trusted_proxies = "10.0.0.5".parse().unwrap();
    let site = Site::with(Access::People(SignIn { trusted_proxies, ..SignIn::default() })).await;
    site.person("ada@example.com", Role::Owner).await;
    let send = async |peer: &str, forwarded: &str, origin: &str| {
        let mut browser = site.signed_in("ada@example.com").await;
        browser.get("/account").await;
        browser.address = peer.parse().unwrap();
        browser.headers.push(("x-forwarded-host".to_owned(), forwarded.to_owned()));
        browser.headers.push(("origin".to_owned(), origin.to_owned()));
        browser.post("/sign-out", &[]).await
    };
    let refusal = "cross-site request rejected";
    let (client, proxy) = ("203.0.113.1:5000", "10.0.0.5:5000");
    send(client, "evil.example", "https://evil.example").await.check(403, refusal);
    send(client, "evil.example", "https://ratchet.example").await.leads_to("/sign-in");
    send(proxy, "outer.example", "https://outer.example").await.leads_to("/sign-in");
    send(proxy, "outer.example", "https://evil.example").await.check(403, refusal);
    // A proxy that appends to what the client sent speaks for its own entry only.
    send(proxy, "evil.example, outer.example", "https://evil.example").await.check(403, refusal);
    send(proxy, "evil.example, outer.example", "https://outer.example").await.leads_to("/sign-in");
}

#[tokio::test]
async fn a_token_is_good_for_its_own_session_only() {
    let site = Site::new().await;
    site.person("ada@example.com", Role::Owner).await;
    let mut stranger = site.browser();
    stranger.get("/sign-in").await;
    let mut ada = site.signed_in("ada@example.com").await;
    ada.get("/account").await;
    let own = ada.form_token.clone();
    let mut other = site.signed_in("ada@example.com").await;
    other.get("/account").await;
    for token in [&stranger.form_token, &other.form_token] {
        assert_ne!(*token, own);
        ada.form_token.clone_from(token);
        ada.post("/sign-out", &[]).await.check(403, "form token is missing or expired");
    }
    // A form for signing in belongs to the browser that got it.
    let mut elsewhere = site.browser();
    elsewhere.form_token.clone_from(&stranger.form_token);
    let fields = [("email", "ada@example.com"), ("password", PASSWORD)];
    elsewhere.post("/sign-in", &fields).await.check(403, "form token is missing or expired");
    ada.form_token = own;
    ada.post("/sign-out", &[]).await.leads_to("/sign-in");
}

#[tokio::test]
async fn scripts_carry_the_token_in_a_header() {
    let site = Site::new().await;
    site.person("ada@example.com", Role::Owner).await;
    let mut browser = site.signed_in("ada@example.com").await;
    browser.get("/account").await;
    let token = browser.form_token.clone();
    let headers = [("x-form-token", token.as_str()), ("content-type", "application/json")];
    browser.send("POST", "/sign-out", &headers, "{}".to_owned()).await.leads_to("/sign-in");
}

#[tokio::test]
async fn a_form_has_an_end() {
    let site = Site::new().await;
    site.person("ada@example.com", Role::Owner).await;
    let mut browser = site.browser();
    browser.get("/sign-in").await;
    let long = "x".repeat(40_000);
    browser.post("/sign-in", &[("email", &long)]).await.check(400, "longer than 32000 bytes");
    // A forged cookie identifies no user.
    browser.jar.insert("ratchet-session".to_owned(), "made-up".to_owned());
    let path = "/account/password";
    browser.post(path, &[("new", &long)]).await.check(400, "longer than 32000 bytes");
    let mut ada = site.signed_in("ada@example.com").await;
    ada.get("/account").await;
    ada.post(path, &[("current", PASSWORD), ("new", &long)]).await.check(422, "8 to 256");
}

/// A prompt's text, sent with a token, and with what a browser says of the site it comes from.
async fn send_prompt(browser: &mut Browser, token: &str, site: &[(&str, &str)]) -> Answer {
    let mut headers = vec![("content-type", "application/x-www-form-urlencoded")];
    headers.extend(site);
    let form = format!("form_token={token}&name=mine&kind=text&text=two+hours+of+work");
    browser.send("POST", "/project/shop/prompt-editor", &headers, form).await
}

#[tokio::test]
async fn a_form_of_an_earlier_login_is_shown_again_and_can_be_sent() {
    let site = Site::new().await;
    site.person("ada@example.com", Role::Owner).await;
    let mut ada = site.signed_in("ada@example.com").await;
    ada.get("/project/shop/prompt-editor").await;
    let old = ada.form_token.clone();
    ada.jar.clear();
    assert_eq!(ada.sign_in("ada@example.com", PASSWORD).await.status, 303);
    let ours = [("sec-fetch-site", "same-origin")];
    let refused = send_prompt(&mut ada, &old, &ours).await;
    refused.check(403, "form token is missing or expired").check(403, "Your input");
    refused.check(403, "two hours of work").check(403, "Send again");
    assert_ne!(ada.form_token, old, "the page has a token that is good");
    let token = ada.form_token.clone();
    let sent = send_prompt(&mut ada, &token, &ours).await;
    sent.leads_to("/project/shop/prompts/mine?version=1&done=made");
    // Who does not say where it comes from may be another site.
    let unknown = send_prompt(&mut ada, &old, &[]).await;
    unknown.check(403, "form token is missing or expired");
    assert!(!unknown.text.contains("two hours"), "{}", unknown.text);
}

#[tokio::test]
async fn a_form_of_somebody_whose_login_has_ended_is_kept() {
    let site = Site::new().await;
    site.person("ada@example.com", Role::Owner).await;
    let mut ada = site.signed_in("ada@example.com").await;
    ada.get("/project/shop/prompt-editor").await;
    let token = ada.form_token.clone();
    let mut elsewhere = ada.clone();
    elsewhere.get("/account").await;
    elsewhere.post("/sign-out", &[]).await.leads_to("/sign-in");
    let refused = send_prompt(&mut ada, &token, &[("sec-fetch-site", "same-origin")]).await;
    refused.check(401, "not signed in any more").check(401, "two hours of work");
    refused.check(401, "href=\"/sign-in\"");
}
