use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::mpsc::sync_channel;

use ratchet_testkit::http;
use ratchet_testkit::process::{Launch, PUBLIC_KEY, Ratchet, SECRET_KEY, Signal};
use ratchet_testkit::proxy::{Proxy, Seen, Verdict};
use ratchet_testkit::wait;
use serde_json::{Value, json};

use crate::{ask, fails, folder, json as json_of, ratchet, server};

/// Traces on the server that is copied; several slices of them.
const TRACES: usize = 230;

fn post(running: &Ratchet, path: &str, body: &Value) -> Value {
    let answer = running.send(http::post(path).json(body.to_string()));
    assert!((200..300).contains(&answer.status), "{path}: {}", answer.text());
    answer.json()
}

fn event(kind: &str, id: &str, minute: usize, body: Value) -> Value {
    let timestamp = format!("2026-03-02T{:02}:{:02}:00Z", minute / 60, minute % 60);
    let mut event = json!({"id": format!("{kind}-{id}"), "timestamp": timestamp, "type": kind});
    event["body"] = body;
    event["body"]["id"] = json!(id);
    event
}

/// A server that holds a bit of everything, and its folder.
fn response() -> (Ratchet, tempfile::TempDir) {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).start();
    let config = json!({"name": "grade", "dataType": "CATEGORICAL",
        "categories": [{"label": "bad", "value": 0}, {"label": "good", "value": 1}]});
    let config = post(&running, "/api/public/score-configs", &config);
    for (text, labels) in [("Hi", json!([])), ("Hello", json!(["production"])), ("Hey", json!([]))]
    {
        let body = json!({"name": "chat/greet", "prompt": text, "labels": labels, "tags": ["t"],
            "config": {"temperature": 0.5}, "commitMessage": format!("says {text}")});
        post(&running, "/api/public/v2/prompts", &body);
    }
    let greeting = "@@@langfusePrompt:name=chat/greet|label=production@@@ you";
    let body = json!({"name": "a-composed-one", "prompt": greeting, "labels": ["production"]});
    post(&running, "/api/public/v2/prompts", &body);
    let mut batch = Vec::new();
    for n in 0..TRACES {
        let (trace, call) = (format!("t{n}"), format!("c{n}"));
        let body = json!({"name": "chat", "userId": format!("u{}", n % 3), "input": {"n": n},
            "sessionId": format!("s{}", n % 7), "tags": ["b", "a"], "metadata": {"n": [n, null]},
            "output": "done", "environment": "prod", "release": "r1", "public": n % 2 == 0});
        batch.push(event("trace-create", &trace, n, body));
        let body = json!({"traceId": trace, "name": "ask", "model": "gpt-5", "input": "4e10",
            "startTime": format!("2026-03-02T{:02}:{:02}:01.5Z", n / 60, n % 60),
            "endTime": format!("2026-03-02T{:02}:{:02}:02Z", n / 60, n % 60),
            "usageDetails": {"input": 3, "output": 4}, "costDetails": {"input": 0.25},
            "metadata": {"long": "x".repeat(300), "agent": "greeter"}, "environment": "prod",
            "promptName": "chat/greet", "promptVersion": 2, "level": "WARNING"});
        batch.push(event("generation-create", &call, n, body));
    }
    let score = json!({"traceId": "t1", "name": "grade", "value": "good", "source": "ANNOTATION",
        "configId": config["id"], "dataType": "CATEGORICAL", "comment": "well"});
    batch.push(event("score-create", "g1", 300, score));
    let score = json!({"traceId": "t1", "observationId": "c1", "name": "ok", "value": true});
    batch.push(event("score-create", "g2", 301, score));
    let score = json!({"sessionId": "s1", "name": "mood", "value": 0.75});
    batch.push(event("score-create", "g3", 302, score));
    let result = post(&running, "/api/public/ingestion", &json!({ "batch": batch }));
    assert_eq!(result["errors"], json!([]));
    tell_of_datasets(&running);
    (running, data)
}

/// A dataset with items, a run that tries one of them twice, a score on it, and a model.
fn tell_of_datasets(running: &Ratchet) {
    let dataset = json!({"name": "hard/ones", "description": "d", "metadata": {"k": 1},
        "inputSchema": {"type": "object"}});
    post(running, "/api/public/v2/datasets", &dataset);
    for n in 0..60 {
        let item = json!({"datasetName": "hard/ones", "id": format!("i{n}"), "input": {"n": n},
            "expectedOutput": n, "sourceTraceId": "t1"});
        post(running, "/api/public/dataset-items", &item);
    }
    let mut run = Value::Null;
    for (item, trace) in [("i1", "t1"), ("i1", "t2"), ("i2", "t3")] {
        let item = json!({"runName": "first try", "datasetItemId": item, "traceId": trace,
            "metadata": {"m": true}});
        run = post(running, "/api/public/dataset-run-items", &item)["datasetRunId"].clone();
    }
    let score = json!({"id": "g4", "datasetRunId": run, "name": "overall", "value": 0.5});
    post(running, "/api/public/scores", &score);
    let model = json!({"modelName": "house", "matchPattern": "(?i)^house$", "unit": "TOKENS",
        "inputPrice": 0.5, "outputPrice": 0.25});
    post(running, "/api/public/models", &model);
}

/// The run and the model, without what belongs to one server.
fn run_and_model(running: &Ratchet) -> Value {
    let path = "/api/public/datasets/hard%2Fones/runs/first%20try";
    let run = running.send(http::get(path)).json();
    let tries = run["datasetRunItems"].as_array().unwrap().iter();
    let mut tries: Vec<_> =
        tries.map(|item| (item["datasetItemId"].clone(), item["traceId"].clone())).collect();
    tries.sort_by_key(|(item, trace)| format!("{item}{trace}"));
    let scores = running.send(http::get("/api/public/v2/scores?name=overall")).json();
    assert_eq!(scores["data"][0]["datasetRunId"], run["id"], "the score follows its run");
    let mut own = Vec::new();
    for page in 1..=10 {
        let path = format!("/api/public/models?limit=100&page={page}");
        let models = running.send(http::get(&path)).json();
        let models = models["data"].as_array().unwrap().clone();
        own.extend(models.into_iter().filter(|model| model["isLangfuseManaged"] == false));
    }
    let prices: Vec<_> = own.iter().map(|model| model["prices"].clone()).collect();
    json!({"tries": tries, "metadata": run["metadata"], "prices": prices})
}

fn copy(from: &str, into: &Path) -> Launch {
    let into = into.to_str().unwrap();
    ratchet(&["import", "langfuse", from, "--data", into])
        .env("LANGFUSE_PUBLIC_KEY", PUBLIC_KEY)
        .env("LANGFUSE_SECRET_KEY", SECRET_KEY)
}

/// Everything that can be read, without what belongs to one server and not to the records.
fn all(running: &Ratchet) -> BTreeMap<&'static str, Vec<Value>> {
    let lists = [
        "traces",
        "observations",
        "v2/scores",
        "sessions",
        "score-configs",
        "v2/prompts",
        "v2/datasets",
        "dataset-items",
    ];
    lists.into_iter().map(|list| (list, rows(running, list))).collect()
}

fn rows(running: &Ratchet, list: &str) -> Vec<Value> {
    let mut rows = Vec::new();
    for page in 1.. {
        let path = format!("/api/public/{list}?limit=100&page={page}");
        let answer = running.send(http::get(&path)).json();
        rows.extend(answer["data"].as_array().unwrap().iter().cloned().map(bare));
        if page >= answer["meta"]["totalPages"].as_u64().unwrap() {
            break;
        }
    }
    rows.sort_by_key(|row| row["id"].as_str().or(row["name"].as_str()).unwrap().to_owned());
    rows
}

fn bare(mut row: Value) -> Value {
    // A score config or a dataset has another id on each server.
    let is_config = row.get("isArchived").is_some() || row.get("inputSchema").is_some();
    let fields = row.as_object_mut().unwrap();
    for key in [
        "createdAt",
        "updatedAt",
        "projectId",
        "htmlPath",
        "lastUpdatedAt",
        "promptId",
        "configId",
        "datasetId",
        "datasetRunId",
    ] {
        fields.remove(key);
    }
    if is_config {
        fields.remove("id");
    }
    row
}

fn served(data: &Path) -> Ratchet {
    server(data).start()
}

#[test]
fn a_copy_is_the_same_and_copying_again_changes_nothing() {
    let (from, _data) = response();
    let into = folder();
    let report = json_of(copy(from.web(), into.path()));
    assert_eq!(report["parts"]["traces"]["recorded"], TRACES);
    assert_eq!(report["parts"]["prompts"]["read"], 2);
    assert_eq!(report["problems"], json!([]));
    let running = served(into.path());
    let copied = all(&running);
    assert_eq!(copied, all(&from));
    let runs = run_and_model(&from);
    assert_eq!(run_and_model(&running), runs);
    drop(running);

    let report = json_of(copy(from.web(), into.path()));
    assert_eq!(report["parts"]["traces"]["read"], 0, "nothing is new: {report}");
    json_of(copy(from.web(), into.path()).arg("--from-start"));
    let running = served(into.path());
    assert_eq!(all(&running), copied);
    assert_eq!(run_and_model(&running), runs);
    let keys = json_of(ask(&running, &["keys", "list"]));
    assert_eq!(keys.as_array().unwrap().len(), 1, "the import's own key is gone");
}

#[test]
fn a_copy_goes_into_a_server_too_and_only_what_is_wanted() {
    let (from, _data) = response();
    let (data, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let into = server(data.path()).start();
    let checkpoint = home.path().join("c.json").to_str().unwrap().to_owned();
    let copy = |more: &[&str]| {
        ask(&into, &["import", "langfuse", from.web(), "--checkpoint", &checkpoint])
            .args(more)
            .env("LANGFUSE_PUBLIC_KEY", PUBLIC_KEY)
            .env("LANGFUSE_SECRET_KEY", SECRET_KEY)
    };
    let report = json_of(copy(&["--dry-run"]));
    assert_eq!(report["parts"]["observations"]["read"], TRACES);
    assert_eq!(report["parts"]["observations"]["recorded"], 0);
    assert_eq!(rows(&into, "traces").len(), 0);

    let report = json_of(copy(&["--since", "2026-03-02T03:00:00Z"]));
    assert_eq!(report["parts"]["traces"]["recorded"], TRACES - 180);
    assert_eq!(rows(&into, "traces").len(), TRACES - 180);
    json_of(copy(&["--from-start"]));
    assert_eq!(all(&into), all(&from));
}

#[test]
fn a_copy_that_was_killed_goes_on_where_it_was() {
    let (from, _data) = response();
    let into = folder();
    let (reached, wait_for_it) = sync_channel::<()>(1);
    let (release, held) = sync_channel::<()>(1);
    let held = Mutex::new(held);
    let is_third_slice =
        |seen: &Seen| seen.target.contains("/observations?") && seen.target.contains("page=2");
    let proxy = Proxy::start(from.address(), move |seen| {
        if is_third_slice(seen) && reached.try_send(()).is_ok() {
            // The copy waits here until it is killed.
            held.lock().unwrap().recv().ok();
        }
        Verdict::Pass
    });
    let (mut command, _home) = copy(&proxy.web(), into.path()).into_parts();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait::receive("third slice", &wait_for_it);
    child.kill().unwrap();
    child.wait().unwrap();
    drop(release);
    let before = proxy.seen().len();

    let report = json_of(copy(&proxy.web(), into.path()));
    assert_eq!(report["parts"]["traces"]["recorded"], TRACES);
    assert_eq!(report["parts"]["observations"]["recorded"], TRACES);
    let again = proxy.seen().split_off(before);
    assert!(again.iter().all(|seen| !seen.target.contains("/traces?")), "{again:?}");
    assert_eq!(all(&served(into.path())), all(&from));
}

/// What the newer era cannot tell of a trace: what it says of itself beyond its observations.
fn as_newer_era_tells(mut lists: BTreeMap<&'static str, Vec<Value>>) -> Value {
    for trace in lists.get_mut("traces").unwrap() {
        for key in ["timestamp", "input", "output", "metadata"] {
            trace.as_object_mut().unwrap().remove(key);
        }
    }
    for session in lists.get_mut("sessions").unwrap() {
        session.as_object_mut().unwrap().remove("createdAt");
    }
    json!(lists)
}

#[test]
fn servers_of_either_era_can_be_copied() {
    let (from, _data) = response();
    let older = folder();
    json_of(copy(&Proxy::without_v4_era(from.address()).web(), older.path()));
    assert_eq!(all(&served(older.path())), all(&from));

    let newer = folder();
    let report = json_of(copy(&Proxy::without_v3_era(from.address()).web(), newer.path()));
    assert_eq!(report["problems"], json!([]));
    let copied = as_newer_era_tells(all(&served(newer.path())));
    assert_eq!(copied, as_newer_era_tells(all(&from)));
}

#[test]
fn a_copy_says_what_is_missing() {
    let into = folder();
    let data = into.path().to_str().unwrap();
    let bare = ratchet(&["import", "langfuse", "http://127.0.0.1:1", "--data", data])
        .without_env("LANGFUSE_PUBLIC_KEY")
        .without_env("LANGFUSE_SECRET_KEY");
    assert!(fails(bare, 2).contains("--langfuse-public-key"));
    let message = fails(copy("ftp://example.org", into.path()), 1);
    assert!(message.contains("neither https:// nor http://"), "{message}");
    let message = fails(copy("http://pk:sk@127.0.0.1:1", into.path()), 1);
    assert!(message.contains("keys do not belong into an address"), "{message}");
    assert!(!message.contains("sk@"), "{message}");
    let message = fails(copy("http://127.0.0.1:1", into.path()).args(["--since", "monday"]), 1);
    assert!(message.contains("--since monday is not a time"), "{message}");
}

#[test]
fn a_wrong_key_is_told() {
    let (from, _data) = response();
    let into = folder();
    let launch = copy(from.web(), into.path()).env("LANGFUSE_SECRET_KEY", "wrong");
    let message = fails(launch, 1);
    assert!(message.contains("401") && message.contains("check the public"), "{message}");
    from.signal(Signal::TERM);
}

/// SHA-256 of `hello`, in base64, and the id that follows from it.
const HELLO: (&str, &str) =
    ("LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=", "LPJNul-wow4m6DsqxbninhsW");

/// A server with a picture in a trace, a queue, comments, and an item that was tried and archived.
fn told_of_rooms() -> (Ratchet, tempfile::TempDir) {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).start();
    let picture = json!({"traceId": "t1", "contentType": "image/png", "contentLength": 5,
        "sha256Hash": HELLO.0, "field": "input"});
    let response = post(&running, "/api/public/media", &picture);
    let put = running.send(http::request("PUT", &path_of(&response["uploadUrl"])).body("hello"));
    assert_eq!(put.status, 200, "{}", put.text());
    let gone = format!("@@@langfuseMedia:type=image/png|id={}|source=bytes@@@", "x".repeat(22));
    let mut batch = Vec::new();
    for (trace, step) in [("t1", "s1"), ("t2", "s2")] {
        batch.push(event("trace-create", trace, 1, json!({"name": "chat"})));
        let body = json!({"traceId": trace, "input": {"image": reference()}, "output": gone,
            "startTime": "2026-03-02T08:00:00Z"});
        batch.push(event("span-create", step, 1, body));
    }
    post(&running, "/api/public/ingestion", &json!({ "batch": batch }));
    let config = json!({"name": "ok", "dataType": "BOOLEAN"});
    let config = post(&running, "/api/public/score-configs", &config);
    let queue = json!({"name": "to check", "description": "d", "scoreConfigIds": [config["id"]]});
    let queue = post(&running, "/api/public/annotation-queues", &queue);
    let items = format!("/api/public/annotation-queues/{}/items", queue["id"].as_str().unwrap());
    for (id, status) in [("t1", "COMPLETED"), ("t2", "PENDING")] {
        let item = json!({"objectId": id, "objectType": "TRACE", "status": status});
        post(&running, &items, &item);
    }
    let project = running.send(http::get("/api/public/projects")).json()["data"][0]["id"].clone();
    for content in ["good", "so so", "good"] {
        let comment = json!({"projectId": project, "objectType": "TRACE", "objectId": "t1",
            "content": content});
        post(&running, "/api/public/comments", &comment);
    }
    post(&running, "/api/public/v2/datasets", &json!({"name": "d"}));
    for (id, input) in [("i1", json!(1)), ("i2", json!(reference()))] {
        post(
            &running,
            "/api/public/dataset-items",
            &json!({"datasetName": "d", "id": id, "input": input}),
        );
    }
    let tried = json!({"runName": "r", "datasetItemId": "i1", "traceId": "t1"});
    post(&running, "/api/public/dataset-run-items", &tried);
    let archived = json!({"datasetName": "d", "id": "i1", "status": "ARCHIVED"});
    post(&running, "/api/public/dataset-items", &archived);
    (running, data)
}

/// The path of a link, whatever the server was called by.
fn path_of(url: &Value) -> String {
    let (_, rest) = url.as_str().unwrap().split_once("/api/").unwrap();
    format!("/api/{rest}")
}

fn reference() -> String {
    let id = HELLO.1.chars().take(22).collect::<String>();
    format!("@@@langfuseMedia:type=image/png|id={id}|source=bytes@@@")
}

/// What a server shows of all that.
fn rooms(running: &Ratchet) -> Value {
    let get = |path: &str| running.send(http::get(&format!("/api/public/{path}"))).json();
    let id = HELLO.1.chars().take(22).collect::<String>();
    let media = get(&format!("media/{id}"));
    let bytes = running.send(http::get(&path_of(&media["url"]))).text();
    let queue = get("annotation-queues")["data"][0].clone();
    let items = get(&format!("annotation-queues/{}/items", queue["id"].as_str().unwrap()));
    let fields = |rows: &Value, names: &[&str]| {
        let row = |row: &Value| names.iter().map(|name| row[*name].clone()).collect::<Vec<_>>();
        rows["data"].as_array().unwrap().iter().map(row).collect::<Vec<_>>()
    };
    json!({
        "media": [media["contentType"], bytes],
        "queue": [queue["name"], queue["description"], queue["scoreConfigIds"].as_array().unwrap().len()],
        "items": fields(&items, &["objectId", "objectType", "status"]),
        "comments": fields(&get("comments"), &["objectType", "objectId", "content"]),
        "item": [get("dataset-items/i1")["status"], get("dataset-items/i1")["input"]],
        "references": get("dataset-items/i2")["mediaReferences"][0]["jsonPath"],
        "run": fields(&json!({"data": get("datasets/d/runs/r")["datasetRunItems"]}), &["datasetItemId", "traceId", "observationId"]),
    })
}

#[test]
fn what_stands_beside_the_traces_is_copied_from_either_era() {
    let (from, _data) = told_of_rooms();
    let expected = rooms(&from);
    assert_eq!(expected["media"], json!(["image/png", "hello"]));
    assert_eq!(expected["comments"].as_array().unwrap().len(), 3);
    for hide in [Proxy::without_v4_era, Proxy::without_v3_era] {
        let proxy = hide(from.address());
        let into = folder();
        for more in [&[][..], &["--from-start"]] {
            let finished = copy(&proxy.web(), into.path()).arg("--json").args(more).run();
            let report: Value = serde_json::from_str(&finished.stdout).unwrap();
            // One picture is nowhere; all else is there, and once.
            assert_eq!(finished.code, Some(3), "{report}");
            assert_eq!(report["problems"].as_array().unwrap().len(), 1, "{report}");
            assert!(report["problems"][0]["record"].as_str().unwrap().starts_with("media xxx"));
            assert_eq!(rooms(&served(into.path())), expected);
        }
    }
}
