use std::io::Read;
use std::process::Stdio;

use ratchet_testkit::wait::{self, Lines};

use crate::{fails, ok, ratchet};

#[test]
fn help_lists_every_command() {
    insta::assert_snapshot!(ok(ratchet(&["--help"])));
}

#[test]
fn each_command_explains_itself() {
    for command in [
        "serve",
        "demo",
        "import claude-code",
        "import langfuse",
        "import jsonl",
        "import csv",
        "score",
        "score session",
        "score prompt",
        "score submit",
        "label",
        "label import",
        "label export",
        "calibrate",
        "feedback",
        "proposals list",
        "proposals reject",
        "proposals experiment",
        "proposals value",
        "metrics week",
        "metrics months",
        "keys create",
        "keys list",
        "keys grant",
        "keys withdraw",
        "keys revoke",
        "projects list",
        "projects create",
        "projects set-retention",
        "projects confirm-clock",
        "projects origins",
        "projects set-origins",
        "redaction list",
        "redaction add",
        "redaction remove",
        "redaction test",
        "redaction presets",
        "audit",
        "rubrics list",
        "rubrics show",
        "rubrics validate",
        "rubrics diff",
        "chat",
        "mcp",
        "backup",
        "restore",
        "compact",
        "doctor",
        "config show",
        "completions",
        "man",
    ] {
        let args: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        insta::assert_snapshot!(command.replace(' ', "-"), ok(ratchet(&args)));
    }
}

#[test]
fn the_version_is_the_package_version() {
    assert_eq!(ok(ratchet(&["--version"])), format!("ratchet {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_usage_exits_with_2() {
    let message = fails(ratchet(&["keys", "lsit"]), 2);
    assert!(message.contains("unrecognized subcommand 'lsit'"), "{message}");
    let message = fails(ratchet(&["keys", "list", "--data", "d", "--server", "http://x"]), 2);
    assert!(message.contains("cannot be used with"), "{message}");
    fails(ratchet(&["projects", "set-retention", "soon"]), 2);
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = ok(ratchet(&["completions", shell]));
        assert!(script.contains("set-retention"), "{shell} completes no sub-command");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    insta::assert_snapshot!("page", ok(ratchet(&["man"])));
    let page = ok(ratchet(&["man", "keys", "create"]));
    assert!(page.contains(".TH ratchet-keys-create 1"), "{page}");
    let message = fails(ratchet(&["man", "keys", "paint"]), 1);
    assert_eq!(message, "ratchet: `keys` has no command `paint`\n");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let (mut command, _home) = ratchet(&["completions", "bash"]).into_parts();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Its end of the pipe is closed after a few bytes.
    Lines::of(child.stdout.take().unwrap().take(16)).next("line of the completions");
    let output = wait::output("ratchet completions", child);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}
