//! Several `ratchet chat` in one chat, and servers that come and go.

use ratchet_testkit::process::{Launch, PROJECT, PUBLIC_KEY, SECRET_KEY, Signal};
use ratchet_testkit::pty::Pty;

use serde_json::json;

use super::{BINARY, Stage, canonical, claude, done};
use crate::agents::{get, post, until_state};

const SIZE: (u16, u16) = (100, 30);

fn at_rest(pty: &Pty) {
    pty.wait_until("a prompt at rest", |display| {
        display.cursor_row() == "›" && !display.text().contains("· Esc interrupts")
    });
}

#[test]
fn two_people_see_the_same_and_either_answers() {
    let stage = Stage::new();
    let chat = |more: &[&str]| {
        let chat = stage.begun().args(more).env("RATCHET_CLAUDE_BIN", claude::fake());
        Pty::start(chat.env("TERM", "xterm"), SIZE)
    };
    let mut first = chat(&[]);
    at_rest(&first);
    first.press("hello\r");
    first.wait_for("Hello");
    // The folder is the first one's, so the second one goes through it, and finds its chat.
    let mut second = chat(&["--resume"]);
    second.wait_for("through http://");
    second.wait_for("Hello");
    at_rest(&second);
    second.press("ask\r");
    for pty in [&first, &second] {
        pty.wait_for("› ask");
        pty.wait_for("The agent wants to use Bash:\n    ls");
        pty.wait_for("❯ 1. yes");
    }
    second.press("1");
    for pty in [&first, &second] {
        pty.wait_for("✓ allowed: Bash ls");
        pty.wait_for("it was allowed");
        at_rest(pty);
    }
    assert!(
        first.display().text().contains("✓ allowed: Bash ls (by "),
        "{}",
        first.display().text()
    );
    second.press("\u{4}");
    assert_eq!(second.wait(), Some(0));
    first.press("\u{4}");
    assert_eq!(first.wait(), Some(0));
}

/// A server with keys and without roots.
fn serve(stage: &Stage, listen: &str) -> Launch {
    let serve = Launch::command(BINARY).args(["serve", "--json", "--listen", listen]);
    let serve = serve.args(["--otlp-grpc", "off", "--otlp-http", "off", "--data"]);
    let serve = serve.arg(stage.data()).env("RATCHET_INIT_PROJECT_ID", PROJECT);
    let serve = serve.env("RATCHET_INIT_PUBLIC_KEY", PUBLIC_KEY);
    stage.equipped(serve.env("RATCHET_INIT_SECRET_KEY", SECRET_KEY))
}

#[test]
fn a_server_on_the_folder_is_found_and_one_that_comes_back_is_followed_again() {
    let stage = Stage::new();
    let fake = |launch: Launch| launch.env("RATCHET_CLAUDE_BIN", claude::fake());
    let rooted = |launch: Launch| launch.env("RATCHET_CHAT_ROOTS", canonical(&stage.work()));
    let server = rooted(fake(serve(&stage, "127.0.0.1:0"))).start();
    let found = stage.begun().args(["--print", "hello"]).run();
    assert_eq!(done(&found), "Hello\n");
    assert!(found.stderr.contains(&format!("through {}", server.web())), "{found:?}");
    let trusting = stage.begun().args(["--trust", "--print", "hello"]).run();
    assert_eq!(trusting.code, Some(1));
    assert!(trusting.stderr.contains("chat.trusted of its settings"), "{trusting:?}");
    let client = Launch::command(BINARY).args(["chat", "--server", server.web(), "--workspace"]);
    let client = client.arg(stage.work()).env("TERM", "xterm");
    let client = client.env("RATCHET_PUBLIC_KEY", PUBLIC_KEY).env("RATCHET_SECRET_KEY", SECRET_KEY);
    let mut pty = Pty::start(client, SIZE);
    at_rest(&pty);
    pty.press("hello\r");
    pty.wait_for("Hello");
    at_rest(&pty);
    let address = server.address().to_string();
    server.signal(Signal::KILL);
    server.wait();
    pty.wait_for("· trying again");
    let _server = rooted(fake(serve(&stage, &address))).start();
    pty.wait_for("· connected again; nothing was missed");
    pty.press("deltas 3\r");
    pty.wait_for("1 2 3");
    let two_links = |text: String| text.matches("/traces/").count() == 2;
    pty.wait_until("two links", |display| two_links(display.text()));
    pty.press("/quit\r");
    assert_eq!(pty.wait(), Some(0));
}

#[test]
fn without_settings_only_this_machine_starts_agents() {
    let stage = Stage::new();
    let server = serve(&stage, "127.0.0.1:0").env("RATCHET_CLAUDE_BIN", claude::fake()).start();
    let named = |workspace: &std::path::Path| {
        let client = Launch::command(BINARY).args(["chat", "--server", server.web()]);
        let client = client.arg("--workspace").arg(workspace).args(["--print", "hello"]);
        client.env("RATCHET_PUBLIC_KEY", PUBLIC_KEY).env("RATCHET_SECRET_KEY", SECRET_KEY).run()
    };
    for workspace in [stage.work().as_path(), stage.data().as_path(), "/".as_ref()] {
        let refused = named(workspace);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains("chat.roots"), "{refused:?}");
    }
    // Through the socket in the data folder: no settings are needed.
    let here = |workspace: &std::path::Path| {
        stage.chat().arg("--workspace").arg(workspace).args(["--print", "hello"]).run()
    };
    let found = here(&stage.work());
    assert_eq!(done(&found), "Hello\n");
    assert!(found.stderr.contains("through http://"), "{found:?}");
    let resumed = stage.begun().args(["--resume", "--print", "hello"]).run();
    assert_eq!(done(&resumed), "Hello\n");
    for workspace in [stage.data(), stage.top.path().to_owned()] {
        let refused = here(&workspace);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains("own data folder"), "{refused:?}");
    }
    assert!(here("/".as_ref()).stderr.contains("never a workspace"));
}

#[test]
fn nor_does_one_need_them_without_a_server() {
    let stage = Stage::new();
    let chat = |workspace: &std::path::Path| {
        let chat = stage.chat().env("RATCHET_CLAUDE_BIN", claude::fake());
        chat.arg("--workspace").arg(workspace).args(["--print", "hello"]).run()
    };
    assert_eq!(done(&chat(&stage.work())), "Hello\n");
    let refused = chat(stage.top.path());
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("move the data folder"), "{refused:?}");
}

#[test]
fn a_chat_that_waits_for_a_slot_says_so_and_esc_takes_the_message_back() {
    let stage = Stage::new();
    let server = serve(&stage, "127.0.0.1:0").env("RATCHET_CLAUDE_BIN", claude::fake());
    let server = server.env("RATCHET_CHAT_ROOTS", canonical(&stage.work()));
    let server = server.env("RATCHET_CHAT_PROCESSES", "1").start();
    let new = json!({"workspace": stage.work().canonicalize().unwrap()});
    let busy = post(&server, "/api/v1/chats", &new)["id"].as_str().unwrap().to_owned();
    let busy = format!("/api/v1/chats/{busy}");
    post(&server, &format!("{busy}/messages"), &json!({"text": "silence"}));
    until_state("running", || get(&server, &busy));

    let mut pty = Pty::start(stage.begun().env("TERM", "xterm"), SIZE);
    at_rest(&pty);
    pty.press("hello\r");
    pty.wait_for("waiting for a slot (1 of 1)");
    pty.wait_for("s · Esc interrupts");
    let newest = || get(&server, "/api/v1/chats")["chats"][0].clone();
    let queued = until_state("starting", newest);
    assert_eq!(queued["why"], "waiting for a slot (1 of 1)", "{queued}");
    pty.press("\u{1b}");
    pty.wait_for("the turn ended early: interrupted");
    at_rest(&pty);
    until_state("parked", newest);

    let printed = || stage.begun().args(["--print", "hello"]).run();
    std::thread::scope(|scope| {
        let printing = scope.spawn(printed);
        until_state("starting", newest);
        post(&server, &format!("{busy}/interrupt"), &json!({}));
        let printed = printing.join().unwrap();
        assert_eq!(done(&printed), "Hello\n");
        assert!(printed.stderr.contains("waiting for a slot (1 of 1)"), "{printed:?}");
    });
}

/// What the keys of the stage's data folder are for.
fn notes(stage: &Stage) -> Vec<String> {
    let listed = Launch::command(BINARY).args(["keys", "list", "--json", "--data"]);
    let listed = listed.arg(stage.data()).run();
    let keys: Vec<serde_json::Value> = serde_json::from_str(done(&listed)).unwrap();
    keys.iter().map(|key| key["note"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn keys_of_conversations_go_with_the_next_server_if_this_one_is_killed() {
    let stage = Stage::new();
    let start = || serve(&stage, "127.0.0.1:0").env("RATCHET_CLAUDE_BIN", claude::fake()).start();
    let server = start();
    let mut pty = Pty::start(stage.begun().env("TERM", "xterm"), SIZE);
    at_rest(&pty);
    server.kill_hard();
    pty.press("\u{3}\u{4}");
    pty.wait();
    assert!(notes(&stage).contains(&"ratchet chat".to_owned()), "a killed server revokes nothing");
    let server = start();
    server.signal(Signal::TERM);
    server.wait();
    assert_eq!(notes(&stage), ["preset by RATCHET_INIT_PUBLIC_KEY"]);
}

#[test]
fn a_first_conversation_makes_no_keys_that_nobody_sees() {
    let stage = Stage::new();
    let chat = stage.begun().env("RATCHET_CLAUDE_BIN", claude::fake());
    assert_eq!(done(&chat.args(["--print", "hello"]).run()), "Hello\n");
    assert_eq!(notes(&stage), [""; 0]);
    let serve = Launch::command(BINARY).args(["serve", "--json", "--listen", "127.0.0.1:0"]);
    let serve = serve.args(["--otlp-grpc", "off", "--otlp-http", "off", "--data"]);
    let server = stage.equipped(serve.arg(stage.data())).start();
    assert!(server.ready["created"]["secretKey"].is_string(), "{}", server.ready);
    server.signal(Signal::TERM);
    server.wait();
    assert_eq!(notes(&stage).len(), 2);
}
