//! Chats with the real program, against a scripted model.

/// Permission prompts and questions to the user.
mod asking;
/// Budgets and failures.
mod bounds;
/// Interrupt, resume and fork.
mod going_on;
/// Hooks before and after tool calls.
mod hooks;
mod prices;
mod servers;
mod traces;

use ratchet_agent::claude::message::UserMessage;
use ratchet_agent::claude::options::{PermissionMode, SubagentText, SystemPrompt};
use ratchet_core::chat::reader::LineReader;
use ratchet_testkit::scripted::{Call, Reply};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::talk::{Stage, Talk, Until, dollars, json as read};

/// All text that the model received in a request.
pub(crate) fn request_text(question: &Value) -> String {
    format!("{} {}", question["system"], question["messages"])
}

#[tokio::test]
async fn it_answers_in_pieces_and_counts_what_it_costs() {
    let stage = Stage::new();
    stage.model.script([Reply::text("Lisbon is nice."), Reply::text("Porto too.")]);
    let mut command = stage.real();
    command.options.system_prompt = SystemPrompt::Replace("You sell journeys.".repeat(20_000));
    let mut talk = Talk::start(&command).await;
    talk.say("Where to?").await;
    let (lines, until) = talk.until(|line| line.is("result")).await;
    let Until::Line(result) = until else { panic!("{until:?}") };
    assert_eq!(read(&result)["result"], "Lisbon is nice.");
    let deltas = lines.iter().filter(|line| line.is("stream_event")).map(read);
    let texts = deltas.filter_map(|line| Some(line["event"]["delta"]["text"].as_str()?.to_owned()));
    assert_eq!(texts.collect::<String>(), "Lisbon is nice.");
    // A hundred tokens in for $2 a million and ten out for $10, each time.
    let mut reader = LineReader::default();
    reader.take(result.raw.get(), None);
    assert_eq!(reader.cost(), dollars(0.0003));
    talk.say("And else?").await;
    assert_eq!(talk.cost(&mut reader).await, dollars(0.0003));
    let asked = stage.model.requests();
    assert!(
        request_text(&asked[1]).contains("You sell journeys.")
            && request_text(&asked[1]).contains("Lisbon")
    );
    assert_eq!(talk.process.end().await.code, Some(0));
}

#[tokio::test]
async fn pictures_and_what_needs_no_answer_reach_the_model() {
    let stage = Stage::new();
    stage.model.script([Reply::text("A red dot.")]);
    let mut talk = Talk::start(&stage.real()).await;
    let context = UserMessage::text(Uuid::new_v4(), "My name is Ana.").without_answer();
    talk.process.send_user(&context).await.unwrap();
    assert_eq!(talk.result().await["num_turns"], 0);
    const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/q842iQAAAABJRU5ErkJggg==";
    let source = json!({"type": "base64", "media_type": "image/png", "data": DOT});
    let blocks = vec![
        json!({"type": "text", "text": "What is it?"}),
        json!({"type": "image", "source": source}),
    ];
    talk.process.send_user(&UserMessage::blocks(Uuid::new_v4(), blocks)).await.unwrap();
    assert_eq!(talk.result().await["result"], "A red dot.");
    let asked = request_text(&stage.model.requests()[0]);
    assert!(asked.contains("Ana") && asked.contains("image/png"), "{asked}");
}

#[tokio::test]
async fn another_model_and_another_mode_can_be_chosen() {
    let stage = Stage::new();
    stage.model.script([
        Reply::text("One.").on("First?"),
        Reply::text("Two.").on("Second?"),
        // The program probes the model before it switches.
        Reply::text("x"),
    ]);
    let mut talk = Talk::start(&stage.real()).await;
    talk.say("First?").await;
    talk.result().await;
    talk.process.set_model(Some("claude-haiku-4-5")).await.unwrap();
    talk.process.set_permission_mode(PermissionMode::Plan).await.unwrap();
    let refused = talk.process.set_permission_mode(PermissionMode::Bypass).await;
    assert!(refused.is_err(), "it skips permissions though nobody said it might");
    talk.say("Second?").await;
    let (lines, _) = talk.until(|line| line.is("result")).await;
    let init = lines.iter().rfind(|line| line.is_a("system", "init")).map(read).unwrap();
    assert_eq!(init["permissionMode"], "plan");
    let asked = stage.model.requests();
    let models: Vec<&Value> = asked.iter().map(|asked| &asked["model"]).collect();
    assert_eq!(models, ["claude-sonnet-5", "claude-haiku-4-5", "claude-haiku-4-5"]);
}

#[tokio::test]
async fn sub_agents_work_in_sight() {
    let stage = Stage::new();
    let input = json!({"description": "count", "prompt": "Count the houses.",
                       "subagent_type": "counter", "run_in_background": false});
    stage.model.script([
        Reply::call("Agent", input).on("How many"),
        Reply::text("Seven houses.").on("Count the houses."),
        Reply::text("There are seven.").on("tool_result"),
    ]);
    let mut command = stage.real();
    let counter = json!({"description": "Counts.", "prompt": "You count."});
    command.options.agents.insert("counter".to_owned(), counter);
    command.options.subagent_text = SubagentText::Told;
    let mut talk = Talk::start(&command).await;
    talk.say("How many are there?").await;
    let (lines, until) = talk.until(|line| line.is("result")).await;
    let Until::Line(result) = until else { panic!("{until:?}") };
    assert_eq!(read(&result)["result"], "There are seven.");
    let lines: Vec<Value> = lines.iter().map(read).collect();
    let inner = lines.iter().find(|line| {
        line["type"] == "assistant" && line["message"].to_string().contains("Seven houses.")
    });
    assert!(inner.unwrap()["parent_tool_use_id"].as_str().unwrap().starts_with("toolu_"));
    // Three model requests, one of them the sub-agent's.
    let mut reader = LineReader::default();
    reader.take(result.raw.get(), None);
    assert_eq!(reader.cost(), dollars(0.0009));
}

#[tokio::test]
async fn a_conversation_can_be_shortened() {
    let stage = Stage::new();
    stage.model.script([
        Reply::text("Lisbon."),
        Reply::text("<summary>They spoke of Lisbon.</summary>"),
        Reply::text("Of Lisbon."),
    ]);
    let mut talk = Talk::start(&stage.real()).await;
    talk.say("Where to?").await;
    talk.result().await;
    talk.say("/compact").await;
    let (lines, _) = talk.until(|line| line.is("result")).await;
    assert!(lines.iter().any(|line| line.is_a("system", "compact_boundary")));
    talk.say("Of what did we speak?").await;
    assert_eq!(talk.result().await["result"], "Of Lisbon.");
    let asked = request_text(&stage.model.requests()[2]);
    assert!(asked.contains("They spoke of Lisbon.") && !asked.contains("Where to?"), "{asked}");
}

#[tokio::test]
async fn several_tools_at_once_are_all_answered() {
    let stage = Stage::new();
    std::fs::write(stage.file("a.txt"), "apples").unwrap();
    std::fs::write(stage.file("b.txt"), "pears").unwrap();
    let call = |name: &str| Call {
        id: format!("toolu_{name}"),
        name: "Read".to_owned(),
        input: json!({"file_path": stage.file(&format!("{name}.txt"))}),
    };
    let both = Reply { calls: vec![call("a"), call("b")], ..Reply::text("I look.") };
    stage.model.script([both, Reply::text("Fruit.")]);
    let mut talk = Talk::start(&stage.real()).await;
    talk.say("What is there?").await;
    assert_eq!(talk.result().await["result"], "Fruit.");
    let asked = request_text(&stage.model.requests()[1]);
    assert!(asked.contains("apples") && asked.contains("pears"), "{asked}");
}
