use std::io::Write;
use std::process::{Child, ChildStdin, Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ratchet_testkit::process::{Launch, PUBLIC_KEY, SECRET_KEY};
use ratchet_testkit::scripted::{Reply, ScriptedModel};
use ratchet_testkit::wait::{self, Lines};
use ratchet_testkit::{claude, fixtures};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{ask, folder, json, ok, ratchet, server};

const SESSION: &str = "5e551011-0000-4000-8000-000000000001";

/// A client of the protocol: one line of JSON for each message, either way.
pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines,
    asked: u64,
    _home: TempDir,
}

impl Client {
    /// Starts a server and shakes hands with it.
    pub(crate) fn start(launch: Launch) -> (Self, Value) {
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
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
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
    pub(crate) fn refuses(&mut self, tool: &str, arguments: &Value) -> String {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Hangs up; the server ends by itself.
    pub(crate) fn end(mut self) {
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
    assert_eq!(names[..4], ["list_sessions", "get_session", "list_scores", "get_report"]);
    assert!(names.iter().any(|name| *name == "getPrompt"), "{names:?}");
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

#[test]
fn prompts_are_changed_only_by_those_who_may_manage() {
    let data = folder();
    let create = json!({"name": "greet", "prompt": "Hello", "labels": ["staging"]});
    let (mut reader, _) = Client::start(ratchet(&["mcp"]).arg("--data").arg(data.path()));
    let message = reader.refuses("createTextPrompt", &create);
    assert!(message.contains("--manage"), "{message}");
    assert_eq!(reader.call("listPrompts", &json!({}))["data"], json!([]));
    reader.end();

    let managing = ratchet(&["mcp", "--manage"]).arg("--data").arg(data.path());
    let (mut manager, _) = Client::start(managing);
    assert_eq!(manager.call("createTextPrompt", &create)["version"], 1);
    manager.end();
    let entries = json(ratchet(&["audit"]).arg("--data").arg(data.path()));
    assert!(entries.to_string().contains("greet"), "{entries}");

    let running = server(data.path()).start();
    let (mut client, _) = Client::start(ask(&running, &["mcp", "--manage"]));
    assert_eq!(client.call("getPrompt", &json!({"name": "greet"}))["prompt"], "Hello");
    let promote = json!({"name": "greet", "version": 1, "newLabels": ["production"]});
    let promoted = client.call("updatePromptLabels", &promote);
    assert!(promoted["labels"].as_array().unwrap().contains(&json!("production")), "{promoted}");
    let score = json!({"sessionId": SESSION, "name": "kind", "value": 1});
    assert!(client.call("createScore", &score)["id"].is_string());
    assert_eq!(client.call("listScores", &json!({}))["meta"]["totalItems"], 1);
    let message = client.refuses("getPrompt", &json!({"name": "nobody"}));
    assert!(message.contains("Prompt not found: 'nobody'"), "{message}");
    client.end();
}

/// Claude Code itself, connected as docs/mcp.md says.
#[test]
fn the_real_program_calls_tools_over_http() {
    let data = folder();
    let running = server(data.path()).start();
    let (mut manager, _) = Client::start(ask(&running, &["mcp", "--manage"]));
    manager.call("createTextPrompt", &json!({"name": "greet", "prompt": "Say hello twice."}));
    manager.end();
    let home = TempDir::new().unwrap();
    let model = ScriptedModel::start().unwrap();
    let tool = "mcp__ratchet__getPrompt";
    model.script([Reply::call(tool, json!({"name": "greet"})), Reply::text("Done.")]);
    let key = STANDARD.encode(format!("{PUBLIC_KEY}:{SECRET_KEY}"));
    let servers = json!({"mcpServers": {"ratchet": {
        "type": "http", "url": format!("{}/api/public/mcp", running.web()),
        "headers": {"Authorization": format!("Basic {key}")},
    }}});
    let said = Command::new(claude::real())
        .args(["--print", "Show the prompt greet", "--output-format", "json"])
        .args(["--allowedTools", tool, "--strict-mcp-config", "--mcp-config"])
        .arg(servers.to_string())
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap())
        .env("HOME", home.path())
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        .env("ANTHROPIC_BASE_URL", model.url())
        .env("ANTHROPIC_API_KEY", "none")
        .current_dir(home.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said = wait::output("claude", said);
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let result: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}"));
    assert_eq!((&result["result"], &result["permission_denials"]), (&json!("Done."), &json!([])));
    let asked = model.requests();
    let answered = asked[1]["messages"].to_string();
    assert!(answered.contains("Say hello twice."), "the model got the prompt: {answered}");
}
