use std::collections::BTreeSet;

use ratchet_server::openapi;
use serde_json::Value;

use super::operations;
use crate::harness::TestServer;

#[test]
fn the_description_is_what_clients_were_promised() {
    insta::assert_json_snapshot!("openapi", openapi::document().unwrap());
}

#[tokio::test]
async fn anyone_may_read_the_description() {
    let server = TestServer::start().await;
    let reply = server.get("/api/openapi.json").header("authorization", "").send().await;
    assert_eq!(reply.check(200, "").header("content-type"), "application/json");
    assert_eq!(reply.json(), openapi::document().unwrap());
    server.stop().await;
}

#[test]
fn every_operation_says_what_a_reader_needs() {
    let document = openapi::document().unwrap();
    let mut names = BTreeSet::new();
    for operation in operations(&document) {
        let (described, path) = (&operation.described, &operation.path);
        let call = format!("{} {path}", operation.method);
        assert!(names.insert(described["operationId"].to_string()), "{call}: its id is not unique");
        assert!(described["summary"].is_string(), "{call}: document the handler");
        assert!(described["tags"][0].is_string(), "{call}: name a tag");
        assert!(described["security"].is_array(), "{call}: who may call?");
        let parameters = described["parameters"].as_array().cloned().unwrap_or_default();
        for name in path.split('{').skip(1).filter_map(|rest| rest.split('}').next()) {
            let is_told =
                |given: &Value| given["in"] == "path" && given["name"].as_str() == Some(name);
            assert!(parameters.iter().any(is_told), "{call}: {name} is not among its params");
        }
    }
}

#[test]
fn every_reference_leads_somewhere() {
    let document = openapi::document().unwrap();
    let mut missing = BTreeSet::new();
    look(&document, &document, &mut missing);
    assert!(missing.is_empty(), "not in the description: {missing:#?}");
}

fn look(document: &Value, value: &Value, missing: &mut BTreeSet<String>) {
    if let Some(reference) = value["$ref"].as_str() {
        let pointer = reference.strip_prefix('#').unwrap();
        if document.pointer(pointer).is_none() {
            missing.insert(reference.to_owned());
        }
    }
    match value {
        Value::Object(fields) => fields.values().for_each(|inner| look(document, inner, missing)),
        Value::Array(items) => items.iter().for_each(|inner| look(document, inner, missing)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
