//! Calls that respond differently from Langfuse, though both descriptions agree.
//!
//! Each line of `behaviour.tsv` has a probe here, which makes the call and returns the response. A
//! line whose response is no longer as documented, or no longer different, must be removed or
//! changed; so must a probe without a line.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;

use serde_json::{Value, json};

use super::rows;
use crate::harness::{Reply, TestServer};

type Answer<'a> = Pin<Box<dyn Future<Output = Value> + 'a>>;
type Probe = for<'a> fn(&'a TestServer) -> Answer<'a>;

const PROBES: [(&str, Probe); 15] = [
    ("model parameters of a span that are no numbers or texts", |server| {
        let parameters = json!({"temperature": 0.2, "stream": true, "stop": ["a"]});
        let reply = json!({"langfuse.observation.model.parameters": parameters.to_string()});
        Box::pin(async move { step(server, "1", &reply).await["modelParameters"].clone() })
    }),
    ("usage in OpenAI's form with a key that OpenAI does not have", |server| {
        let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "units": 2});
        Box::pin(async move {
            batch(server, json!({"usageDetails": usage})).await["usageDetails"].take()
        })
    }),
    ("a text output of a batch that looks like a number", |server| {
        Box::pin(async move { batch(server, json!({"output": "42"})).await["output"].take() })
    }),
    ("a text in the metadata of a batch that looks like a number", |server| {
        let reply = json!({"metadata": {"zip": "10115"}});
        Box::pin(async move { batch(server, reply).await["metadata"]["zip"].take() })
    }),
    ("a text in the metadata of a JavaScript span that no number is written like", |server| {
        let reply = json!({"langfuse.observation.metadata.price": "1.50"});
        Box::pin(async move { step(server, "2", &reply).await["metadata"]["price"].clone() })
    }),
    ("a number among what a JavaScript span propagates to its trace's metadata", |server| {
        let reply = json!({"langfuse.trace.metadata.attempt": "2"});
        Box::pin(async move { trace(server, "7", "", &reply).await["metadata"]["attempt"].take() })
    }),
    ("a boolean propagated as Python's text, which a step says typed", |server| {
        let mut reply = json!({"langfuse.trace.metadata.cached": "True"});
        reply["langfuse.observation.metadata.cached"] = json!("true");
        Box::pin(async move { trace(server, "8", "", &reply).await["metadata"]["cached"].take() })
    }),
    ("an environment with the reserved prefix twice", |server| {
        let reply = json!({"environment": "langfuse-langfuse_eu"});
        Box::pin(async move { batch(server, reply).await["environment"].take() })
    }),
    ("the message of a 404 on a dataset", |server| {
        Box::pin(async move { get(server, "v2/datasets/nope").await.json()["message"].take() })
    }),
    ("keys of a trace's metadata that its root span lends it", |server| {
        let reply = json!({"langfuse.observation.metadata.k": "v"});
        Box::pin(async move {
            let metadata = trace(server, "3", "", &reply).await["metadata"].take();
            json!(metadata.as_object().unwrap().keys().collect::<Vec<_>>())
        })
    }),
    ("the cost of a trace that nobody knows, for clients that read null", |server| {
        Box::pin(async move { trace(server, "4", "", &json!({})).await["totalCost"].take() })
    }),
    ("the name of a trace whose only span is the first of its application", |server| {
        let reply = json!({"langfuse.internal.is_app_root": "true"});
        Box::pin(async move { trace(server, "5", "d7ad6b7169203333", &reply).await["name"].take() })
    }),
    ("a batch of spans of which one has no id", |server| {
        let spans = [span("6", "", &json!({})), json!({"name": "nobody"})];
        Box::pin(async move { json!(send_spans(server, &spans).await.status.as_u16()) })
    }),
    ("a score that breaks the range of its score config", |server| {
        Box::pin(async move { json!(out_of_range(server).await.status.as_u16()) })
    }),
    ("how many observation ids a list shows of a trace that has 1,001", |server| {
        Box::pin(async move { json!(listed_ids(server, 1_001).await) })
    }),
];

async fn get(server: &TestServer, path: &str) -> Reply {
    server.get(&format!("/api/public/{path}")).send().await
}

/// Records a model call in a batch, and reads it back.
async fn batch(server: &TestServer, mut body: Value) -> Value {
    let id = format!("step-{}", body.as_object().unwrap().keys().next().unwrap());
    body["id"] = json!(id);
    body["traceId"] = json!("of-batches");
    let event = json!({"id": id, "timestamp": "2026-11-15T10:00:00Z", "type": "generation-create",
                       "body": body});
    let post = server.post("/api/public/ingestion").json(json!({"batch": [event]}).to_string());
    post.send().await.check(207, "201");
    get(server, &format!("observations/{id}")).await.check(200, "").json()
}

fn span(trace: &str, parent: &str, reply: &Value) -> Value {
    let attribute =
        |(key, value): (&String, &Value)| json!({"key": key, "value": {"stringValue": value}});
    let attributes: Vec<_> = reply.as_object().unwrap().iter().map(attribute).collect();
    json!({
        "traceId": trace.repeat(32), "spanId": trace.repeat(16), "parentSpanId": parent,
        "name": "first", "startTimeUnixNano": "1794736800000000000",
        "endTimeUnixNano": "1794736801000000000", "attributes": attributes,
    })
}

async fn send_spans(server: &TestServer, spans: &[Value]) -> Reply {
    let scope = json!({"scope": {"name": "langfuse-sdk"}, "spans": spans});
    let resource = json!([{"key": "service.name", "value": {"stringValue": "shop"}}]);
    let body =
        json!({"resourceSpans": [{"resource": {"attributes": resource}, "scopeSpans": [scope]}]});
    let post = server.post("/api/public/otel/v1/traces").json(body.to_string());
    let post = post.header("x-langfuse-sdk-name", "javascript");
    post.header("x-langfuse-sdk-version", "5.11.1").send().await
}

/// Records one span of the JavaScript SDK, and reads its trace back.
async fn trace(server: &TestServer, id: &str, parent: &str, reply: &Value) -> Value {
    send_spans(server, &[span(id, parent, reply)]).await.check(200, "");
    get(server, &format!("traces/{}", id.repeat(32))).await.check(200, "").json()
}

async fn step(server: &TestServer, id: &str, reply: &Value) -> Value {
    trace(server, id, "", reply).await["observations"][0].take()
}

async fn out_of_range(server: &TestServer) -> Reply {
    let config = json!({"name": "stars", "dataType": "NUMERIC", "minValue": 1, "maxValue": 5});
    let post = server.post("/api/public/score-configs").json(config.to_string());
    let config = post.send().await.check(200, "").json();
    let score = json!({"traceId": "t", "name": "stars", "value": 9, "configId": config["id"]});
    server.post("/api/public/scores").json(score.to_string()).send().await
}

/// Records a trace of so many spans, and returns how many of their ids a list has.
async fn listed_ids(server: &TestServer, spans: usize) -> usize {
    let numbered = |n: usize| {
        let mut span = span("7", "", &json!({}));
        span["spanId"] = json!(format!("{:016x}", n + 1));
        span["name"] = json!("long");
        span
    };
    let spans: Vec<Value> = (0..spans).map(numbered).collect();
    send_spans(server, &spans).await.check(200, "");
    let listed = get(server, "traces?name=long").await.check(200, "").json();
    listed["data"][0]["observations"].as_array().unwrap().len()
}

#[tokio::test]
async fn we_behave_otherwise_than_langfuse_only_where_we_mean_to() {
    let server = TestServer::start().await;
    let listed = rows(include_str!("behaviour.tsv"));
    for row in &listed {
        let [behaviour, langfuse, ratchet, reason] = row[..] else { panic!("four cells: {row:?}") };
        let parse = |cell: &str| -> Value { serde_json::from_str(cell).unwrap() };
        assert!(!reason.trim().is_empty(), "{behaviour} has no reason");
        assert_ne!(parse(langfuse), parse(ratchet), "{behaviour} is the same; delete the line");
        let probe = PROBES.iter().find(|(name, _)| *name == behaviour);
        let (_, probe) = probe.unwrap_or_else(|| panic!("{behaviour} has no probe"));
        assert_eq!(probe(&server).await, parse(ratchet), "{behaviour} is no longer as written");
    }
    let named: BTreeSet<&str> = listed.iter().map(|row| row[0]).collect();
    let probed: BTreeSet<&str> = PROBES.iter().map(|(name, _)| *name).collect();
    assert_eq!(named, probed, "each line has one probe, and each probe a line");
    server.stop().await;
}
