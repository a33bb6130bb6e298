use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ratchet_testkit::process::{PUBLIC_KEY, SECRET_KEY};
use ratchet_testkit::scripted::{Reply, ScriptedModel};
use ratchet_testkit::{claude, fixtures, http, wait};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::score::models::verdict;
use crate::score::sessions::{Story, tell};
use crate::{folder, server};

fn plugin() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/claude-code")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(plugin().join(name)).unwrap()
}

fn document(name: &str) -> Value {
    serde_json::from_str(&text(name)).unwrap()
}

/// The keys at the head of a Markdown file.
fn front_matter(name: &str) -> Vec<(String, String)> {
    let text = text(name);
    let head = text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap().0;
    let line = |line: &str| {
        let (key, value) = line.split_once(": ").unwrap();
        (key.to_owned(), value.to_owned())
    };
    head.lines().map(line).collect()
}

#[test]
fn the_plugin_is_complete() {
    assert_eq!(document(".claude-plugin/plugin.json")["name"], "ratchet");
    assert_eq!(document(".mcp.json")["mcpServers"]["ratchet"]["args"][0], "mcp");
    for name in ["commands/score.md", "commands/week.md"] {
        let keys: Vec<_> = front_matter(name).into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["description", "argument-hint", "allowed-tools"], "{name}");
    }
    let judge = front_matter("agents/session-judge.md");
    let tools = judge.iter().find(|(key, _)| key == "tools").unwrap();
    assert_eq!(tools.1, "Read", "what a judge reads is not to be trusted with more");
    for name in ["agents/session-judge.md", "skills/judge-sessions/SKILL.md"] {
        let keys = front_matter(name);
        assert_eq!((keys[0].0.as_str(), keys[1].0.as_str()), ("name", "description"), "{name}");
    }
    for events in document("hooks/hooks.json")["hooks"].as_object().unwrap().values() {
        let command = events[0]["hooks"][0]["command"].as_str().unwrap();
        assert_eq!(command, "\"${CLAUDE_PLUGIN_ROOT}/hooks/send\"");
    }
}

/// Runs the hook as Claude Code does. Returns its log.
fn hook(server: &str, input: &str) -> String {
    let home = TempDir::new().unwrap();
    let mut child = Command::new(plugin().join("hooks/send"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", home.path())
        .env("RATCHET", env!("CARGO_BIN_EXE_ratchet"))
        .env("RATCHET_SERVER", server)
        .env("RATCHET_PUBLIC_KEY", PUBLIC_KEY)
        .env("RATCHET_SECRET_KEY", SECRET_KEY)
        .current_dir(home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let finished = wait::output("the hook", child);
    assert_eq!(finished.status.code(), Some(0), "a hook must not stop a session");
    assert_eq!(finished.stdout, b"", "what a hook prints would go into the conversation");
    let log = home.path().join(".local/state/ratchet/claude-code-hook.log");
    std::fs::read_to_string(log).unwrap()
}

/// A transcript that has sub-agents beside it.
fn transcript() -> PathBuf {
    fixtures::folder("transcripts").join("-work-shop/5e551011-0000-4000-8000-000000000001.jsonl")
}

#[test]
fn hooks_send_the_session_and_its_sub_agents() {
    let data = folder();
    let running = server(data.path()).start();
    let input = json!({
        "session_id": "5e551011-0000-4000-8000-000000000001",
        "transcript_path": transcript(),
        "cwd": "/",
        "hook_event_name": "Stop",
        "stop_hook_active": false,
    });
    for _ in 0..2 {
        let log = hook(running.web(), &input.to_string());
        assert!(!log.contains("because"), "{log}");
    }
    let address = "/api/public/sessions/5e551011-0000-4000-8000-000000000001";
    let session = running.send(http::get(address)).json();
    let traces = session["traces"].as_array().unwrap();
    assert_eq!(traces.len(), 2, "{session}");
    let first = traces.iter().map(|trace| trace["id"].as_str().unwrap()).min().unwrap();
    let trace = running.send(http::get(&format!("/api/public/traces/{first}"))).json();
    let steps = trace["observations"].as_array().unwrap();
    assert!(steps.iter().any(|step| step["name"] == "scout"), "{trace}");
}

#[test]
fn hooks_never_stand_in_the_way() {
    let log = hook("http://127.0.0.1:9", &json!({"transcript_path": transcript()}).to_string());
    assert!(log.contains("ratchet: "), "{log}");
    let log = hook("http://127.0.0.1:9", "not JSON");
    assert!(log.contains("transcript_path"), "{log}");
    let log = hook("http://127.0.0.1:9", &json!({"transcript_path": "/nowhere.jsonl"}).to_string());
    assert!(log.contains("there is no /nowhere.jsonl"), "{log}");
}

/// The model's part in judging a session by way of the plugin, as the skill says to go about it.
fn carried(server: &str, home: &Path) -> [Reply; 7] {
    let file = |name: &str| format!(".ratchet/judging/s/{name}");
    let whole = |file: &str| home.join(file).display().to_string();
    let (prompt, answer) = (file("1.txt"), file("1.json"));
    let run = |command: String| Reply::call("Bash", json!({ "command": command }));
    let judge = json!({
        "description": "Judge a part", "prompt": format!("Judge by {prompt}"),
        "subagent_type": "ratchet:session-judge", "run_in_background": false,
    });
    let handed = json!({"session_id": "s", "chunk": 1, "verdict": verdict(0.5)});
    [
        run(format!("ratchet score prompt s --chunk 1 --server {server} --out {prompt}")),
        Reply::call("Agent", judge),
        Reply::call("Read", json!({ "file_path": whole(&prompt) })),
        Reply::text(&verdict(0.5).to_string()),
        Reply::call("Write", json!({"file_path": whole(&answer), "content": handed.to_string()})),
        run(format!("ratchet score submit --server {server} {answer}")),
        Reply::text("Scored."),
    ]
}

#[test]
fn sub_agents_of_the_real_program_judge_a_session() {
    let data = folder();
    let running = server(data.path()).start();
    tell(&running, &[Story::new("s", 3)]);
    let home = TempDir::new().unwrap();
    let model = ScriptedModel::start().unwrap();
    model.script(carried(running.web(), home.path()));
    let binary = Path::new(env!("CARGO_BIN_EXE_ratchet")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let said = Command::new(claude::real())
        .args(["--print", "/ratchet:score s", "--output-format", "json", "--plugin-dir"])
        .arg(plugin())
        .env_clear()
        .env("PATH", path)
        .env("HOME", home.path())
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        .env("ANTHROPIC_BASE_URL", model.url())
        .env("ANTHROPIC_API_KEY", "none")
        .env("RATCHET_SERVER", running.web())
        .env("RATCHET_PUBLIC_KEY", PUBLIC_KEY)
        .env("RATCHET_SECRET_KEY", SECRET_KEY)
        .current_dir(home.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said = wait::output("claude", said);
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let result: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}"));
    assert_eq!(result["permission_denials"], json!([]), "{result}");
    assert_eq!(result["result"], "Scored.", "{result}");
    let asked = model.requests();
    let evidence = asked[3]["messages"].to_string();
    assert!(evidence.contains("step 2 of the migration"), "the judge read the session: {evidence}");
    let main = asked[6]["messages"].to_string();
    assert!(!main.contains("step 2 of the migration"), "whoever carries it did not: {main}");
    let scores = running.send(http::get("/api/public/v2/scores?sessionId=s")).json();
    let mastery =
        scores["data"].as_array().unwrap().iter().find(|score| score["name"] == "tool_mastery");
    let mastery = mastery.unwrap_or_else(|| panic!("{scores}"));
    assert_eq!(
        (&mastery["value"], &mastery["metadata"]["judge"]),
        (&json!(0.5), &json!("claude-code"))
    );
}
