use std::time::Duration;

use serde_json::{Value, json};

use super::read;
use crate::harness::{Reply, TestServer};

const SKILLS: &str = "/api/public/unstable/skills";

fn main_file(name: &str, description: &str) -> Value {
    let content =
        format!("---\nname: {name}\ndescription: {description}\nlicense: MIT\n---\n# {name}\n");
    json!({"path": "SKILL.md", "content": content})
}

async fn send(server: &TestServer, files: &[Value]) -> Reply {
    server.post(SKILLS).json(json!({ "files": files }).to_string()).send().await
}

/// Creates a version; must succeed.
async fn create(server: &TestServer, files: &[Value]) -> Value {
    server.clock.advance(Duration::from_secs(1));
    send(server, files).await.check(200, "").json()
}

async fn patch(server: &TestServer, rest: &str, body: Value) -> Reply {
    server.clock.advance(Duration::from_secs(1));
    server.request("PATCH", &format!("{SKILLS}/{rest}")).json(body.to_string()).send().await
}

async fn label(server: &TestServer, version: &str, labels: &[&str]) -> Reply {
    patch(server, version, json!({ "labels": labels })).await
}

async fn show(server: &TestServer, rest: &str) -> Value {
    read(server, &format!("{SKILLS}/{rest}")).await
}

async fn contents(server: &TestServer, hashes: &[&Value]) -> Reply {
    let hashes: Vec<_> = hashes.iter().map(|hash| hash.as_str().unwrap()).collect();
    let hashes = hashes.join(",").replace('+', "%2B");
    server.get(&format!("{SKILLS}/files/content?sha256Hashes={hashes}")).send().await
}

#[tokio::test]
async fn a_version_reads_back_as_it_was_made() {
    let server = TestServer::start().await;
    let files = [
        json!({"path": "scripts/fill.py", "content": "print('ü')\n"}),
        main_file("pdf-forms", "Fills in PDF forms."),
    ];
    let made = create(&server, &files).await;
    for (field, expected) in [
        ("name", json!("pdf-forms")),
        ("description", json!("Fills in PDF forms.")),
        ("version", json!(1)),
        ("labels", json!(["latest"])),
        ("tags", json!([])),
        ("commitMessage", Value::Null),
        ("projectId", json!("shop")),
        ("createdBy", json!("API")),
        ("createdAt", json!("2026-11-15T12:00:01.000Z")),
        ("updatedAt", json!("2026-11-15T12:00:01.000Z")),
        (
            "frontmatter",
            json!({"name": "pdf-forms", "description": "Fills in PDF forms.", "license": "MIT"}),
        ),
    ] {
        assert_eq!(made[field], expected, "{field}");
    }
    let listed: Vec<_> = made["files"].as_array().unwrap().iter().collect();
    let paths: Vec<_> = listed.iter().map(|file| &file["path"]).collect();
    assert_eq!(paths, ["SKILL.md", "scripts/fill.py"]);
    assert_eq!(listed[0]["contentType"], "text/markdown");
    assert_eq!(listed[1]["contentType"], "text/x-python");
    assert_eq!(listed[1]["contentLength"], 12);
    assert_eq!(show(&server, "pdf-forms?label=latest").await, made);
    assert_eq!(show(&server, "pdf-forms?version=1").await, made);
    let (main, script) = (&listed[0]["sha256Hash"], &listed[1]["sha256Hash"]);
    let held = contents(&server, &[script, main, script]).await.check(200, "").json();
    assert_eq!(
        held["data"],
        json!([
            {"sha256Hash": script, "content": "print('ü')\n"},
            {"sha256Hash": main, "content": files[1]["content"]},
        ])
    );
    server.stop().await;
}

#[tokio::test]
async fn labels_are_replaced_and_moved_and_latest_stays_at_the_newest() {
    let server = TestServer::start().await;
    create(&server, &[main_file("a", "one")]).await;
    server.get(&format!("{SKILLS}/a")).send().await.check(404, "label 'production'");
    label(&server, "a/versions/1", &["production", "eu"]).await.check(200, "");
    assert_eq!(show(&server, "a").await["labels"], json!(["eu", "production", "latest"]));
    create(&server, &[main_file("a", "two")]).await;
    assert_eq!(show(&server, "a").await["description"], "one");
    let moved =
        label(&server, "a/versions/2", &["production", "latest"]).await.check(200, "").json();
    assert_eq!(moved["labels"], json!(["production", "latest"]));
    assert_eq!(moved["updatedAt"], "2026-11-15T12:00:04.000Z");
    assert_eq!(show(&server, "a?version=1").await["labels"], json!(["eu"]));
    label(&server, "a/versions/1", &[]).await.check(200, r#""labels":[]"#);
    label(&server, "a/versions/1", &["latest"]).await.check(400, "cannot be moved");
    label(&server, "a/versions/1", &["Not Plain"]).await.check(400, r#"["labels",0]"#);
    label(&server, "a/versions/9", &["eu"]).await.check(404, "LangfuseNotFoundError");
    label(&server, "b/versions/1", &["eu"]).await.check(404, "LangfuseNotFoundError");
    label(&server, "a/versions/x", &["eu"]).await.check(400, "");
    server.stop().await;
}

#[tokio::test]
async fn tags_belong_to_all_versions() {
    let server = TestServer::start().await;
    create(&server, &[main_file("a", "one")]).await;
    create(&server, &[main_file("a", "two")]).await;
    let tagged = patch(&server, "a", json!({"tags": ["y", "x", "y"]})).await.check(200, "").json();
    assert_eq!((&tagged["version"], &tagged["tags"]), (&json!(2), &json!(["x", "y"])));
    assert_eq!(show(&server, "a?version=1").await["tags"], json!(["x", "y"]));
    assert_eq!(create(&server, &[main_file("a", "three")]).await["tags"], json!(["x", "y"]));
    patch(&server, "a", json!({"tags": []})).await.check(200, r#""tags":[]"#);
    patch(&server, "a", json!({"tags": [""]})).await.check(400, r#"["tags",0]"#);
    patch(&server, "a", json!({})).await.check(400, "tags");
    patch(&server, "b", json!({"tags": []})).await.check(404, "LangfuseNotFoundError");
    server.stop().await;
}

#[tokio::test]
async fn lists_show_the_newest_versions() {
    let server = TestServer::start().await;
    create(&server, &[main_file("a", "Old words")]).await;
    create(&server, &[main_file("b", "Ärger mit 100% Wolle")]).await;
    label(&server, "a/versions/1", &["production"]).await.check(200, "");
    create(&server, &[main_file("a", "New words")]).await;
    patch(&server, "b", json!({"tags": ["wool"]})).await.check(200, "");
    let list = read(&server, &format!("{SKILLS}?limit=1")).await;
    assert_eq!(
        list,
        json!({
            "data": [{
                "name": "a", "description": "New words", "tags": [], "latestVersion": 2,
                "latestVersionCreatedAt": "2026-11-15T12:00:04.000Z",
                "latestVersionLastUpdatedAt": "2026-11-15T12:00:04.000Z", "productionVersion": 1,
            }],
            "meta": {"page": 1, "limit": 1, "totalItems": 2, "totalPages": 2, "hasNextPage": true},
        })
    );
    for (query, expected) in [
        ("", vec!["a", "b"]),
        ("page=2&limit=1", vec!["b"]),
        ("name=b", vec!["b"]),
        ("search=WORDS", vec!["a"]),
        ("search=old", vec![]),
        ("search=%C3%84RGER", vec!["b"]),
        ("search=100%25", vec!["b"]),
        ("search=1_0", vec![]),
        ("search=B", vec!["b"]),
        ("tag=wool", vec!["b"]),
        ("tag=silk", vec![]),
        ("fromUpdatedAt=2026-11-15T12:00:05Z", vec!["b"]),
        ("toUpdatedAt=2026-11-15T12:00:05Z", vec!["a"]),
    ] {
        let found = read(&server, &format!("{SKILLS}?{query}")).await;
        let names: Vec<_> =
            found["data"].as_array().unwrap().iter().map(|row| &row["name"]).collect();
        assert_eq!(names, expected, "{query}");
    }
    server.stop().await;
}

#[tokio::test]
async fn files_may_refer_to_what_the_project_holds() {
    let server = TestServer::start().await;
    let notes = json!({"path": "notes.md", "content": "shared"});
    let first = create(&server, &[main_file("a", "one"), notes]).await;
    let [main, notes] = [0, 1].map(|file| first["files"][file]["sha256Hash"].clone());
    let by_hash = |path: &str, hash: &Value| json!({"path": path, "sha256Hash": hash});
    let files = [by_hash("SKILL.md", &main), by_hash("deep/notes.md", &notes)];
    let second = create(&server, &files).await;
    assert_eq!((&second["version"], &second["description"]), (&json!(2), &json!("one")));
    assert_eq!(second["files"][1]["blobId"], first["files"][1]["blobId"]);
    let nobodys = json!("47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    let reply = send(&server, &[main_file("a", "x"), by_hash("n", &nobodys)]).await;
    reply.check(400, "which no skill of this project holds");
    send(&server, &[by_hash("SKILL.md", &nobodys)]).await.check(400, r#"["files",0,"sha256Hash"]"#);
    assert_eq!(show(&server, "a?label=latest").await["version"], 2, "nothing is half-made");
    server.stop().await;
}

#[tokio::test]
async fn a_version_goes_with_what_only_it_held() {
    let server = TestServer::start().await;
    let shared = json!({"path": "shared.md", "content": "shared"});
    let first = create(&server, &[main_file("a", "one"), shared.clone()]).await;
    patch(&server, "a", json!({"tags": ["t"]})).await.check(200, "");
    let second = create(&server, &[main_file("a", "two"), shared]).await;
    let delete =
        async |version: u32| server.delete(&format!("{SKILLS}/a/versions/{version}")).send().await;
    delete(2).await.check(200, r#"{"deleted":true}"#);
    delete(2).await.check(404, "LangfuseNotFoundError");
    assert_eq!(show(&server, "a?label=latest").await["version"], 1);
    contents(&server, &[&second["files"][0]["sha256Hash"]]).await.check(404, "SHA-256");
    contents(&server, &[&second["files"][1]["sha256Hash"]]).await.check(200, "shared");
    delete(1).await.check(200, "");
    contents(&server, &[&first["files"][1]["sha256Hash"]]).await.check(404, "");
    assert_eq!(read(&server, SKILLS).await["data"], json!([]));
    assert_eq!(create(&server, &[main_file("a", "again")]).await["tags"], json!([]));
    server.stop().await;
}

#[tokio::test]
async fn what_is_no_skill_is_refused_with_the_reason() {
    let server = TestServer::start().await;
    let file = |path: &str, content: &str| json!({"path": path, "content": content});
    let good = || main_file("a", "one");
    for (files, expected) in [
        (vec![], "1 to 500 files"),
        (vec![file("README.md", "x")], "must have a file SKILL.md"),
        (vec![file("SKILL.md", "# a")], "SKILL.md must start with YAML"),
        (vec![file("SKILL.md", "---\nname: A\ndescription: d\n---\n")], "needs a name"),
        (vec![good(), file("../x", "x")], r#"["files",1,"path"]"#),
        (vec![good(), file("x", "x"), file("X", "y")], "has X twice"),
        (vec![good(), file("x", "a\0b")], "null bytes"),
        (vec![good(), file("x", &"x".repeat(1_000_001))], "at most 1000000 bytes"),
        (vec![good(), json!({"path": "x"})], "needs either content or sha256Hash"),
        (vec![good(), json!({"path": "x", "sha256Hash": "abc"})], r#"["files",1,"sha256Hash"]"#),
        (vec![good(), json!({"content": "x"})], "path"),
    ] {
        send(&server, &files).await.check(400, expected);
    }
    let get =
        async |query: &str| server.get(&format!("{SKILLS}/files/content?{query}")).send().await;
    get("").await.check(400, "sha256Hashes");
    get("sha256Hashes=abc").await.check(400, "base64");
    get("sha256Hashes=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=").await.check(404, "");
    server.get(&format!("{SKILLS}/a?version=1&label=x")).send().await.check(400, "both");
    server.stop().await;
}
