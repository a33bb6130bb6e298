//! Folders of prompts and datasets, and comments on prompts.

use ratchet_core::catalog::prompt::PromptBody;
use ratchet_core::payload::Json;
use ratchet_store::catalog::{FieldUpdate, NewDataset, NewPrompt, Role};
use ratchet_testkit::build::START;

use crate::browser::{Answer, Site, id};

const PROMPTS: &str = "/project/shop/prompts";
const DATASETS: &str = "/project/shop/datasets";

async fn prompt(site: &Site, name: &str) {
    let new = NewPrompt {
        name: name.to_owned(),
        body: PromptBody::Text("Be brief".to_owned()),
        config: Json::parse("{}").unwrap(),
        labels: Vec::new(),
        tags: None,
        commit_message: None,
        created_by: "ana".to_owned(),
    };
    site.data.catalog().create_prompt(id("shop"), new, START).await.unwrap();
}

async fn dataset(site: &Site, name: &str) {
    let new = NewDataset {
        name: name.to_owned(),
        description: None,
        metadata: None,
        input_schema: FieldUpdate::Keep,
        expected_output_schema: FieldUpdate::Keep,
    };
    site.data.catalog().save_dataset(id("shop"), new, START).await.unwrap();
}

#[track_caller]
fn shows(page: &Answer, cells: &[&str], others: &[&str]) {
    for cell in cells {
        page.check(200, &format!(">{cell}</bdi>"));
    }
    for cell in others {
        assert!(!page.text.contains(&format!(">{cell}</bdi>")), "{cell} in {}", page.text);
    }
}

#[tokio::test]
async fn prompts_are_in_folders_that_open() {
    let site = Site::open().await;
    for name in
        ["Router", "support/greeting", "support/refund/ask", "support/refund/pay", "Support/x"]
    {
        prompt(&site, name).await;
    }
    let root = site.get(PROMPTS).await;
    root.check(200, "5 prompts.")
        .check(200, "prompts?folder=support\"")
        .check(200, "3 prompts</span>");
    shows(&root, &["Router", "support/", "Support/"], &["support/greeting", "greeting"]);
    let support = site.get(&format!("{PROMPTS}?folder=support")).await;
    support.check(200, "3 prompts.").check(200, "aria-label=\"Breadcrumbs\"");
    support.check(200, "prompt-editor?folder=support\"");
    shows(&support, &["greeting", "refund/"], &["Router", "x", "ask"]);
    let refund = site.get(&format!("{PROMPTS}?folder=support%2Frefund")).await;
    refund.check(200, "2 prompts.").check(200, "prompts?folder=support\"");
    shows(&refund, &["ask", "pay"], &["greeting"]);
    // A search goes through all folders, and shows where each prompt is.
    let found = site.get(&format!("{PROMPTS}?folder=support&text=ask")).await;
    shows(&found, &["support/refund/ask"], &["Router"]);
    let one = site.get(&format!("{PROMPTS}/support%2Frefund%2Fask")).await;
    one.check(200, "prompts?folder=support%2Frefund\"").check(200, "prompts?folder=support\"");
    site.get(&format!("{PROMPTS}?folder=gone")).await.check(200, "Nothing in gone/");
    let editor = site.get("/project/shop/prompt-editor?folder=support%2Frefund").await;
    editor.check(200, "value=\"support/refund/\"");
}

#[tokio::test]
async fn datasets_are_in_folders_and_are_found_by_name() {
    let site = Site::open().await;
    // Names of datasets may have slashes anywhere.
    for name in ["plain", "eval/a", "eval/deep/b", "/first", "eval/", "50%/x", "50x/y"] {
        dataset(&site, name).await;
    }
    let root = site.get(DATASETS).await;
    root.check(200, "7 datasets.");
    shows(&root, &["plain", "/first", "eval/", "50%/", "50x/"], &["eval/a", "a"]);
    let eval = site.get(&format!("{DATASETS}?folder=eval")).await;
    shows(&eval, &["a", "deep/", "eval/"], &["plain", "b"]);
    eval.check(200, "name=\"name\" type=\"text\" value=\"eval/\"");
    let percent = site.get(&format!("{DATASETS}?folder=50%25")).await;
    shows(&percent, &["x"], &["y"]);
    let found = site.get(&format!("{DATASETS}?text=DEEP")).await;
    shows(&found, &["eval/deep/b"], &["plain"]);
    site.get(&format!("{DATASETS}?text=none")).await.check(200, "No matches");
    let one = site.get(&format!("{DATASETS}/eval%2Fdeep%2Fb")).await;
    one.check(200, "datasets?folder=eval%2Fdeep\"");
}

#[tokio::test]
async fn a_prompt_version_has_comments() {
    let site = Site::new().await;
    prompt(&site, "support/greeting").await;
    prompt(&site, "support/greeting").await;
    site.person("p@shop.example", Role::Member).await;
    let mut browser = site.signed_in("p@shop.example").await;
    let page = format!("{PROMPTS}/support%2Fgreeting");
    browser.get(&format!("{page}?version=1")).await.check(200, "None yet.");
    let said = [("version", "1"), ("content", "<b>Too</b> short")];
    let to = format!("{page}?version=1&done=commented#comments");
    browser.post(&format!("{page}/comments"), &said).await.leads_to(&to);
    let shown = browser.get(&format!("{page}?version=1&done=commented")).await;
    shown.check(200, "&lt;b&gt;Too&lt;/b&gt; short").check(200, "Comment added");
    browser.get(&format!("{page}?version=2")).await.check(200, "None yet.");

    // A refused one stays in its field.
    let long = format!("{}end", "x".repeat(5_000));
    let sent = [("version", "1"), ("content", long.as_str())];
    let refused = browser.post(&format!("{page}/comments"), &sent).await;
    refused.check(400, "1 to 5000 characters").check(400, "xend");
    let nowhere = [("version", "9"), ("content", "hi")];
    browser.post(&format!("{page}/comments"), &nowhere).await.check(404, "prompt version");

    let (_, rest) = shown.text.split_once("/delete-comment/").unwrap();
    let comment = rest.split('"').next().unwrap();
    let gone = browser.post(&format!("/project/shop/delete-comment/{comment}"), &[]).await;
    gone.leads_to(&format!("{page}?version=1&done=comment-deleted"));
    site.person("v@shop.example", Role::Viewer).await;
    let mut viewer = site.signed_in("v@shop.example").await;
    viewer.get(&page).await;
    viewer.post(&format!("{page}/comments"), &said).await.check(403, "viewer");
}
