use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ratchet_testkit::process::{Finished, Launch, Signal};
use ratchet_testkit::{http, otlp};
use serde_json::Value;

use crate::{ask, folder, ratchet, server};

fn doctor(data: &Path) -> Launch {
    let free = "127.0.0.1:0";
    ratchet(&["doctor", "--json"])
        .arg("--data")
        .arg(data)
        .env("RATCHET_LISTEN", free)
        .env("RATCHET_OTLP_GRPC", free)
        .env("RATCHET_OTLP_HTTP", "off")
}

/// What doctor says about one thing, and its exit code.
#[track_caller]
fn check(launch: Launch, about: &str, state: &str, code: i32) -> String {
    let Finished { code: found_code, stdout, stderr } = launch.run();
    let checks: Value =
        serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stdout}{stderr}"));
    let is_wanted = |check: &&Value| check["about"] == about;
    let found = checks.as_array().unwrap().iter().find(is_wanted);
    let found = found.unwrap_or_else(|| panic!("nothing about {about}: {stdout}"));
    assert_eq!((&found["state"], found_code), (&state.into(), Some(code)), "{stdout}");
    found["detail"].as_str().unwrap().to_owned()
}

/// Fails if doctor finds anything wrong with a folder, which may be in use.
#[track_caller]
pub(crate) fn assert_sound(data: &Path) {
    let Finished { code, stdout, stderr } = doctor(data).run();
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    assert!(stdout.contains("telemetry.db integrity"), "{stdout}");
}

#[test]
fn a_healthy_folder_is_well() {
    let data = folder();
    for about in ["data folder", "permissions", "clock", "secret.key", "telemetry.db integrity"] {
        check(doctor(data.path()), about, "ok", 0);
    }
}

#[test]
fn a_folder_in_use_may_be_looked_at() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).start();
    let address = |url: &str| url.trim_start_matches("http://").to_owned();
    let launch = || {
        doctor(data.path())
            .env("RATCHET_LISTEN", address(running.web()))
            .env("RATCHET_OTLP_GRPC", address(running.otlp_grpc()))
    };
    assert!(check(launch(), "--listen", "ok", 0).starts_with("a ratchet server is listening on"));
    assert!(
        check(launch(), "--otlp-grpc", "ok", 0).starts_with("a ratchet server is listening on")
    );
    check(launch(), "catalog.db integrity", "ok", 0);
}

#[test]
fn a_running_server_is_asked() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).start();
    for about in ["server", "version", "clock", "queue", "data"] {
        check(ask(&running, &["doctor", "--json"]), about, "ok", 0);
    }
    let stranger = ask(&running, &["doctor", "--json"]).env("RATCHET_SECRET_KEY", "wrong");
    let detail = check(stranger, "server", "bad", 3);
    assert!(detail.contains("returned an error (401)"), "{detail}");
}

#[test]
fn no_folder_is_bad() {
    let home = tempfile::tempdir().unwrap();
    let detail = check(doctor(&home.path().join("none")), "data folder", "bad", 3);
    assert!(detail.contains("ratchet serve --data"), "{detail}");
}

#[test]
fn damage_is_found() {
    let data = folder();
    let file = data.path().join("telemetry.db");
    let mut bytes = std::fs::read(&file).unwrap();
    // The first page stays, so that it is still a database.
    bytes[4096..].fill(0xa5);
    std::fs::write(&file, bytes).unwrap();
    let detail = check(doctor(data.path()), "telemetry.db", "bad", 3);
    assert!(detail.contains("ratchet restore"), "{detail}");
}

#[test]
fn a_newer_database_asks_for_an_upgrade() {
    let data = folder();
    let file = data.path().join("catalog.db");
    let mut bytes = std::fs::read(&file).unwrap();
    // The schema version: bytes 60 to 63 of a SQLite file.
    bytes[60..64].copy_from_slice(&999_u32.to_be_bytes());
    std::fs::write(&file, bytes).unwrap();
    let detail = check(doctor(data.path()), "catalog.db version", "bad", 3);
    assert!(detail.contains("upgrade ratchet"), "{detail}");
    let log = server(data.path()).try_start().unwrap_err();
    assert!(log.contains("upgrade ratchet"), "{log}");
}

#[test]
fn a_secret_that_others_can_read_is_bad() {
    let data = folder();
    let file = data.path().join("secret.key");
    std::fs::write(&file, "hush").unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    let detail = check(doctor(data.path()), "secret.key", "bad", 3);
    assert!(detail.contains("chmod 600"), "{detail}");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    check(doctor(data.path()), "secret.key", "ok", 0);
}

#[test]
fn a_folder_that_cannot_be_written_is_bad() {
    let data = folder();
    let set =
        |mode| std::fs::set_permissions(data.path(), PermissionsExt::from_mode(mode)).unwrap();
    set(0o555);
    // The system administrator may write anyway, and then there is nothing to find.
    let may_write_anyway = std::fs::write(data.path().join("probe"), "").is_ok();
    let (state, code) = if may_write_anyway { ("ok", 0) } else { ("bad", 3) };
    check(doctor(data.path()), "permissions", state, code);
    set(0o755);
}

#[test]
fn a_clock_set_back_is_told() {
    let data = folder();
    let file = std::fs::File::options().write(true).open(data.path().join("telemetry.db")).unwrap();
    let tomorrow =
        file.metadata().unwrap().modified().unwrap() + std::time::Duration::from_secs(86_400);
    file.set_modified(tomorrow).unwrap();
    check(doctor(data.path()), "clock", "warn", 0);
}

#[test]
fn people_get_a_table() {
    let data = folder();
    let (text, code) = {
        let launch = ratchet(&["doctor"]).arg("--data").arg(data.path());
        let launch = launch.env("RATCHET_LISTEN", "127.0.0.1:0").env("RATCHET_OTLP_HTTP", "off");
        let finished = launch.env("RATCHET_OTLP_GRPC", "off").run();
        (finished.stdout, finished.code)
    };
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("CHECK") && text.contains("disk space"), "{text}");
}

/// Turns a bit over in the first payload block of a folder that no server holds; the page around
/// it looks as before.
fn damage_a_payload(data: &Path) {
    const FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
    let file = data.join("telemetry.db");
    let mut bytes = std::fs::read(&file).unwrap();
    let at = bytes.windows(4).position(|window| window == FRAME).unwrap();
    bytes[at + 40] ^= 1;
    std::fs::write(&file, bytes).unwrap();
}

#[test]
fn a_damaged_payload_is_told_by_the_name_of_its_trace_and_hides_nothing_else() {
    let data = tempfile::tempdir().unwrap();
    let running = server(data.path()).start();
    let words: String =
        (0..4_000u64).map(|n| format!("{:x}", n.wrapping_mul(0x9e37_79b9))).collect();
    for number in 1..=2 {
        let input = format!("{number} {words}");
        let span = otlp::span(number, 1).saying("langfuse.observation.input", input.as_str());
        let body = otlp::request("shop").with(span).to_protobuf();
        assert_eq!(running.send(http::post("/v1/traces").protobuf(body)).status, 200);
    }
    running.signal(Signal::TERM);
    running.wait();
    check(doctor(data.path()).arg("--deep"), "payloads", "ok", 0);
    damage_a_payload(data.path());
    check(doctor(data.path()), "telemetry.db integrity", "ok", 0);
    let detail = check(doctor(data.path()).arg("--deep"), "payloads", "bad", 3);
    let (hurt, well) = if detail.contains(&otlp::trace_id(1)) { (1, 2) } else { (2, 1) };
    let trace = otlp::trace_id(hurt);
    assert!(detail.contains(&trace) && detail.contains("ratchet restore"), "{detail}");

    // Reading the record fails; the rest of the list is unchanged.
    let running = server(data.path()).start();
    let shown = |number| {
        let target = format!("/api/public/traces/{}", otlp::trace_id(number));
        let answer = running.send(http::get(&target));
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["observations"][0]["input"].to_string()
    };
    assert!(shown(hurt).contains("[damaged:") && shown(hurt).contains(&trace), "{}", shown(hurt));
    assert!(shown(well).starts_with(&format!("\"{well} ")), "{}", shown(well));
    for target in ["/api/public/traces", "/api/public/observations"] {
        let answer = running.send(http::get(target));
        assert_eq!((answer.status, answer.json()["data"].as_array().unwrap().len()), (200, 2));
    }
    // It can be deleted, and then all is well.
    let gone = http::request("DELETE", &format!("/api/public/traces/{trace}"));
    assert_eq!(running.send(gone).status, 200);
    drop(running);
    check(doctor(data.path()).arg("--deep"), "payloads", "ok", 0);
}
