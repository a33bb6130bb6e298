//! Recovery of what an agent wrote to its transcript while the server was down.

use ratchet_core::chat::event::EventKind;
use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::record::observation::ObservationKind;
use ratchet_stages::chat::ChatLimits;
use ratchet_testkit::ask;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::talk::{Stage, assert_in_order, body};

/// A line that the agent keeps, the `n`th of a file.
fn line(chat_id: &SessionId, n: u128, kind: &str, message: &Value) -> Value {
    json!({
        "type": kind, "uuid": Uuid::from_u128(n).to_string(), "sessionId": chat_id.to_string(),
        "timestamp": format!("2026-01-01T00:00:{n:02}Z"), "promptId": "p1", "message": message,
    })
}

/// What the model answers, for a hundred tokens in and ten out.
fn answer(id: &str, block: &Value) -> Value {
    let usage = json!({"input_tokens": 100, "output_tokens": 10});
    json!({
        "id": id, "role": "assistant", "model": "claude-sonnet-5", "content": [block],
        "usage": usage,
    })
}

fn call(id: &str, tool: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": tool, "input": {"what": "it"}})
}

fn result(of: &str) -> Value {
    json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": of, "content": "ok"}]})
}

/// Writes what the agent would have: a prompt, a call of a sub-agent, which says something, and a
/// call that was never answered. The last line is cut off.
fn write_transcript(stage: &Stage, chat_id: &SessionId, turn: &TraceId) {
    let of_agent = |n: u128, kind: &str, message: &Value| {
        let mut line = line(chat_id, n, kind, message);
        line["isSidechain"] = json!(true);
        line["agentId"] = json!("scout");
        line
    };
    let mut prompt = line(chat_id, 1, "user", &json!({"role": "user", "content": "silence"}));
    prompt["uuid"] = json!(Uuid::parse_str(&turn.to_string()).unwrap().to_string());
    let main = [
        prompt,
        line(chat_id, 2, "assistant", &answer("m1", &json!({"type": "text", "text": "I look."}))),
        line(chat_id, 3, "assistant", &answer("m1", &call("toolu_task", "Task"))),
        line(chat_id, 4, "user", &result("toolu_task")),
        line(chat_id, 5, "assistant", &answer("m3", &call("toolu_last", "Read"))),
    ];
    let sub = [
        of_agent(6, "user", &json!({"role": "user", "content": "Look."})),
        of_agent(7, "assistant", &answer("m2", &json!({"type": "text", "text": "I see."}))),
    ];
    let text = |lines: &[Value]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let folder = stage.path("families").join(chat_id.to_string()).join("projects/work");
    let agents = folder.join(chat_id.to_string()).join("subagents");
    std::fs::create_dir_all(&agents).unwrap();
    let cut = text(&main) + "{\"type\":\"assistant\",\"uuid\":\"x";
    std::fs::write(folder.join(format!("{chat_id}.jsonl")), cut).unwrap();
    std::fs::write(agents.join("agent-scout.jsonl"), text(&sub)).unwrap();
    let about = json!({"agentType": "scout", "toolUseId": "toolu_task"}).to_string();
    std::fs::write(agents.join("agent-scout.meta.json"), about).unwrap();
}

#[tokio::test]
async fn what_the_agent_kept_becomes_events_trace_and_cost() {
    let stage = Stage::fake_with_prices();
    let chats = stage.serve(ChatLimits::default()).await;
    let chat_id = stage.new_chat(&chats).await;
    let mut client = stage.look_on(&chats, &chat_id, 0).await;
    let turn = stage.say(&chats, &chat_id, "silence").await.unwrap();
    client.until_state("running").await;
    // Like a killed server: no events, no cleanup.
    drop((chats, client));
    write_transcript(&stage, &chat_id, &turn);

    let chats = stage.serve(ChatLimits::default()).await;
    let kept = stage.kept(&chat_id).await;
    assert_in_order(&kept);
    let of = |kind: EventKind| {
        kept.iter().filter(|event| event.kind == kind).map(body).collect::<Vec<_>>()
    };
    let words: Vec<_> = of(EventKind::TextDelta);
    let said: Vec<_> = words.iter().map(|body| (&body["text"], &body["parent"])).collect();
    let expected = [(&json!("I look."), &Value::Null), (&json!("I see."), &json!("toolu_task"))];
    assert_eq!(said, expected);
    let calls: Vec<Value> = of(EventKind::ToolUse).iter().map(|body| body["id"].clone()).collect();
    assert_eq!(calls, ["toolu_task", "toolu_last"]);
    assert_eq!(of(EventKind::ToolResult)[0]["tool_use_id"], "toolu_task");
    let error = of(EventKind::Error).pop().unwrap();
    assert_eq!((&error["cost"], &error["at_least"]), (&json!(0.0009), &json!(true)), "{error}");

    // Each answer of the model is counted once, the sub-agent's among them.
    let trace = ask::trace(stage.data.telemetry(), &stage.shop, &turn.to_string()).await;
    assert_eq!((trace.summary.input_tokens, trace.summary.output_tokens), (300, 30));
    let chat = chats.chat(stage.shop.clone(), chat_id.clone()).await.unwrap();
    assert_eq!(Some(chat.status.cost), trace.summary.cost, "chat and trace agree");
    let traces = ask::traces(stage.data.telemetry(), &stage.shop).await;
    assert_eq!(traces.len(), 1, "{traces:#?}");
    let steps = ask::observations(stage.data.telemetry(), &stage.shop).await;
    let generations = steps.iter().filter(|step| step.kind == ObservationKind::Generation);
    assert_eq!(generations.count(), 3, "{steps:#?}");

    // A second restart finds nothing new.
    drop(chats);
    let chats = stage.serve(ChatLimits::default()).await;
    assert_eq!(stage.kept(&chat_id).await, kept);
    let again = chats.chat(stage.shop.clone(), chat_id).await.unwrap();
    assert_eq!(again.status.cost, chat.status.cost);
}
