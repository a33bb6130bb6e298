use std::path::Path;

use ratchet_testkit::http::{self, Answer, get, post};
use ratchet_testkit::process::{Launch, PROJECT, Ratchet};

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

/// Makes a key and revokes it; the log knows of both, newest first.
fn check_audit(at: &At<'_>) {
    let note = "for the\nlog";
    let made = json(at.ratchet(&["keys", "create", "--role", "viewer", "--note", note]));
    let (id, public) = (made["id"].as_str().unwrap(), made["publicKey"].as_str().unwrap());
    ok(at.ratchet(&["keys", "revoke", id]));
    let log = json(at.ratchet(&["audit", "--what", "API key", "--limit", "2"]));
    let entry = |nth: usize| &log["entries"][nth];
    assert_eq!([&entry(0)["verb"], &entry(1)["verb"]], ["revoked", "made"], "{log}");
    assert_eq!([&entry(0)["object"], &entry(1)["object"]], [id, id], "{log}");
    let output = ok(at.ratchet(&["audit", "--limit", "1"]));
    assert!(output.contains("revoked API key") && output.contains(public), "{output}");
    let cursor = output.trim_end().rsplit(' ').next().unwrap();
    let rest = ok(at.ratchet(&["audit", "--limit", "1", "--cursor", cursor]));
    assert!(rest.contains("made API key") && !rest.contains("revoked"), "{rest}");
    let message = fails(at.ratchet(&["audit", "--what", "weather"]), 1);
    assert!(message.contains("noun: one of project"), "{message}");
    ok(at.ratchet(&["users", "create", "eve@example.com"]));
    let server = ok(at.ratchet(&["audit", "--whole-server"]));
    assert!(server.contains("made person eve@example.com"), "{server}");
}

#[test]
fn the_audit_log_is_listed_in_a_folder_and_on_a_server() {
    let data = folder();
    check_audit(&At::Folder(data.path()));
    let other = folder();
    check_audit(&At::Server(&server(other.path()).start()));
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
    assert!(message.contains("role: owner, member, viewer or reviewer"), "{message}");
    let message = fails(at.ratchet(&["users", "create", "nobody"]), 1);
    assert!(message.contains("email: no email address"), "{message}");

    let output = ok(at.ratchet(&["users", "password", "ada@example.com"]));
    assert!(output.contains("Password of ada@example.com changed") && !output.contains(&first));
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

/// As much of a browser as signing in takes.
pub(crate) struct Browser<'a> {
    server: &'a Ratchet,
    cookies: Vec<(String, String)>,
    form_token: String,
}

impl<'a> Browser<'a> {
    pub(crate) fn new(server: &'a Ratchet) -> Self {
        Self { server, cookies: Vec::new(), form_token: String::new() }
    }

    pub(crate) fn get(&mut self, path: &str) -> Answer {
        self.send(get(path))
    }

    pub(crate) fn post(&mut self, path: &str, form: &str) -> Answer {
        let form = format!("{form}&form_token={}", self.form_token);
        let request = post(path).header("Content-Type", "application/x-www-form-urlencoded");
        self.send(request.body(form))
    }

    fn send(&mut self, request: http::Request) -> Answer {
        let cookies: Vec<_> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = request.header("Cookie", &cookies.join("; "));
        // A server without authentication shows its pages only at this name.
        let answer = http::send(self.server.address(), &request.host("localhost")).unwrap();
        for (_, line) in answer.headers.iter().filter(|(name, _)| name == "set-cookie") {
            let (name, rest) = line.split_once('=').unwrap();
            self.cookies.retain(|(known, _)| known != name);
            if !line.contains("Max-Age=0") {
                self.cookies.push((name.to_owned(), rest.split(';').next().unwrap().to_owned()));
            }
        }
        let text = answer.text();
        if let Some((_, rest)) = text.split_once("name=\"form_token\" value=\"") {
            self.form_token = rest.split('"').next().unwrap().to_owned();
        }
        answer
    }
}

#[test]
fn the_printed_link_makes_the_first_owner() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).start();
    let url = running.ready["setUp"].as_str().unwrap();
    let path = url.strip_prefix(running.web()).unwrap();
    let (_, token) = path.split_once('=').unwrap();
    let mut browser = Browser::new(&running);
    assert_eq!(browser.get("/").header("location"), Some("/sign-in?next=%2F"));
    assert_eq!(browser.get(path).status, 200);
    let form = format!("token={token}&email=me%40example.com&password=correct+horse");
    assert_eq!(browser.post("/set-up", &form).header("location"), Some("/"));
    let start = browser.get("/");
    assert_eq!(start.header("location"), Some(&*format!("/project/{PROJECT}")), "{}", start.text());
    let users = json(ask(&running, &["users", "list"]));
    assert_eq!(
        (&users[0]["email"], &users[0]["role"]),
        (&"me@example.com".into(), &"owner".into())
    );
    let cookies = browser.cookies;
    drop(running);

    let again = server(data.path()).start();
    assert!(again.ready["setUp"].is_null(), "there is an owner");
    // The cookie is as good after a restart as before.
    let mut kept = Browser { cookies, ..Browser::new(&again) };
    assert_eq!(kept.get("/").header("location"), Some(&*format!("/project/{PROJECT}")));
    let password = ask(&again, &["users", "password", "me@example.com"]);
    ok(password);
    assert_eq!(kept.get("/").header("location"), Some("/sign-in?next=%2F"), "signed out");
}

#[test]
fn an_owner_who_was_named_beforehand_signs_in() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path())
        .env("RATCHET_INIT_OWNER_EMAIL", "Me@Example.com")
        .env("RATCHET_INIT_OWNER_PASSWORD", "correct horse")
        .start();
    assert!(running.ready["setUp"].is_null());
    let mut browser = Browser::new(&running);
    browser.get("/sign-in");
    let wrong = browser.post("/sign-in", "email=me%40example.com&password=wrong+horse");
    assert_eq!(wrong.status, 403);
    let right = browser.post("/sign-in", "email=me%40example.com&password=correct+horse");
    assert_eq!((right.status, right.header("location")), (303, Some("/")));
    let refused = http::send(running.address(), &post("/sign-out")).unwrap();
    assert_eq!(refused.status, 403, "pages of the real server ask for the token, too");
}

#[test]
fn without_sign_in_pages_answer_at_this_machine_only() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).arg("--no-auth").start();
    assert!(running.ready["setUp"].is_null());
    // The test client calls itself a host of the name "test".
    let refused = http::send(running.address(), &get("/")).unwrap();
    assert_eq!(refused.status, 403, "{}", refused.text());
    assert!(refused.text().contains("only at localhost"), "{}", refused.text());
    let page =
        http::send(running.address(), &get(&format!("/project/{PROJECT}")).host("localhost"));
    assert_eq!(page.unwrap().status, 200);
}

#[test]
fn a_provider_that_cannot_work_is_refused_at_the_start() {
    let data = tempfile::tempdir().unwrap();
    let log = server(data.path()).env("RATCHET_OIDC_ISSUER", "https://id.example").try_start();
    assert!(log.unwrap_err().contains("oidc.client_id is missing"));
    let file = "[oidc]\nissuer = \"http://id.example\"\nclient_id = \"ratchet\"\n";
    let log = server(data.path()).file("ratchet.toml", file).try_start().unwrap_err();
    assert!(log.contains("http://id.example must begin with https://"), "{log}");
}
