//! What people change of prompts: tags, labels, versions that go; how they find one in the list.

use ratchet_core::catalog::prompt::PromptBody;
use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{NewPrompt, Role};

use crate::browser::{Browser, Site, id};

const PROMPTS: &str = "/project/shop/prompts";
const PROMPT: &str = "/project/shop/prompts/support%2Fgreeting";

async fn prompt(site: &Site, name: &str, text: &str, labels: &[&str]) {
    let new = NewPrompt {
        name: name.to_owned(),
        body: PromptBody::Text(text.to_owned()),
        config: Json::parse("{}").unwrap(),
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        tags: None,
        commit_message: None,
        created_by: "ana".to_owned(),
    };
    site.data.catalog().create_prompt(id("shop"), new, Timestamp::default()).await.unwrap();
}

async fn shop(role: Role) -> (Site, Browser) {
    let site = Site::new().await;
    prompt(&site, "support/greeting", "Be brief", &["production"]).await;
    prompt(&site, "support/greeting", "Be kind", &[]).await;
    prompt(&site, "support/greeting", "Be quick", &["beta"]).await;
    prompt(&site, "Router", "Sort it", &[]).await;
    site.person("p@shop.example", role).await;
    let mut browser = site.signed_in("p@shop.example").await;
    browser.get(PROMPTS).await.check(200, "2 prompts.");
    (site, browser)
}

#[track_caller]
fn lacks(page: &crate::browser::Answer, words: &str) {
    assert!(!page.text.contains(words), "{words} in {}", page.text);
}

#[tokio::test]
async fn prompts_are_found_by_a_part_of_their_name_and_by_tag() {
    let (_site, mut browser) = shop(Role::Member).await;
    let sent = [("tags", " billing, vip ,,billing")];
    browser.post(&format!("{PROMPT}/tags"), &sent).await.leads_to(&format!("{PROMPT}?done=tags"));
    let saved = browser.get(&format!("{PROMPT}?done=tags")).await;
    saved.check(200, "value=\"billing, vip\"").check(200, "Tags saved");
    let tagged = browser.get(&format!("{PROMPTS}?tag=vip")).await;
    tagged.check(200, "support/greeting").check(200, "Remove filter tag vip");
    lacks(&tagged, ">Router<");
    let found = browser.get(&format!("{PROMPTS}?text=rOuT")).await;
    found.check(200, "Router").check(200, "1 prompt.");
    lacks(&found, "support/greeting</bdi>");
    browser.get(&format!("{PROMPTS}?text=%25")).await.check(200, "No matches");
    let none = [("tags", "")];
    browser.post(&format!("{PROMPT}/tags"), &none).await;
    browser.get(&format!("{PROMPTS}?tag=vip")).await.check(200, "No matches");
    let long = "x".repeat(300);
    browser.post(&format!("{PROMPT}/tags"), &[("tags", &long)]).await.check(400, "tags: ");
    browser.get(PROMPT).await.check(200, "from <bdi>no tags</bdi> to <bdi>tags billing, vip");
}

#[tokio::test]
async fn any_two_versions_are_compared() {
    let (_site, mut browser) = shop(Role::Viewer).await;
    let page = browser.get(&format!("{PROMPT}?version=3&against=2")).await;
    page.check(200, "Changes since version 2").check(200, "name=\"against\"");
    page.check(200, "<option value=\"2\" selected>").check(200, "<ins>quick</ins>");
    let usual = browser.get(&format!("{PROMPT}?version=3")).await;
    usual.check(200, "Changes since version 1, which is production");
}

#[tokio::test]
async fn a_version_is_deleted_after_a_question() {
    let (_site, mut browser) = shop(Role::Member).await;
    browser.get(&format!("{PROMPT}?version=3")).await.check(200, "Delete version");
    let question = format!("{PROMPT}/delete?version=3");
    let asked = browser.get(&question).await;
    asked.check(200, "Delete version 3 of support/greeting?").check(200, "<code>beta</code>");
    browser.get(PROMPT).await.check(200, "v3");
    browser.post(&question, &[]).await.leads_to(&format!("{PROMPT}?done=deleted"));
    let left = browser.get(&format!("{PROMPT}?done=deleted")).await;
    left.check(200, "version 1 of 2").check(200, "Version deleted");
    browser.get(&question).await.check(404, "prompt version not found");
}

#[tokio::test]
async fn a_prompt_is_deleted_after_a_question_that_names_production() {
    let (_site, mut browser) = shop(Role::Member).await;
    browser.get(PROMPT).await.check(200, "Delete prompt");
    let asked = browser.get(&format!("{PROMPT}/delete")).await;
    asked.check(200, "Delete prompt support/greeting?").check(200, "It is production");
    let gone = browser.post(&format!("{PROMPT}/delete"), &[]).await;
    gone.leads_to(&format!("{PROMPTS}?done=deleted"));
    let list = browser.get(&format!("{PROMPTS}?done=deleted")).await;
    list.check(200, "1 prompt.").check(200, "Prompt deleted");
    browser.get(PROMPT).await.check(404, "not found");
}

#[tokio::test]
async fn a_label_is_taken_away_and_production_only_after_a_question() {
    let (_site, mut browser) = shop(Role::Member).await;
    browser.get(&format!("{PROMPT}?version=3")).await.check(200, "Remove label beta");
    let label = format!("{PROMPT}/label");
    let beta = [("version", "3"), ("remove", "beta")];
    let done = format!("{PROMPT}?version=3&done=unlabelled&label=beta");
    browser.post(&label, &beta).await.leads_to(&done);
    lacks(&browser.get(&format!("{PROMPT}?version=3")).await, "Remove label");
    let live = [("version", "1"), ("remove", "production")];
    let question = format!("{PROMPT}?version=1&confirm=removal");
    browser.post(&label, &live).await.leads_to(&question);
    browser.get(&question).await.check(200, "Take version 1 out of production?");
    let sure = [("version", "1"), ("remove", "production"), ("confirmed", "yes")];
    assert_eq!(browser.post(&label, &sure).await.status, 303);
    browser.get(PROMPT).await.check(200, "<h2>Version 3</h2>").check(200, "removed ");
    let latest = [("version", "3"), ("remove", "latest")];
    browser.post(&label, &latest).await.check(400, "newest version");
    // Whatever is wrong, what was typed stays.
    let nowhere = [("version", "9"), ("label", "canary")];
    let refused = browser.post(&label, &nowhere).await;
    refused.check(404, "Your input").check(404, "value=\"canary\"").check(404, ">Label<");
}

#[tokio::test]
async fn a_viewer_deletes_nothing() {
    let (_site, mut browser) = shop(Role::Viewer).await;
    lacks(&browser.get(PROMPT).await, "Delete");
    browser.get(&format!("{PROMPT}/delete")).await.check(403, "viewer");
    browser.post(&format!("{PROMPT}/delete"), &[]).await.check(403, "viewer");
    browser.get(PROMPT).await.check(200, "Be brief");
}
