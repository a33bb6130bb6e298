use std::path::Path;

use ratchet_testkit::process::{Launch, PROJECT, Ratchet};
use serde_json::Value;

use crate::{ask, fails, folder, json, ok, ratchet, server};

/// Where the commands of a test find their data.
enum At<'a> {
    Folder(&'a Path),
    Server(&'a Ratchet),
}

impl At<'_> {
    fn ratchet(&self, args: &[&str]) -> Launch {
        match self {
            Self::Folder(data) => ratchet(args).arg("--data").arg(data),
            Self::Server(running) => ask(running, args),
        }
    }
}

fn names(list: &Value, field: &str) -> Vec<String> {
    let texts = list.as_array().unwrap().iter().map(|entry| entry[field].as_str().unwrap());
    texts.map(str::to_owned).collect()
}

fn check_keys(at: &At<'_>) {
    let made = json(at.ratchet(&["keys", "create", "--role", "viewer", "--note", "for Ada"]));
    assert_eq!(made["role"], "viewer");
    assert_eq!(made["note"], "for Ada");
    let (secret, hint) =
        (made["secretKey"].as_str().unwrap(), made["secretHint"].as_str().unwrap());
    assert!(secret.ends_with(hint.trim_start_matches(|c: char| !c.is_ascii_alphanumeric())));

    let listed = ok(at.ratchet(&["keys", "list"]));
    assert!(listed.contains("for Ada") && !listed.contains(secret), "{listed}");
    assert_eq!(json(at.ratchet(&["keys", "list"])).as_array().unwrap().len(), 2);

    let public = made["publicKey"].as_str().unwrap();
    let permissions = |args: &[&str]| json(at.ratchet(args))["permissions"].clone();
    assert_eq!(made["permissions"], serde_json::json!([]));
    assert_eq!(permissions(&["keys", "grant", public, "backup"]), serde_json::json!(["backup"]));
    assert!(ok(at.ratchet(&["keys", "list"])).contains("viewer  backup"));
    let message = fails(at.ratchet(&["keys", "grant", public, "chat"]), 1);
    assert!(message.contains("chat does not fit the role viewer"), "{message}");
    for change in ["grant", "withdraw"] {
        let message = fails(at.ratchet(&["keys", change, public, "fly"]), 1);
        assert!(message.contains("fly is none of chat, backup or administration"), "{message}");
    }
    assert_eq!(permissions(&["keys", "withdraw", public, "backup"]), serde_json::json!([]));
    assert_eq!(json(at.ratchet(&["keys", "revoke", public]))["id"], made["id"]);
    assert_eq!(json(at.ratchet(&["keys", "list"])).as_array().unwrap().len(), 1);
    let message = fails(at.ratchet(&["keys", "revoke", public]), 1);
    assert!(message.contains("not found"), "{message}");
    let message = fails(at.ratchet(&["keys", "grant", public, "backup"]), 1);
    assert!(message.contains("has no key pk-"), "{message}");
    let message = fails(at.ratchet(&["keys", "create", "--role", "king"]), 1);
    assert!(message.contains("role: owner, member, viewer, reviewer or ingest-only"), "{message}");
    let message = fails(at.ratchet(&["keys", "create", "--role", "reviewer"]), 1);
    assert!(message.contains("person: a reviewer's key belongs to a user"), "{message}");
    json(at.ratchet(&["users", "create", "ann@example.com", "--role", "reviewer"]));
    let theirs = ["keys", "create", "--role", "reviewer", "--person", "ann@example.com"];
    assert_eq!(json(at.ratchet(&theirs))["person"], "ann@example.com");
    let listed = ok(at.ratchet(&["keys", "list"]));
    assert!(listed.contains("reviewer of ann@example.com"), "{listed}");
}

#[test]
fn keys_live_and_die_in_a_folder() {
    let data = folder();
    check_keys(&At::Folder(data.path()));
}

#[test]
fn keys_live_and_die_on_a_server() {
    let data = tempfile::tempdir().unwrap();
    check_keys(&At::Server(&server(data.path()).start()));
}

fn check_projects(at: &At<'_>) {
    let made = json(at.ratchet(&["projects", "create", "shop", "--id", "shop-1"]));
    assert_eq!((&made["name"], &made["retentionDays"]), (&"shop".into(), &Value::Null));
    let message = fails(at.ratchet(&["projects", "create", "shop"]), 1);
    assert!(message.contains("exists already"), "{message}");
    assert_eq!(names(&json(at.ratchet(&["projects", "list"])), "id"), [PROJECT, "shop-1"]);

    let message = fails(at.ratchet(&["keys", "list"]), 1);
    assert!(message.contains("choose one with --project: test-project, shop"), "{message}");
    let message = fails(at.ratchet(&["keys", "list", "--project", "shoop"]), 1);
    assert!(
        message.contains("project shoop not found; available: test-project, shop"),
        "{message}"
    );
    assert_eq!(json(at.ratchet(&["keys", "list", "--project", "shop"])), Value::Array(Vec::new()));

    let kept = json(at.ratchet(&["projects", "set-retention", "30", "--project", "shop"]));
    assert_eq!(kept["retentionDays"], 30);
    let kept = json(at.ratchet(&["projects", "set-retention", "forever", "--project", "shop-1"]));
    assert_eq!(kept["retentionDays"], Value::Null);
    let message = fails(at.ratchet(&["projects", "set-retention", "0", "--project", "shop"]), 1);
    assert!(message.contains("days: 1 to 36500"), "{message}");
}

#[test]
fn projects_are_made_in_a_folder() {
    let data = folder();
    check_projects(&At::Folder(data.path()));
}

#[test]
fn projects_are_made_on_a_server() {
    let data = tempfile::tempdir().unwrap();
    check_projects(&At::Server(&server(data.path()).start()));
}

#[test]
fn a_folder_that_is_none_is_not_made_one() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("typo");
    let message = fails(ratchet(&["keys", "list"]).arg("--data").arg(&data), 1);
    assert!(message.contains("is not a ratchet data folder"), "{message}");
    assert!(!data.exists());
}

#[test]
fn a_server_needs_a_key_that_may() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).start();
    let message = fails(ratchet(&["keys", "list", "--server", running.web()]), 1);
    assert!(message.contains("RATCHET_PUBLIC_KEY"), "{message}");
    let message = fails(ask(&running, &["keys", "list"]).env("RATCHET_SECRET_KEY", "wrong"), 1);
    assert!(message.contains("returned an error (401)"), "{message}");

    let viewer = json(ask(&running, &["keys", "create", "--role", "viewer"]));
    let as_viewer = |args: &[&str]| {
        ask(&running, args)
            .env("RATCHET_PUBLIC_KEY", viewer["publicKey"].as_str().unwrap())
            .env("RATCHET_SECRET_KEY", viewer["secretKey"].as_str().unwrap())
    };
    for args in [&["keys", "list"][..], &["projects", "create", "x"], &["compact"]] {
        let message = fails(as_viewer(args), 1);
        assert!(message.contains("returned an error (403)"), "{args:?}: {message}");
    }
}

#[test]
fn a_server_that_is_not_there_is_told() {
    let launch = |url: &str| {
        ratchet(&["keys", "list", "--server", url])
            .env("RATCHET_PUBLIC_KEY", "pk")
            .env("RATCHET_SECRET_KEY", "sk")
    };
    let message = fails(launch("http://127.0.0.1:1"), 1);
    assert!(
        message.contains("cannot reach http://127.0.0.1:1/; is the server running?"),
        "{message}"
    );
    assert!(fails(launch("nonsense"), 1).contains("is not a URL"));
    assert!(fails(launch("ftp://127.0.0.1"), 1).contains("must start with https:// or http://"));
}

fn check_settled(at: &At<'_>) {
    assert_eq!(json(at.ratchet(&["projects", "origins"]))["origins"], Value::Array(Vec::new()));
    let set = ["projects", "set-origins", "https://App.example/", "http://localhost:5173"];
    let kept = json(at.ratchet(&set));
    assert_eq!(kept["origins"][1], "https://app.example");
    assert_eq!(json(at.ratchet(&["projects", "origins"])), kept);
    let message = fails(at.ratchet(&["projects", "set-origins", "app.example"]), 1);
    assert!(message.contains("origins: app.example is no origin"), "{message}");
    let freed = ok(at.ratchet(&["projects", "set-origins", "any"]));
    assert_eq!(freed, "any origin is allowed\n");

    let presets = ok(at.ratchet(&["redaction", "presets"]));
    assert!(presets.contains("email addresses"), "{presets}");
    let made = json(at.ratchet(&["redaction", "add", "--preset", "email"]));
    assert_eq!((&made["kind"], &made["replacement"]), (&"preset".into(), &"[email]".into()));
    ok(at.ratchet(&["redaction", "add", "--field", "input.card", "--replacement", "-"]));
    let text = r#"{"card": [1], "to": "ann@mail.example"}"#;
    let left = ok(at.ratchet(&["redaction", "test", text]));
    assert_eq!(left, "{\"card\": \"-\", \"to\": \"[email]\"}\n");
    let message = fails(at.ratchet(&["redaction", "add", "--pattern", "a("]), 1);
    assert!(message.contains("pattern: regex parse error"), "{message}");
    let message = fails(at.ratchet(&["redaction", "add", "--pattern", "mail"]), 1);
    assert!(message.contains("[email] would itself be redacted by mail"), "{message}");
    let id = made["id"].as_str().unwrap();
    assert_eq!(json(at.ratchet(&["redaction", "remove", id]))["what"], "email");
    assert_eq!(names(&json(at.ratchet(&["redaction", "list"])), "what"), ["input.card"]);
    let message = fails(at.ratchet(&["redaction", "remove", id]), 1);
    assert!(message.contains("not found"), "{message}");
}

#[test]
fn what_is_settled_is_kept_in_a_folder() {
    let data = folder();
    check_settled(&At::Folder(data.path()));
}

#[test]
fn what_is_settled_is_kept_on_a_server() {
    let data = tempfile::tempdir().unwrap();
    check_settled(&At::Server(&server(data.path()).start()));
}
