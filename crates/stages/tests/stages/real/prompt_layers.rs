use std::path::{Path, PathBuf};

use ratchet_core::chat::config_layer::Trust;
use ratchet_core::chat::event::EventKind;
use ratchet_core::chat::system_prompt::DEFAULT_BUDGET;
use ratchet_core::chat::workspace::{Roots, WorkspaceSource};
use ratchet_core::judge::judge_prompt::Seed;
use ratchet_core::record::observation::{Level, ObservationKind};
use ratchet_stages::chat::prompt_layers::LayerFolders;
use ratchet_stages::chat::work_folder::Boundary;
use ratchet_stages::chat::workspace_policy::{ChatRequest, WorkspacePolicy};
use ratchet_stages::chat::{ChatChange, ChatLimits, ChatSettings};
use ratchet_testkit::claude::fake_mcp;
use ratchet_testkit::scripted::Reply;
use serde_json::{Value, json};

use super::{Talking, free_shell, of_kind, touch, using};
use crate::talk::{Stage, body};

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn servers(names: &[(&str, &str)]) -> String {
    let server = |who: &str| json!({"command": fake_mcp(), "args": [who]});
    let servers = names.iter().map(|(name, who)| ((*name).to_owned(), server(who)));
    json!({"mcpServers": Value::from_iter(servers)}).to_string()
}

/// Gives agents the workspace policy of a server; returns the settings of a chat there.
fn prepared(stage: &mut Stage, trusted: Vec<PathBuf>) -> ChatSettings {
    let top = stage.path("").canonicalize().unwrap();
    let policy = WorkspacePolicy {
        boundary: Boundary {
            roots: Roots::new([top.clone()]).unwrap(),
            workspace_source: WorkspaceSource::Network,
            data: None,
        },
        trusted,
        layers: LayerFolders { platform: Some(top.join("platform")), user: Some(top.join("user")) },
        prompt_tokens: DEFAULT_BUDGET,
        seed: Seed::new([7; 32]),
    };
    let chat_id = ratchet_core::id::SessionId::parse("s").unwrap();
    let request = ChatRequest { settings: free_shell(), ..ChatRequest::default() };
    let ready = policy.prepare(&chat_id, &top.join("work"), request).unwrap();
    stage.policy = Some(policy);
    ready.settings
}

#[tokio::test]
async fn servers_and_skills_come_from_all_layers() {
    let mut stage = Stage::real();
    let (work, platform, user) = (stage.path("work"), stage.path("platform"), stage.path("user"));
    write(&platform, "mcp.json", &servers(&[("p", "platform"), ("u", "x"), ("w", "x")]));
    write(&user, "mcp.json", &servers(&[("u", "user"), ("w", "x")]));
    write(&work, ".mcp.json", &servers(&[("w", "workspace")]));
    let skill = |name: &str| format!("---\nname: {name}\ndescription: knows {name}\n---\nDo it.\n");
    write(&platform, "skills/of-platform/SKILL.md", &skill("of-platform"));
    write(&user, "skills/of-user/SKILL.md", &skill("of-user"));
    write(&work, ".claude/skills/of-workspace/SKILL.md", &skill("of-workspace"));
    let layers = ["platform", "user", "workspace"];
    for (layer, tool) in layers.iter().zip(["p", "u", "w"]) {
        let id = format!("toolu_{layer}");
        let call = using(&id, &format!("mcp__{tool}__who"), json!({}));
        stage.model.say(call.on(&format!("Ask the {layer}")));
        let place = work.canonicalize().unwrap();
        let learnt = format!("I am {layer} at {}", place.display());
        stage.model.say(Reply::text("So.").on(&learnt));
    }
    let mut settings = prepared(&mut stage, vec![work.canonicalize().unwrap()]);
    settings.allowed_tools = vec!["mcp__p".to_owned(), "mcp__u".to_owned(), "mcp__w".to_owned()];
    let mut talking = Talking::start(stage, settings).await;
    for layer in layers {
        let turn = talking.say(&format!("Ask the {layer}.")).await;
        let done = talking.done().await;
        assert_eq!(done["result"], "So.", "{layer}");
        talking.check_spent(&turn, &done, 2).await;
    }
    let begins = |line: &Value| line["subtype"] == "init";
    let raw = talking.client.seen.iter().filter(|event| event.kind == EventKind::Raw).map(body);
    let begun = raw.into_iter().find(begins).unwrap();
    let skills = begun["skills"].as_array().unwrap();
    for layer in layers {
        assert!(skills.contains(&json!(format!("of-{layer}"))), "{layer}: {skills:?}");
    }
}

#[tokio::test]
async fn hooks_of_a_workspace_refuse_and_change_what_tools_do_if_it_is_trusted() {
    let mut stage = Stage::real();
    let work = stage.path("work");
    let hook = r#"#!/bin/sh
case $(cat) in
*'touch bad'*) echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"not on a Sunday"}}' ;;
*'touch odd'*) echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"touch even","description":"makes it"}}}' ;;
esac
"#;
    write(&work, "hook.sh", hook);
    let command = format!("sh {}", work.join("hook.sh").display());
    let hooks = json!([{"matcher": "Bash", "hooks": [{"type": "command", "command": command}]}]);
    write(&work, ".claude/settings.json", &json!({"hooks": {"PreToolUse": hooks}}).to_string());
    stage.model.say_always(touch("toolu_bad", "bad").on("Be bad"));
    stage.model.say(Reply::text("Refused.").on("not on a Sunday"));
    stage.model.say(touch("toolu_odd", "odd").on("Be odd"));
    stage.model.say_always(Reply::text("Made."));
    let settings = prepared(&mut stage, vec![work.canonicalize().unwrap()]);
    let mut talking = Talking::start(stage, settings).await;
    let made = |name: &str| work.join(name).exists();
    let turn = talking.say("Be bad.").await;
    let done = talking.done().await;
    assert_eq!(done["result"], "Refused.");
    talking.check_spent(&turn, &done, 2).await;
    let steps = talking.steps(&turn).await;
    assert_eq!(of_kind(&steps, ObservationKind::Tool)[0].level, Level::Error);
    talking.say("Be odd.").await;
    assert_eq!(talking.done().await["result"], "Made.");
    assert_eq!(["bad", "odd", "even"].map(made), [false, false, true]);

    // Revoked trust is gone with the next message.
    let change = ChatChange { trust: Some(Trust::Untrusted), ..ChatChange::default() };
    let (project, chat_id) = (talking.stage.shop.clone(), talking.chat_id.clone());
    talking.chats.change(project, chat_id, change).await.unwrap();
    talking.say("Be bad.").await;
    assert_eq!(talking.done().await["result"], "Made.");
    assert!(made("bad"));
    std::fs::remove_file(work.join("bad")).unwrap();
    let change = ChatChange { trust: Some(Trust::Trusted), ..ChatChange::default() };
    let (project, chat_id) = (talking.stage.shop.clone(), talking.chat_id.clone());
    talking.chats.change(project, chat_id, change).await.unwrap();
    talking.say("Be bad.").await;
    talking.done().await;
    assert!(!made("bad"), "it is trusted as before");

    // The same when the server trusts the folder no more.
    talking.chats.stop().await;
    let _setting = prepared(&mut talking.stage, Vec::new());
    talking.chats = talking.stage.serve(ChatLimits::default()).await;
    talking.client = talking.stage.look_on(&talking.chats, &talking.chat_id, 0).await;
    talking.say("Be bad.").await;
    talking.client.until_state("starting").await;
    while !made("bad") {
        talking.client.until(EventKind::ToolResult).await;
    }
}

/// What `ps` shows; nothing where there is no `/proc`.
fn arguments_of_all_processes() -> String {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let arguments = processes.filter_map(|one| std::fs::read(one.path().join("cmdline")).ok());
    arguments.map(|one| String::from_utf8_lossy(&one).into_owned() + "\n").collect()
}

#[tokio::test]
async fn keys_of_tool_servers_lie_nowhere_but_in_their_files() {
    const KEY: &str = "sk-tool-server-0a1b2c3d4e5f";
    let mut stage = Stage::real();
    let platform = stage.path("platform");
    let server = json!({"command": fake_mcp(), "args": ["p"], "env": {"TOOL_KEY": KEY}});
    write(&platform, "mcp.json", &json!({"mcpServers": {"p": server}}).to_string());
    stage.model.say(using("toolu_p", "mcp__p__who", json!({})).on("Ask it"));
    stage.model.say(Reply::text("So.").on("I am p"));
    stage.model.say(Reply::text("Nobody.").on("Ask nobody"));
    let mut settings = prepared(&mut stage, Vec::new());
    assert!(!settings.write().as_str().contains(KEY));
    settings.allowed_tools = vec!["mcp__p".to_owned()];
    let mut talking = Talking::start(stage, settings).await;
    let turn = talking.say("Ask it.").await;
    assert_eq!(talking.done().await["result"], "So.");
    let leaks = |folder: &Path| {
        let found = std::process::Command::new("grep").args(["-r", "-l", KEY]).arg(folder).output();
        String::from_utf8(found.unwrap().stdout).unwrap()
    };
    // Neither the catalog, nor events, nor what lies about while the agent runs.
    for place in ["t", "families", "home"] {
        assert_eq!(leaks(&talking.stage.path(place)), "", "{place}");
    }
    assert_eq!(leaks(talking.stage.data.path()), "");
    for event in &talking.client.seen {
        assert!(!event.body.contains(KEY), "{}", event.body);
    }
    // Payloads are compressed: no search of files finds what they say.
    let recorded = format!("{:?} {:?}", talking.trace(&turn).await, talking.steps(&turn).await);
    assert!(recorded.contains("I am p") && !recorded.contains(KEY), "{recorded}");
    // Anyone on the machine can read arguments, while the agent and its tool server run.
    let arguments = arguments_of_all_processes();
    assert!(!arguments.contains(KEY), "{arguments}");
    assert!(arguments.is_empty() || arguments.contains("mcp-config"), "{arguments}");

    // What the next agent gets is what stands in the files then.
    talking.chats.stop().await;
    write(&platform, "mcp.json", "{}");
    talking.chats = talking.stage.serve(ChatLimits::default()).await;
    talking.say("Ask nobody.").await;
    talking.client = talking.stage.look_on(&talking.chats, &talking.chat_id, 0).await;
    let is_answer = |done: &Value| done["result"] == "Nobody.";
    talking.client.until_such(EventKind::Done, is_answer).await;
    talking.client.until_state("idle").await;
    let raw = talking.client.seen.iter().filter(|event| event.kind == EventKind::Raw).map(body);
    let begun = raw.rev().find(|line| line["subtype"] == "init").unwrap();
    assert_eq!(begun["mcp_servers"], json!([]), "{begun}");
}
