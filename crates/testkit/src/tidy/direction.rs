//! Dependencies point one way: cli → {server, web} → stages → {store, agent, remote} → core.

use super::manifest::{Crate, crates};
use super::{Offence, TEST_CRATES, report, repository};

const KINDS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// The crates of ours that a crate may depend on; `None` for the outermost ones.
fn below(name: &str) -> Option<&'static [&'static str]> {
    match name {
        "core" => Some(&[]),
        "store" | "remote" | "agent" => Some(&["core"]),
        "stages" => Some(&["core", "store", "remote", "agent"]),
        "server" | "web" => Some(&["core", "store", "remote", "agent", "stages"]),
        "testkit" => Some(&["core", "store", "remote"]),
        "browser" => Some(&[]),
        _ => None,
    }
}

fn may_depend(name: &str, on: &str) -> bool {
    let is_test_code = TEST_CRATES.contains(&on) || on == "bench";
    let measures_pages = (name, on) == ("bench", "browser");
    measures_pages || !is_test_code && below(name).is_none_or(|allowed| allowed.contains(&on))
}

/// Crates that serve HTTP may depend on a web framework; inner ones may not.
fn may_serve(name: &str) -> bool {
    ["server", "web", "cli", "bench", "testkit"].contains(&name)
}

fn offences(kind: &str, is_offence: impl Fn(&Crate, &str) -> bool) -> Vec<Offence> {
    let of = |found: &Crate| {
        let bad = found.dependencies(kind).filter(|(on, _)| is_offence(found, on));
        bad.map(|(on, _)| Offence { path: found.path.clone(), line: 1, what: on.to_owned() })
            .collect::<Vec<_>>()
    };
    crates().iter().flat_map(of).collect()
}

#[test]
fn dependencies_follow_the_arrow() {
    assert!(!may_depend("core", "store"));
    assert!(!may_depend("server", "web"));
    assert!(!may_depend("web", "server"));
    assert!(!may_depend("cli", "testkit"));
    assert!(!may_depend("cli", "browser") && may_depend("bench", "browser"));
    assert!(may_depend("cli", "web"));
    let against = |found: &Crate, on: &str| {
        on.strip_prefix("ratchet-").is_some_and(|on| !may_depend(&found.name, on))
    };
    report(
        offences("dependencies", against),
        "dependencies point one way, cli → {server, web} → stages → {store, agent, remote} → core, \
         and testkit and browser are for tests only: move the code to the crate that may know both",
    );
}

#[test]
fn http_stays_at_the_rim() {
    let leaks = |found: &Crate, on: &str| {
        ["axum", "tonic", "hyper"].contains(&on) && !may_serve(&found.name)
    };
    report(offences("dependencies", leaks), "serving HTTP is for server, web and cli");
}

#[test]
fn the_database_stays_in_the_store() {
    let leaks = |found: &Crate, on: &str| on == "rusqlite" && found.name != "store";
    report(offences("dependencies", leaks), "only store opens databases: ask it a typed question");
}

#[test]
fn versions_live_in_the_workspace_manifest() {
    let is_own = |value: &toml::Value| value.get("workspace").is_none();
    assert!(is_own(&toml::Value::from("1.0")));
    let own_version = |found: &Crate| {
        let all = KINDS.into_iter().flat_map(|kind| found.dependencies(kind).collect::<Vec<_>>());
        let own = all.filter(|(_, value)| is_own(value)).map(|(on, _)| on.to_owned());
        own.map(|what| Offence { path: found.path.clone(), line: 1, what }).collect::<Vec<_>>()
    };
    report(
        crates().iter().flat_map(own_version).collect(),
        "write `name.workspace = true` and the version into the root manifest",
    );
}

#[test]
fn every_crate_takes_the_workspace_lints() {
    let lacks = |found: &&Crate| {
        let lints = found.manifest.get("lints").and_then(|lints| lints.get("workspace"));
        lints.and_then(toml::Value::as_bool) != Some(true)
    };
    let bare = crates();
    let offence = |found: &Crate| Offence {
        path: found.path.clone(),
        line: 1,
        what: "no `[lints] workspace = true`".to_owned(),
    };
    report(bare.iter().filter(lacks).map(offence).collect(), "every crate keeps the same lints");
}

/// Whether a line of the dependency table lacks the reason for the dependency.
fn is_unexplained(line: &str) -> bool {
    let is_dependency = line.contains('=') && !line.starts_with("ratchet-");
    let reason = line.rsplit_once("} #").map_or("", |(_, reason)| reason);
    is_dependency && reason.split_whitespace().next().is_none()
}

#[test]
fn every_dependency_says_what_it_buys() {
    assert!(is_unexplained(r#"jiff = { version = "0.2" }"#));
    assert!(is_unexplained(r#"jiff = "0.2" # time"#), "a bare version takes default features");
    assert!(!is_unexplained(r#"jiff = { version = "0.2" } # time"#));
    let files = repository();
    let root = files.iter().find(|file| file.path == "Cargo.toml").expect("a root manifest");
    let table = root.lines().skip_while(|(_, line)| *line != "[workspace.dependencies]").skip(1);
    let lines = table.take_while(|(_, line)| !line.starts_with('['));
    let offences = lines.filter(|(_, line)| is_unexplained(line));
    let offences: Vec<_> = offences.map(|(number, line)| root.offence(number, line)).collect();
    report(offences, "end the line with a comment that says what the dependency buys us");
}
