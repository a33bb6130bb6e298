//! Metadata that Langfuse's SDKs write into spans.

use serde_json::{Value, json};

use super::read;
use crate::harness::TestServer;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const STEP: &str = "b7ad6b7169203331";
const ABSENT: &str = "c7ad6b7169203332";

/// Records one span of an SDK and reads its trace back.
async fn response(sdk: (&str, &str), parent: &str, attributes: &Value) -> Value {
    let server = TestServer::start().await;
    let attribute = |(key, value): (&String, &Value)| {
        let value = match value {
            Value::Bool(truth) => json!({"boolValue": truth}),
            Value::Number(number) => json!({"intValue": number}),
            text => json!({"stringValue": text}),
        };
        json!({"key": key, "value": value})
    };
    let attributes: Vec<_> = attributes.as_object().unwrap().iter().map(attribute).collect();
    let span = json!({
        "traceId": TRACE, "spanId": STEP, "parentSpanId": parent, "name": "step",
        "startTimeUnixNano": "1794736800000000000", "endTimeUnixNano": "1794736801000000000",
        "attributes": attributes,
    });
    let scope = json!({"scope": {"name": "langfuse-sdk"}, "spans": [span]});
    let post = server.post("/api/public/otel/v1/traces");
    let post = post.header("x-langfuse-sdk-name", sdk.0).header("x-langfuse-sdk-version", sdk.1);
    let body = json!({"resourceSpans": [{"scopeSpans": [scope]}]});
    post.json(body.to_string()).send().await.check(200, "");
    let trace = read(&server, &format!("/api/public/traces/{TRACE}")).await;
    server.stop().await;
    trace
}

#[tokio::test]
async fn numbers_and_booleans_in_metadata_keep_their_types() {
    let sent = json!({
        "langfuse.observation.metadata.attempt": "2", "langfuse.observation.metadata.ratio": "-0.5",
        "langfuse.observation.metadata.cached": "true", "langfuse.observation.metadata.zip": "01234",
        "langfuse.observation.metadata.order": "12345678901234567890",
        "langfuse.observation.metadata.word": "two",
    });
    let trace = response(("javascript", "5.11.1"), "", &sent).await;
    let mut metadata = trace["observations"][0]["metadata"].clone();
    metadata.as_object_mut().unwrap().remove("scope");
    let expected = json!({
        "attempt": 2, "ratio": -0.5, "cached": true, "zip": "01234",
        "order": "12345678901234567890", "word": "two",
    });
    assert_eq!(metadata, expected);

    // Python sends integers and booleans as such, so a text of digits is a text.
    let sent = json!({
        "langfuse.observation.metadata.attempt": 2, "langfuse.observation.metadata.cached": true,
        "langfuse.observation.metadata.ratio": "0.5", "langfuse.observation.metadata.zip": "10115",
    });
    let trace = response(("python", "4.18.0"), "", &sent).await;
    let metadata = &trace["observations"][0]["metadata"];
    assert_eq!((&metadata["attempt"], &metadata["cached"]), (&json!(2), &json!(true)));
    assert_eq!((&metadata["ratio"], &metadata["zip"]), (&json!(0.5), &json!("10115")));
}

#[tokio::test]
async fn the_metadata_of_a_root_span_is_part_of_its_traces() {
    let sent = json!({
        "langfuse.observation.metadata.experiment_name": "march",
        "langfuse.observation.metadata.tenant": "step", "langfuse.trace.metadata.tenant": "acme",
    });
    let trace = response(("python", "4.18.0"), "", &sent).await;
    assert_eq!(trace["metadata"], json!({"experiment_name": "march", "tenant": "acme"}));
    let trace = response(("python", "4.18.0"), ABSENT, &sent).await;
    assert_eq!(trace["metadata"], json!({"tenant": "acme"}), "a child speaks for itself");
}

#[tokio::test]
async fn what_langchain_says_of_a_trace_keeps_its_types() {
    // As its handler in version 4 sends it: as texts to the trace, unchanged to each observation.
    let sent = json!({
        "langfuse.trace.metadata.attempt": "2", "langfuse.observation.metadata.attempt": 2,
        "langfuse.trace.metadata.cached": "True", "langfuse.observation.metadata.cached": true,
        "langfuse.trace.metadata.zip": "10115", "langfuse.observation.metadata.zip": "10115",
    });
    for parent in ["", ABSENT] {
        let trace = response(("python", "4.18.0"), parent, &sent).await;
        let expected = json!({"attempt": 2, "cached": true, "zip": "10115"});
        assert_eq!(trace["metadata"], expected);
    }
}

#[tokio::test]
async fn a_trace_takes_the_output_of_a_span_without_its_parent_only_if_that_is_the_root() {
    for (mark, output) in [
        (json!({}), Value::Null),
        (json!({"langfuse.internal.is_app_root": true}), Value::Null),
        (json!({"langfuse.internal.as_root": true}), json!("done")),
    ] {
        let mut sent = mark.clone();
        sent["langfuse.observation.output"] = json!("done");
        let trace = response(("python", "4.18.0"), ABSENT, &sent).await;
        assert_eq!(trace["output"], output, "{mark}");
        assert_eq!(trace["observations"][0]["output"], "done");
    }
}
