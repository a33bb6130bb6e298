//! What models cost, and how they are reached.

use ratchet_store::catalog::Role;
use ratchet_store::query::PageNumber;

use crate::browser::{Browser, Site, id};

const MODELS: &str = "/project/shop/settings/models";
const CONNECTIONS: &str = "/project/shop/settings/connections";
const FIRST: PageNumber = PageNumber { page: 1, limit: 10 };

async fn someone(site: &Site, role: Role) -> Browser {
    let email = format!("{}@shop.example", role.as_str());
    site.person(&email, role).await;
    site.signed_in(&email).await
}

#[tokio::test]
async fn a_member_prices_a_model_in_tiers() {
    let site = Site::new().await;
    let mut member = someone(&site, Role::Member).await;
    member.get(MODELS).await.check(200, "Add model");
    let base = [("modelName", "mine"), ("matchPattern", "^mine$"), ("unit", "TOKENS")];
    let with = |more: &[(&'static str, &'static str)]| [&base[..], more].concat();
    for (more, why) in [
        (&[("pricingTiers", "")][..], "at least one price"),
        (&[("pricingTiers", "input much")], "is not a usage type and a price"),
        (&[("pricingTiers", "input 3"), ("startDate", "soon")], "a date such as"),
        (
            &[("pricingTiers", "input 3"), ("tier0-name", "long"), ("tier0-prices", "input 6")],
            "at least one condition",
        ),
    ] {
        member.post(MODELS, &with(more)).await.check(422, why).check(422, "value=\"^mine$\"");
    }
    let tiers = with(&[
        ("pricingTiers", "input 3\noutput 15"),
        ("startDate", "2026-11-01"),
        ("tier0-name", "long"),
        ("tier0-when", "input > 200000"),
        ("tier0-prices", "input 6\noutput 22.5"),
    ]);
    member.post(MODELS, &tiers).await.leads_to(&format!("{MODELS}?done=saved"));
    let kept = site.data.catalog().models(id("shop")).await.unwrap();
    let definition = &kept[0].definition;
    assert_eq!(definition.tiers.len(), 2);
    assert_eq!(definition.tiers[1].prices["output"], 22.5e-6);
    let one = format!("{MODELS}/{}", kept[0].id);
    member.get(&one).await.check(200, "input &gt; 200000").check(200, "value=\"2026-11-01\"");
    member
        .post(&one, &with(&[("pricingTiers", "input 4")]))
        .await
        .leads_to(&format!("{MODELS}?done=saved"));
    member.get(MODELS).await.check(200, "$4</strong>");
    for page in [one.replace("shop", "lab"), format!("{MODELS}/none")] {
        assert_eq!(member.get(&page).await.status, 404);
    }
    member.get(MODELS).await;
    member.post(&format!("{one}/delete"), &[]).await.check(200, "Delete mine?");
    member
        .post(&format!("{one}/delete"), &[("sure", "yes")])
        .await
        .leads_to(&format!("{MODELS}?done=deleted"));
    let mut viewer = someone(&site, Role::Viewer).await;
    let seen = viewer.get(MODELS).await;
    assert!(!seen.text.contains("id=\"define\""), "viewers only look");
}

#[tokio::test]
async fn a_connection_keeps_its_secret_to_itself() {
    let site = Site::new().await;
    let mut owner = someone(&site, Role::Owner).await;
    owner.get(CONNECTIONS).await.check(200, "No LLM connections yet");
    let base = [("provider", "claude"), ("adapter", "anthropic"), ("withDefaultModels", "yes")];
    let with = |more: &[(&'static str, &'static str)]| [&base[..], more].concat();
    let secret = "sk-ant-very-secret-1234";
    owner.post(CONNECTIONS, &with(&[])).await.check(422, "must have 1 to 20000 characters");
    for (more, why) in [
        (("baseURL", "ftp://x"), "must be an http or https URL"),
        (("config", "{"), "not valid JSON"),
        (("config", "{\"region\": \"x\"}"), "Bedrock needs"),
        (("extraHeaders", "no colon"), "each line must be “name: value”"),
    ] {
        let refused = owner.post(CONNECTIONS, &with(&[("secretKey", secret), more])).await;
        refused.check(422, why);
        assert!(!refused.text.contains(secret), "a refused form shows the secret");
    }
    let whole = with(&[
        ("secretKey", secret),
        ("extraHeaders", "x-team: hush-hush"),
        ("customModels", "a\nb"),
    ]);
    owner.post(CONNECTIONS, &whole).await.leads_to(&format!("{CONNECTIONS}?done=saved"));
    let kept = site.data.catalog().llm_connections(id("shop"), FIRST).await.unwrap().rows;
    let one = format!("{CONNECTIONS}/{}", kept[0].id);
    for page in [CONNECTIONS, &one, "/project/shop/settings/audit?range=all"] {
        let text = owner.get(page).await.text;
        assert!(!text.contains(secret) && !text.contains("hush-hush"), "{page} shows a secret");
    }
    owner.get(&one).await.check(200, "x-team");
    // Left empty, the secret stays, unless it would be sent somewhere else.
    owner
        .post(CONNECTIONS, &with(&[("customModels", "c")]))
        .await
        .leads_to(&format!("{CONNECTIONS}?done=saved"));
    let opened = site.data.catalog().llm_credentials(
        id("shop"),
        "claude".to_owned(),
        site.data.folder().secrets.clone(),
    );
    let opened = opened.await.unwrap();
    assert_eq!((opened.secret.expose(), opened.headers["x-team"].expose()), (secret, "hush-hush"));
    owner
        .post(CONNECTIONS, &with(&[("baseURL", "https://evil.example")]))
        .await
        .check(422, "must have 1 to 20000 characters");
    assert_eq!(owner.get(&one.replace("shop", "lab")).await.status, 404);
    let mut viewer = someone(&site, Role::Viewer).await;
    let seen = viewer.get(CONNECTIONS).await;
    seen.check(200, "claude");
    assert!(!seen.text.contains("Add connection"), "viewers only look");
    assert_eq!(viewer.get(&one).await.status, 403);
    owner.get(CONNECTIONS).await;
    owner
        .post(&format!("{one}/remove"), &[("sure", "yes")])
        .await
        .leads_to(&format!("{CONNECTIONS}?done=removed"));
}
