//! What projects have settled: who may change it, what is refused, what is never shown again.

use ratchet_core::secret::Secret;
use ratchet_store::catalog::Role;
use ratchet_testkit::build::{batch, trace};
use ratchet_testkit::recording::RecordBatch;

use crate::browser::{Browser, PASSWORD, Site, id};

const SETTINGS: &str = "/project/shop/settings";
const PAGES: [&str; 9] = [
    "",
    "/members",
    "/keys",
    "/models",
    "/connections",
    "/redaction",
    "/notifications",
    "/audit",
    "/projects",
];

/// Someone with a role in the shop, at a page of its settings.
async fn at(site: &Site, role: Role, page: &str) -> Browser {
    let email = format!("{}@shop.example", role.as_str());
    site.person(&email, role).await;
    let mut browser = site.signed_in(&email).await;
    browser.get(&format!("{SETTINGS}{page}")).await;
    browser
}

/// Someone who owns the shop and nothing else.
async fn shop_owner(site: &Site) -> Browser {
    let ada = site.person("ada@shop.example", Role::Member).await;
    let catalog = site.data.catalog();
    catalog.set_membership(id("shop"), ada.id, Role::Owner, site.now()).await.unwrap();
    site.signed_in("ada@shop.example").await
}

#[tokio::test]
async fn each_role_sees_its_pages() {
    let site = Site::new().await;
    for (role, seen) in [(Role::Viewer, 3), (Role::Member, 4), (Role::Owner, 9)] {
        let mut browser = at(&site, role, "").await;
        let mut open = Vec::new();
        for page in PAGES {
            let answer = browser.get(&format!("{SETTINGS}{page}")).await;
            assert!([200, 403].contains(&answer.status), "{page}: {}", answer.text);
            open.extend((answer.status == 200).then_some(page));
        }
        assert_eq!(open.len(), seen, "{}: {open:?}", role.as_str());
    }
    let mut owner = shop_owner(&site).await;
    owner.get(&format!("{SETTINGS}/members")).await.check(200, "Add member");
    assert_eq!(owner.get(&format!("{SETTINGS}/projects")).await.status, 403);
    assert_eq!(owner.get("/project/lab/settings/keys").await.status, 404);
}

#[tokio::test]
async fn what_only_owners_do_is_refused_to_others() {
    let site = Site::new().await;
    for role in [Role::Viewer, Role::Member] {
        let mut browser = at(&site, role, "/models").await;
        for change in [
            "/name",
            "/retention",
            "/jobs",
            "/delete",
            "/members",
            "/members/x/role",
            "/members/x/remove",
            "/keys",
            "/keys/x/revoke",
            "/connections",
            "/connections/x/remove",
            "/redaction",
            "/redaction/x/remove",
            "/origins",
            "/notifications",
            "/projects",
        ] {
            // The page of models has a form for members alone; any page tells the token to scripts.
            let token = token(&mut browser).await;
            let answer = send(&mut browser, &format!("{SETTINGS}{change}"), &token).await;
            assert_eq!(answer, 403, "{} {change}", role.as_str());
        }
    }
    let mut viewer = site.signed_in("viewer@shop.example").await;
    let token = token(&mut viewer).await;
    assert_eq!(send(&mut viewer, &format!("{SETTINGS}/models"), &token).await, 403);
}

async fn token(browser: &mut Browser) -> String {
    let page = browser.get(SETTINGS).await.text;
    let (_, rest) = page.split_once("data-form-token=\"").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

async fn send(browser: &mut Browser, path: &str, token: &str) -> u16 {
    let kind = [("content-type", "application/x-www-form-urlencoded"), ("x-form-token", token)];
    browser.send("POST", path, &kind, "name=x&sure=yes".to_owned()).await.status
}

#[tokio::test]
async fn a_project_is_renamed() {
    let site = Site::new().await;
    let mut owner = at(&site, Role::Owner, "").await;
    let path = format!("{SETTINGS}/name");
    let long = "x".repeat(101);
    for (name, why) in [("", "1 to 100"), (long.as_str(), "1 to 100"), ("lab", "has this name")] {
        owner
            .post(&path, &[("name", name)])
            .await
            .check(422, why)
            .check(422, &format!("value=\"{name}\""));
    }
    owner
        .post(&path, &[("name", " <b>Shop</b> ")])
        .await
        .leads_to(&format!("{SETTINGS}?done=saved"));
    let page = owner.get(&format!("{SETTINGS}?done=saved")).await;
    page.check(200, "Saved").check(200, "&lt;b&gt;Shop&lt;/b&gt;");
}

#[tokio::test]
async fn less_retention_says_what_goes_first() {
    let site = Site::new().await;
    let mut owner = at(&site, Role::Owner, "").await;
    let path = format!("{SETTINGS}/retention");
    for bad in ["0", "-1", "1.5", "40000", "many"] {
        assert_eq!(owner.post(&path, &[("days", bad)]).await.status, 422, "{bad}");
    }
    let response = batch(&id("shop"))
        .with(ratchet_testkit::build::generation("g").of("one").lasting(0, 5))
        .with(trace("one"));
    site.data.telemetry().record(response.build()).await.unwrap();
    // What was recorded is older than a day, and its owner still signed in.
    site.advance(std::time::Duration::from_secs(30 * 3_600));
    let asked = owner.post(&path, &[("days", "1")]).await;
    asked.check(200, "Set retention to 1 day?").check(200, "about <strong>1</strong>");
    let kept = || async { site.data.catalog().projects().await.unwrap()[1].retention_days };
    assert_eq!(kept().await, None, "asking changes nothing");
    owner
        .post(&path, &[("days", "1"), ("sure", "yes")])
        .await
        .leads_to(&format!("{SETTINGS}?done=saved"));
    owner.get(SETTINGS).await.check(200, "1 day");
    owner.post(&path, &[("days", "")]).await.leads_to(&format!("{SETTINGS}?done=saved"));
    owner.get(SETTINGS).await.check(200, "forever");
}

#[tokio::test]
async fn a_project_is_made_and_deleted_by_name() {
    let site = Site::new().await;
    let mut owner = at(&site, Role::Owner, "/projects").await;
    let path = format!("{SETTINGS}/projects");
    owner.post(&path, &[("name", "lab")]).await.check(422, "already exists");
    owner.post(&path, &[("name", "new"), ("id", "a/b")]).await.check(422, "1 to 64");
    owner
        .post(&path, &[("name", "new one"), ("id", "new")])
        .await
        .leads_to("/project/new/settings/keys");
    owner.get("/project/new/settings").await.check(200, "Delete project");
    let path = "/project/new/settings/delete";
    owner.post(path, &[("typed", "new")]).await.check(422, "does not match the project name");
    owner.post(path, &[("typed", "new one")]).await.leads_to("/");
    assert_eq!(owner.get("/project/new/settings").await.status, 404);
    let mut shop = shop_owner(&site).await;
    shop.get(SETTINGS).await;
    let answer = shop.post("/project/shop/settings/delete", &[("typed", "shop")]).await;
    assert_eq!(answer.status, 403, "only owners of the server delete projects");
}

#[tokio::test]
async fn permissions_of_keys_are_boxes() {
    let site = Site::new().await;
    let mut owner = at(&site, Role::Owner, "/keys").await;
    let path = format!("{SETTINGS}/keys");
    owner.get(&path).await.check(200, "name=\"chat\"").check(200, "name=\"administration\"");
    let fields = [("role", "viewer"), ("chat", "yes")];
    owner.post(&path, &fields).await.check(422, "does not fit the role viewer");
    owner.post(&path, &[("role", "member"), ("chat", "yes")]).await.check(200, "SECRET_KEY=sk-");
    let keys = || async { site.data.catalog().keys(id("shop")).await.unwrap() };
    let key = keys().await.pop().unwrap();
    assert_eq!(key.permissions.to_string(), "chat");
    let permit = format!("{path}/{}/permissions", key.id);
    let fields = [("backup", "yes")];
    owner.post(&permit, &fields).await.leads_to(&format!("{SETTINGS}/keys?done=saved"));
    assert_eq!(keys().await.pop().unwrap().permissions.to_string(), "backup");
    owner.post(&permit, &[("administration", "yes")]).await.check(400, "does not fit the role");
    // Project owners cannot grant or revoke permissions beyond the project.
    let mut shop = shop_owner(&site).await;
    let page = shop.get(&path).await;
    assert!(!page.check(200, "name=\"chat\"").text.contains("name=\"backup\""));
    shop.post(&permit, &[("chat", "yes"), ("administration", "yes")]).await;
    assert_eq!(keys().await.pop().unwrap().permissions.to_string(), "chat, backup");
    shop.post(&path, &[("role", "member"), ("backup", "yes")]).await.check(200, "SECRET_KEY=sk-");
    assert_eq!(keys().await.len(), 2);
    let made = keys().await.into_iter().find(|made| made.id != key.id).unwrap();
    assert_eq!(made.permissions.to_string(), "");
    shop.post(&permit.replace("shop", "lab"), &[]).await.check(404, "");
}

#[tokio::test]
async fn a_secret_is_shown_once() {
    let site = Site::new().await;
    let mut owner = at(&site, Role::Owner, "/keys").await;
    let path = format!("{SETTINGS}/keys");
    owner.post(&path, &[("role", "king")]).await.check(422, "select one");
    let made = owner.post(&path, &[("role", "member"), ("note", "the <agent>")]).await;
    made.check(200, "LANGFUSE_SECRET_KEY=sk-lf-").check(200, "the &lt;agent&gt;");
    assert_eq!(made.header("cache-control"), "no-store");
    let (_, rest) = made.text.split_once("LANGFUSE_SECRET_KEY=").unwrap();
    let secret: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '-').collect();
    let keys = site.data.catalog().keys(id("shop")).await.unwrap();
    let key = keys.last().unwrap();
    assert!(site.data.catalog().authenticate(&key.public_key, &secret).await.unwrap().is_some());
    for page in PAGES {
        let answer = owner.get(&format!("{SETTINGS}{page}?range=all")).await;
        assert!(!answer.text.contains(&secret), "{page} shows the secret");
    }
    let revoke = format!("{path}/{}/revoke", key.id);
    owner.post(&revoke, &[]).await.check(200, "Revoke pk-lf-");
    assert_eq!(site.data.catalog().keys(id("shop")).await.unwrap().len(), 1);
    owner
        .post(&revoke.replace("shop", "lab"), &[("sure", "yes")])
        .await
        .check(404, "key not found");
    owner.post(&revoke, &[("sure", "yes")]).await.leads_to(&format!("{path}?done=revoked"));
    assert!(site.data.catalog().authenticate(&key.public_key, &secret).await.unwrap().is_none());
}

#[tokio::test]
async fn an_owner_of_one_project_makes_no_key_that_opens_all() {
    let site = Site::new().await;
    let mut owner = shop_owner(&site).await;
    let path = format!("{SETTINGS}/keys");
    let page = owner.get(&path).await;
    assert!(!page.text.contains("administer the whole server"));
    owner.post(&path, &[("role", "owner")]).await.check(422, "select one");
    assert_eq!(site.data.catalog().keys(id("shop")).await.unwrap(), []);
}

#[tokio::test]
async fn people_come_change_and_go() {
    let site = Site::new().await;
    let mut owner = at(&site, Role::Owner, "/members").await;
    let path = format!("{SETTINGS}/members");
    owner
        .post(&path, &[("email", "nobody"), ("role", "king")])
        .await
        .check(422, "not a valid email address")
        .check(422, "viewer, member or owner")
        .check(422, "value=\"nobody\"");
    let made = owner
        .post(&path, &[("email", "Bob@Shop.example"), ("role", "owner"), ("name", "Bob")])
        .await;
    made.check(200, "Temporary password for");
    let (_, rest) = made.text.split_once("data-copy=\"").unwrap();
    let password = rest.split('"').next().unwrap().to_owned();
    let catalog = site.data.catalog();
    let bob =
        catalog.check_password("bob@shop.example", Secret::new(password)).await.unwrap().unwrap();
    assert_eq!(bob.role, Role::Member, "an owner of a project does not own the server");
    let members = catalog.memberships(id("shop")).await.unwrap();
    assert_eq!((members[0].user.id.as_str(), members[0].role), (bob.id.as_str(), Role::Owner));
    let role = format!("{path}/{}/role", bob.id);
    owner.post(&role, &[("role", "viewer")]).await.leads_to(&format!("{path}?done=saved"));
    assert_eq!(catalog.memberships(id("shop")).await.unwrap()[0].role, Role::Viewer);
    assert_eq!(owner.post(&role.replace("shop", "lab"), &[("role", "viewer")]).await.status, 404);
    let remove = format!("{path}/{}/remove", bob.id);
    owner.post(&remove, &[]).await.check(200, "Remove bob@shop.example?");
    owner.post(&remove, &[("sure", "yes")]).await.leads_to(&format!("{path}?done=removed"));
    assert_eq!(catalog.memberships(id("shop")).await.unwrap(), []);
    owner
        .post(&path, &[("email", "bob@shop.example"), ("role", "member")])
        .await
        .leads_to(&format!("{path}?done=added"));
    let mut shop = shop_owner(&site).await;
    shop.get(&path).await;
    shop.post(&path, &[("email", "stranger@shop.example"), ("role", "member")])
        .await
        .check(422, "no account with this address");
    assert!(!PASSWORD.is_empty());
}

#[tokio::test]
async fn a_rule_is_tried_added_and_removed() {
    let site = Site::new().await;
    let mut owner = at(&site, Role::Owner, "/redaction").await;
    let path = format!("{SETTINGS}/redaction");
    let typed = [("kind", "pattern"), ("what", "order-\\d+"), ("sample", "see order-77 <b>")];
    let tried = owner.post(&path, &[&typed[..], &[("do", "try")]].concat()).await;
    tried.check(200, "Redacted text").check(200, "[redacted]").check(200, "value=\"order-\\d+\"");
    assert_eq!(site.data.catalog().redaction_rules(id("shop")).await.unwrap(), []);
    for (what, why) in [("(", "pattern"), ("", "1 to"), ("a*", "empty text")] {
        owner
            .post(&path, &[("kind", "pattern"), ("what", what), ("do", "add")])
            .await
            .check(422, why);
    }
    owner
        .post(&path, &[("kind", "field"), ("what", "nowhere.x"), ("do", "add")])
        .await
        .check(422, "field");
    owner
        .post(&path, &[&typed[..], &[("do", "add")]].concat())
        .await
        .leads_to(&format!("{path}?done=added"));
    let rules = site.data.catalog().redaction_rules(id("shop")).await.unwrap();
    owner.get(&path).await.check(200, "order-\\d+");
    let remove = format!("{path}/{}/remove", rules[0].id);
    assert_eq!(owner.post(&remove.replace("shop", "lab"), &[("sure", "yes")]).await.status, 404);
    owner.post(&remove, &[]).await.check(200, "Remove this rule?");
    owner.post(&remove, &[("sure", "yes")]).await.leads_to(&format!("{path}?done=removed"));
    let origins = format!("{SETTINGS}/origins");
    owner
        .post(&origins, &[("origins", "javascript:1")])
        .await
        .check(422, "is no origin")
        .check(422, "javascript:1</textarea>");
    owner
        .post(&origins, &[("origins", "https://a.example\r\n\r\nhttp://b.example:8080/")])
        .await
        .leads_to(&format!("{path}?done=saved"));
    assert_eq!(site.data.catalog().page_origins(id("shop")).await.unwrap().len(), 2);
    owner.get(&path).await.check(200, "2 origins allowed");
}

#[tokio::test]
async fn a_reviewers_key_is_created_for_a_person() {
    let site = Site::new().await;
    let mut owner = at(&site, Role::Owner, "/keys").await;
    let ann = site.person("ann@shop.example", Role::Reviewer).await;
    let keys = format!("{SETTINGS}/keys");
    for (form, why) in [
        (&[("role", "reviewer"), ("person", "")], "select whose queues the key sees"),
        (&[("role", "viewer"), ("person", ann.id.as_str())], "only a key with the role reviewer"),
    ] {
        owner.post(&keys, form).await.check(422, why);
    }
    let made = owner.post(&keys, &[("role", "reviewer"), ("person", ann.id.as_str())]).await;
    made.check(200, "New key created");
    owner.get(&keys).await.check(200, "reviewer of <bdi>ann@shop.example</bdi>");
}
