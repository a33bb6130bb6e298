use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use ratchet_core::id::ObservationId;
use ratchet_remote::http;
use ratchet_store::Store;
use ratchet_store::project::ProjectId;
use ratchet_testkit::otlp;
use ratchet_testkit::process::{
    Finished, Launch, PROJECT, PUBLIC_KEY, Ratchet, SECRET_KEY, Signal,
};
use ratchet_testkit::wait;
use reqwest::StatusCode;

use crate::{ask, fails, folder, json, ok, ratchet, server};

const TRACE: u128 = 0xabc;
const SPAN: u64 = 0xdef;

/// Records one span over OTLP.
fn record(running: &Ratchet) {
    let body = otlp::request("shop").with(otlp::span(TRACE, SPAN).named("checkout")).to_protobuf();
    let status = block_on(async {
        let request = http::on_this_machine()
            .build()
            .unwrap()
            .post(format!("{}/api/public/otel/v1/traces", running.web()))
            .basic_auth(PUBLIC_KEY, Some(SECRET_KEY))
            .header("content-type", "application/x-protobuf")
            .body(body);
        request.send().await.unwrap().status()
    });
    assert_eq!(status, StatusCode::OK);
}

/// Reads its name back, straight from a folder that no server holds.
fn recorded_name(data: &Path) -> Option<String> {
    let folder = Store::open(data, ratchet_testkit::folder::options()).unwrap();
    let project = ProjectId::parse(PROJECT).unwrap();
    let id = ObservationId::parse(&otlp::span_id(SPAN)).unwrap();
    block_on(async { folder.telemetry.observation(project, id).await.unwrap()?.name })
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(wait::with_timeout("the server's answer", work))
}

#[track_caller]
fn check_restores(backup: &Path) {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("restored");
    ok(ratchet(&["restore"]).arg(backup).arg("--data").arg(&data));
    assert_eq!(recorded_name(&data).as_deref(), Some("checkout"));
    let running = server(&data).start();
    assert_eq!(json(ask(&running, &["keys", "list"]))[0]["publicKey"], PUBLIC_KEY);
}

#[test]
fn a_backup_of_a_folder_comes_back() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).start();
    record(&running);
    running.signal(Signal::TERM);
    running.wait();
    let home = tempfile::tempdir().unwrap();
    let backup = home.path().join("backup");
    let made = json(ratchet(&["backup"]).arg(&backup).arg("--data").arg(data.path()));
    assert_eq!(made["files"].as_array().unwrap().len(), 3, "two databases and the manifest");
    assert_eq!(made["leftOut"], serde_json::json!(["secret.key"]));
    check_restores(&backup);
}

/// Sends `hello` as an image and returns the name of its file.
fn send_media(running: &Ratchet) -> String {
    let announced = serde_json::json!({
        "traceId": "t", "contentType": "image/png", "contentLength": 5, "field": "input",
        "sha256Hash": "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=",
    });
    let status = block_on(async {
        let client = http::on_this_machine().build().unwrap();
        let post = client.post(format!("{}/api/public/media", running.web()));
        let post = post.basic_auth(PUBLIC_KEY, Some(SECRET_KEY)).body(announced.to_string());
        let answer: serde_json::Value = post.send().await.unwrap().json().await.unwrap();
        let put = client.put(answer["uploadUrl"].as_str().unwrap()).body("hello");
        put.send().await.unwrap().status()
    });
    assert_eq!(status, StatusCode::OK);
    "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824".to_owned()
}

#[test]
fn media_come_back_with_both_kinds_of_backup() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).start();
    let name = send_media(&running);
    let home = tempfile::tempdir().unwrap();
    let (streamed, copied) = (home.path().join("streamed"), home.path().join("copied"));
    let made = json(ask(&running, &["backup"]).arg(&streamed));
    assert_eq!(made["files"].as_array().unwrap().len(), 4);
    running.signal(Signal::TERM);
    running.wait();
    ok(ratchet(&["backup"]).arg(&copied).arg("--data").arg(data.path()));
    for backup in [&streamed, &copied] {
        let restored = home.path().join("restored");
        ok(ratchet(&["restore"]).arg(backup).arg("--data").arg(&restored));
        assert_eq!(std::fs::read(restored.join("media").join(&name)).unwrap(), b"hello");
        std::fs::remove_dir_all(&restored).unwrap();
    }
    std::fs::write(copied.join("media").join(&name), "hullo").unwrap();
    let restored = home.path().join("damaged");
    let refused = fails(ratchet(&["restore"]).arg(&copied).arg("--data").arg(&restored), 1);
    assert!(refused.contains(&name) && refused.contains("SHA-256"), "{refused}");
    assert!(!restored.exists(), "nothing is left of it");
}

#[test]
fn a_backup_of_a_running_server_comes_back() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).start();
    record(&running);
    let home = tempfile::tempdir().unwrap();
    let backup = home.path().join("backup");
    let refused = fails(ratchet(&["backup"]).arg(&backup).arg("--data").arg(data.path()), 1);
    assert!(refused.contains("is in use by ratchet serve"), "{refused}");
    let made = json(ask(&running, &["backup"]).arg(&backup));
    assert_eq!(made["files"].as_array().unwrap().len(), 3);
    let scratch = std::fs::read_dir(data.path().join("tmp")).unwrap();
    assert_eq!(scratch.count(), 0, "the server keeps no copy");
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1, "nothing beside the backup");
    check_restores(&backup);
}

#[test]
fn a_streamed_backup_is_a_tar_file_for_anyone() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).start();
    let bytes = block_on(async {
        let request = http::on_this_machine()
            .build()
            .unwrap()
            .post(format!("{}/api/v1/backup", running.web()));
        let answer = request.basic_auth(PUBLIC_KEY, Some(SECRET_KEY)).send().await.unwrap();
        assert_eq!(answer.headers()["content-type"], "application/x-tar");
        answer.bytes().await.unwrap()
    });
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("backup.tar");
    std::fs::write(&file, bytes).unwrap();
    let listed = Command::new("tar").arg("tf").arg(&file).output().unwrap();
    assert_eq!(
        String::from_utf8(listed.stdout).unwrap(),
        "telemetry.db\ncatalog.db\nmanifest.json\n"
    );
    assert_eq!(String::from_utf8(listed.stderr).unwrap(), "");
}

#[test]
fn nothing_is_overwritten() {
    let data = folder();
    let home = tempfile::tempdir().unwrap();
    let (full, backup) = (home.path().join("full"), home.path().join("backup"));
    std::fs::create_dir(&full).unwrap();
    std::fs::write(full.join("mine"), "mine").unwrap();
    let message = fails(ratchet(&["backup"]).arg(&full).arg("--data").arg(data.path()), 1);
    assert!(message.contains("is not empty; back up into a new folder"), "{message}");
    ok(ratchet(&["backup"]).arg(&backup).arg("--data").arg(data.path()));
    let message = fails(ratchet(&["restore"]).arg(&backup).arg("--data").arg(&full), 1);
    assert!(message.contains("cannot restore"), "{message}");
    assert_eq!(std::fs::read_dir(&full).unwrap().count(), 1);
}

#[test]
fn a_damaged_backup_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let (empty, target) = (home.path().join("empty"), home.path().join("target"));
    std::fs::create_dir(&empty).unwrap();
    let message = fails(ratchet(&["restore"]).arg(&empty).arg("--data").arg(&target), 1);
    assert!(message.contains("is this a backup?"), "{message}");

    let data = folder();
    let backup = home.path().join("backup");
    ok(ratchet(&["backup"]).arg(&backup).arg("--data").arg(data.path()));
    std::fs::write(backup.join("telemetry.db"), "this is no database at all").unwrap();
    let message = fails(ratchet(&["restore"]).arg(&backup).arg("--data").arg(&target), 1);
    assert!(message.contains("telemetry.db"), "{message}");
    assert!(!target.exists());
}

/// A backup of a folder with a project, one trace, and what users and agents keep beside.
fn full_backup(home: &Path) -> PathBuf {
    let data = home.join("data");
    let running = server(&data).start();
    record(&running);
    for name in KEPT {
        write(&data.join(name), name);
    }
    let backup = home.join("backup");
    ok(ask(&running, &["backup"]).arg(&backup));
    running.signal(Signal::TERM);
    running.wait();
    backup
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// What conversations and users need beside the databases; the first has a long path.
const KEPT: [&str; 7] = [
    "chats/0b0c7f0e-2c11-4d2a-9a55-0e6c1d3b7a10/projects/-home-someone-work-with-a-long-name/\
     0b0c7f0e-2c11-4d2a-9a55-0e6c1d3b7a10.jsonl",
    "chats/0b0c7f0e-2c11-4d2a-9a55-0e6c1d3b7a10/.claude.json",
    "offline/success/default.toml",
    "offline/signals.toml",
    "reports/default/2026-11-08.md",
    "rubrics/mine.toml",
    "skills/greet/SKILL.md",
];

/// Refused, with nothing left of it.
#[track_caller]
fn check_refused(backup: &Path, flags: &[&str], expected: &[&str]) {
    let target = backup.with_extension("target");
    let launch = ratchet(&["restore"]).arg(backup).arg("--data").arg(&target);
    let response = fails(launch.args(flags), 1);
    for words in expected {
        assert!(response.contains(words), "{words} not in {response}");
    }
    assert!(!target.exists(), "{} is left", target.display());
}

#[test]
fn what_conversations_and_users_keep_comes_back_with_both_kinds_of_backup() {
    let home = tempfile::tempdir().unwrap();
    let streamed = full_backup(home.path());
    let (data, copied) = (home.path().join("data"), home.path().join("copied"));
    write(&data.join("chats/f/.credentials.json"), "hush");
    write(&data.join("mcp.json"), r#"{"mcpServers":{"p":{"env":{"KEY":"hush"}}}}"#);
    let made = json(ratchet(&["backup"]).arg(&copied).arg("--data").arg(&data));
    let left = serde_json::json!(["chats/f/.credentials.json", "secret.key", "mcp.json"]);
    assert_eq!(made["leftOut"], left, "sign-ins and keys stay where they are");
    for backup in [&streamed, &copied] {
        let restored = home.path().join("restored");
        ok(ratchet(&["restore"]).arg(backup).arg("--data").arg(&restored));
        for name in KEPT {
            assert_eq!(std::fs::read_to_string(restored.join(name)).unwrap(), name);
        }
        for secret in ["secret.key", "mcp.json"] {
            assert!(!restored.join(secret).exists(), "{secret}");
        }
        std::fs::remove_dir_all(&restored).unwrap();
    }
}

#[test]
fn a_backup_that_changed_since_is_refused_by_the_name_of_the_file() {
    let home = tempfile::tempdir().unwrap();
    let backup = full_backup(home.path());
    for name in KEPT.into_iter().chain(["catalog.db", "telemetry.db"]) {
        let path = backup.join(name);
        let whole = std::fs::read(&path).unwrap();
        let mut wrong = whole.clone();
        *wrong.last_mut().unwrap() ^= 1;
        std::fs::write(&path, wrong).unwrap();
        check_refused(&backup, &[], &[name, "is damaged: its SHA-256 is"]);
        std::fs::remove_file(&path).unwrap();
        check_refused(&backup, &[], &[name]);
        std::fs::write(&path, whole).unwrap();
    }
    write(&backup.join("manifest.json"), "{}");
    check_refused(&backup, &[], &["manifest.json is damaged"]);
    let response = r#"{"format":1,"version":"1","createdAt":"","leftOut":[],
                   "files":[{"path":"../x","bytes":1,"sha256":""}]}"#;
    write(&backup.join("manifest.json"), response);
    check_refused(&backup, &[], &["names ../x, which cannot be part of a backup"]);
}

#[test]
fn a_backup_of_an_earlier_version_is_taken_only_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    let backup = full_backup(home.path());
    std::fs::remove_file(backup.join("manifest.json")).unwrap();
    check_refused(&backup, &[], &["has no manifest.json", "--without-manifest"]);
    let restored = home.path().join("restored");
    ok(ratchet(&["restore", "--without-manifest"]).arg(&backup).arg("--data").arg(&restored));
    assert_eq!(recorded_name(&restored).as_deref(), Some("checkout"));
    assert_eq!(std::fs::read_to_string(restored.join(KEPT[0])).unwrap(), KEPT[0]);
}

#[test]
fn an_empty_or_foreign_catalog_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let backup = full_backup(home.path());
    std::fs::remove_file(backup.join("manifest.json")).unwrap();
    let catalog = backup.join("catalog.db");
    let as_it_is = ["--without-manifest"];
    std::fs::write(&catalog, "").unwrap();
    check_refused(&backup, &as_it_is, &["catalog.db is empty or not ratchet's"]);
    std::fs::copy(backup.join("telemetry.db"), &catalog).unwrap();
    check_refused(&backup, &as_it_is, &["catalog.db is empty or not ratchet's"]);
    // One of another folder, whose project is another.
    let other = home.path().join("other");
    drop(server(&other).env("RATCHET_INIT_PROJECT_ID", "elsewhere").start());
    let (stranger, theirs) = (home.path().join("theirs"), "catalog.db");
    ok(ratchet(&["backup"]).arg(&stranger).arg("--data").arg(&other));
    std::fs::copy(stranger.join(theirs), &catalog).unwrap();
    check_refused(&backup, &as_it_is, &["does not know the project", PROJECT, "telemetry.db"]);
}

#[test]
fn the_secret_key_is_copied_only_when_asked_and_then_comes_back() {
    let data = folder();
    std::fs::write(data.path().join("secret.key"), "hush").unwrap();
    let home = tempfile::tempdir().unwrap();
    let (without, with) = (home.path().join("without"), home.path().join("with"));
    ok(ratchet(&["backup"]).arg(&without).arg("--data").arg(data.path()));
    assert!(!without.join("secret.key").exists());
    let launch = ratchet(&["backup", "--include-secret-key"]).arg(&with);
    ok(launch.arg("--data").arg(data.path()));
    assert_eq!(std::fs::read_to_string(with.join("secret.key")).unwrap(), "hush");
    let restored = home.path().join("restored");
    let response = fails_not(ratchet(&["restore"]).arg(&without).arg("--data").arg(&restored));
    assert!(response.contains("the backup has no secret.key"), "{response}");
    std::fs::remove_dir_all(&restored).unwrap();
    ok(ratchet(&["restore"]).arg(&with).arg("--data").arg(&restored));
    let key = restored.join("secret.key");
    assert_eq!(std::fs::read_to_string(&key).unwrap(), "hush");
    assert_eq!(std::fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
}

/// What a command that must succeed says beside its answer.
#[track_caller]
fn fails_not(launch: Launch) -> String {
    let Finished { code, stdout, stderr } = launch.run();
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    stderr
}

#[test]
fn compaction_says_what_it_gave_back() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).start();
    record(&running);
    let report = json(ask(&running, &["compact"]));
    assert!(report["bytesBefore"].as_u64().unwrap() > 0, "{report}");
    drop(running);
    let report = json(ratchet(&["compact"]).arg("--data").arg(data.path()));
    assert!(report["bytesAfter"].as_u64().unwrap() > 0, "{report}");
}
