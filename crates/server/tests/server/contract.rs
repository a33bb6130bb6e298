//! The API contract: its description, comparison with Langfuse, roles and project isolation.
//!
//! These tests iterate over every operation of the description, so that a new one is covered at
//! once.

use serde_json::{Map, Value};

mod document;
/// Facts extracted from a description, for comparison.
mod facts;
mod comparison;
/// Behaviour that differs although both descriptions agree.
mod behaviour;
/// One call of each operation.
mod calls;
/// Those calls with every kind of key.
pub(crate) mod walk;
/// Those calls with a trailing slash.
mod slashes;
/// Those calls with one id of another project.
mod mixed_ids;
/// Those calls with texts that a redaction rule finds.
mod planted;
/// Audit entries of every change.
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
