use std::path::Path;

use ratchet_testkit::process::{Launch, Ratchet};

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

fn check_users(at: &At<'_>) {
    let made = json(at.ratchet(&["users", "create", "Ada@Example.com", "--name", "Ada"]));
    assert_eq!((&made["email"], &made["role"]), (&"ada@example.com".into(), &"member".into()));
    let first = made["password"].as_str().unwrap().to_owned();
    assert!(first.len() > 30, "{made}");
    let message = fails(at.ratchet(&["users", "create", "ada@example.com"]), 1);
    assert!(message.contains("exists already"), "{message}");
    ok(at.ratchet(&["users", "create", "owner@example.com", "--role", "owner"]));
    let message = fails(at.ratchet(&["users", "create", "a@b", "--role", "ingest-only"]), 1);
    assert!(message.contains("role: owner, member or viewer"), "{message}");
    let message = fails(at.ratchet(&["users", "create", "nobody"]), 1);
    assert!(message.contains("email: no email address"), "{message}");

    let told = ok(at.ratchet(&["users", "password", "ada@example.com"]));
    assert!(told.contains("ada@example.com has a new password") && !told.contains(&first));
    let message = fails(at.ratchet(&["users", "password", "eve@example.com"]), 1);
    assert!(message.contains("user eve@example.com not found"), "{message}");
    let message =
        fails(at.ratchet(&["users", "password", "ada@example.com", "--password-stdin"]), 1);
    assert!(message.contains("no password on stdin"), "{message}");

    let listed = ok(at.ratchet(&["users", "list"]));
    assert!(listed.contains("Ada") && listed.contains("owner@example.com"), "{listed}");
    assert_eq!(json(at.ratchet(&["users", "list"])).as_array().unwrap().len(), 2);
    let message = fails(at.ratchet(&["users", "remove", "owner@example.com"]), 1);
    assert!(message.contains("needs an owner"), "{message}");
    let removed = json(at.ratchet(&["users", "remove", "ada@example.com"]));
    assert_eq!(removed["id"], made["id"]);
    assert_eq!(json(at.ratchet(&["users", "list"])).as_array().unwrap().len(), 1);
}

#[test]
fn users_come_and_go_in_a_folder() {
    let data = folder();
    check_users(&At::Folder(data.path()));
}

#[test]
fn users_come_and_go_on_a_server() {
    let data = tempfile::tempdir().unwrap();
    check_users(&At::Server(&server(data.path()).start()));
}
