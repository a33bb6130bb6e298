//! Who changed what, as a page and as a file.

use ratchet_core::catalog::prompt::PromptBody;
use ratchet_store::catalog::{Actor, AuditObject, AuditQuery, NewPrompt, Role};

use crate::browser::{Browser, Site, id};

const AUDIT: &str = "/project/shop/settings/audit";

async fn owner(site: &Site) -> Browser {
    site.person("o@shop.example", Role::Owner).await;
    site.signed_in("o@shop.example").await
}

#[tokio::test]
async fn what_people_do_is_noted_as_theirs() {
    let site = Site::new().await;
    let mut owner = owner(&site).await;
    owner.get("/project/shop/settings").await;
    owner.post("/project/shop/settings/name", &[("name", "=cmd|' /C calc'!A0")]).await;
    owner.get("/project/shop/settings/keys").await;
    owner.post("/project/shop/settings/keys", &[("role", "viewer"), ("note", "n")]).await;
    let entries =
        site.data.catalog().audit(AuditQuery::newest(Some(id("shop")), 10)).await.unwrap().rows;
    assert_eq!(entries.len(), 3, "the project was made, renamed, and got a key");
    for entry in &entries[..2] {
        assert!(matches!(&entry.actor, Actor::Person { email, .. } if email == "o@shop.example"));
    }
    assert_eq!(entries[1].was.as_deref(), Some("shop"));
    let page = owner.get(AUDIT).await;
    page.check(200, "o@shop.example").check(200, "API key").check(200, "=cmd|");
    let file = owner.get(&format!("{AUDIT}.csv")).await;
    assert_eq!(file.header("content-type"), "text/csv; charset=utf-8");
    file.check(200, ",'=cmd|").check(200, "changed,project,shop");
    let file = owner.get(&format!("{AUDIT}.csv?what=API%20key")).await;
    assert_eq!(file.text.lines().count(), 2, "{}", file.text);
}

#[tokio::test]
async fn the_log_is_narrowed_and_goes_on() {
    let site = Site::new().await;
    let catalog = site.data.catalog();
    for number in 0..60 {
        let new = NewPrompt {
            name: format!("p{}", number % 2),
            body: PromptBody::Text("x".to_owned()),
            config: ratchet_core::payload::Json::parse("{}").unwrap(),
            labels: Vec::new(),
            tags: None,
            commit_message: None,
            created_by: "API".to_owned(),
        };
        catalog.create_prompt(id("shop"), new, site.now()).await.unwrap();
    }
    let about = AuditQuery::about(id("shop"), AuditObject::Prompt, "p1".to_owned(), 100);
    assert_eq!(catalog.audit(about).await.unwrap().rows.len(), 30, "who changed one prompt");
    let mut owner = owner(&site).await;
    let first = owner.get(AUDIT).await;
    assert_eq!(first.text.matches("<tr data-id").count(), 50);
    let (_, rest) = first.text.split_once("cursor=").unwrap();
    let cursor = rest.split(['"', '&']).next().unwrap();
    let second = owner.get(&format!("{AUDIT}?cursor={cursor}")).await;
    assert_eq!(second.text.matches("<tr data-id").count(), 11, "and that the project was made");
    owner.get(&format!("{AUDIT}?cursor=%3Cscript%3E")).await.check(400, "malformed");
    let none = owner.get(&format!("{AUDIT}?what=queue")).await;
    none.check(200, "No matching changes");
    let by_server = owner.get(&format!("{AUDIT}?who=server:&what=project")).await;
    assert_eq!(by_server.text.matches("<tr data-id").count(), 1);
}

#[tokio::test]
async fn each_sees_the_log_of_what_they_own() {
    let site = Site::new().await;
    let mut owner = owner(&site).await;
    owner.get(&format!("{AUDIT}?of=server")).await.check(200, "signed in").check(200, "person");
    let ada = site.person("ada@shop.example", Role::Member).await;
    let catalog = site.data.catalog();
    catalog.set_membership(id("shop"), ada.id.clone(), Role::Owner, site.now()).await.unwrap();
    let mut shop = site.signed_in("ada@shop.example").await;
    let seen = shop.get(AUDIT).await;
    seen.check(200, "member");
    assert!(!seen.text.contains("signed in"), "sign-ins are the server's");
    assert_eq!(shop.get(&format!("{AUDIT}?of=server")).await.status, 403);
    assert_eq!(shop.get(&format!("{AUDIT}.csv?of=server")).await.status, 403);
    assert_eq!(shop.get("/project/lab/settings/audit").await.status, 404);
    site.person("m@shop.example", Role::Member).await;
    let mut member = site.signed_in("m@shop.example").await;
    assert_eq!(member.get(AUDIT).await.status, 403);
    assert_eq!(member.get(&format!("{AUDIT}.csv")).await.status, 403);
    catalog.delete_project(id("lab"), site.now()).await.unwrap();
    owner.get(&format!("{AUDIT}?of=server")).await.check(200, "deleted project");
}
