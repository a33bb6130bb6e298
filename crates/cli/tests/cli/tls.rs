use std::path::PathBuf;

use ratchet_testkit::process::{Launch, PROJECT, PUBLIC_KEY, Ratchet, SECRET_KEY};
use ratchet_testkit::proxy::{Proxy, Verdict};
use ratchet_testkit::tls::{Authority, TlsProxy};

use crate::{ask, fails, json, ok, ratchet, server};

/// A server behind TLS, and the file with the certificate of the authority that vouches for it.
struct Safe {
    running: Ratchet,
    proxy: TlsProxy,
    trusted: PathBuf,
    folder: tempfile::TempDir,
}

impl Safe {
    fn start(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let running = server(&folder.path().join("data")).start();
        let authority = Authority::new();
        let trusted = folder.path().join("authority.pem");
        authority.write(&trusted);
        let proxy = TlsProxy::start(running.address(), &authority, name);
        Self { running, proxy, trusted, folder }
    }

    /// A command that asks this server and trusts its authority.
    fn ask(&self, args: &[&str]) -> Launch {
        asking(&self.proxy.web(), args).env("SSL_CERT_FILE", &self.trusted)
    }

    /// The certificate of an authority that has nothing to do with it.
    fn stranger(&self) -> PathBuf {
        let file = self.folder.path().join("stranger.pem");
        Authority::new().write(&file);
        file
    }
}

fn asking(url: &str, args: &[&str]) -> Launch {
    ratchet(args)
        .args(["--server", url])
        .env("RATCHET_PUBLIC_KEY", PUBLIC_KEY)
        .env("RATCHET_SECRET_KEY", SECRET_KEY)
}

fn import(safe: &Safe, from: &str) -> Launch {
    ratchet(&["import", "langfuse", from, "--dry-run", "--data"])
        .arg(safe.folder.path())
        .env("LANGFUSE_PUBLIC_KEY", PUBLIC_KEY)
        .env("LANGFUSE_SECRET_KEY", SECRET_KEY)
}

#[test]
fn every_command_reaches_a_server_over_tls() {
    let safe = Safe::start("127.0.0.1");
    let list = ["projects", "list"];
    assert_eq!(json(safe.ask(&list)), json(ask(&safe.running, &list)));
    let made = json(safe.ask(&["keys", "create", "--role", "viewer"]));
    json(safe.ask(&["keys", "revoke", made["id"].as_str().unwrap()]));
    let copy = safe.folder.path().join("copy");
    ok(safe.ask(&["backup", copy.to_str().unwrap()]));
    assert!(copy.join("telemetry.db").exists());
    ok(safe.ask(&["doctor"]));
    let score = r#"{"id": "s", "name": "mood", "value": 1, "traceId": "t"}"#;
    ok(safe.ask(&["import", "jsonl", "rows.jsonl"]).file("rows.jsonl", score));
    let read = ok(import(&safe, &safe.proxy.web()).env("SSL_CERT_FILE", &safe.trusted));
    assert!(read.contains("scores"), "{read}");
}

#[test]
fn a_certificate_of_nobody_known_is_refused_at_once() {
    let safe = Safe::start("127.0.0.1");
    let stranger = safe.stranger();
    let launches = [
        safe.ask(&["projects", "list"]),
        safe.ask(&["import", "jsonl", "rows.jsonl"]).file("rows.jsonl", "{\"name\": \"x\"}"),
        import(&safe, &safe.proxy.web()),
    ];
    for (earlier, launch) in launches.into_iter().enumerate() {
        let message = fails(launch.env("SSL_CERT_FILE", &stranger), 1);
        assert!(message.contains("its certificate is not trusted"), "{message}");
        assert!(message.contains("in SSL_CERT_FILE"), "{message}");
        assert_eq!(safe.proxy.connections(), earlier + 1, "it was asked once: {message}");
    }
}

#[test]
fn a_certificate_of_somebody_else_is_refused() {
    let safe = Safe::start("ratchet.example");
    let message = fails(safe.ask(&["projects", "list"]), 1);
    assert!(message.contains("use an address that the certificate is made out to"), "{message}");
}

#[test]
fn a_port_without_tls_is_told() {
    let safe = Safe::start("127.0.0.1");
    let url = safe.running.web().replace("http:", "https:");
    let launch = asking(&url, &["projects", "list"]).env("SSL_CERT_FILE", &safe.trusted);
    let message = fails(launch, 1);
    assert!(message.contains("begin the address with http://"), "{message}");
}

#[test]
fn a_server_that_moved_to_tls_says_where_and_gets_no_key() {
    let safe = Safe::start("127.0.0.1");
    let new = format!("{}/api/v1/projects", safe.proxy.web());
    let place = ("location", new.clone());
    let old =
        Proxy::start(safe.running.address(), move |_| Verdict::Refuse(308, Some(place.clone())));
    let message = fails(asking(&old.web(), &["projects", "list"]), 1);
    assert!(message.contains(&format!("moved to {new}; use that address")), "{message}");
    assert_eq!(safe.proxy.connections(), 0);
    assert_eq!(json(safe.ask(&["projects", "list"]))[0]["id"], PROJECT);
}
