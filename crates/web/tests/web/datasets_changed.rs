//! Datasets that are renamed, edited and deleted, with their items and runs.

use ratchet_core::catalog::agent::AgentSettings;
use ratchet_core::catalog::experiment::{ExperimentItem, ExperimentMetadata};
use ratchet_core::id::TraceId;
use ratchet_store::catalog::{FieldUpdate, NewDataset, NewDatasetItem, NewExperimentRun, NewTrial};
use ratchet_store::telemetry::Batch;
use ratchet_testkit::build::{START, at, batch, json, project, text, trace};
use ratchet_testkit::recording::RecordBatch;

use crate::browser::{Answer, Site};

const DATASETS: &str = "/project/shop/datasets";
const CITIES: &str = "/project/shop/datasets/cities";
const RUN: &str = "/project/shop/datasets/cities/runs/old";

#[track_caller]
fn lacks(page: &Answer, words: &str) {
    assert!(!page.text.contains(words), "{words} in {}", page.text);
}

/// A dataset with two items, an agent that lists it, and a run.
async fn site() -> Site {
    let site = Site::open().await;
    let (shop, catalog) = (project("shop"), site.data.catalog());
    let new = NewDataset {
        name: "cities".to_owned(),
        description: Some("capitals".to_owned()),
        metadata: None,
        input_schema: FieldUpdate::Keep,
        expected_output_schema: FieldUpdate::Keep,
    };
    let dataset = catalog.save_dataset(shop.clone(), new, START).await.unwrap();
    for item in ["peru", "chad"] {
        let new = NewDatasetItem {
            dataset_name: "cities".to_owned(),
            id: Some(item.to_owned()),
            input: Some(json(&format!("\"{item}?\""))),
            ..NewDatasetItem::default()
        };
        catalog.save_dataset_item(shop.clone(), new, START).await.unwrap();
    }
    let settings =
        AgentSettings { datasets: vec!["cities".to_owned()], ..AgentSettings::default() };
    catalog.save_agent(shop.clone(), "guide".to_owned(), settings, START).await.unwrap();
    let tried = ExperimentItem {
        experiment: ExperimentMetadata {
            id: "old".to_owned(),
            name: Some("old run".to_owned()),
            dataset: Some(dataset.id),
            ..ExperimentMetadata::default()
        },
        item: "peru".to_owned(),
        version: Some(START),
        expected_output: None,
        metadata: None,
        trace: TraceId::parse("tried").unwrap(),
        observation: None,
        ran: None,
        recorded_at: at(0),
    };
    site.record(batch(&shop).with(trace("tried").output(text("Lima")))).await;
    let items = Batch { experiment_items: vec![tried], ..batch(&shop).build() };
    site.data.telemetry().record(items).await.unwrap();
    site
}

#[tokio::test]
async fn a_dataset_is_renamed_and_agents_follow() {
    let site = site().await;
    let page = format!("{CITIES}/edit");
    site.get(&page).await.check(200, "value=\"capitals\"").check(200, "value=\"cities\"");
    let sent = "name=towns%2Fbig&description=+&metadata=%7B%22owner%22%3A%22ann%22%7D\
                &input_schema=%7B%22type%22%3A%22string%22%7D&expected_schema=";
    let saved = site.post(&page, &page, sent).await;
    saved.leads_to("/project/shop/datasets/towns%2Fbig?done=edited");
    let there = site.get("/project/shop/datasets/towns%2Fbig?done=edited").await;
    there.check(200, "Dataset saved").check(200, "peru");
    lacks(&there, "capitals");
    site.get(CITIES).await.check(404, "dataset not found");
    let again = site.get("/project/shop/datasets/towns%2Fbig/edit").await;
    again.check(200, "&quot;owner&quot;").check(200, "&quot;string&quot;");
    let agent = site.data.catalog().agent(project("shop"), "guide".to_owned()).await.unwrap();
    assert_eq!(agent.settings.datasets, ["towns/big"]);
    let run = site.get("/project/shop/datasets/towns%2Fbig/runs/old").await;
    run.check(200, "old run");
}

#[tokio::test]
async fn a_refused_change_keeps_what_was_entered() {
    let site = site().await;
    site.post(DATASETS, DATASETS, "name=towns").await;
    let page = format!("{CITIES}/edit");
    let sent = "name=towns&description=better&metadata=%7B&input_schema=%7B%22type%22%3A7%7D";
    let refused = site.post(&page, &page, sent).await;
    refused.check(422, "a dataset with this name already exists").check(422, "must be JSON");
    refused.check(422, "value=\"better\"");
    let unfit = "name=cities&description=better&input_schema=%7B%22type%22%3A%22number%22%7D";
    let refused = site.post(&page, &page, unfit).await;
    refused.check(422, "value=\"better\"").check(422, "class=\"problem\"");
    site.get(CITIES).await.check(200, "capitals");
    // The form of a new one, too.
    let new = site.post(DATASETS, DATASETS, "name=cities&description=of+Asia").await;
    new.check(422, "a dataset with this name already exists").check(422, "value=\"of Asia\"");
}

#[tokio::test]
async fn an_item_is_deleted_after_a_question() {
    let site = site().await;
    site.get(&format!("{CITIES}/items/peru")).await.check(200, "/items/peru/delete");
    let question = format!("{CITIES}/items/peru/delete");
    site.get(&question).await.check(200, "Delete item peru?");
    site.post(&question, &question, "sure=yes").await.leads_to(&format!("{CITIES}?done=deleted"));
    let left = site.get(&format!("{CITIES}?done=deleted")).await;
    left.check(200, "chad").check(200, "Item deleted");
    lacks(&left, "peru?");
    site.get(RUN).await.check(404, "not found");
    site.get(&question).await.check(404, "dataset item not found");
}

#[tokio::test]
async fn a_run_is_deleted_after_a_question_and_its_traces_stay() {
    let site = site().await;
    site.get(RUN).await.check(200, "Delete run");
    let question = format!("{RUN}/delete");
    site.get(&question).await.check(200, "Delete run old run?").check(200, "The traces stay");
    let gone = site.post(&question, &question, "sure=yes").await;
    gone.leads_to(&format!("{CITIES}/runs?done=run-deleted"));
    site.get(&format!("{CITIES}/runs?done=run-deleted")).await.check(200, "Run deleted");
    site.get(RUN).await.check(404, "dataset run not found");
    site.get("/project/shop/traces/tried").await.check(200, "Lima");
}

#[tokio::test]
async fn a_run_that_executes_is_cancelled_before_it_is_deleted() {
    let site = site().await;
    let (shop, catalog) = (project("shop"), site.data.catalog());
    let dataset = catalog.dataset(shop.clone(), "cities".to_owned()).await.unwrap().unwrap();
    let new = NewExperimentRun {
        id: "0123456789abcdef".to_owned(),
        name: "nightly".to_owned(),
        dataset: dataset.id,
        plan: json("{}"),
        max_cost: None,
        trials: vec![NewTrial { id: "0123456789abcdef/1".to_owned(), payload: "{}".to_owned() }],
    };
    catalog.open_experiment_run(shop.clone(), new, START).await.unwrap();
    let question = format!("{CITIES}/delete");
    let refused = site.post(&question, &question, "sure=yes").await;
    refused.check(409, "run nightly is still executing; cancel it first");
    site.get(RUN).await.check(200, "old run");
    let id = "0123456789abcdef".to_owned();
    catalog.cancel_experiment_run(shop.clone(), id, START).await.unwrap();
    site.post(&question, &question, "sure=yes").await.leads_to(&format!("{DATASETS}?done=deleted"));
    let runs = site.get("/project/shop/experiments").await;
    lacks(&runs, "nightly");
}

#[tokio::test]
async fn a_dataset_is_deleted_with_its_runs_after_a_question() {
    let site = site().await;
    site.get(CITIES).await.check(200, "/datasets/cities/delete");
    let question = format!("{CITIES}/delete");
    let asked = site.get(&question).await;
    asked.check(200, "Delete dataset cities?").check(200, "2 active items").check(200, "1 run ");
    site.post(&question, &question, "sure=yes").await.leads_to(&format!("{DATASETS}?done=deleted"));
    site.get(&format!("{DATASETS}?done=deleted")).await.check(200, "Dataset deleted");
    site.get(CITIES).await.check(404, "dataset not found");
    lacks(&site.get("/project/shop/experiments").await, "old run");
    let agent = site.data.catalog().agent(project("shop"), "guide".to_owned()).await.unwrap();
    assert_eq!(agent.settings.datasets, Vec::<String>::new());
}
