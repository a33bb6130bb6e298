use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use ratchet_agent::budget::Budget;
use ratchet_agent::claude::watchdog::Supervision;
use ratchet_agent::error::ModelError;
use ratchet_agent::model::Model;
use ratchet_agent::provider::Provider;
use ratchet_agent::provider::claude::ClaudeProgram;
use ratchet_agent::request::{CacheablePart, LlmRequest, ResponseFormat};
use ratchet_core::money::Money;
use ratchet_testkit::claude::real;
use ratchet_testkit::scripted::{Failure, Reply, ScriptedModel};
use ratchet_testkit::wait;
use serde_json::json;

use crate::kit;

/// A program that records its arguments and prints scripted output.
struct FakeClaude {
    folder: tempfile::TempDir,
}

impl FakeClaude {
    fn saying(lines: &str) -> Self {
        Self::running(lines, "")
    }

    /// Runs more commands before it prints its lines.
    fn running(lines: &str, commands: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("lines"), lines).unwrap();
        let here = folder.path().display();
        let script = format!(
            "#!/bin/sh\n\
             printf '%s\\n' \"$@\" > {here}/arguments\n\
             for last; do case $last in *system.md) cat \"$last\" > {here}/system;; esac; done\n\
             cat > {here}/question\n\
             {{ pwd; ls -A; echo \"telemetry=$CLAUDE_CODE_ENABLE_TELEMETRY\"; }} > {here}/place\n\
             {commands}\n\
             cat {here}/lines\n"
        );
        let path = folder.path().join("claude");
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        Self { folder }
    }

    fn model(&self) -> Model {
        let program = ClaudeProgram::new(self.folder.path().join("claude"), Supervision::Nobody)
            .with_variable("CLAUDE_CODE_ENABLE_TELEMETRY", "1");
        kit::model(Provider::Claude(program), "claude-sonnet-5")
    }

    fn noted(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }
}

const ANSWER: &str = r#"{"type":"system","subtype":"init"}
{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"{\"score\""}}}
{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":":1}"}}}
{"type":"result","subtype":"success","is_error":false,"result":"{\"score\":1}","stop_reason":"end_turn","session_id":"s1","total_cost_usd":0.5,"usage":{"input_tokens":3,"cache_read_input_tokens":2,"cache_creation_input_tokens":0,"output_tokens":4},"modelUsage":{"claude-sonnet-5":{}}}
"#;

#[tokio::test]
async fn the_program_is_asked_alone_in_an_empty_folder() {
    let claude = FakeClaude::saying(ANSWER);
    let schema = json!({"type": "object", "required": ["score"]});
    let (system, response_format) =
        (vec![CacheablePart::new("Judge.")], ResponseFormat::Json(schema));
    let ask = LlmRequest { system, response_format, ..LlmRequest::new("How good?") };
    let budget = Budget::unlimited();
    let answer = claude.model().complete(&ask, &budget).await.unwrap();
    assert_eq!(answer.json, Some(json!({"score": 1})));
    assert_eq!((answer.usage.total(), answer.cost), (9, Money::from_dollars(0.5)));
    assert_eq!(budget.spent().money, Money::from_dollars(0.5).unwrap());
    assert_eq!(claude.noted("question"), "How good?");
    let system = claude.noted("system");
    assert!(system.starts_with("Judge.") && system.contains("JSON Schema"), "{system}");
    let arguments = claude.noted("arguments");
    for alone in
        ["--print", "--setting-sources=", "--strict-mcp-config", "--no-session-persistence"]
    {
        assert!(arguments.lines().any(|argument| argument == alone), "{arguments}");
    }
    let place = claude.noted("place");
    let [folder, telemetry] = place.lines().collect::<Vec<_>>()[..] else { panic!("{place}") };
    assert_eq!(telemetry, "telemetry=", "what judges must not be recorded as work");
    assert!(!PathBuf::from(folder).exists(), "{folder} is left");
}

#[tokio::test]
async fn text_is_streamed_as_it_arrives() {
    let claude = FakeClaude::saying(ANSWER);
    let mut pieces = Vec::new();
    let mut listener = |piece: &str| pieces.push(piece.to_owned());
    claude
        .model()
        .stream(&LlmRequest::new("?"), &Budget::unlimited(), &mut listener)
        .await
        .unwrap();
    assert_eq!(pieces, ["{\"score\"", ":1}"]);
}

/// Eight megabytes are read, as of any other provider, and the program is killed.
#[tokio::test]
async fn an_answer_without_end_is_cut_off() {
    let endless = "echo $$ > \"$(dirname \"$0\")/pid\"; exec yes '{\"type\":\"system\"}'";
    let claude = FakeClaude::running("", endless);
    let asked = LlmRequest::new("?");
    let error = claude.model().complete(&asked, &Budget::unlimited()).await.unwrap_err();
    assert!(error.to_string().contains("more than 8388608 bytes"), "{error}");
    let process = format!("/proc/{}/cmdline", claude.noted("pid").trim());
    // A process that was killed has no arguments, until somebody waits for it.
    let is_gone = || fs::read(&process).map_or(true, |arguments| arguments.is_empty());
    wait::until("the program is killed", is_gone);
}

#[tokio::test]
async fn a_program_that_complains_at_length_still_answers() {
    let claude = FakeClaude::running(ANSWER, "yes 'a warning' | head -c 1000000 >&2");
    let asked = LlmRequest::new("?");
    let answer = claude.model().complete(&asked, &Budget::unlimited()).await.unwrap();
    assert_eq!(answer.text, "{\"score\":1}");
}

#[tokio::test]
async fn a_program_that_is_not_there_says_where_it_was_looked_for() {
    let program = ClaudeProgram::new("/nowhere/claude", Supervision::Nobody);
    let model = kit::model(Provider::Claude(program), "claude-sonnet-5");
    let error = model.complete(&LlmRequest::new("?"), &Budget::unlimited()).await.unwrap_err();
    assert!(matches!(error, ModelError::NotSetUp(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains("/nowhere/claude") && text.contains("RATCHET_CLAUDE_BIN"), "{text}");
}

#[tokio::test]
async fn the_real_program_answers() {
    let server = ScriptedModel::start().unwrap();
    let home = tempfile::tempdir().unwrap();
    let program = ClaudeProgram::new(real(), Supervision::Nobody)
        .with_variable("ANTHROPIC_BASE_URL", &server.url())
        .with_variable("ANTHROPIC_API_KEY", "none")
        .with_variable("CLAUDE_CONFIG_DIR", &home.path().display().to_string());
    let model = kit::model(Provider::Claude(program), "claude-sonnet-5");
    let reply = Reply::document(json!({"score": 1}));
    let failing = |status| Reply::failing(Failure::Status(status));
    server.script([failing(529), reply.clone(), reply, failing(401)]);
    let schema = json!({"type": "object", "required": ["score"]});
    let (system, response_format) =
        (vec![CacheablePart::new("Judge.")], ResponseFormat::Json(schema));
    let ask = LlmRequest { system, response_format, ..LlmRequest::new("How good?") };
    let budget = Budget::unlimited();
    let answer = model.complete(&ask, &budget).await.unwrap();
    assert_eq!((answer.json, answer.attempts), (Some(json!({"score": 1})), 2));
    // A hundred tokens in for $2 a million and ten out for $10, as the program itself counts.
    assert_eq!((answer.usage.total(), answer.cost), (110, Money::from_dollars(0.0003)));
    let mut streamed = String::new();
    let mut listener = |piece: &str| streamed.push_str(piece);
    model.stream(&ask, &budget, &mut listener).await.unwrap();
    assert_eq!(streamed, "{\"score\":1}");
    let error = model.complete(&ask, &budget).await.unwrap_err();
    assert!(matches!(error, ModelError::Unauthorised { .. }), "{error}");
    let asked = server.requests();
    assert!(asked.iter().all(|asked| asked["tools"] == json!([])), "it has tools");
    assert!(asked[1]["system"].to_string().contains("JSON Schema"), "{}", asked[1]["system"]);
}
