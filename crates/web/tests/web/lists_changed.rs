//! What people do with lists: saved views, and changes to chosen rows.

use ratchet_core::catalog::dataset::DatasetStatus;
use ratchet_core::id::TraceId;
use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{
    DatasetItemQuery, FieldUpdate, NewDataset, NewQueue, QueueId, Role, ViewedPage,
};
use ratchet_store::query::PageNumber;
use ratchet_testkit::ask;
use ratchet_testkit::build::{batch, generation, score, text, trace};
use ratchet_testkit::recording::RecordBatch;

use crate::browser::{Browser, Site, id};

const ACT: &str = "/project/shop/list/traces/do";
const BACK: (&str, &str) = ("back", "range=all&q=user%3Aann");
const FIRST: PageNumber = PageNumber { page: 1, limit: 10 };

/// A shop with two traces, and the lab with one.
async fn shop() -> Site {
    let site = Site::new().await;
    let response = batch(&id("shop"))
        .with(trace("one").rooted_in("g").named("refund").for_user("ann"))
        .with(generation("g").of("one").input(text("in")).output(text("out")).lasting(0, 5))
        .with(score("q").on("quality").of_trace("one").number(1.0))
        .with(trace("two").named("order").for_user("ann"));
    site.data.telemetry().record(response.build()).await.unwrap();
    let elsewhere = batch(&id("lab")).with(trace("secret").named("secret"));
    site.data.telemetry().record(elsewhere.build()).await.unwrap();
    site.person("member@example.com", Role::Member).await;
    site.person("viewer@example.com", Role::Viewer).await;
    site
}

/// A member who looks at the list.
async fn member(site: &Site) -> Browser {
    let mut browser = site.signed_in("member@example.com").await;
    browser.get("/project/shop/traces?range=all").await.check(200, "refund");
    browser
}

#[tokio::test]
async fn chosen_traces_are_tagged() {
    let site = shop().await;
    let mut browser = member(&site).await;
    let fields = [BACK, ("action", "tag"), ("tag", " vip "), ("id", "one"), ("id", "gone")];
    let answer = browser.post(ACT, &fields).await;
    answer.leads_to("/project/shop/traces?range=all&q=user:ann&done=tagged-1");
    let to = answer.header("location").to_owned();
    browser.get(&to).await.check(200, "1 trace tagged");
    let tagged = ask::trace(site.data.telemetry(), &id("shop"), "one").await;
    assert_eq!((tagged.tags, tagged.name.as_deref()), (vec!["vip".to_owned()], Some("refund")));
    let gone = TraceId::parse("gone").unwrap();
    let gone = site.data.telemetry().find_traces(id("shop"), vec![gone]).await.unwrap();
    assert_eq!(gone, [], "a tag makes no trace");
    browser
        .post(ACT, &[("action", "tag"), ("tag", ""), ("id", "one")])
        .await
        .check(400, "a tag has");
}

#[tokio::test]
async fn chosen_rows_go_into_a_dataset() {
    let site = shop().await;
    let new = NewDataset {
        name: "cases".to_owned(),
        description: None,
        metadata: None,
        input_schema: FieldUpdate::Keep,
        expected_output_schema: FieldUpdate::Keep,
    };
    site.data.catalog().save_dataset(id("shop"), new, Timestamp::default()).await.unwrap();
    let mut browser = member(&site).await;
    let fields = [("action", "dataset"), ("dataset", "cases"), ("id", "one"), ("id", "secret")];
    browser.post(ACT, &fields).await.leads_to("/project/shop/traces?done=collected-1");
    let steps = [("action", "dataset"), ("dataset", "cases"), ("id", "g")];
    let answer = browser.post("/project/shop/list/observations/do", &steps).await;
    answer.leads_to("/project/shop/observations?done=collected-1");
    let query = DatasetItemQuery {
        project: id("shop"),
        dataset_name: Some("cases".to_owned()),
        source_trace: Some("one".to_owned()),
        source_observation: None,
        status: DatasetStatus::Active,
        as_of: None,
        page: FIRST,
    };
    let items = site.data.catalog().dataset_items(query).await.unwrap().rows;
    assert_eq!(items.len(), 2);
    assert!(items.iter().all(|item| item.input.as_ref().unwrap().as_str() == "\"in\""));
    let nowhere = [("action", "dataset"), ("dataset", "none"), ("id", "one")];
    browser.post(ACT, &nowhere).await.check(400, "choose a dataset");
}

#[tokio::test]
async fn rows_go_into_a_dataset_all_or_none() {
    let site = shop().await;
    let new = NewDataset {
        name: "checked".to_owned(),
        description: None,
        metadata: None,
        input_schema: FieldUpdate::Set(Json::parse(r#"{"type":"string"}"#).unwrap()),
        expected_output_schema: FieldUpdate::Keep,
    };
    site.data.catalog().save_dataset(id("shop"), new, Timestamp::default()).await.unwrap();
    let mut browser = member(&site).await;
    // The second has no input.
    let fields = [("action", "dataset"), ("dataset", "checked"), ("id", "one"), ("id", "two")];
    browser.post(ACT, &fields).await.check(400, "nothing was added");
    let query = DatasetItemQuery {
        project: id("shop"),
        dataset_name: Some("checked".to_owned()),
        source_trace: None,
        source_observation: None,
        status: DatasetStatus::Active,
        as_of: None,
        page: FIRST,
    };
    let items = site.data.catalog().dataset_items(query).await.unwrap().rows;
    assert_eq!(items.len(), 0);
}

#[tokio::test]
async fn chosen_rows_wait_in_a_queue_once() {
    let site = shop().await;
    let new = NewQueue { name: "look".to_owned(), description: None, score_configs: Vec::new() };
    let queue = site.data.catalog().create_queue(id("shop"), new, Timestamp::default()).await;
    let queue = queue.unwrap().id;
    let mut browser = member(&site).await;
    let fields = [("action", "queue"), ("queue", &*queue), ("id", "one"), ("id", "two")];
    for _ in 0..2 {
        browser.post(ACT, &fields).await.leads_to("/project/shop/traces?done=queued-2");
    }
    let of = QueueId { project: id("shop"), queue };
    let items = site.data.catalog().queue_items(of, None, FIRST).await.unwrap();
    assert_eq!(items.total, Some(2));
}

#[tokio::test]
async fn deleting_asks_first() {
    let site = shop().await;
    let mut browser = member(&site).await;
    let fields = [("action", "delete"), ("id", "one"), ("id", "secret")];
    let question = browser.post(ACT, &fields).await;
    question.check(200, "Delete 1 trace?").check(200, "1 observation");
    assert_eq!(ask::traces(site.data.telemetry(), &id("shop")).await.len(), 2);
    let sure = [("action", "delete"), ("sure", "yes"), ("id", "one"), ("id", "secret")];
    assert_eq!(browser.post(ACT, &sure).await.status, 303);
    assert_eq!(ask::traces(site.data.telemetry(), &id("shop")).await.len(), 1);
    assert_eq!(ask::traces(site.data.telemetry(), &id("lab")).await.len(), 1);
}

#[tokio::test]
async fn only_those_who_may_change_things_do() {
    let site = shop().await;
    let mut browser = site.signed_in("viewer@example.com").await;
    let page = browser.get("/project/shop/traces?range=all").await;
    page.check(200, "refund");
    assert!(
        !page.text.contains("type=\"checkbox\" name=\"id\"") && !page.text.contains("Save view")
    );
    browser.get("/project/shop").await;
    let fields = [("action", "delete"), ("sure", "yes"), ("id", "one"), ("name", "x")];
    for what in ["do", "save-view", "forget-view"] {
        let answer = browser.post(&format!("/project/shop/list/traces/{what}"), &fields).await;
        assert_eq!(answer.status, 403, "{what}");
    }
    assert_eq!(ask::traces(site.data.telemetry(), &id("shop")).await.len(), 2);
}

#[tokio::test]
async fn nonsense_changes_nothing() {
    let site = shop().await;
    let mut browser = member(&site).await;
    browser.post(ACT, &[("action", "tag"), ("tag", "x")]).await.check(400, "no rows selected");
    browser.post(ACT, &[("action", "paint"), ("id", "one")]).await.check(400, "paint");
    browser.post(ACT, &[("action", "delete"), ("id", "a\rb")]).await.check(400, "carriage return");
    let steps = [("action", "tag"), ("tag", ""), ("id", "g")];
    assert_eq!(browser.post("/project/shop/list/observations/do", &steps).await.status, 400);
}

#[tokio::test]
async fn a_view_is_saved_shown_replaced_and_deleted() {
    let site = shop().await;
    let mut browser = member(&site).await;
    let views = async || {
        let found = site.data.catalog().saved_views(id("shop"), ViewedPage::Traces).await.unwrap();
        found.into_iter().map(|view| (view.id, view.name, view.query)).collect::<Vec<_>>()
    };
    let save = "/project/shop/list/traces/save-view";
    let shown = "range=all&q=user%3Aann&col=name&col=id&cursor=x&done=y";
    for shown in ["q=level%3Aerror", shown] {
        let answer = browser.post(save, &[("name", "Ann's"), ("back", shown)]).await;
        assert_eq!(answer.status, 303);
    }
    let [(view, name, query)] = views().await.try_into().unwrap();
    assert_eq!((&*name, &*query), ("Ann's", "range=all&q=user:ann&col=name&col=id"));
    let page = browser.get("/project/shop/traces?range=all").await;
    page.check(200, "Ann's").check(200, "range=all&amp;q=user:ann&amp;col=name&amp;col=id");
    for name in ["", " ", &*"x".repeat(81)] {
        assert_eq!(browser.post(save, &[("name", name)]).await.status, 400);
    }
    let forget = "/project/shop/list/traces/forget-view";
    assert_eq!(browser.post(forget, &[("id", &view)]).await.status, 303);
    assert_eq!(browser.post(forget, &[("id", &view)]).await.status, 404);
    assert_eq!(views().await, []);
}

#[tokio::test]
async fn what_is_done_to_observations_is_done_to_their_traces() {
    let site = shop().await;
    let mut browser = member(&site).await;
    let steps = "/project/shop/list/observations/do";
    let list = browser.get("/project/shop/observations?range=all").await;
    list.check(200, "Tag their traces").check(200, "Delete their traces");
    let fields = [("action", "tag"), ("tag", "vip"), ("id", "g"), ("id", "gone")];
    let answer = browser.post(steps, &fields).await;
    answer.leads_to("/project/shop/observations?done=tagged-1");
    browser.get("/project/shop/observations?done=tagged-1").await.check(200, "1 trace tagged");
    assert_eq!(ask::trace(site.data.telemetry(), &id("shop"), "one").await.tags, ["vip"]);
    let fields = [("action", "delete"), ("id", "g"), ("id", "gone")];
    let question = browser.post(steps, &fields).await;
    question.check(200, "Delete 1 trace?").check(200, "value=\"g\"");
    assert_eq!(ask::traces(site.data.telemetry(), &id("shop")).await.len(), 2);
    let sure = [("action", "delete"), ("sure", "yes"), ("id", "g"), ("id", "gone")];
    let answer = browser.post(steps, &sure).await;
    answer.leads_to("/project/shop/observations?done=deleted-1");
    let left = ask::traces(site.data.telemetry(), &id("shop")).await;
    assert_eq!(left.iter().map(|trace| trace.id.to_string()).collect::<Vec<_>>(), ["two"]);
}
