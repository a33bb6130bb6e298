//! Datasets: making them, tables that become items, items and their versions.

use ratchet_core::catalog::dataset::DatasetStatus;
use ratchet_core::payload::Json;
use ratchet_store::catalog::{
    DatasetItem, DatasetItemQuery, FieldUpdate, NewDataset, NewDatasetItem,
};
use ratchet_store::query::PageNumber;
use ratchet_testkit::build::{START, project};

use crate::browser::{Answer, PARTS, Site};

const DATASETS: &str = "/project/shop/datasets";
const CASES: &str = "/project/shop/datasets/cases";
const UPLOAD: &str = "/project/shop/datasets/cases/upload";

#[track_caller]
fn check(page: &Answer, status: u16, words: &str) {
    assert_eq!(page.status, status, "{}", page.text);
    assert!(page.text.contains(words), "{words} in {}", page.text);
}

async fn shop(input_schema: Option<&str>) -> Site {
    let site = Site::open().await;
    let new = NewDataset {
        name: "cases".to_owned(),
        description: None,
        metadata: None,
        input_schema: input_schema
            .map_or(FieldUpdate::Keep, |json| FieldUpdate::Set(Json::parse(json).unwrap())),
        expected_output_schema: FieldUpdate::Keep,
    };
    site.data.catalog().save_dataset(project("shop"), new, START).await.unwrap();
    site
}

/// The items there are, by id.
async fn items(site: &Site, status: DatasetStatus) -> Vec<DatasetItem> {
    let query = DatasetItemQuery {
        project: project("shop"),
        dataset_name: Some("cases".to_owned()),
        source_trace: None,
        source_observation: None,
        status,
        as_of: None,
        page: PageNumber { page: 1, limit: 100 },
    };
    let mut items = site.data.catalog().dataset_items(query).await.unwrap().rows;
    items.sort_by(|one, other| one.id.cmp(&other.id));
    items
}

fn text(part: &Option<Json>) -> &str {
    part.as_ref().map_or("", |json| json.as_str())
}

#[tokio::test]
async fn a_dataset_is_made_by_a_form() {
    let site = Site::open().await;
    check(&site.get(DATASETS).await, 200, "upload a CSV");
    let made = site.post(DATASETS, DATASETS, "name=+refunds%2Fhard+&description=x").await;
    assert_eq!(made.status, 303, "{}", made.text);
    let page = made.header("location");
    assert_eq!(page, "/project/shop/datasets/refunds%2Fhard?done=made");
    check(&site.get(page).await, 200, "No items yet");
    let again = site.post(DATASETS, DATASETS, "name=refunds%2Fhard").await;
    check(&again, 422, "a dataset with this name already exists");
    check(&site.post(DATASETS, DATASETS, "name=").await, 422, "must not be empty");
}

#[tokio::test]
async fn a_table_is_looked_at_and_taken_over() {
    let site = shop(None).await;
    let csv = "id,question,answer,tenant\r\n\
               a,\"Where, <b>now</b>?\",Here,acme\r\n\
               b,\"{\"\"q\"\": 1}\",\"=1+1\",\r\n";
    let sent = site.upload(UPLOAD, ("cases.csv", csv)).await;
    assert_eq!(sent.status, 303, "{}", sent.text);
    let waiting = sent.header("location").to_owned();
    let page = site.get(&waiting).await;
    check(&page, 200, "Where, &lt;b&gt;now&lt;/b&gt;?");
    check(&page, 200, "2 rows, 4 columns");
    check(&page, 200, "<option value=\"expected_output\" selected>");
    assert!(items(&site, DatasetStatus::Active).await.is_empty(), "nothing is written yet");
    let other = site.get(&format!("{waiting}?c0=ignore&c1=input&c2=input&c3=ignore")).await;
    check(&other, 200, "Preview as items");
    let done = site.post(&waiting, &waiting, "c0=id&c1=input&c2=expected_output&c3=metadata").await;
    assert_eq!(done.header("location"), "/project/shop/datasets/cases?done=uploaded&count=2");
    let kept = items(&site, DatasetStatus::Active).await;
    let seen: Vec<_> = kept
        .iter()
        .map(|item| (item.id.as_str(), text(&item.input), text(&item.metadata)))
        .collect();
    let first = ("a", "\"Where, <b>now</b>?\"", "{\"tenant\":\"acme\"}");
    assert_eq!(seen, [first, ("b", "{\"q\":1}", "")]);
    assert_eq!(text(&kept[1].expected_output), "\"=1+1\"");
    assert_eq!(site.get(&waiting).await.status, 404, "it waits no longer");
}

#[tokio::test]
async fn lines_that_do_not_fit_are_told_and_nothing_is_written() {
    let site = shop(Some(r#"{"type": "object"}"#)).await;
    let lines = "{\"input\": {\"a\": 1}}\n\n{\"input\": \"text\"}\n{\"input\": 3}\n";
    let sent = site.upload(UPLOAD, ("cases.jsonl", lines)).await;
    let waiting = sent.header("location").to_owned();
    let refused = site.post(&waiting, &waiting, "c0=input").await;
    check(&refused, 400, "Nothing was imported.");
    check(&refused, 400, "Line 3: ");
    check(&refused, 400, "Line 4: ");
    assert!(!refused.text.contains("Line 1: "), "{}", refused.text);
    assert!(items(&site, DatasetStatus::Active).await.is_empty());
    check(&site.post(&waiting, &waiting, "c0=metadata").await, 400, "becomes the input");
}

#[tokio::test]
async fn files_that_are_none_are_refused_aloud() {
    let site = shop(None).await;
    check(&site.upload(UPLOAD, ("a.csv", "a,b\n1\n")).await, 400, "Line 2: ");
    check(&site.upload(UPLOAD, ("a.jsonl", "[1]")).await, 400, "must be a JSON object");
    check(&site.upload(UPLOAD, ("a.csv", "")).await, 400, "must name the columns");
    let large = format!("input\n{}\n", "x".repeat(10_100_000));
    check(&site.upload(UPLOAD, ("a.csv", &large)).await, 400, "larger than 10 MB");
    check(&site.post(UPLOAD, UPLOAD, "file=x").await, 400, "contains no file");
    assert_eq!(site.get(&format!("{UPLOAD}/nothing")).await.status, 404);
}

#[tokio::test]
async fn a_file_without_a_token_before_it_is_sent_away() {
    let site = shop(None).await;
    let file = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\n\
                input\n1\n\r\n--x--\r\n";
    for form in [file.to_owned(), file.replace("file\"; filename=\"a.csv", "form_token")] {
        let sent = site.browser().send("POST", UPLOAD, &[PARTS], form).await;
        check(&sent, 403, "form token is missing or expired");
    }
}

#[tokio::test]
async fn an_item_is_added_changed_archived_and_brought_back() {
    let site = shop(None).await;
    let add = format!("{CASES}/add");
    check(&site.post(&add, &add, "input=").await, 400, "input: required");
    let added =
        site.post(&add, &add, "input=Where%3F&expected_output=%7B%22a%22%3A1%7D&id=one").await;
    assert_eq!(added.header("location"), "/project/shop/datasets/cases/items/one?done=added");
    check(&site.post(&add, &add, "input=x&id=one").await, 400, "id: an item with this ID");
    let item = format!("{CASES}/items/one");
    let fields = "action=change&input=Where+now%3F&expected_output=&metadata=";
    assert_eq!(site.post(&item, &item, fields).await.status, 303);
    let page = site.get(&item).await;
    check(&page, 200, "Changes since the previous version");
    check(&page, 200, "<ins>");
    // Without sign-in, it has no author.
    check(&page, 200, "<bdi>Local user</bdi>, <time");
    let kept = items(&site, DatasetStatus::Active).await;
    assert_eq!((text(&kept[0].input), text(&kept[0].expected_output)), ("\"Where now?\"", "null"));
    assert_eq!(site.post(&item, &item, "action=archive").await.status, 303);
    assert!(items(&site, DatasetStatus::Active).await.is_empty());
    check(&site.get(&format!("{CASES}?archived=yes")).await, 200, "1 archived item");
    assert_eq!(site.post(&item, &item, "action=restore").await.status, 303);
    assert_eq!(items(&site, DatasetStatus::Active).await.len(), 1);
    check(&site.post(&item, &item, "action=burn").await, 400, "action: ");
    assert_eq!(site.get(&format!("{CASES}/items/two")).await.status, 404);
}

#[tokio::test]
async fn a_dataset_and_its_items_are_seen_as_they_were() {
    let site = shop(None).await;
    let later = START.plus_nanos(60_000_000_000);
    for (input, at) in [("\"old words\"", START), ("\"new words\"", later)] {
        let new = NewDatasetItem {
            dataset_name: "cases".to_owned(),
            id: Some("one".to_owned()),
            input: Json::parse(input),
            ..NewDatasetItem::default()
        };
        site.data.catalog().save_dataset_item(project("shop"), new, at).await.unwrap();
    }
    let now = site.get(CASES).await;
    assert!(now.text.contains("new words") && !now.text.contains("old words"), "{}", now.text);
    let then = format!("{CASES}?as_of={START}").replace('+', "%2B");
    check(&site.get(&then).await, 200, "old words");
    check(&site.get(&then).await, 200, "You are viewing an old version");
    let item = site.get(&format!("{CASES}/items/one?version={START}").replace('+', "%2B")).await;
    check(&item, 200, "Old version, saved");
    assert!(!item.text.contains("Edit item"), "what was cannot be changed");
    check(&site.get(&format!("{CASES}?as_of=yesterday")).await, 400, "as_of: ");
    check(
        &site.get(&format!("{CASES}?as_of=1970-01-01T00:00:00Z")).await,
        200,
        "No archived items",
    );
}

#[tokio::test]
async fn links_that_sdks_print_lead_to_the_dataset() {
    let site = shop(None).await;
    let found = site.data.catalog().dataset(project("shop"), "cases".to_owned()).await.unwrap();
    let id = found.unwrap().id;
    check(&site.get(&format!("{DATASETS}/{id}")).await, 200, "No items yet");
    check(&site.get(&format!("{DATASETS}/{id}/items")).await, 200, "No items yet");
    check(&site.get(&format!("{DATASETS}/{id}/runs")).await, 200, "No runs yet");
    assert_eq!(site.get(&format!("{DATASETS}/{id}/runs/x")).await.status, 404);
    assert_eq!(site.get("/project/shop/experiments/results?baseline=x").await.status, 404);
}
