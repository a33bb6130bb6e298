//! Prompts, datasets and queues.

use ratchet_core::catalog::annotation::{ItemKind, ItemStatus};
use ratchet_core::catalog::prompt::PromptBody;
use ratchet_core::payload::Json;
use ratchet_core::record::observation::Level;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{
    FieldUpdate, NewDataset, NewDatasetItem, NewPrompt, NewQueue, NewQueueItem, QueueId, Role,
};
use ratchet_testkit::build::{batch, generation, project, score, trace};

use crate::browser::{Browser, Site, id};

async fn prompt(site: &Site, text: &str, labels: &[&str]) {
    let new = NewPrompt {
        name: "support/greeting".to_owned(),
        body: PromptBody::Text(text.to_owned()),
        config: Json::parse("{}").unwrap(),
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        tags: None,
        commit_message: Some("kinder".to_owned()),
        created_by: "ana".to_owned(),
    };
    site.data.catalog().create_prompt(id("shop"), new, Timestamp::default()).await.unwrap();
}

async fn two_versions(role: Role) -> (Site, Browser) {
    let site = Site::new().await;
    prompt(&site, "Be <b>brief</b> please", &["production"]).await;
    prompt(&site, "Be <b>kind</b> please", &[]).await;
    site.person("p@shop.example", role).await;
    let browser = site.signed_in("p@shop.example").await;
    (site, browser)
}

const PROMPT: &str = "/project/shop/prompts/support%2Fgreeting";

#[tokio::test]
async fn a_prompt_shows_what_is_live_and_what_changed() {
    let (_site, mut browser) = two_versions(Role::Viewer).await;
    browser.get("/project/shop/prompts").await.check(200, "support/").check(200, "1 prompt.");
    browser.get("/project/shop/prompts?folder=support").await.check(200, ">greeting</bdi>");
    browser.get(PROMPT).await.check(200, "Be &lt;b&gt;brief");
    let newest = browser.get(&format!("{PROMPT}?version=2")).await;
    newest.check(200, "Changes since version 1, which is production").check(200, "<ins>");
    assert!(!newest.text.contains("<b>kind"), "a prompt is text, never markup");
    assert!(!newest.text.contains("Set as production"), "a viewer changes nothing");
}

#[tokio::test]
async fn a_version_becomes_production_after_its_diff_to_production_was_shown() {
    let (site, mut browser) = two_versions(Role::Member).await;
    let asked = browser.get(&format!("{PROMPT}?version=2&confirm=production")).await;
    asked.check(200, "Set version 2 as production?").check(200, "since version 1");
    let question = asked.text.split("data-question").nth(1).unwrap();
    let question = question.split("</section>").next().unwrap();
    assert!(question.contains("<ins>") && question.contains("<del>"), "{question}");
    prompt(&site, "Be <b>patient</b> please", &[]).await;
    let newest = browser.get(&format!("{PROMPT}?version=3")).await;
    newest.check(200, "Changes since version 1, which is production");
    let live = browser.get(&format!("{PROMPT}?version=1&confirm=production")).await;
    assert!(!live.text.contains("data-question"), "version 1 is production already");
}

#[tokio::test]
async fn a_version_is_written_in_the_editor() {
    let (_site, mut browser) = two_versions(Role::Member).await;
    const EDITOR: &str = "/project/shop/prompt-editor";
    let edit = format!("{EDITOR}?prompt=support%2Fgreeting&version=2");
    browser.get(&edit).await.check(200, "Be &lt;b&gt;kind&lt;/b&gt; please");
    let fields = |config| {
        [
            ("name", "support/greeting"),
            ("kind", "text"),
            ("text", "Be <b>quick</b>"),
            ("config", config),
            ("message", "faster"),
        ]
    };
    let refused = browser.post(&edit, &fields("[1]")).await;
    refused.check(422, "must be a JSON object").check(422, "Be &lt;b&gt;quick&lt;/b&gt;");
    let saved = browser.post(&edit, &fields(r#"{"temperature": 0}"#)).await;
    assert_eq!(saved.header("location"), format!("{PROMPT}?version=3&done=made"));
    let shown = browser.get(&format!("{PROMPT}?version=3")).await;
    shown.check(200, "Be &lt;b&gt;quick").check(200, "temperature").check(200, "faster");
    browser.get(EDITOR).await.check(200, "New prompt");
    let copy = format!("{EDITOR}?prompt=support%2Fgreeting&version=1&copy=yes");
    let copied = browser.get(&copy).await;
    copied.check(200, "value=\"support/greeting copy\"").check(200, "Be &lt;b&gt;brief");
    let chat = [("name", "chatty"), ("kind", "chat"), ("text", "[{\"role\": 1}]")];
    browser.post(EDITOR, &chat).await.check(422, "must be a text");
}

#[tokio::test]
async fn one_click_makes_a_version_live_and_one_brings_the_old_one_back() {
    let (_site, mut browser) = two_versions(Role::Member).await;
    browser.get(&format!("{PROMPT}?version=2")).await.check(200, "Set as production");
    for version in ["2", "1"] {
        let fields = [("version", version), ("label", "production"), ("confirmed", "yes")];
        let answer = browser.post(&format!("{PROMPT}/label"), &fields).await;
        assert_eq!(answer.status, 303, "{}", answer.text);
        let live = browser.get(PROMPT).await;
        live.check(200, &format!("<h2>Version {version}</h2>"));
    }
}

#[tokio::test]
async fn the_typed_label_production_is_asked_about_first() {
    let (_site, mut browser) = two_versions(Role::Member).await;
    browser.get(&format!("{PROMPT}?version=2")).await;
    let typed = [("version", "2"), ("label", " production ")];
    let question = format!("{PROMPT}?version=2&confirm=production");
    browser.post(&format!("{PROMPT}/label"), &typed).await.leads_to(&question);
    browser.get(PROMPT).await.check(200, "<h2>Version 1</h2>");
    let question = browser.get(&question).await;
    question.check(200, "Set version 2 as production?").check(200, "<ins>");
}

#[tokio::test]
async fn versions_are_measured_by_their_calls_and_scores() {
    let (site, mut browser) = two_versions(Role::Viewer).await;
    let call = |id: &str, of: &str, version| {
        generation(id).of(of).prompted_by("support/greeting", version)
    };
    let recorded = batch(&project("shop"))
        .with(trace("t1"))
        .with(call("a", "t1", 1).costing(0.25).lasting(0, 1_000))
        .with(call("b", "t1", 1).costing(0.75).lasting(0, 3_000).level(Level::Error))
        .with(trace("t2"))
        .with(call("c", "t2", 2).costing(2.0).lasting(0, 5_000))
        .with(score("s1").on("helpful").of_observation("t1", "a").number(0.25))
        .with(score("s2").on("helpful").of_trace("t2").number(0.75));
    site.record(recorded).await;
    // Newer scores of the project do not push those of the prompt out.
    let newer = (0..3_100).map(|nth| {
        let other = score(&format!("o{nth}")).on("other").of_trace("elsewhere");
        other.number(1.0).given(1_000 + nth)
    });
    site.record(batch(&project("shop")).with_all(newer)).await;
    let page = browser.get(&format!("{PROMPT}?range=all")).await;
    page.check(200, "3 model calls in the");
    page.check(200, "Used by").check(200, "/traces/t1?range=all&amp;observation=a");
    let (_, table) = page.text.split_once("Metrics per version").unwrap();
    let row = |version: &str| {
        let row = table.split("<tr").find(|row| row.contains(&format!("v{version}</a>")));
        row.unwrap_or_else(|| panic!("version {version} in {table}"))
    };
    for words in [">2<", "$0.5000", "1.00 s", "3.00 s", "50%", "0.25"] {
        assert!(row("1").contains(words), "{words} in {}", row("1"));
    }
    for words in ["$2.00", "5.00 s", "0%", "0.75"] {
        assert!(row("2").contains(words), "{words} in {}", row("2"));
    }
}

#[tokio::test]
async fn old_versions_of_a_prompt_with_many_can_be_seen_and_made_live() {
    let site = Site::new().await;
    prompt(&site, "the very first", &["production"]).await;
    for version in 2..=103 {
        prompt(&site, &format!("try {version}"), &[]).await;
    }
    site.person("p@shop.example", Role::Member).await;
    let mut browser = site.signed_in("p@shop.example").await;
    browser.get(PROMPT).await.check(200, "the very first");
    browser.get(&format!("{PROMPT}?version=2")).await.check(200, "Changes since version 1");
    browser.get(&format!("{PROMPT}?version=104")).await.check(404, "prompt version not found");
}

#[tokio::test]
async fn a_prompt_says_who_changed_what() {
    let (_site, mut browser) = two_versions(Role::Member).await;
    browser.get(PROMPT).await.check(200, "Change history").check(200, "created <bdi>v1 production");
    let fields = [("version", "2"), ("label", "production"), ("confirmed", "yes")];
    browser.post(&format!("{PROMPT}/label"), &fields).await;
    let page = browser.get(PROMPT).await;
    page.check(200, "<bdi>p@shop.example</bdi></strong> moved ");
    page.check(200, "from <strong>v1</strong> to <strong>v2</strong>");
}

#[tokio::test]
async fn a_label_that_cannot_be_is_refused_by_name() {
    let (_site, mut browser) = two_versions(Role::Member).await;
    browser.get(PROMPT).await;
    let post = [("version", "1"), ("label", "Not Plain")];
    browser.post(&format!("{PROMPT}/label"), &post).await.check(400, "label: ");
    let latest = [("version", "1"), ("label", "latest")];
    browser.post(&format!("{PROMPT}/label"), &latest).await.check(400, "newest version");
    let nowhere = [("version", "9"), ("label", "beta")];
    assert_eq!(browser.post(&format!("{PROMPT}/label"), &nowhere).await.status, 404);
}

#[tokio::test]
async fn a_viewer_may_not_label() {
    let (_site, mut browser) = two_versions(Role::Viewer).await;
    browser.get(PROMPT).await;
    let post = [("version", "2"), ("label", "production")];
    browser.post(&format!("{PROMPT}/label"), &post).await.check(403, "viewer");
}

#[tokio::test]
async fn datasets_and_queues_are_listed_with_what_they_hold() {
    let (site, mut browser) = two_versions(Role::Viewer).await;
    let new = NewDataset {
        name: "refunds".to_owned(),
        description: Some("<i>hard</i> cases".to_owned()),
        metadata: None,
        input_schema: FieldUpdate::Keep,
        expected_output_schema: FieldUpdate::Keep,
    };
    let catalog = site.data.catalog();
    catalog.save_dataset(id("shop"), new, Timestamp::default()).await.unwrap();
    let item = NewDatasetItem {
        dataset_name: "refunds".to_owned(),
        input: Json::parse("\"<script>alert(1)</script>\""),
        ..NewDatasetItem::default()
    };
    catalog.save_dataset_item(id("shop"), item, Timestamp::default()).await.unwrap();
    browser.get("/project/shop/datasets").await.check(200, "&lt;i&gt;hard");
    browser.get("/project/shop/datasets/refunds").await.check(200, "&lt;script&gt;");
    browser.get("/project/shop/datasets/refunds/runs").await.check(200, "No runs yet");
    browser.get("/project/shop/datasets/refunds/compare").await.check(400, "before: choose a run");
    let queue = NewQueue { name: "odd".to_owned(), description: None, score_configs: Vec::new() };
    let queue = catalog.create_queue(id("shop"), queue, Timestamp::default()).await.unwrap();
    browser.get("/project/shop/queues").await.check(200, "0 waiting for review");
    let page = format!("/project/shop/queues/{}", queue.id);
    browser.get(&page).await.check(200, "No items yet");
    site.record(batch(&project("shop")).with(trace("t").named("<b>checkout</b>"))).await;
    let item =
        NewQueueItem { kind: ItemKind::Trace, object: "t".to_owned(), status: ItemStatus::Pending };
    let of = QueueId { project: id("shop"), queue: queue.id.clone() };
    catalog.add_queue_item(of, item, Timestamp::default()).await.unwrap();
    browser.get(&page).await.check(200, "&lt;b&gt;checkout");
    let other = page.replace("shop", "lab");
    assert_eq!(browser.get(&other).await.status, 404, "a queue of a project they do not see");
}
