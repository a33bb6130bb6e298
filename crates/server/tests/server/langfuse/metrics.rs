use insta::assert_snapshot;
use ratchet_core::id::TraceId;
use ratchet_testkit::build::{batch, generation};
use ratchet_testkit::recording::RecordBatch;
use ratchet_testkit::soak::scaled;
use serde_json::{Value, json};

use super::{a_bit_of_everything, event, read, record};
use crate::harness::{Reply, TestServer, project};

fn encoded(query: &Value) -> String {
    query.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect()
}

async fn ask(server: &TestServer, path: &str, query: &Value) -> Reply {
    server.get(&format!("/api/public/{path}?query={}", encoded(query))).send().await
}

/// A query over the day of the test data, merged with this.
fn question(over: &Value) -> Value {
    let mut query = json!({
        "view": "observations", "metrics": [{"measure": "count", "aggregation": "count"}],
        "fromTimestamp": "2026-11-15T00:00:00Z", "toTimestamp": "2026-11-16T00:00:00Z",
    });
    for (name, value) in over.as_object().unwrap() {
        query[name] = value.clone();
    }
    query
}

/// The rows of a successful response.
async fn rows(server: &TestServer, path: &str, over: &Value) -> Value {
    let mut answer = ask(server, path, &question(over)).await.check(200, "").json();
    answer["data"].take()
}

async fn story() -> TestServer {
    let server = TestServer::start().await;
    record(&server, &a_bit_of_everything()).await;
    let more = [
        event("trace-create", 30, json!({"id": "t2", "name": "trip", "userId": "u2"})),
        event(
            "generation-create",
            31,
            json!({
                "id": "o4", "traceId": "t2", "name": "ask", "model": "gpt-4o-mini",
                "startTime": "2026-11-15T11:00:00Z", "endTime": "2026-11-15T11:00:01Z",
                "usageDetails": {"input": 10, "output": 5}, "costDetails": {"input": 0.01},
            }),
        ),
        event(
            "score-create",
            32,
            json!({"id": "sc3", "traceId": "t2", "name": "tone", "value": "warm"}),
        ),
    ];
    record(&server, &more).await;
    server
}

#[tokio::test]
async fn every_measure_of_every_view() {
    let server = story().await;
    let mut shown = json!({});
    for (path, view, measures) in [
        ("metrics", "traces", "count observationsCount scoresCount latency totalTokens totalCost"),
        (
            "v2/metrics",
            "observations",
            "count latency streamingLatency inputTokens outputTokens totalTokens \
             outputTokensPerSecond tokensPerSecond inputCost outputCost totalCost \
             timeToFirstToken countScores",
        ),
        ("v2/metrics", "scores-numeric", "count value"),
        ("v2/metrics", "scores-boolean", "count value"),
        ("metrics", "scores-categorical", "count"),
    ] {
        let metrics: Vec<_> = measures
            .split_whitespace()
            .flat_map(|measure| {
                ["sum", "avg", "p95"].map(|how| json!({"measure": measure, "aggregation": how}))
            })
            .collect();
        let over = json!({"view": view, "metrics": metrics, "dimensions": [{"field": "name"}]});
        shown[view] = rows(&server, path, &over).await;
    }
    assert_snapshot!(serde_json::to_string_pretty(&shown).unwrap());
    server.stop().await;
}

#[tokio::test]
async fn rows_are_named_ordered_and_cut() {
    let server = story().await;
    let over = json!({
        "dimensions": [{"field": "providedModelName"}],
        "metrics": [{"measure": "totalCost", "aggregation": "sum"}],
        "filters": [{"column": "type", "operator": "=", "value": "GENERATION", "type": "string"}],
    });
    let cheap = json!({"providedModelName": "gpt-4o", "sum_totalCost": 0.003});
    let dear = json!({"providedModelName": "gpt-4o-mini", "sum_totalCost": 0.01});
    for path in ["metrics", "v2/metrics"] {
        assert_eq!(rows(&server, path, &over).await, json!([dear, cheap]), "greatest first");
        let mut result = over.clone();
        result["orderBy"] = json!([{"field": "sum_totalCost", "direction": "asc"}]);
        assert_eq!(rows(&server, path, &result).await, json!([cheap, dear]));
        result["config"] = json!({"row_limit": 1});
        assert_eq!(rows(&server, path, &result).await, json!([cheap]));
        result["orderBy"] = json!([{"field": "providedModelName", "direction": "desc"}]);
        assert_eq!(rows(&server, path, &result).await, json!([dear]));
    }
    server.stop().await;
}

#[tokio::test]
async fn steps_of_time_have_no_gaps() {
    let server = story().await;
    let hourly = json!({
        "timeDimension": {"granularity": "hour"}, "fromTimestamp": "2026-11-15T09:30:00Z",
        "toTimestamp": "2026-11-15T12:30:00Z",
        "metrics": [
            {"measure": "count", "aggregation": "count"},
            {"measure": "latency", "aggregation": "max"},
        ],
    });
    let row = |hour: u32, count: u32, max: Value| {
        let at = format!("2026-11-15T{hour:02}:00:00.000Z");
        json!({"time_dimension": at, "count_count": count, "max_latency": max})
    };
    let expected = json!([
        row(9, 0, Value::Null),
        row(10, 3, json!(3000.0)),
        row(11, 1, json!(1000.0)),
        row(12, 0, Value::Null),
    ]);
    assert_eq!(rows(&server, "v2/metrics", &hourly).await, expected);
    for (granularity, at) in
        [("day", "2026-11-15"), ("week", "2026-11-09"), ("month", "2026-11-01")]
    {
        let over = json!({"timeDimension": {"granularity": granularity}});
        let expected = json!([{"time_dimension": at, "count_count": 4}]);
        assert_eq!(rows(&server, "v2/metrics", &over).await, expected);
    }
    let auto =
        rows(&server, "v2/metrics", &json!({"timeDimension": {"granularity": "auto"}})).await;
    assert_eq!(auto.as_array().unwrap().len(), 24, "a day has hours");
    server.stop().await;
}

#[tokio::test]
async fn an_answer_says_where_it_comes_from() {
    let server = story().await;
    let p95 = json!([{"measure": "latency", "aggregation": "p95"}]);
    let min = json!([{"measure": "latency", "aggregation": "min"}]);
    for (over, source, is_rough) in [
        (json!({"dimensions": [{"field": "name"}]}), "rollup", false),
        (json!({"metrics": p95}), "rollup", true),
        (json!({"metrics": min}), "scan", false),
        (json!({"metrics": p95, "dimensions": [{"field": "traceName"}]}), "scan", false),
    ] {
        let answer = ask(&server, "v2/metrics", &question(&over)).await.check(200, "").json();
        let meta = &answer["meta"];
        assert_eq!(meta["source"], source, "{over}");
        assert_eq!(meta["percentileError"].is_number(), is_rough, "{over}");
        assert!(meta["rowsRead"].as_u64().unwrap() > 0);
    }
    server.stop().await;
}

#[tokio::test]
async fn dimensions_keep_their_types() {
    let server = story().await;
    let over = json!({
        "dimensions": [
            {"field": "tags"}, {"field": "promptVersion"}, {"field": "isRootObservation"},
            {"field": "startTimeMonth"},
        ],
        "filters": [{"column": "name", "operator": "=", "value": "ask", "type": "string"}],
        "orderBy": [{"field": "promptVersion", "direction": "desc"}],
    });
    let expected = json!([
        {
            "tags": ["a", "b", "c"], "promptVersion": 3, "isRootObservation": false,
            "startTimeMonth": "2026-11", "count_count": 1,
        },
        {
            "tags": [], "promptVersion": null, "isRootObservation": true,
            "startTimeMonth": "2026-11", "count_count": 1,
        },
    ]);
    assert_eq!(rows(&server, "v2/metrics", &over).await, expected);
    let yes = json!({"view": "scores-boolean", "dimensions": [{"field": "booleanValue"}]});
    let expected = json!([{"booleanValue": true, "count_count": 1}]);
    assert_eq!(rows(&server, "v2/metrics", &yes).await, expected);
    let over = json!({
        "metrics": [{"measure": "latency", "aggregation": "histogram"}], "config": {"bins": 2},
    });
    let bins = json!([{"histogram_latency": [[1000.0, 2000.0, 2], [2000.0, 3000.0, 1]]}]);
    assert_eq!(rows(&server, "v2/metrics", &over).await, bins);
    server.stop().await;
}

#[tokio::test]
async fn users_and_sessions_are_told_apart() {
    let server = story().await;
    let over = json!({"view": "traces", "metrics": [
        {"measure": "uniqueUserIds", "aggregation": "uniq"},
        {"measure": "uniqueSessionIds", "aggregation": "count"},
    ]});
    let expected = json!([{"uniq_uniqueUserIds": 2, "count_uniqueSessionIds": 1}]);
    assert_eq!(rows(&server, "metrics", &over).await, expected);
    let by_user = json!({"dimensions": [{"field": "userId"}]});
    let expected = json!([{"userId": "u1", "count_count": 3}, {"userId": "u2", "count_count": 1}]);
    assert_eq!(rows(&server, "metrics", &by_user).await, expected);
    let refused = ask(&server, "v2/metrics", &question(&by_user)).await;
    refused.check(400, "userId has too many values to group by");
    let mut top = by_user;
    top["orderBy"] = json!([{"field": "count_count", "direction": "desc"}]);
    top["config"] = json!({"row_limit": 1});
    assert_eq!(rows(&server, "v2/metrics", &top).await, json!([expected[0]]));
    server.stop().await;
}

#[tokio::test]
async fn what_is_wrong_is_named() {
    let server = story().await;
    for (over, path, words) in [
        (json!({"view": "dreams"}), json!(["query", "view"]), "scores-boolean"),
        (json!({"view": "traces"}), json!(["query", "view"]), "not among the views"),
        (json!({"metrics": []}), json!(["query", "metrics"]), "between 1 and 50"),
        (
            json!({"metrics": [{"measure": "love", "aggregation": "sum"}]}),
            json!(["query", "metrics", 0, "measure"]),
            "love is not a known measure of observations: count, latency",
        ),
        (
            json!({"metrics": [{"measure": "count", "aggregation": "p42"}]}),
            json!(["query", "metrics", 0, "aggregation"]),
            "p99",
        ),
        (
            json!({"dimensions": [{"field": "name"}, {"field": "mood"}]}),
            json!(["query", "dimensions", 1, "field"]),
            "mood is not a known dimension",
        ),
        (
            json!({"filters": [{"column": "mood", "operator": "=", "value": "", "type": "string"}]}),
            json!(["query", "filters", 0, "column"]),
            "mood",
        ),
        (json!({"filters": {}}), json!(["query", "filters"]), "sequence"),
        (
            json!({"timeDimension": {"granularity": "year"}}),
            json!(["query", "timeDimension", "granularity"]),
            "month",
        ),
        (
            json!({"toTimestamp": "2026-11-15T00:00:00Z"}),
            json!(["query", "toTimestamp"]),
            "after fromTimestamp",
        ),
        (json!({"fromTimestamp": "soon"}), json!(["query", "fromTimestamp"]), "ISO 8601"),
        (
            json!({"orderBy": [{"field": "sum_love", "direction": "asc"}]}),
            json!(["query", "orderBy", 0, "field"]),
            "count_count",
        ),
        (json!({"config": {"row_limit": 1001}}), json!(["query", "config", "row_limit"]), "1000"),
        (json!({"config": {"bins": 0}}), json!(["query", "config", "bins"]), "100"),
    ] {
        let reply = ask(&server, "v2/metrics", &question(&over)).await;
        let body = reply.check(400, words).json();
        assert_eq!(body["error"][0]["path"], path, "{over}");
    }
    server.get("/api/public/v2/metrics").send().await.check(400, "required");
    server.get("/api/public/metrics?query=%5B%5D").send().await.check(400, "query");
    server.stop().await;
}

#[tokio::test]
async fn days_as_older_clients_ask_for_them() {
    let server = story().await;
    let all = read(&server, "/api/public/metrics/daily").await;
    assert_snapshot!(serde_json::to_string_pretty(&all).unwrap());
    for (query, traces) in [
        ("traceName=trip&userId=u1", json!(1)),
        ("tags=a&tags=b&environment=prod", json!(1)),
        ("toTimestamp=2026-11-15T10:00:10Z", json!(1)),
    ] {
        let page = read(&server, &format!("/api/public/metrics/daily?{query}")).await;
        assert_eq!(page["data"][0]["countTraces"], traces, "{query}");
    }
    let beyond = read(&server, "/api/public/metrics/daily?page=2").await;
    assert_eq!((&beyond["data"], &beyond["meta"]["totalItems"]), (&json!([]), &json!(1)));
    server.stop().await;
}

#[tokio::test]
async fn days_have_what_was_recorded_after_the_last_request() {
    let server = TestServer::start().await;
    let record = async |trace: &str, day: i64, model: &str| {
        let start = day * 86_400_000;
        let call = generation(&format!("{trace}-{model}")).lasting(start, start + 1);
        let said = batch(&project()).with(call.of(trace).calling(model).tokens(1, 1));
        server.app.store.telemetry.record(said.build()).await.unwrap();
    };
    let counts = async || {
        let daily = read(&server, "/api/public/metrics/daily").await;
        let days = daily["data"].as_array().unwrap().iter();
        let models = |day: &Value| {
            let usage = day["usage"].as_array().unwrap().iter();
            usage.map(|model| number(&model["countTraces"])).collect::<Vec<_>>()
        };
        days.map(|day| (number(&day["countObservations"]), models(day))).collect::<Vec<_>>()
    };
    record("t1", 0, "a").await;
    assert_eq!(counts().await, [(1, vec![1])]);
    record("t1", 0, "b").await;
    record("t2", 0, "b").await;
    assert_eq!(counts().await, [(3, vec![1, 2])]);
    record("t3", 3, "a").await;
    assert_eq!(counts().await, [(1, vec![1]), (3, vec![1, 2])], "newest first");
    server
        .app
        .store
        .telemetry
        .delete_traces(project(), vec![TraceId::parse("t3").unwrap()])
        .await
        .unwrap();
    assert_eq!(counts().await, [(3, vec![1, 2])]);
    server.stop().await;
}

/// Observations per trace, each with another model.
const MODELS_IN_A_TRACE: usize = 5_000;

#[tokio::test]
async fn any_number_of_model_names_gets_an_answer() {
    let server = TestServer::start().await;
    let models = scaled(52_500, 105_000);
    for first in (0..models).step_by(MODELS_IN_A_TRACE) {
        let named = |n: usize| {
            let model = format!("model-{n}");
            generation(&model).lasting(0, 1).calling(&model).tokens(1, 1)
        };
        let trace = format!("t{first}");
        let steps = (first..(first + MODELS_IN_A_TRACE).min(models)).map(named);
        let said = steps.fold(batch(&project()), |said, step| said.with(step.of(&trace)));
        server.app.store.telemetry.record(said.build()).await.unwrap();
    }
    let day = json!({
        "fromTimestamp": "2026-03-02T00:00:00Z", "toTimestamp": "2026-03-03T00:00:00Z",
        "dimensions": [{"field": "providedModelName"}],
    });
    // The first from the rollup, the second from the records, because the rollup has no maximum.
    for (measure, aggregation) in [("count", "count"), ("latency", "max")] {
        let mut over = day.clone();
        over["metrics"] = json!([{"measure": "count", "aggregation": "count"},
                                 {"measure": measure, "aggregation": aggregation}]);
        over["config"] = json!({"row_limit": 1_000});
        for path in ["metrics", "v2/metrics"] {
            let rows = rows(&server, path, &over).await;
            let rows = rows.as_array().unwrap();
            assert_eq!(rows[0]["providedModelName"], "(other)", "the greatest first");
            assert!(rows.len() <= 1_000, "{} rows", rows.len());
        }
    }
    let mut over = day;
    over["metrics"] = json!([{"measure": "count", "aggregation": "count"},
                             {"measure": "latency", "aggregation": "max"}]);
    let rows = rows(&server, "metrics", &over).await;
    let counts = rows.as_array().unwrap().iter().map(|row| number(&row["count_count"]));
    assert_eq!(counts.sum::<usize>(), models, "nobody is left out");
    let daily = server.get("/api/public/metrics/daily?fromTimestamp=2026-03-01T00:00:00Z");
    daily.send().await.check(200, "(other)");
    server.stop().await;
}

fn number(value: &Value) -> usize {
    let text = value.to_string();
    text.trim_matches('"').parse().unwrap()
}

/// Of two verdicts of a judge only the newer one counts, and judges can be a dimension.
#[tokio::test]
async fn superseded_scores_are_in_no_figure_and_judges_are_a_dimension() {
    let server = TestServer::start().await;
    let score = |at: u32, value: f64, metadata: Value| {
        let id = format!("judged-{at}");
        let body = json!({
            "id": id, "traceId": "t1", "name": "tone", "value": value, "metadata": metadata,
        });
        event("score-create", at, body)
    };
    let scores = [
        score(
            30,
            0.0,
            json!({"judge": "offline", "rubric_version": 1, "superseded_by": "judged-31"}),
        ),
        score(
            31,
            0.75,
            json!({"judge": "offline", "rubric_version": 1, "judge_version": "abcdefgh"}),
        ),
        score(32, 0.25, json!({"judge": "gpt", "rubric_version": 2})),
        score(33, 1.0, json!({"note": "by a person"})),
    ];
    record(&server, &scores).await;
    let metrics = json!([
        {"measure": "value", "aggregation": "avg"}, {"measure": "count", "aggregation": "count"},
    ]);
    let all = json!({"view": "scores-numeric", "metrics": metrics});
    let row =
        |judge: Value, mean: f64| json!({"judge": judge, "avg_value": mean, "count_count": 1});
    let mut apart = all.clone();
    apart["dimensions"] = json!([{"field": "judge"}]);
    let expected = json!([
        row(Value::Null, 1.0),
        row(json!("offline, rubric version 1, judge version abcdefg"), 0.75),
        row(json!("gpt, rubric version 2"), 0.25),
    ]);
    for path in ["metrics", "v2/metrics"] {
        let together = rows(&server, path, &all).await;
        assert_eq!(together[0]["count_count"], 3, "{together}");
        assert_eq!(rows(&server, path, &apart).await, expected);
    }
    server.stop().await;
}
