//! What a team keeps beside its traffic: prompts, a dataset with its runs, a queue, comments.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Value, json};

use super::agents::{self, Environment};
use super::conversation::Trial;
use super::remarks::{Occasion, remark};
use super::script::parse;
use super::story::{Course, Run};
use super::traffic::Traffic;
use super::wire;

static DATA: LazyLock<Data> = LazyLock::new(|| parse(include_str!("data/catalog.toml")));

/// Number of traces in the queue, and how many of them are done.
const QUEUED: usize = 24;
const DONE: usize = 9;
/// Items of the quick check.
const QUICK_ITEMS: usize = 12;
/// The score that gates decide on.
pub(crate) const ACCURACY: &str = "accuracy";

#[derive(Debug, Deserialize)]
struct Data {
    prompts: Vec<Prompt>,
    dataset: Named,
    queue: Named,
    remarks: Remarks,
}

/// A version of a prompt.
#[derive(Debug, Deserialize)]
struct Prompt {
    name: String,
    tags: Vec<String>,
    #[serde(default)]
    labels: Vec<String>,
    why: String,
    text: String,
}

#[derive(Debug, Deserialize)]
struct Named {
    name: String,
    description: String,
}

#[derive(Debug, Deserialize)]
struct Remarks {
    bad: Vec<String>,
}

/// The catalog, as bodies of requests.
#[derive(Debug)]
pub(crate) struct Catalog {
    /// Versions of prompts, oldest first.
    pub(crate) prompts: Vec<Value>,
    pub(crate) dataset: Value,
    pub(crate) items: Vec<Value>,
    /// The output of each release for each item.
    pub(crate) run_items: Vec<Value>,
    /// Whether it was right, as bodies of `POST /api/public/scores`.
    pub(crate) run_scores: Vec<Value>,
    pub(crate) configs: Vec<Value>,
    /// The queue, without the ids of its configs.
    pub(crate) queue: Value,
    pub(crate) queued: Vec<Value>,
    /// Without the project.
    pub(crate) comments: Vec<Value>,
}

/// Returns the catalog that belongs to the traffic.
pub(crate) fn of(traffic: &Traffic) -> Catalog {
    let trials = traffic.trials.iter().enumerate();
    let Data { dataset, queue, .. } = &*DATA;
    Catalog {
        prompts: DATA.prompts.iter().map(prompt).collect(),
        dataset: json!({
            "name": dataset.name,
            "description": dataset.description,
            "metadata": { "owner": "support", "since": "4.7" },
        }),
        items: trials.clone().filter_map(|(nth, tried)| item(nth, tried)).collect(),
        run_items: trials.flat_map(|(nth, tried)| run_items(nth, tried)).collect(),
        run_scores: traffic.trials.iter().flatten().map(run_score).collect(),
        configs: configs(),
        queue: json!({ "name": queue.name, "description": queue.description }),
        queued: unhappy(traffic).take(QUEUED).enumerate().map(queued).collect(),
        comments: comments(traffic),
    }
}

/// Returns the prompt by which one sees that the catalog is there.
pub(crate) fn first_prompt() -> &'static str {
    DATA.prompts.first().map_or("", |prompt| &prompt.name)
}

fn prompt(prompt: &Prompt) -> Value {
    json!({
        "type": "text",
        "name": prompt.name,
        "prompt": prompt.text,
        "labels": prompt.labels,
        "tags": prompt.tags,
        "config": { "temperature": 0.3 },
        "commitMessage": prompt.why,
    })
}

fn item_id(nth: usize) -> String {
    format!("support-regression-{:02}", nth + 1)
}

fn item(nth: usize, tried: &[Trial]) -> Option<Value> {
    let Trial { ask, expected, topic, .. } = tried.first()?;
    Some(json!({
        "datasetName": DATA.dataset.name,
        "id": item_id(nth),
        "input": { "message": ask },
        "expectedOutput": expected,
        "metadata": { "topic": topic },
    }))
}

fn run_items(nth: usize, tried: &[Trial]) -> Vec<Value> {
    let linked = |trial: &Trial, name: String, description: &str| {
        let release = trial.run.release;
        json!({
            "runName": name,
            "runDescription": description,
            "metadata": { "version": release.version, "promptVersion": release.prompt_version },
            "datasetItemId": item_id(nth),
            "traceId": wire::hex(&trial.run.id),
        })
    };
    let whole = |trial: &Trial| {
        let name = run_name(trial.run.release.version);
        linked(trial, name, "Every item once, before the release goes out.")
    };
    let mut items: Vec<Value> = tried.iter().map(whole).collect();
    if let Some(newest) = tried.last().filter(|_| nth < QUICK_ITEMS) {
        let name = quick_run_name(newest.run.release.version);
        items.push(linked(newest, name, "The first items only, to save time."));
    }
    items
}

/// Returns the name of a release's run over all items.
pub(crate) fn run_name(version: &str) -> String {
    format!("support-desk {version}")
}

/// Returns the name of a release's run over the first items.
pub(crate) fn quick_run_name(version: &str) -> String {
    format!("support-desk {version}, quick check")
}

/// Returns the name of the dataset.
pub(crate) fn dataset() -> &'static str {
    &DATA.dataset.name
}

/// A verdict of the team's own check.
fn run_score(trial: &Trial) -> Value {
    let run = &trial.run;
    let is_right = run.course == Course::Good;
    let occasion = if is_right { Occasion::RightRun } else { Occasion::WrongRun };
    let why = remark(occasion, &wire::hex(&run.id), &[]);
    json!({
        "id": format!("accuracy-{}", wire::hex(&run.id)),
        "traceId": wire::hex(&run.id),
        "name": ACCURACY,
        "value": u8::from(is_right),
        "dataType": "NUMERIC",
        "comment": why,
        "environment": run.environment.name(),
        "timestamp": run.root.end.to_string(),
    })
}

fn configs() -> Vec<Value> {
    let categories = ["unsolved", "handed over", "solved"];
    let categories: Vec<Value> = (0u8..)
        .zip(categories)
        .map(|(value, label)| json!({ "label": label, "value": value }))
        .collect();
    vec![
        json!({
            "name": "helpfulness", "dataType": "NUMERIC", "minValue": 0, "maxValue": 1,
            "description": "Did it answer what was asked, with a next step?",
        }),
        json!({ "name": "outcome", "dataType": "CATEGORICAL", "categories": categories }),
    ]
}

/// Returns traces in production that went badly, the newest first.
fn unhappy(traffic: &Traffic) -> impl Iterator<Item = &Run> {
    traffic.runs.iter().rev().filter(|run| {
        run.agent.name == agents::SUPPORT.name
            && run.environment == Environment::Prod
            && run.release.is_bad
            && run.quality < 0.4
    })
}

fn queued((nth, run): (usize, &Run)) -> Value {
    let is_done = nth + DONE >= QUEUED;
    json!({
        "objectId": wire::hex(&run.id),
        "objectType": "TRACE",
        "status": if is_done { "COMPLETED" } else { "PENDING" },
    })
}

/// Returns what reviewers wrote under traces of the bad release.
fn comments(traffic: &Traffic) -> Vec<Value> {
    let on = |(run, content): (&Run, &String)| json!({ "objectType": "TRACE", "objectId": wire::hex(&run.id), "content": content });
    unhappy(traffic).zip(&DATA.remarks.bad).map(on).collect()
}
