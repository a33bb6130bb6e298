//! `ratchet chat` at a real terminal.

use ratchet_testkit::process::Signal;
use ratchet_testkit::pty::Pty;
use ratchet_testkit::scripted::Reply;
use serde_json::json;

use super::{Stage, calling, claude};

/// Wide enough for addresses of pages.
const SIZE: (u16, u16) = (100, 30);
const DOWN: &str = "\u{1b}[B";
const CTRL_C: &str = "\u{3}";

/// A conversation at a terminal, with the fake program by default.
fn sit_down(stage: &Stage, term: &str, more: &[&str]) -> Pty {
    let chat = stage.begun().args(more).env("RATCHET_CLAUDE_BIN", claude::fake());
    let chat = chat.env("TERM", term).without_env("NO_COLOR").env("RATCHET_INIT_PROJECT_ID", "p");
    let pty = Pty::start(chat, SIZE);
    pty.wait_until("a prompt", |display| display.cursor_row().starts_with(['›', '>']));
    pty
}

/// What the screen shows, without what differs from time to time.
fn shown(pty: &Pty) -> String {
    let mut text = format!("\n{}", pty.display().text());
    for (begin, end, instead) in [
        ("\nchat ", " in ", "ID"),
        (" in /", "\n", "FOLDER"),
        ("http://", "\n", "PAGE"),
        ("--resume ", "\n", "ID"),
    ] {
        let mut kept = String::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once(begin) {
            let length = after.find(end).unwrap_or(after.len());
            kept.push_str(&format!("{before}{begin}{instead}"));
            rest = after.get(length..).unwrap_or_default();
        }
        text = kept + rest;
    }
    let words = text.trim_start().split(' ').map(|word| match word.parse::<f64>() {
        Ok(_) if word.contains('.') => "TIME",
        _ => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn esc_interrupts_at_once_and_arrows_choose() {
    let stage = Stage::new();
    let mut pty = sit_down(&stage, "xterm-256color", &[]);
    assert!(!pty.is_restored());
    pty.press("silence\r");
    pty.wait_for("Esc interrupts");
    // What is written meanwhile waits, and can be changed when the turn is stopped.
    pty.press("and then\r");
    pty.wait_for("then: and then");
    pty.press("\u{1b}");
    pty.wait_for("the turn ended early");
    pty.wait_until("what waited", |display| display.cursor_row() == "› and then");
    pty.press(CTRL_C);
    pty.wait_until("nothing", |display| display.cursor_row() == "›");
    pty.press("ask\r");
    pty.wait_for("❯ 1. yes");
    pty.press(DOWN);
    pty.wait_for("❯ 2. yes, and for this chat always Bash(ls)");
    pty.press("\r");
    pty.wait_for("it was allowed");
    pty.press("ask\r");
    pty.wait_for("❯ 1. yes");
    pty.press("rather not\r");
    pty.wait_for("✗ denied: Bash ls — rather not");
    pty.wait_for("it was denied");
    pty.press("question\r");
    pty.wait_for("❯ 1. A");
    pty.press("2");
    pty.wait_for("✓ Which? B");
    // A paste of several lines is one message.
    pty.press("\u{1b}[200~one\rtwo\u{1b}[201~");
    pty.wait_until("both lines", |display| display.cursor_row() == "  two");
    pty.press("\r");
    pty.wait_for("Hello");
    pty.wait_until("rest", |display| display.cursor_row() == "›");
    // Up brings it back.
    pty.press("\u{1b}[A");
    pty.wait_until("both lines again", |display| display.cursor_row() == "  two");
    pty.press(CTRL_C);
    pty.wait_until("nothing", |display| display.cursor_row() == "›");
    pty.press("\u{4}");
    assert_eq!(pty.wait(), Some(0));
    assert!(pty.is_restored());
    insta::assert_snapshot!(shown(&pty));
}

#[test]
fn the_terminal_is_set_back_however_it_ends() {
    let stage = Stage::new();
    let mut pty = sit_down(&stage, "xterm", &[]);
    pty.press("silence\r");
    pty.wait_for("Esc interrupts");
    pty.resize((40, 12));
    pty.wait_until("a narrow prompt", |display| display.cursor_row() == "›");
    pty.signal(Signal::TERM);
    assert_eq!(pty.wait(), Some(143));
    assert!(pty.is_restored());
    let mut pty = sit_down(&stage, "xterm", &[]);
    pty.press(CTRL_C);
    pty.wait_for("Ctrl-C again ends this");
    pty.press(CTRL_C);
    assert_eq!(pty.wait(), Some(0));
    assert!(pty.is_restored());
    assert!(pty.written().contains("\u{1b}[?2004l"), "{:?}", pty.written());
}

#[test]
fn a_dumb_terminal_gets_lines_and_no_codes() {
    let stage = Stage::new();
    let mut pty = sit_down(&stage, "dumb", &[]);
    pty.press("ask\n");
    pty.wait_for("  1. yes\n  2. yes, and for this chat always Bash(ls)\n  n. no");
    pty.press("1\n");
    pty.wait_for("it was allowed");
    pty.press("/quit\n");
    assert_eq!(pty.wait(), Some(0));
    assert!(!pty.written().contains('\u{1b}'), "{:?}", pty.written());
}

#[test]
fn colours_stay_out_where_nobody_wants_them() {
    let stage = Stage::new();
    let chat = stage.begun().env("RATCHET_CLAUDE_BIN", claude::fake()).env("NO_COLOR", "1");
    let mut pty = Pty::start(chat.env("TERM", "xterm"), SIZE);
    pty.wait_until("a prompt", |display| display.cursor_row() == "›");
    pty.press("ask\r");
    pty.wait_for("❯ 1. yes");
    pty.press("\r");
    pty.wait_for("it was allowed");
    pty.press("/quit\r");
    assert_eq!(pty.wait(), Some(0));
    let written = pty.written();
    let paint = written
        .split("\u{1b}[")
        .skip(1)
        .find(|rest| rest.chars().find(char::is_ascii_alphabetic) == Some('m'));
    assert_eq!(paint, None, "{written:?}");
}

#[test]
fn the_real_program_reads_well() {
    let stage = Stage::new();
    let answer = "## What is here\n\nA **small** project with `one` file:\n\n| File | Lines |\n|:--|--:|\n| a.txt | 3 |\n\n1. Read it\n2. Keep it\n\n```sh\ncat a.txt\n```\n";
    let look = calling("Bash", json!({"command": "touch made-it && ls", "description": "Looks"}));
    stage.model.script([Reply { text: "Let me look.".to_owned(), ..look }, Reply::text(answer)]);
    stage.file("work/a.txt", "1\n2\n3\n");
    let chat = stage.begun().env("TERM", "xterm-256color").env("RATCHET_INIT_PROJECT_ID", "p");
    let mut pty = Pty::start(chat, SIZE);
    pty.wait_until("a prompt", |display| display.cursor_row() == "›");
    pty.press("What is here?\r");
    pty.wait_for("The agent wants to use Bash:\n    touch made-it && ls");
    pty.press("y");
    pty.press("\u{7f}\u{1b}[A\u{1b}[A");
    pty.wait_for("❯ 1. yes");
    pty.press("\r");
    pty.wait_for("tokens in");
    pty.press("/show\r");
    pty.wait_for("gave\n    a.txt\n    made-it");
    pty.press("/quit\r");
    assert_eq!(pty.wait(), Some(0));
    insta::assert_snapshot!(shown(&pty));
}

/// Only what a person does: a shell stops the program and goes on with it.
#[test]
fn ctrl_z_gives_the_terminal_back_until_it_is_wanted_again() {
    let stage = Stage::new();
    let chat = stage.begun().env("RATCHET_CLAUDE_BIN", claude::fake()).env("TERM", "xterm");
    let mut pty = Pty::start(chat, SIZE);
    pty.wait_until("a prompt", |display| display.cursor_row() == "›");
    pty.press("\u{1a}");
    // There is no shell here that could stop it, so it goes on at once.
    pty.press("still here");
    pty.wait_until("the prompt again", |display| display.cursor_row() == "› still here");
    pty.signal(Signal::TERM);
    assert_eq!(pty.wait(), Some(143));
    assert!(pty.is_restored());
}
