use std::time::Duration;

use ratchet_agent::claude::hook::{self, HookRule};
use ratchet_agent::claude::message::Reply as Answer;
use ratchet_agent::claude::options::SettingSource;
use ratchet_agent::claude::request::{CliRequest, CliRequestKind, HookRequest};
use ratchet_core::chat::config_layer::Trust;
use ratchet_testkit::scripted::{Reply, Tokens};
use serde_json::{Value, json};

use super::request_text;
use crate::talk::{Stage, Talk, Until};

impl Talk {
    /// Reads to the result of a turn and answers each hook on the way. Returns the hook event names
    /// and the result.
    async fn hooked(&mut self, answer: impl Fn(&HookRequest) -> Value) -> (Vec<String>, Value) {
        let mut moments = Vec::new();
        loop {
            let (_, until) = self.until(|line| line.is("result")).await;
            let CliRequest { id, ask, .. } = match until {
                Until::Line(line) => return (moments, crate::talk::json(&line)),
                Until::Asked(request) => request,
            };
            let CliRequestKind::Hook(ask) = ask else { panic!("{ask:?}") };
            moments.push(ask.event().unwrap());
            self.process.answer(&id, &Answer::of(&answer(&ask)).unwrap()).await.unwrap();
        }
    }
}

fn touch(name: &str) -> Reply {
    Reply::call("Bash", json!({"command": format!("touch {name}"), "description": "Makes it"}))
}

#[tokio::test]
async fn hooks_refuse_and_change_what_a_tool_does() {
    let stage = Stage::new();
    stage.model.script([
        touch("bad"),
        Reply::text("Refused."),
        touch("other"),
        Reply::text("Made."),
    ]);
    let mut command = stage.real();
    command.hooks = vec![
        HookRule::new("PreToolUse", "before").matching("Bash"),
        HookRule::new("PostToolUse", "after"),
        HookRule { timeout: Some(Duration::from_secs(20)), ..HookRule::new("Stop", "stop") },
    ];
    let mut talk = Talk::start(&command).await;
    let answer = |ask: &HookRequest| match ask.callback_id.as_str() {
        "before" if ask.input.get().contains("touch bad") => hook::deny("not on a Sunday"),
        "before" => hook::allow_with(&json!({"command": "touch good", "description": "Makes it"})),
        _ => hook::go_on(),
    };
    talk.say("Make it.").await;
    let (moments, _) = talk.hooked(answer).await;
    assert_eq!(moments, ["PreToolUse", "Stop"]);
    assert!(request_text(&stage.model.requests()[1]).contains("not on a Sunday"));
    talk.say("Make another.").await;
    let (moments, result) = talk.hooked(answer).await;
    assert_eq!(moments, ["PreToolUse", "PostToolUse", "Stop"]);
    assert_eq!(result["result"], "Made.");
    let made = ["bad", "other", "good"].map(|name| stage.file(name).exists());
    assert_eq!(made, [false, false, true]);
}

#[tokio::test]
async fn hooks_receive_prompts_sub_agents_and_compaction() {
    let stage = Stage::new();
    let input = json!({"description": "count", "prompt": "Count.", "subagent_type": "general-purpose",
                       "run_in_background": false});
    stage.model.script([
        Reply::call("Agent", input).on("Ask somebody"),
        Reply::text("Seven.").on("Count."),
        Reply::text("It is seven.").on("tool_result"),
        Reply::text("<summary>Seven.</summary>"),
    ]);
    let mut command = stage.real();
    let moments = ["UserPromptSubmit", "SubagentStart", "SubagentStop", "PreCompact"];
    command.hooks = moments.map(|moment| HookRule::new(moment, moment)).into();
    let mut talk = Talk::start(&command).await;
    let context = |ask: &HookRequest| match ask.callback_id.as_str() {
        "UserPromptSubmit" => hook::add_context("UserPromptSubmit", "It is raining."),
        _ => hook::go_on(),
    };
    talk.say("Ask somebody.").await;
    let (events, result) = talk.hooked(context).await;
    assert_eq!(events, ["UserPromptSubmit", "SubagentStart", "SubagentStop"]);
    assert_eq!(result["result"], "It is seven.");
    assert!(request_text(&stage.model.requests()[0]).contains("It is raining."));
    talk.say("/compact").await;
    let (events, _) = talk.hooked(context).await;
    assert!(events.contains(&"PreCompact".to_owned()), "{events:?}");
    talk.say("Blocked.").await;
    let (_, result) = talk.hooked(|_| hook::block("not now")).await;
    assert_eq!(result["num_turns"], 0, "{result}");
    assert_eq!(stage.model.requests().len(), 4);
}

#[tokio::test]
async fn a_long_conversation_is_compacted_automatically() {
    let stage = Stage::new();
    let long = "The quick brown fox jumps over the lazy dog. ".repeat(1_500);
    let used = [("First", 30_000), ("Second", 60_000), ("Third", 130_000), ("Fourth", 100)];
    for (words, input) in used {
        let tokens = Tokens { input, output: 10, ..Tokens::default() };
        stage.model.say(Reply { tokens, ..Reply::text("Noted.").on(&format!("{words}. The")) });
    }
    stage.model.say_always(Reply::text("<summary>A fox and a dog.</summary>"));
    let mut command = stage.real();
    command.options.autocompact = Some(100_000);
    command.hooks = vec![HookRule::new("PreCompact", "before")];
    let mut talk = Talk::start(&command).await;
    let mut events = Vec::new();
    for (words, _) in used {
        talk.say(&format!("{words}. {long}")).await;
        let trigger = |ask: &HookRequest| {
            assert!(ask.input.get().contains(r#""trigger":"auto""#), "{}", ask.input);
            hook::go_on()
        };
        events.extend(talk.hooked(trigger).await.0);
    }
    assert!(events.contains(&"PreCompact".to_owned()), "{events:?}");
    let asked = request_text(stage.model.requests().last().unwrap());
    assert!(asked.contains("A fox and a dog.") && !asked.contains("First. The"), "{events:?}");
}

#[tokio::test]
async fn a_workspace_runs_code_only_if_it_is_trusted() {
    let stage = Stage::new();
    stage.model.script([Reply::text("One."), Reply::text("Two.")]);
    let ran = stage.path("ran");
    let command = format!("touch {}", ran.display());
    let hook = json!([{"hooks": [{"type": "command", "command": command}]}]);
    let settings = json!({"hooks": {"UserPromptSubmit": hook}});
    std::fs::create_dir(stage.file(".claude")).unwrap();
    std::fs::write(stage.file(".claude/settings.json"), settings.to_string()).unwrap();
    for (trust, has_run) in [(Trust::Untrusted, false), (Trust::Trusted, true)] {
        let mut command = stage.real();
        command.options.setting_sources = vec![SettingSource::User, SettingSource::Project];
        command.options.trust = trust;
        let mut talk = Talk::start(&command).await;
        talk.say("Hello.").await;
        talk.result().await;
        assert_eq!(ran.exists(), has_run, "{trust:?}");
        talk.process.end().await;
    }
}
