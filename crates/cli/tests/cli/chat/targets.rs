use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::mpsc;

use ratchet_testkit::http;
use ratchet_testkit::process::Finished;
use serde_json::{Value, json};

use crate::{ask, fails, ok, ratchet, server};

/// Echoes its input, and fails on request.
const AGENT: &str = r#"
import json, sys
said = json.load(sys.stdin)
last = said if isinstance(said, str) else said["messages"][-1]["content"]
if last == "fail":
    sys.exit("out of order")
print(json.dumps(said))
"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("agent.py"), AGENT).unwrap();
    let target = "kind = \"command\"\ncommand = [\"python3\", \"agent.py\"]\n";
    std::fs::write(folder.path().join("agent.toml"), target).unwrap();
    let named = "[targets.support]\nkind = \"command\"\ncommand = [\"python3\", \"agent.py\"]\n";
    std::fs::write(folder.path().join("ratchet.toml"), named).unwrap();
    folder
}

#[test]
fn each_turn_is_a_trace_and_one_key_adds_it_to_a_dataset() {
    let (data, folder) = (tempfile::tempdir().unwrap(), folder());
    let running = server(data.path()).start();
    let file = folder.path().join("agent.toml").display().to_string();
    let typed = "hello\nfail\nand now?\n+\nfrom chats\nthe right answer\n/quit\n";
    let Finished { code, stdout, stderr } =
        ask(&running, &["chat", "--target", &file, "--json"]).typing(typed).run();
    assert_eq!(code, Some(0), "{stdout}\n{stderr}");
    let turns: Vec<Value> =
        stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(turns.len(), 3, "{stdout}");
    assert_eq!(turns[0]["answer"], "\"hello\"", "the first message is the text itself");
    assert!(turns[1]["fault"].as_str().unwrap().contains("out of order"), "{stdout}");
    // What had no answer is not part of the conversation.
    let sent: Value = serde_json::from_str(turns[2]["answer"].as_str().unwrap()).unwrap();
    let said: Vec<&Value> =
        sent["messages"].as_array().unwrap().iter().map(|one| &one["content"]).collect();
    assert_eq!(said, [&json!("hello"), &json!("\"hello\""), &json!("and now?")]);

    let get = |path: &str| running.send(http::get(path)).json();
    let traces: Vec<Value> = turns
        .iter()
        .map(|turn| get(&format!("/api/public/traces/{}", turn["trace"].as_str().unwrap())))
        .collect();
    assert_eq!(traces[2]["input"], "and now?");
    assert_eq!(traces[1]["observations"][0]["level"], "ERROR", "{}", traces[1]);
    assert!(traces.iter().all(|trace| trace["sessionId"] == traces[0]["sessionId"]));
    let items = get("/api/public/dataset-items?datasetName=from%20chats");
    let item = &items["data"][0];
    assert_eq!((&item["expectedOutput"], &item["input"]), (&json!("the right answer"), &sent));
    assert_eq!(item["sourceTraceId"], turns[2]["trace"]);
}

#[test]
fn a_data_folder_and_a_name_in_the_settings_do_too() {
    let (data_folder, folder) = (tempfile::tempdir().unwrap(), folder());
    let data = data_folder.path().display().to_string();
    let config = folder.path().join("ratchet.toml").display().to_string();
    let chat = ["chat", "--data", &data, "--config", &config, "--target"];
    let said = ok(ratchet(&chat).args(["support", "--print", "hello"]));
    assert_eq!(said, "\"hello\"\n");
    let unknown = fails(ratchet(&chat).args(["other", "--print", "hello"]), 1);
    assert!(unknown.contains("no target of that name: there are support"), "{unknown}");
    let faulty = fails(ratchet(&chat).args(["support", "--print", "fail"]), 1);
    assert!(faulty.contains("out of order"), "{faulty}");
    fails(ratchet(&chat).args(["support", "--workspace", "."]), 2);
    // A server that runs on the folder records the turn.
    let _running = server(data_folder.path()).start();
    assert_eq!(ok(ratchet(&chat).args(["support", "--print", "again"])), "\"again\"\n");
}

/// An endpoint that sends the rest of its answer when a test lets it go on.
fn slow_endpoint(go_on: mpsc::Receiver<()>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut asked = [0; 4_096];
        assert!(socket.read(&mut asked).unwrap() > 0);
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        let part = |text: &str| format!("data: {}\n\n", json!({ "delta": text }));
        socket.write_all(format!("{head}{}", part("Hel\u{1b}[31m")).as_bytes()).unwrap();
        socket.flush().unwrap();
        go_on.recv().unwrap();
        socket.write_all(part("lo.").as_bytes()).unwrap();
    });
    url
}

#[test]
fn a_streamed_answer_is_shown_as_it_comes() {
    let (data_folder, folder) = (tempfile::tempdir().unwrap(), folder());
    let (tell, go_on) = mpsc::channel();
    let url = slow_endpoint(go_on);
    let target = format!("kind = \"http\"\nurl = {url:?}\nstream = true\noutput = \"$.delta\"\n");
    let file = folder.path().join("stream.toml");
    std::fs::write(&file, target).unwrap();
    let data = data_folder.path().display().to_string();
    let chat = ["chat", "--data", &data, "--target"];
    let (mut command, _home) = ratchet(&chat).arg(file).into_parts();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut typed = child.stdin.take().unwrap();
    typed.write_all(b"hi\n").unwrap();
    let mut shown = child.stdout.take().unwrap();
    let mut first = [0; 3];
    shown.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"Hel", "before the answer has ended");
    tell.send(()).unwrap();
    typed.write_all(b"/quit\n").unwrap();
    let mut rest = String::new();
    shown.read_to_string(&mut rest).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(rest.ends_with("lo.\n") && !rest.contains('\u{1b}'), "{rest:?}");
}

/// A name that this machine does not know is that of a target of the server, which calls it.
#[test]
fn a_target_of_the_server_is_called_there() {
    let (data, folder) = (tempfile::tempdir().unwrap(), folder());
    let config = folder.path().join("ratchet.toml");
    let running = server(data.path()).args(["--config", config.to_str().unwrap()]).start();
    let chat = ["chat", "--target", "support", "--json"];
    let shown = ask(&running, &chat).typing("hello\nagain\n+\nfrom afar\n\n/quit\n").run();
    let turns: Vec<Value> =
        shown.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(turns[0]["answer"], "\"hello\"", "{} {}", shown.stdout, shown.stderr);
    let sent: Value = serde_json::from_str(turns[1]["answer"].as_str().unwrap()).unwrap();
    assert_eq!(sent["messages"].as_array().unwrap().len(), 3, "{sent}");
    let items = running.send(http::get("/api/public/dataset-items?datasetName=from%20afar")).json();
    assert_eq!(items["data"][0]["input"], sent, "{items}");
    let unknown = fails(ask(&running, &["chat", "--target", "other", "--print", "hi"]), 1);
    assert!(unknown.contains("there are support"), "{unknown}");
}
