use std::io::Write;
use std::process::{Child, ChildStdin, Stdio};

use ratchet_testkit::fixtures;
use ratchet_testkit::process::Launch;
use ratchet_testkit::wait::{self, Lines};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{ask, folder, json, ok, ratchet, server};

const SESSION: &str = "5e551011-0000-4000-8000-000000000001";

/// A client of the protocol: one line of JSON for each message, either way.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines,
    asked: u64,
    _home: TempDir,
}

impl Client {
    /// Starts a server and shakes hands with it.
    fn start(launch: Launch) -> (Self, Value) {
        let (mut command, home) = launch.into_parts();
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let input = child.stdin.take();
        let output = Lines::of(child.stdout.take().unwrap());
        let mut client = Self { child, input, output, asked: 0, _home: home };
        let hello = client.ask(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            }),
        );
        client.tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        (client, hello["result"].clone())
    }

    fn tell(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.tell(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let line = self.output.next(&format!("answer to {method}"));
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    #[track_caller]
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        assert_eq!(result["isError"], false, "{answer}");
        let text: Value =
            serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, result["structuredContent"]);
        text
    }

    /// What a tool says is wrong.
    #[track_caller]
    fn refuses(&mut self, tool: &str, arguments: &Value) -> String {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Hangs up; the server ends by itself.
    fn end(mut self) {
        self.input = None;
        assert_eq!(wait::exit("the MCP server", &mut self.child).code(), Some(0));
    }
}

/// A folder with the sessions of the transcripts.
fn recorded() -> TempDir {
    let data = folder();
    let transcripts = fixtures::folder("transcripts");
    json(ratchet(&["import", "claude-code"]).arg(transcripts).arg("--data").arg(data.path()));
    data
}

#[test]
fn agents_ask_about_sessions_of_a_folder() {
    let data = recorded();
    let (mut client, hello) = Client::start(ratchet(&["mcp"]).arg("--data").arg(data.path()));
    assert_eq!(hello["serverInfo"]["name"], "ratchet");
    assert_eq!(hello["protocolVersion"], "2025-06-18");
    let tools = client.ask("tools/list", &json!({}))["result"]["tools"].clone();
    let names: Vec<_> = tools.as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["list_sessions", "get_session", "list_scores", "get_report"]);
    assert!(
        tools.as_array().unwrap().iter().all(|tool| tool["annotations"]["readOnlyHint"] == true)
    );

    let list = client.call("list_sessions", &json!({"days": 3650, "limit": 1}));
    assert_eq!((list["sessions"].as_array().unwrap().len(), &list["has_more"]), (1, &json!(true)));
    let session = client.call("get_session", &json!({"session_id": SESSION, "max_bytes": 60}));
    assert_eq!(session["session"]["session_id"], SESSION);
    assert_eq!(session["traces"][0]["number"], 1);
    let trace = client.call("get_session", &json!({"session_id": SESSION, "trace": 1}));
    let steps = trace["steps"].as_array().unwrap();
    assert!(steps.iter().any(|step| step["name"] == "scout"), "{trace}");
    assert_eq!(client.call("list_scores", &json!({}))["scores"], json!([]));
    client.end();
}

#[test]
fn what_cannot_be_answered_is_told_and_the_server_stays() {
    let data = recorded();
    let (mut client, _) = Client::start(ratchet(&["mcp"]).arg("--data").arg(data.path()));
    for (tool, arguments, expected) in [
        ("get_session", json!({"session_id": "nobody"}), "session nobody not found"),
        ("get_session", json!({}), "missing field `session_id`"),
        ("get_session", json!({"session_id": SESSION, "trace": 99}), "has traces 1 to "),
        ("list_sessions", json!({"limit": 0}), "limit must be from 1 to 200"),
        ("list_sessions", json!({"lmit": 1}), "unknown field `lmit`"),
        ("get_report", json!({}), "no report yet"),
        ("delete_session", json!({}), "unknown tool delete_session"),
    ] {
        let message = client.refuses(tool, &arguments);
        assert!(message.contains(expected), "{tool}: {message}");
    }
    client.end();
}

#[test]
fn a_server_is_asked_with_its_key() {
    let data = recorded();
    let running = server(data.path()).start();
    let (mut client, _) = Client::start(ask(&running, &["mcp"]));
    let session = client.call("get_session", &json!({"session_id": SESSION}));
    assert_eq!(session["session"]["session_id"], SESSION);
    let message = client.refuses("get_report", &json!({}));
    assert!(message.contains("no report yet"), "{message}");
    ok(ask(&running, &["week", "--of", "2026-03-01", "--zone", "UTC"]));
    let report = client.call("get_report", &json!({}));
    assert_eq!((&report["week"], &report["weeks"]), (&json!("2026-03-01"), &json!(["2026-03-01"])));
    assert_eq!(report["report"]["rubric"], "session-quality");
    client.end();
}
