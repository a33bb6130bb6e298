use serde_json::{Value, json};

use super::{event, read, record};
use crate::harness::TestServer;

/// Five traces, a second apart, each with one observation.
async fn five_traces() -> TestServer {
    let server = TestServer::start().await;
    for number in 0..5u32 {
        let is_even = number % 2 == 0;
        let trace = json!({
            "id": format!("t{number}"), "name": if is_even { "even" } else { "odd" },
            "userId": format!("u{number}"), "sessionId": if is_even { "s-even" } else { "s-odd" },
            "version": format!("v{number}"), "release": "r",
            "environment": if number < 3 { "beta" } else { "prod" },
            "tags": if is_even { json!(["all", "even"]) } else { json!(["all"]) },
            "metadata": {"tier": if is_even { "gold" } else { "tin" }, "n": number},
        });
        let step = json!({
            "id": format!("o{number}"), "traceId": format!("t{number}"), "name": "step",
            "type": if is_even { "TOOL" } else { "GENERATION" },
            "level": if number == 4 { "ERROR" } else { "DEFAULT" },
            "endTime": format!("2026-11-15T10:00:{:02}Z", 10 + 2 * number), "version": "1",
            "startTime": format!("2026-11-15T10:00:{:02}Z", 10 + number), "model": "m",
            "usageDetails": {"input": number * 10}, "costDetails": {"input": f64::from(number)},
            "environment": "beta",
        });
        let events =
            [event("trace-create", number, trace), event("observation-create", number, step)];
        record(&server, &events).await;
    }
    server
}

async fn ids(server: &TestServer, path: &str) -> Vec<String> {
    let rows = read(server, &format!("/api/public/{path}")).await;
    let id = |row: &Value| row["id"].as_str().unwrap().to_owned();
    rows["data"].as_array().unwrap().iter().map(id).collect()
}

#[tokio::test]
async fn traces_are_found_by_every_parameter() {
    let server = five_traces().await;
    for (query, expected) in [
        ("", "t4 t3 t2 t1 t0"),
        ("name=odd", "t3 t1"),
        ("userId=u2", "t2"),
        ("sessionId=s-even", "t4 t2 t0"),
        ("version=v3", "t3"),
        ("release=r&name=odd", "t3 t1"),
        ("release=other", ""),
        ("tags=all&tags=even", "t4 t2 t0"),
        ("tags=none", ""),
        ("environment=prod", "t4 t3"),
        ("environment=prod&environment=beta", "t4 t3 t2 t1 t0"),
        ("fromTimestamp=2026-11-15T10:00:03Z", "t4 t3"),
        ("toTimestamp=2026-11-15T10:00:01Z", "t0"),
        ("orderBy=timestamp.asc", "t0 t1 t2 t3 t4"),
        ("orderBy=userId.desc&limit=2", "t4 t3"),
        ("nobody=knows&this=parameter&limit=1", "t4"),
    ] {
        let found = ids(&server, &format!("traces?{query}")).await;
        assert_eq!(found.join(" "), expected, "{query}");
    }
    server.stop().await;
}

#[tokio::test]
async fn observations_are_found_by_every_parameter() {
    let server = five_traces().await;
    for (query, expected) in [
        ("", "o4 o3 o2 o1 o0"),
        ("type=TOOL", "o4 o2 o0"),
        ("level=ERROR", "o4"),
        ("traceId=t3", "o3"),
        ("userId=u1", "o1"),
        ("name=step&version=1", "o4 o3 o2 o1 o0"),
        ("parentObservationId=o1", ""),
        ("environment=beta&limit=1", "o4"),
        ("fromStartTime=2026-11-15T10:00:13Z", "o4 o3"),
        ("toStartTime=2026-11-15T10:00:11Z", "o0"),
    ] {
        let found = ids(&server, &format!("observations?{query}")).await;
        assert_eq!(found.join(" "), expected, "{query}");
    }
    server.stop().await;
}

#[tokio::test]
async fn filters_find_traces_and_observations() {
    let server = five_traces().await;
    for (resource, kind, column, operator, value, expected) in [
        ("traces", "string", "name", "starts with", json!("ev"), "t4 t2 t0"),
        ("traces", "number", "totalCost", ">=", json!(3), "t4 t3"),
        ("traces", "number", "latency", "<", json!(2), "t1 t0"),
        ("traces", "number", "totalTokens", "=", json!(20), "t2"),
        ("traces", "arrayOptions", "tags", "none of", json!(["even"]), "t3 t1"),
        ("traces", "string", "level", "=", json!("ERROR"), "t4"),
        ("traces", "number", "errorCount", ">", json!(0), "t4"),
        ("traces", "datetime", "timestamp", ">", json!("2026-11-15T10:00:03Z"), "t4"),
        ("traces", "null", "userId", "is null", json!(""), ""),
        ("traces", "boolean", "bookmarked", "=", json!(false), "t4 t3 t2 t1 t0"),
        ("traces", "stringObject", "metadata", "=", json!("tin"), "t3 t1"),
        ("observations", "stringOptions", "type", "any of", json!(["TOOL"]), "o4 o2 o0"),
        ("observations", "number", "inputTokens", "<=", json!(10), "o1 o0"),
        ("observations", "string", "traceName", "=", json!("odd"), "o3 o1"),
        ("observations", "arrayOptions", "traceTags", "all of", json!(["even"]), "o4 o2 o0"),
        ("observations", "string", "userId", "=", json!("u2"), "o2"),
    ] {
        let condition = json!([{"type": kind, "column": column, "operator": operator,
            "value": value, "key": "tier"}]);
        let encoded: String =
            condition.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect();
        let found = ids(&server, &format!("{resource}?filter={encoded}")).await;
        assert_eq!(found.join(" "), expected, "{column} {operator}");
    }
    server.stop().await;
}

#[tokio::test]
async fn pages_are_counted() {
    let server = five_traces().await;
    for resource in ["traces", "observations"] {
        let page = read(&server, &format!("/api/public/{resource}?limit=2&page=3")).await;
        assert_eq!(page["data"].as_array().unwrap().len(), 1);
        assert_eq!(
            page["meta"],
            json!({"page": 3, "limit": 2, "totalItems": 5, "totalPages": 3}),
            "{resource}"
        );
        let beyond = read(&server, &format!("/api/public/{resource}?page=99")).await;
        assert_eq!(beyond["data"], json!([]));
    }
    let sessions = read(&server, "/api/public/sessions?limit=1").await;
    assert_eq!(sessions["meta"]["totalItems"], 2);
    assert_eq!(sessions["data"].as_array().unwrap().len(), 1);
    assert_eq!(ids(&server, "sessions?environment=none").await.len(), 0);
    server.stop().await;
}

#[tokio::test]
async fn values_that_make_no_sense_are_reported_together() {
    let server = TestServer::start().await;
    let path =
        "/api/public/traces?limit=1000&page=0&fromTimestamp=soon&orderBy=x&filter=%5B%7B%7D%5D";
    let reply = server.get(path).send().await;
    let body = reply.check(400, "").json();
    assert_eq!(body["message"], "Invalid request data");
    let paths: Vec<_> =
        body["error"].as_array().unwrap().iter().map(|issue| &issue["path"]).collect();
    let expected = [
        json!(["page"]),
        json!(["limit"]),
        json!(["fromTimestamp"]),
        json!(["filter", 0]),
        json!(["orderBy"]),
    ];
    assert_eq!(paths, expected.iter().collect::<Vec<_>>());
    for path in ["observations?type=DREAM", "observations?level=LOUD", "sessions?limit=x"] {
        server.get(&format!("/api/public/{path}")).send().await.check(400, "Invalid request data");
    }
    server.stop().await;
}

/// Two traces with scores, one of them with two, and one without.
fn judged_runs() -> Vec<Value> {
    let mut events = Vec::new();
    for (at, id) in ["good", "bad", "unjudged"].into_iter().enumerate() {
        let at = u32::try_from(at).unwrap();
        events.push(event("trace-create", at, json!({ "id": id })));
        let step = json!({"id": format!("o-{id}"), "traceId": id});
        events.push(event("span-create", at, step));
    }
    for (at, (id, number)) in [("good", 1.0), ("good", 0.5), ("bad", 0.25)].iter().enumerate() {
        let at = u32::try_from(at).unwrap() + 10;
        let on = json!({"traceId": id, "observationId": format!("o-{id}")});
        let mut score = |name: &str, value: Value| {
            let mut body = on.clone();
            (body["name"], body["value"]) = (json!(name), value);
            events.push(event("score-create", at, body));
        };
        score("quality", json!(number));
        score("ok", json!(*id == "good"));
        score("mood", json!(*id));
    }
    for (place, event) in events.iter_mut().enumerate() {
        event["id"] = json!(place.to_string());
    }
    events
}

#[tokio::test]
async fn traces_and_observations_are_found_by_their_scores() {
    let server = TestServer::start().await;
    record(&server, &judged_runs()).await;
    let average = |operator: &str, value: f64| {
        json!({"type": "numberObject", "column": "scores_avg", "key": "quality",
               "operator": operator, "value": value})
    };
    let truth = |operator: &str| {
        json!({"type": "booleanObject", "column": "score_booleans", "key": "ok",
               "operator": operator, "value": true})
    };
    let mood = |operator: &str| {
        json!({"type": "categoryOptions", "column": "score_categories", "key": "mood",
               "operator": operator, "value": ["good", "fine"]})
    };
    for (condition, expected) in [
        (average(">", 0.7), &["good"][..]),
        (average("<", 0.5), &["bad"]),
        (average("=", 0.75), &["good"]),
        (truth("="), &["good"]),
        (truth("<>"), &["bad", "unjudged"]),
        (mood("any of"), &["good"]),
        (mood("none of"), &["bad", "unjudged"]),
    ] {
        let filter = json!([condition]).to_string();
        for (resource, prefix) in [("traces", ""), ("observations", "o-")] {
            let client = reqwest::Url::parse_with_params(
                &format!("http://x/api/public/{resource}"),
                [("filter", filter.as_str())],
            );
            let url = client.unwrap();
            let path = format!("{}?{}", url.path(), url.query().unwrap());
            let page = read(&server, &path).await;
            let rows = page["data"].as_array().unwrap().iter();
            let mut ids: Vec<_> = rows.map(|row| row["id"].as_str().unwrap().to_owned()).collect();
            ids.sort();
            let expected: Vec<_> = expected.iter().map(|id| format!("{prefix}{id}")).collect();
            assert_eq!(ids, expected, "{resource} {filter}");
        }
    }
    server.stop().await;
}
