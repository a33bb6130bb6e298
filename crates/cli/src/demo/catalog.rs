//! What a team keeps beside its traffic: prompts, a dataset with its runs, a queue, remarks.

/// Prompts and how they changed.
mod prompts;

use serde_json::{Value, json};

use super::people;
use super::people::Place;
use super::stories::support::Trial;
use super::story::Run;
use super::wire;

/// The dataset that each release of the support desk is tried on.
pub(crate) const DATASET: &str = "support-regressions";
/// The prompt by which one sees that a shelf is filled.
pub(crate) const FIRST_PROMPT: &str = "support-desk/system";
/// Runs that wait for somebody to look at them, and how many of them were looked at.
const QUEUED: usize = 24;
const LOOKED_AT: usize = 9;

/// Everything on the shelf, as bodies of requests.
#[derive(Debug)]
pub(crate) struct Shelf {
    /// Versions of prompts, oldest first.
    pub(crate) prompts: Vec<Value>,
    pub(crate) dataset: Value,
    pub(crate) items: Vec<Value>,
    /// What each release made of each item.
    pub(crate) tries: Vec<Value>,
    pub(crate) configs: Vec<Value>,
    /// The queue, without the ids of its configs.
    pub(crate) queue: Value,
    /// What is in the queue.
    pub(crate) queued: Vec<Value>,
    /// What people said, without the project.
    pub(crate) comments: Vec<Value>,
}

/// Fills the shelf with what belongs to a week.
pub(crate) fn fill(runs: &[Run], trials: &[Vec<Trial>]) -> Shelf {
    Shelf {
        prompts: prompts::all(),
        dataset: json!({
            "name": DATASET,
            "description": "Customers of whom every release of the support desk must take care.",
            "metadata": { "owner": "support", "since": "4.7" },
        }),
        items: trials.iter().enumerate().filter_map(|(nth, tried)| item(nth, tried)).collect(),
        tries: trials.iter().enumerate().flat_map(|(nth, tried)| tries(nth, tried)).collect(),
        configs: configs(),
        queue: json!({
            "name": "Support answers to check",
            "description": "Runs that customers were unhappy with, newest first.",
        }),
        queued: unhappy(runs).take(QUEUED).enumerate().map(queued).collect(),
        comments: comments(runs),
    }
}

fn item_id(nth: usize) -> String {
    format!("support-regression-{:02}", nth + 1)
}

fn item(nth: usize, tried: &[Trial]) -> Option<Value> {
    let Trial { ask, expected, topic, .. } = tried.first()?;
    Some(json!({
        "datasetName": DATASET,
        "id": item_id(nth),
        "input": { "message": ask },
        "expectedOutput": expected,
        "metadata": { "topic": topic },
    }))
}

fn tries(nth: usize, tried: &[Trial]) -> Vec<Value> {
    let one = |trial: &Trial| {
        let release = trial.run.release;
        json!({
            "runName": format!("support-desk {}", release.version),
            "runDescription": "Every item once, before the release goes out.",
            "metadata": { "version": release.version, "promptVersion": release.prompt_version },
            "datasetItemId": item_id(nth),
            "traceId": wire::hex(&trial.run.id),
        })
    };
    tried.iter().map(one).collect()
}

fn configs() -> Vec<Value> {
    let labels = ["unsolved", "handed over", "solved"];
    let categories: Vec<Value> = labels
        .iter()
        .enumerate()
        .map(|(value, label)| json!({ "label": label, "value": value }))
        .collect();
    vec![
        json!({
            "name": "helpfulness", "dataType": "NUMERIC", "minValue": 0, "maxValue": 1,
            "description": "Did it answer what was asked, with a next step?",
        }),
        json!({ "name": "outcome", "dataType": "CATEGORICAL", "categories": categories }),
        json!({ "name": "goal_reached", "dataType": "BOOLEAN" }),
    ]
}

/// Runs in production that went badly, the newest first.
fn unhappy(runs: &[Run]) -> impl Iterator<Item = &Run> {
    let is_unhappy = |run: &&Run| {
        run.agent.name == people::SUPPORT.name && run.place == Place::Prod && run.quality < 0.4
    };
    runs.iter().rev().filter(is_unhappy)
}

fn queued((nth, run): (usize, &Run)) -> Value {
    let is_done = nth + LOOKED_AT >= QUEUED;
    json!({
        "objectId": wire::hex(&run.id),
        "objectType": "TRACE",
        "status": if is_done { "COMPLETED" } else { "PENDING" },
    })
}

const REMARKS: [&str; 4] = [
    "`find_order` is called with **order_no**; the tool takes `order_id`. Came with 4.8.0.",
    "The customer gave the number in the first message. We must not ask for it again.",
    "Good example for the training set: the guard *did* flag it, nobody looked.",
    "Refunded by hand, reference in the ticket. Same cause as yesterday.",
];

/// What people wrote under runs that went badly, and under one session.
fn comments(runs: &[Run]) -> Vec<Value> {
    let on = |kind: &str, id: String, content: &str| json!({ "objectType": kind, "objectId": id, "content": content });
    let mut said: Vec<Value> = unhappy(runs)
        .zip(REMARKS)
        .map(|(run, remark)| on("TRACE", wire::hex(&run.id), remark))
        .collect();
    let circles = runs.iter().rev().find(|run| run.tags.contains(&"coding") && run.quality < 0.4);
    said.extend(circles.map(|run| {
        let content = "It edits the same file back and forth from the third prompt on.";
        on("SESSION", run.session.clone(), content)
    }));
    said
}
