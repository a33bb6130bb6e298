//! Langfuse's API, as its clients use it.

use serde_json::{Value, json};

use crate::harness::{Reply, TestServer};

mod ingestion;
/// Creation of scores without a batch.
mod scores;
/// Scores, listed, read and deleted.
mod score_reads;
mod score_configs;
mod reads;
/// Requests of the first API version and of the oldest clients.
mod first_api;
/// Metadata of SDKs in spans.
mod span_metadata;
/// Filters and pagination.
mod queries;
/// Filters and sort orders, by the tables of fields.
mod fields;
mod queues;
mod comments;
mod administration;
/// Evaluators and evaluation rules.
mod evaluators;
/// Dashboards and widgets.
mod dashboards;
/// Concurrent changes of the same object.
mod at_once;
mod llm_connections;
/// Models and prices.
mod models;
mod media;
/// References to media, and their retention.
mod media_uses;
/// Observations with selected field groups.
mod observations_v2;
mod deletes;
mod metrics;
/// The same trace in each version's wire format.
mod eras;
/// Project isolation.
mod isolation;
mod prompts;
mod skills;
mod datasets;
/// Dataset runs and experiments.
mod experiments;

/// An event that happened a number of seconds after ten o'clock.
pub(crate) fn event(kind: &str, second: u32, body: Value) -> Value {
    let timestamp = format!("2026-11-15T10:00:{second:02}Z");
    let mut event = json!({"id": format!("{kind}-{second}"), "timestamp": timestamp, "type": kind});
    event["body"] = body;
    event
}

/// Sends events in one batch.
async fn ingest(server: &TestServer, events: &[Value]) -> Reply {
    let body = json!({ "batch": events }).to_string();
    server.post("/api/public/ingestion").json(body).send().await
}

/// Sends events, each of which must be recorded.
pub(crate) async fn record(server: &TestServer, events: &[Value]) {
    let reply = ingest(server, events).await;
    let result = reply.check(207, "").json();
    assert_eq!(result["errors"], json!([]));
    assert_eq!(result["successes"].as_array().unwrap().len(), events.len());
}

/// Reads JSON that must exist.
pub(crate) async fn read(server: &TestServer, path: &str) -> Value {
    server.get(path).send().await.check(200, "").json()
}

/// One trace with a bit of everything.
fn a_bit_of_everything() -> Vec<Value> {
    let about_trace = [
        event(
            "trace-create",
            0,
            json!({
                "id": "t1", "name": "trip", "userId": "u1", "sessionId": "s1", "release": "r1",
                "version": "v1", "environment": "Prod", "tags": ["b", "a"], "public": true,
                "metadata": {"tenant": "acme", "depth": {"x": [1, null]}}, "input": {"city": "?"},
            }),
        ),
        event("trace-create", 6, json!({"id": "t1", "output": "sorry", "tags": ["c"]})),
        event(
            "score-create",
            7,
            json!({"id": "sc1", "traceId": "t1", "name": "quality", "value": 0.5, "comment": "meh"}),
        ),
        event(
            "score-create",
            8,
            json!({
                "id": "sc2", "traceId": "t1", "observationId": "o2", "name": "thumbs_feedback",
                "value": 1, "dataType": "BOOLEAN",
            }),
        ),
    ];
    about_trace.into_iter().chain(its_steps()).collect()
}

fn its_steps() -> Vec<Value> {
    vec![
        event(
            "agent-create",
            0,
            json!({"id": "o1", "traceId": "t1", "name": "planner", "environment": "prod"}),
        ),
        event(
            "generation-create",
            1,
            json!({
                "id": "o2", "traceId": "t1", "parentObservationId": "o1", "name": "ask",
                "startTime": "2026-11-15T10:00:01Z", "model": "gpt-4o",
                "modelParameters": {"temperature": 0.2}, "environment": "prod",
                "input": [{"role": "user", "content": "Wohin im März?"}],
                "promptName": "trip", "promptVersion": 3,
            }),
        ),
        event(
            "generation-update",
            4,
            json!({
                "id": "o2", "endTime": "2026-11-15T10:00:04Z", "output": "Lisbon",
                "completionStartTime": "2026-11-15T10:00:01.250Z",
                "usageDetails": {
                    "prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100,
                    "prompt_tokens_details": {"cached_tokens": 200},
                },
                "costDetails": {"input": 0.002, "output": 0.001},
            }),
        ),
        event(
            "span-create",
            5,
            json!({
                "id": "o3", "traceId": "t1", "parentObservationId": "o1", "name": "book",
                "level": "ERROR", "statusMessage": "no seats left", "environment": "prod",
                "endTime": "2026-11-15T10:00:06Z", "metadata": ["odd"],
            }),
        ),
    ]
}
