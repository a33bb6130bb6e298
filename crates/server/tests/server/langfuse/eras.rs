//! The same trace, sent in the wire format of each SDK generation, reads back the same through each
//! API version.

use serde_json::{Value, json};

use super::{read, record};
use crate::harness::TestServer;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const ROOT: &str = "b7ad6b7169203331";
const CALL: &str = "c7ad6b7169203332";
const TOOL: &str = "d7ad6b7169203333";

/// The wire format of an SDK generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Era {
    /// Batches of events, as Python's version 2 and JavaScript's version 3 send them.
    Batches,
    /// OpenTelemetry as versions 3 and 4 send it: explicit trace attributes, metadata as it is.
    Spans,
    /// OpenTelemetry as version 5 sends it: trace fields from root spans, metadata as JSON.
    SpansOnly,
}

fn at(millis: u32) -> String {
    format!("2026-11-15T10:00:{:02}.{:03}Z", millis / 1_000, millis % 1_000)
}

fn event(kind: &str, body: &Value) -> Value {
    let id = format!("{kind}-{}", body["id"]);
    json!({"id": id, "type": kind, "timestamp": at(0), "body": body})
}

fn batches() -> Vec<Value> {
    let place = json!({"traceId": TRACE, "environment": "prod", "version": "v1"});
    let step = |own: Value| {
        let mut body = place.clone();
        for (name, value) in own.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    };
    vec![
        event(
            "trace-create",
            &json!({
                "id": TRACE, "name": "trip", "userId": "u1", "sessionId": "s1", "release": "r1",
                "version": "v1", "environment": "prod", "tags": ["b", "a"], "public": true,
                "timestamp": at(0), "metadata": {"tenant": "acme"}, "input": {"city": "?"},
                "output": "done",
            }),
        ),
        event(
            "agent-create",
            &step(json!({
                "id": ROOT, "name": "plan", "startTime": at(0), "endTime": at(4_000),
                "input": {"city": "?"}, "output": "done", "metadata": {"tenant": "acme"},
            })),
        ),
        event(
            "generation-create",
            &step(json!({
                "id": CALL, "parentObservationId": ROOT, "name": "ask", "startTime": at(1_000),
                "endTime": at(3_000), "completionStartTime": at(1_250), "model": "gpt-4o",
                "modelParameters": {"temperature": 0.2}, "promptName": "p", "promptVersion": 3,
                "input": [{"role": "user", "content": "Wohin?"}], "output": "Lisbon",
                "usageDetails": {"input": 800, "output": 100},
                "costDetails": {"input": 0.002, "output": 0.001},
                "metadata": {"attempt": 1, "plan": {"deep": [true, null]}},
            })),
        ),
        event(
            "tool-create",
            &step(json!({
                "id": TOOL, "parentObservationId": ROOT, "name": "book", "startTime": at(3_000),
                "endTime": at(3_500), "level": "ERROR", "statusMessage": "no seats",
                "input": "LIS",
            })),
        ),
    ]
}

fn attributes(pairs: &[(&str, Value)]) -> Value {
    let attribute = |(key, value): &(&str, Value)| {
        let value = match value {
            Value::String(text) => json!({"stringValue": text}),
            Value::Bool(yes) => json!({"boolValue": yes}),
            Value::Array(list) => {
                let values = list.iter().map(|text| json!({"stringValue": text}));
                json!({"arrayValue": {"values": values.collect::<Vec<_>>()}})
            }
            other => json!({"intValue": other}),
        };
        json!({"key": key, "value": value})
    };
    pairs.iter().map(attribute).collect()
}

/// Unix time in nanoseconds in OTLP's JSON.
fn nanos(millis: u64) -> String {
    const TEN_O_CLOCK: u64 = 1_794_736_800_000;
    ((TEN_O_CLOCK + millis) * 1_000_000).to_string()
}

fn span(
    id: &str,
    parent: Option<&str>,
    (from, to): (u64, u64),
    response: &[(&str, Value)],
) -> Value {
    let name = response.iter().find(|(key, _)| *key == "name").unwrap().1.clone();
    let response: Vec<_> = response.iter().filter(|(key, _)| *key != "name").cloned().collect();
    json!({
        "traceId": TRACE, "spanId": id, "parentSpanId": parent.unwrap_or_default(), "name": name,
        "startTimeUnixNano": nanos(from), "endTimeUnixNano": nanos(to),
        "attributes": attributes(&response),
    })
}

fn spans(era: Era) -> Value {
    // Version 5 writes every metadata value as JSON, older ones leave texts as they are.
    let text = |word: &str| {
        json!(if era == Era::SpansOnly { format!("\"{word}\"") } else { word.to_owned() })
    };
    let number = |number: u8| {
        if era == Era::SpansOnly { json!(number.to_string()) } else { json!(number) }
    };
    let of_trace = [
        ("langfuse.trace.name", json!("trip")),
        ("user.id", json!("u1")),
        ("session.id", json!("s1")),
        ("langfuse.trace.tags", json!(["b", "a"])),
        ("langfuse.trace.public", json!(true)),
        ("langfuse.trace.metadata.tenant", text("acme")),
    ];
    let mut root = of_trace.to_vec();
    root.extend([
        ("name", json!("plan")),
        ("langfuse.observation.type", json!("agent")),
        ("langfuse.observation.input", json!(r#"{"city":"?"}"#)),
        ("langfuse.observation.output", json!("done")),
        ("langfuse.observation.metadata.tenant", text("acme")),
    ]);
    if era == Era::Spans {
        root.push(("langfuse.trace.input", json!(r#"{"city":"?"}"#)));
        root.push(("langfuse.trace.output", json!("done")));
    }
    let mut call = of_trace.to_vec();
    call.extend([
        ("name", json!("ask")),
        ("langfuse.observation.type", json!("generation")),
        ("langfuse.observation.completion_start_time", json!(format!("\"{}\"", at(1_250)))),
        ("langfuse.observation.model.name", json!("gpt-4o")),
        ("langfuse.observation.model.parameters", json!(r#"{"temperature":0.2}"#)),
        ("langfuse.observation.prompt.name", json!("p")),
        ("langfuse.observation.prompt.version", json!(3)),
        ("langfuse.observation.input", json!(r#"[{"content":"Wohin?","role":"user"}]"#)),
        ("langfuse.observation.output", json!("Lisbon")),
        ("langfuse.observation.usage_details", json!(r#"{"input":800,"output":100}"#)),
        ("langfuse.observation.cost_details", json!(r#"{"input":0.002,"output":0.001}"#)),
        ("langfuse.observation.metadata.attempt", number(1)),
        ("langfuse.observation.metadata.plan", json!(r#"{"deep":[true,null]}"#)),
    ]);
    let mut tool = of_trace.to_vec();
    tool.extend(failed_tool());
    let resource = [
        ("langfuse.environment", json!("prod")),
        ("langfuse.release", json!("r1")),
        ("langfuse.version", json!("v1")),
    ];
    json!({"resourceSpans": [{
        "resource": {"attributes": attributes(&resource)},
        "scopeSpans": [{
            "scope": {"name": "langfuse-sdk"},
            "spans": [
                span(CALL, Some(ROOT), (1_000, 3_000), &call),
                span(TOOL, Some(ROOT), (3_000, 3_500), &tool),
                span(ROOT, None, (0, 4_000), &root),
            ],
        }],
    }]})
}

fn failed_tool() -> [(&'static str, Value); 5] {
    [
        ("name", json!("book")),
        ("langfuse.observation.type", json!("tool")),
        ("langfuse.observation.level", json!("ERROR")),
        ("langfuse.observation.status_message", json!("no seats")),
        ("langfuse.observation.input", json!("LIS")),
    ]
}

fn scores() -> [Value; 3] {
    let when = at(5_000);
    [
        json!({"id": "sc1", "traceId": TRACE, "name": "quality", "value": 0.5, "comment": "meh",
               "timestamp": when, "environment": "prod"}),
        json!({"id": "sc2", "traceId": TRACE, "observationId": CALL, "name": "thumbs_feedback",
               "value": 1.0, "dataType": "BOOLEAN", "timestamp": when, "environment": "prod"}),
        json!({"id": "sc3", "traceId": TRACE, "name": "tone", "value": "warm",
               "dataType": "CATEGORICAL", "timestamp": when, "environment": "prod"}),
    ]
}

async fn response(era: Era) -> TestServer {
    let server = TestServer::start().await;
    match era {
        Era::Batches => record(&server, &batches()).await,
        Era::Spans | Era::SpansOnly => {
            let version = if era == Era::Spans { "3.15.0" } else { "5.0.4" };
            let post = server.post("/api/public/otel/v1/traces");
            let post = post.header("x-langfuse-sdk-name", "python");
            let post = post.header("x-langfuse-sdk-version", version);
            post.json(spans(era).to_string()).send().await.check(200, "");
        }
    }
    match era {
        Era::Batches | Era::Spans => {
            let events = scores().map(|score| event("score-create", &score));
            record(&server, &events).await;
        }
        Era::SpansOnly => {
            let body = json!(scores()).to_string();
            server.post("/api/public/scores").json(body).send().await.check(202, "Accepted");
        }
    }
    server
}

/// Removes what only OpenTelemetry has: the origin of spans.
fn without_origin(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("resourceAttributes");
            fields.remove("scope");
            fields.values_mut().for_each(without_origin);
        }
        Value::Array(items) => items.iter_mut().for_each(without_origin),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Everything that each API version returns.
async fn everything(era: Era) -> Vec<(String, Value)> {
    let server = response(era).await;
    let question = json!({
        "view": "observations", "dimensions": [{"field": "providedModelName"}],
        "metrics": [
            {"measure": "totalCost", "aggregation": "sum"},
            {"measure": "totalTokens", "aggregation": "sum"},
            {"measure": "latency", "aggregation": "avg"},
        ],
        "fromTimestamp": "2026-11-15T00:00:00Z", "toTimestamp": "2026-11-16T00:00:00Z",
    });
    let question: String = question.to_string().bytes().map(|b| format!("%{b:02X}")).collect();
    let groups = "core,basic,time,io,metadata,model,usage,prompt,metrics,trace_context";
    let mut said = Vec::new();
    for path in [
        format!("traces/{TRACE}"),
        "traces".to_owned(),
        "observations".to_owned(),
        format!("observations/{CALL}"),
        "sessions/s1".to_owned(),
        "sessions".to_owned(),
        format!("v2/observations?fields={groups}"),
        "scores".to_owned(),
        "v2/scores".to_owned(),
        "v3/scores?fields=details,subject,annotation".to_owned(),
        format!("v2/metrics?query={question}"),
        "metrics/daily".to_owned(),
    ] {
        let mut answer = read(&server, &format!("/api/public/{path}")).await;
        without_origin(&mut answer);
        said.push((path, answer));
    }
    server.stop().await;
    said
}

#[tokio::test]
async fn every_era_writes_what_every_era_reads() {
    let batches = everything(Era::Batches).await;
    assert_eq!(batches[0].1["observations"].as_array().unwrap().len(), 3);
    assert_eq!(batches[0].1["scores"].as_array().unwrap().len(), 3);
    for era in [Era::Spans, Era::SpansOnly] {
        let spans = everything(era).await;
        for ((path, response), (_, expected)) in spans.iter().zip(&batches) {
            let pretty = |value| serde_json::to_string_pretty(value).unwrap();
            same(&pretty(response), &pretty(expected), &format!("{era:?}: {path}"));
        }
    }
}

/// Fails with the first lines that differ: the whole would be too long to read.
#[track_caller]
fn same(response: &str, expected: &str, what: &str) {
    let differing =
        response.lines().zip(expected.lines()).find(|(response, expected)| response != expected);
    assert!(response == expected, "{what}: {differing:?}\n{response}\n{expected}");
}
