use ratchet_agent::claude::mcp::{McpHandler, McpTool};
use ratchet_agent::claude::message::Reply as Answer;
use ratchet_agent::claude::options::{McpScope, SettingSource};
use ratchet_agent::claude::request::CliRequestKind;
use ratchet_core::chat::config_layer::Trust;
use ratchet_testkit::claude::fake_mcp;
use ratchet_testkit::scripted::Reply;
use serde_json::{Value, json};

use super::request_text;
use crate::talk::{Stage, Talk};

fn server(name: &str) -> Value {
    json!({"type": "stdio", "command": fake_mcp(), "args": [name],
           "env": {"WORKSPACE_PATH": "/srv/shop"}})
}

#[tokio::test]
async fn tools_of_this_process_are_called() {
    let stage = Stage::new();
    stage.model.script([
        Reply::call("mcp__calc__add", json!({"a": 2, "b": 40})),
        Reply::text("It is 42."),
    ]);
    let schema = json!({"type": "object",
                        "properties": {"a": {"type": "number"}, "b": {"type": "number"}}});
    let add = McpTool::new("add", "Adds two numbers.", schema, |input| async move {
        let numbers = input["a"].as_i64().zip(input["b"].as_i64());
        numbers.map(|(a, b)| format!("sum {}", a + b)).ok_or_else(|| "no numbers".to_owned())
    });
    let mut command = stage.real();
    command.servers.insert("calc".to_owned(), McpHandler::with_tools("calc", vec![add]));
    command.options.allowed_tools = vec!["mcp__calc__add".to_owned()];
    let mut talk = Talk::start(&command).await;
    talk.say("How much is it?").await;
    assert_eq!(talk.result().await["result"], "It is 42.");
    assert!(request_text(&stage.model.requests()[1]).contains("sum 42"));
}

#[tokio::test]
async fn servers_that_are_handed_in_are_started_and_may_ask_a_person() {
    let stage = Stage::new();
    stage.model.script([
        Reply::call("mcp__shop__who", json!({})),
        Reply::text("It said."),
        Reply::call("mcp__shop__who", json!({"form": true})),
        Reply::text("It is a colour."),
    ]);
    let mut command = stage.real();
    command.options.mcp_config = Some(json!({"mcpServers": {"shop": server("the shop")}}));
    command.options.allowed_tools = vec!["mcp__shop".to_owned()];
    let mut talk = Talk::start(&command).await;
    talk.say("Who is there?").await;
    talk.result().await;
    let status = talk.process.mcp_status().await.unwrap();
    assert_eq!(status["mcpServers"][0]["status"], "connected", "{status}");
    talk.say("Which colour?").await;
    let request = talk.asked().await;
    let CliRequestKind::Elicitation(ask) = &request.ask else { panic!("{request:?}") };
    assert_eq!((ask.mcp_server_name.as_str(), ask.message.as_str()), ("shop", "Which colour?"));
    let blue = Answer::accept(&json!({"colour": "blue"})).unwrap();
    talk.process.answer(&request.id, &blue).await.unwrap();
    assert_eq!(talk.result().await["result"], "It is a colour.");
    let asked: Vec<String> = stage.model.requests().iter().map(request_text).collect();
    assert!(asked[1].contains("I am the shop at /srv/shop"), "{}", asked[1]);
    assert!(asked[3].contains("the colour is blue"), "{}", asked[3]);
}

#[tokio::test]
async fn what_is_handed_in_hides_what_the_workspace_says() {
    let stage = Stage::new();
    let call = || Reply::call("mcp__shop__who", json!({}));
    stage.model.script([call(), Reply::text("It said."), call(), Reply::text("It said.")]);
    let both = json!({"mcpServers": {"shop": server("workspace"), "own": server("own")}});
    std::fs::write(stage.file(".mcp.json"), both.to_string()).unwrap();
    let mut command = stage.real();
    command.options.mcp_config = Some(json!({"mcpServers": {"shop": server("given")}}));
    command.options.allowed_tools = vec!["mcp__shop".to_owned()];
    command.options.setting_sources = vec![SettingSource::Project];
    command.options.trust = Trust::Trusted;
    command.options.settings = Some(json!({"enableAllProjectMcpServers": true}));
    for (scope, servers) in [(McpScope::Settings, 2), (McpScope::Given, 1)] {
        command.options.mcp_scope = scope;
        let mut talk = Talk::start(&command).await;
        talk.say("Who is there?").await;
        talk.result().await;
        let status = talk.process.mcp_status().await.unwrap();
        assert_eq!(status["mcpServers"].as_array().unwrap().len(), servers, "{status}");
        talk.process.end().await;
    }
    let asked: Vec<String> = stage.model.requests().iter().map(request_text).collect();
    assert!(asked[1].contains("I am given") && asked[3].contains("I am given"), "{}", asked[1]);
}
