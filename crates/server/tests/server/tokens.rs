//! Tokens of model calls without usage are counted soon after, and replaced by usage that the
//! client sends.

use std::time::Duration;

use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::money::Money;
use ratchet_server::app::Settings;
use ratchet_stages::record::count::TokenCounting;
use ratchet_store::aggregate::{AggregateQuery, Step, Sums};
use ratchet_store::query::TimeRange;
use ratchet_store::user::UserScope;
use ratchet_testkit::wait;
use serde_json::{Value, json};

use crate::harness::{TestServer, project};
use crate::langfuse::{event, read, record};

/// A generation of a model with a price, in a session, without usage.
async fn begin(server: &TestServer) {
    let model = json!({
        "modelName": "house", "matchPattern": "^house$", "unit": "TOKENS",
        "inputPrice": 0.5, "outputPrice": 2.0,
    });
    server.post("/api/public/models").json(model.to_string()).send().await.check(200, "");
    let call = json!({"id": "o", "traceId": "t", "model": "house",
        "input": [{"role": "user", "content": "hello world"}], "output": "hello world"});
    let unknown = json!({"id": "u", "traceId": "t", "model": "nobody-knows", "input": "hello"});
    record(
        server,
        &[
            event("trace-create", 0, json!({"id": "t", "sessionId": "s", "userId": "ann"})),
            event("generation-create", 1, call),
            event("generation-create", 2, unknown),
        ],
    )
    .await;
}

/// Waits until the call meets a condition.
async fn call_once(server: &TestServer, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let read = async || read(server, "/api/public/observations/o").await;
    wait::for_value_async(what, read, is_so).await
}

/// The cost of the hour, the trace, the session and the user, and its approximate part.
async fn sums(server: &TestServer) -> [(Money, Money); 4] {
    let telemetry = &server.app.store.telemetry;
    let query = AggregateQuery {
        project: project(),
        range: TimeRange::default(),
        by: Vec::new(),
        step: Step::Whole,
        conditions: Vec::new(),
    };
    let hour = telemetry.aggregate(query).await.unwrap().groups;
    let mut whole = Sums::default();
    hour.iter().for_each(|group| whole.add(&group.sums));
    let trace =
        telemetry.trace(project(), TraceId::parse("t").unwrap()).await.unwrap().unwrap().summary;
    let session = SessionId::parse("s").unwrap();
    let session = telemetry.session(project(), session).await.unwrap().unwrap();
    let scope =
        UserScope { project: project(), range: TimeRange::default(), environments: Vec::new() };
    let days = telemetry.user_days(scope, "ann".to_owned()).await.unwrap();
    let user = days.first().unwrap().sums;
    [
        (whole.cost, whole.approximate_cost),
        (trace.cost.unwrap_or_default(), trace.approximate_cost),
        (session.cost.unwrap_or_default(), session.approximate_cost),
        (user.cost.unwrap_or_default(), user.approximate_cost),
    ]
}

/// Checks that every way to read the call reports whether its usage and cost are approximate.
async fn check_marked(server: &TestServer, is_approximate: bool) {
    let expected = if is_approximate { json!(true) } else { Value::Null };
    let newer = read(server, "/api/public/v2/observations?fields=core,usage").await;
    let newer = newer["data"].as_array().unwrap().iter().find(|seen| seen["id"] == "o").unwrap();
    let seen = [
        read(server, "/api/public/observations/o").await,
        read(server, "/api/public/observations?type=GENERATION").await["data"]
            .as_array()
            .and_then(|all| all.iter().find(|seen| seen["id"] == "o").cloned())
            .unwrap(),
        newer.clone(),
    ];
    for seen in seen {
        assert_eq!(seen["usageApproximate"], expected, "{seen}");
        assert_eq!(seen["costApproximate"], expected, "{seen}");
    }
    let unknown = read(server, "/api/public/observations/u").await;
    assert_eq!(unknown["usageApproximate"], Value::Null, "{unknown}");
}

fn encoded(query: &Value) -> String {
    query.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// The approximate part of all costs in the metrics.
async fn approximate_cost(server: &TestServer) -> f64 {
    let query = json!({
        "view": "observations", "metrics": [{"measure": "approximateCost", "aggregation": "sum"}],
        "fromTimestamp": "2000-01-01T00:00:00Z", "toTimestamp": "2100-01-01T00:00:00Z",
    });
    let path = format!("/api/public/metrics?query={}", encoded(&query));
    read(server, &path).await["data"][0]["sum_approximateCost"].as_f64().unwrap()
}

#[tokio::test]
async fn a_known_model_without_usage_is_counted_and_real_usage_replaces_the_count() {
    let server = TestServer::start().await;
    begin(&server).await;
    let before = read(&server, "/api/public/observations/o").await;
    assert_eq!(before["usageDetails"], json!({}), "{before}");
    server.clock.advance(Duration::from_secs(10));
    let is_counted = |seen: &Value| seen["usageDetails"]["input"].as_u64() > Some(0);
    let counted = call_once(&server, "counted tokens", is_counted).await;
    let units = |kind: &str| counted["usageDetails"][kind].as_f64().unwrap();
    assert_eq!(units("output"), 2.0, "hello world");
    let cost = Money::from_dollars(units("input") * 0.5 + units("output") * 2.0).unwrap();
    assert_eq!(sums(&server).await, [(cost, cost); 4]);
    check_marked(&server, true).await;
    assert_eq!(approximate_cost(&server).await, cost.dollars());
    let unknown = read(&server, "/api/public/observations/u").await;
    assert_eq!(unknown["usageDetails"], json!({}), "{unknown}");

    let more = json!({"id": "o", "traceId": "t", "output": "hello world hello world"});
    record(&server, &[event("generation-update", 3, more)]).await;
    server.clock.advance(Duration::from_secs(10));
    let is_counted = |seen: &Value| seen["usageDetails"]["output"].as_u64() == Some(4);
    call_once(&server, "tokens of the new output", is_counted).await;

    let real = json!({"id": "o", "traceId": "t", "usageDetails": {"input": 1, "output": 1}});
    record(&server, &[event("generation-update", 0, real)]).await;
    let exact = Money::from_dollars(2.5).unwrap();
    assert_eq!(sums(&server).await, [(exact, Money::default()); 4]);
    check_marked(&server, false).await;
    assert_eq!(approximate_cost(&server).await, 0.0);
    let seen = read(&server, "/api/public/observations/o").await;
    assert_eq!(seen["usageDetails"], json!({"input": 1, "output": 1, "total": 2}));
    server.stop().await;
}

#[tokio::test]
async fn nothing_is_counted_when_settings_say_so() {
    let token_counting = TokenCounting::Off;
    let server = TestServer::start_with(Settings { token_counting, ..Settings::default() }).await;
    begin(&server).await;
    server.clock.advance(Duration::from_secs(10));
    wait::until_async("no call waits to be counted", async || {
        let telemetry = &server.app.store.telemetry;
        telemetry.uncounted(server.app.clock.now(), 9).await.unwrap().is_empty()
    })
    .await;
    let seen = read(&server, "/api/public/observations/o").await;
    assert_eq!(seen["usageDetails"], json!({}));
    server.stop().await;
}
