//! Requests of the first API version and of the oldest clients.

use ratchet_store::catalog::Role;
use serde_json::{Value, json};

use super::{event, read, record};
use crate::harness::{Reply, TestServer};

async fn send(server: &TestServer, method: &str, path: &str, body: Value) -> Reply {
    server.request(method, path).key(Role::IngestOnly).json(body.to_string()).send().await
}

/// Sends a body, which must be recorded, and returns the id of the record.
async fn write(server: &TestServer, method: &str, path: &str, body: Value) -> String {
    let reply = send(server, method, &format!("/api/public/{path}"), body).await;
    reply.check(200, "").json()["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn unknown_totals_are_numbers_for_clients_that_refuse_nulls() {
    let server = TestServer::start().await;
    record(&server, &[event("trace-create", 0, json!({"id": "t"}))]).await;
    let sdk = |name, version| [("x-langfuse-sdk-name", name), ("x-langfuse-sdk-version", version)];
    let generated = ("x-fern-language", "Python");
    for (headers, unknown) in [
        (vec![generated], json!(0.0)),
        (sdk("python", "2.60.10").to_vec(), json!(0.0)),
        (sdk("langfuse-js", "3.39.2").to_vec(), json!(0.0)),
        ([&[generated], &sdk("python", "3.15.0")[..]].concat(), Value::Null),
        (vec![("x-fern-language", "JavaScript")], Value::Null),
        (vec![], Value::Null),
    ] {
        for path in ["/api/public/traces/t", "/api/public/traces"] {
            let get =
                headers.iter().fold(server.get(path), |get, (name, value)| get.header(name, value));
            let answer = get.send().await.check(200, "").json();
            let trace = answer["data"].get(0).unwrap_or(&answer);
            let response = (&trace["totalCost"], &trace["latency"]);
            assert_eq!(response, (&unknown, &unknown), "{path} for {headers:?}");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn what_first_clients_read_is_always_there() {
    let server = TestServer::start().await;
    let usage = json!({"input": 3, "input_cached_tokens": 2, "output": 4});
    let events = [
        event("trace-create", 0, json!({"id": "t"})),
        event("generation-create", 1, json!({"id": "g", "traceId": "t", "usageDetails": usage})),
        event("span-create", 2, json!({"id": "s", "traceId": "t"})),
        event("score-create", 3, json!({"id": "n", "traceId": "t", "name": "q", "value": 0.5})),
    ];
    record(&server, &events).await;
    let trace = read(&server, "/api/public/traces/t").await;
    let listed = read(&server, "/api/public/observations").await;
    let alone = read(&server, "/api/public/observations/g").await;
    let within = trace["observations"].as_array().unwrap().iter();
    let all: Vec<&Value> =
        within.chain(listed["data"].as_array().unwrap()).chain([&alone]).collect();
    assert_eq!(all.len(), 5);
    for step in all {
        let tokens = ["promptTokens", "completionTokens", "totalTokens"].map(|name| &step[name]);
        let expected = if step["id"] == "g" { [5, 4, 9] } else { [0, 0, 0] };
        assert_eq!(json!(tokens), json!(expected), "{}", step["id"]);
    }
    let null = Some(&Value::Null);
    assert_eq!(trace.get("externalId"), null);
    for path in ["traces/t", "scores/n", "v2/scores/n"] {
        let answer = read(&server, &format!("/api/public/{path}")).await;
        let score = answer["scores"].get(0).unwrap_or(&answer);
        assert_eq!((score.get("stringValue"), &score["value"]), (null, &json!(0.5)), "{path}");
    }
    server.stop().await;
}

#[tokio::test]
async fn records_are_written_one_at_a_time() {
    let server = TestServer::start().await;
    let trace = json!({"id": "t", "name": "trip", "userId": "u", "metadata": {"n": 1}});
    assert_eq!(write(&server, "POST", "traces", trace).await, "t");
    let span =
        json!({"id": "s", "traceId": "t", "name": "plan", "startTime": "2026-11-15T10:00:00Z"});
    assert_eq!(write(&server, "POST", "spans", span).await, "s");
    let end = json!({"spanId": "s", "endTime": "2026-11-15T10:00:02Z", "output": "done"});
    assert_eq!(write(&server, "PATCH", "spans", end).await, "s");
    let generation = json!({
        "id": "g", "traceId": "t", "parentObservationId": "s", "model": "gpt-4o",
        "modelParameters": {"temperature": 0.2}, "prompt": [{"role": "user", "content": "?"}],
        "usage": {"promptTokens": 3, "completionTokens": 4},
    });
    assert_eq!(write(&server, "POST", "generations", generation).await, "g");
    let end = json!({"generationId": "g", "completion": "Lisbon"});
    assert_eq!(write(&server, "PATCH", "generations", end).await, "g");
    let event = write(&server, "POST", "events", json!({"traceId": "t", "name": "click"})).await;

    let trace = read(&server, "/api/public/traces/t").await;
    assert_eq!((&trace["name"], &trace["metadata"]), (&json!("trip"), &json!({"n": 1})));
    let kinds = |id: &str| {
        let mut steps = trace["observations"].as_array().unwrap().iter();
        steps.find(|step| step["id"] == id).unwrap()
    };
    assert_eq!((&kinds("s")["type"], &kinds("s")["latency"]), (&json!("SPAN"), &json!(2.0)));
    assert_eq!(kinds("s")["output"], "done");
    let call = kinds("g");
    assert_eq!((&call["type"], &call["output"]), (&json!("GENERATION"), &json!("Lisbon")));
    assert_eq!(call["input"][0]["content"], "?");
    assert_eq!((&call["promptTokens"], &call["totalTokens"]), (&json!(3), &json!(7)));
    assert_eq!(kinds(&event)["type"], "EVENT");
    server.stop().await;
}

#[tokio::test]
async fn single_writes_merge_with_batches_whatever_comes_first() {
    let server = TestServer::start().await;
    let end = json!({"generationId": "g", "completion": "Lisbon"});
    write(&server, "PATCH", "generations", end).await;
    let create = json!({"id": "g", "traceId": "t", "name": "ask", "input": "where?"});
    record(&server, &[event("generation-create", 0, create)]).await;
    let call = read(&server, "/api/public/observations/g").await;
    assert_eq!((&call["traceId"], &call["name"]), (&json!("t"), &json!("ask")));
    assert_eq!((&call["input"], &call["output"]), (&json!("where?"), &json!("Lisbon")));
    server.stop().await;
}

#[tokio::test]
async fn single_writes_that_make_no_sense_are_refused() {
    let server = TestServer::start().await;
    for (method, path, body, words) in [
        ("PATCH", "spans", json!({"output": 1}), r#""path":["spanId"]"#),
        ("PATCH", "generations", json!({"id": null}), r#""path":["generationId"]"#),
        ("POST", "spans", json!({"startTime": "soon"}), r#""path":["startTime"]"#),
        ("POST", "generations", json!({"usage": 1}), "not a JSON object"),
        ("POST", "traces", json!({"name": "x".repeat(1_001)}), "1000 characters"),
        ("POST", "events", json!([]), "object"),
    ] {
        let reply = send(&server, method, &format!("/api/public/{path}"), body).await;
        reply.check(400, words);
    }
    let post = server.post("/api/public/traces").key(Role::Viewer).json("{}".to_owned());
    post.send().await.check(403, "viewer");
    assert_eq!(read(&server, "/api/public/traces").await["data"], json!([]), "nothing is written");
    server.stop().await;
}

#[tokio::test]
async fn prompts_are_read_and_made_as_in_the_first_version() {
    let server = TestServer::start().await;
    let post = |body: Value| server.post("/api/public/prompts").json(body.to_string()).send();
    let active = json!({"name": "trips/eu", "prompt": "Go to {{city}}", "isActive": true});
    let first = post(active).await.check(201, "").json();
    assert_eq!((&first["version"], &first["isActive"]), (&json!(1), &json!(true)));
    let draft = json!({"name": "trips/eu", "prompt": "Fly to {{city}}", "isActive": false});
    let second = post(draft).await.check(201, "").json();
    assert_eq!((&second["version"], &second["isActive"]), (&json!(2), &json!(false)));
    for (query, version) in
        [("name=trips/eu", 1), ("name=trips%2Feu&version=2", 2), ("name=trips/eu&label=latest", 2)]
    {
        let found = read(&server, &format!("/api/public/prompts?{query}")).await;
        assert_eq!(found["version"], version, "{query}");
    }
    server.get("/api/public/prompts").send().await.check(400, r#""path":["name"]"#);
    let nobody = server.get("/api/public/prompts?name=nope").send().await;
    assert_eq!(nobody.check(404, "'nope'").json()["error"], "LangfuseNotFoundError");
    server.stop().await;
}

#[tokio::test]
async fn a_slash_at_the_end_of_a_path_changes_nothing() {
    let server = TestServer::start().await;
    write(&server, "POST", "traces/", json!({"id": "t", "name": "trip"})).await;
    let batch = json!({"batch": [event("span-create", 1, json!({"id": "s", "traceId": "t"}))]});
    let post = server.post("/api/public/ingestion/").json(batch.to_string());
    post.send().await.check(207, "201");
    let spans = server.post("/v1/traces/").json(json!({"resourceSpans": []}).to_string());
    spans.send().await.check(200, "");
    for path in ["traces", "traces/t", "observations/s", "health", "v2/prompts", "projects"] {
        let (plain, slashed) = (format!("/api/public/{path}"), format!("/api/public/{path}/"));
        assert_eq!(read(&server, &slashed).await, read(&server, &plain).await, "{path}");
    }
    let listed = read(&server, "/api/public/traces/?name=trip&limit=1").await;
    assert_eq!(listed["meta"]["totalItems"], 1);
    server.get("/api/public/traces//").send().await.check(404, "");
    server.get("/api/public/nothing/").send().await.check(404, "there is no");
    server.stop().await;
}

#[tokio::test]
async fn an_upload_may_be_reported_before_its_bytes_come() {
    let server = TestServer::start().await;
    let (id, hello) = (super::media::id(), super::media::hello("image/png"));
    let path = format!("/api/public/media/{id}");
    let announced = super::media::announce(&server, &hello).await.check(200, "").json();
    let report = |status: u16| {
        json!({"uploadedAt": "2026-11-15T11:59:00Z", "uploadHttpStatus": status,
               "uploadHttpError": "slow"})
    };
    send(&server, "PATCH", &path, report(500)).await.check(204, "");
    server.get(&path).send().await.check(404, "LangfuseNotFoundError");
    send(&server, "PATCH", &path, report(200)).await.check(204, "");
    let media = read(&server, &path).await;
    assert_eq!((&media["mediaId"], &media["contentLength"]), (&json!(id), &json!(5)));
    let link = media["url"].as_str().unwrap();
    server.request("GET", link).send().await.check(404, "not found");
    let put = server.request("PUT", announced["uploadUrl"].as_str().unwrap());
    put.bytes(b"hello").send().await.check(200, "");
    server.request("GET", link).send().await.check(200, "hello");
    server.stop().await;
}
