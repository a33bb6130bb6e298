//! What the API promises: its description, Langfuse's facts, roles and borders between projects.
//!
//! These tests walk every operation of the description, so a new one is covered as soon as it is
//! there.

use serde_json::{Map, Value};

mod document;
/// What a description says, as facts that can be compared.
mod facts;
mod comparison;
/// What both descriptions allow, and only one server does.
mod behaviour;
/// One call of each operation.
mod calls;
/// Those calls with every kind of key.
pub(crate) mod walk;
/// Those calls with a slash at the end of their paths.
mod slashes;
/// Those calls with one id of another project among one's own.
mod mixed_ids;
/// Whether every change is noted.
mod audit;

/// One operation of the description.
#[derive(Debug)]
struct Operation {
    method: String,
    path: String,
    described: Value,
}

/// Every operation of our description.
fn operations(document: &Value) -> Vec<Operation> {
    let items = document["paths"].as_object().unwrap();
    let of_path = |(path, item): (&String, &Value)| {
        let methods: Map<String, Value> = item.as_object().unwrap().clone();
        let path = path.clone();
        methods.into_iter().map(move |(method, described)| Operation {
            method: method.to_uppercase(),
            path: path.clone(),
            described,
        })
    };
    items.iter().flat_map(of_path).collect()
}

/// The rows of a table with a heading, as cells.
fn rows(table: &str) -> Vec<Vec<&str>> {
    let lines = table.lines().skip(1).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split('\t').collect()).collect()
}
