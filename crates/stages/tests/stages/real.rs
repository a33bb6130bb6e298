//! The real program against a scripted model.

/// What people are asked, and what they answer.
mod asking;
/// What happens in turns, and how they end.
mod turns;
/// What breaks off, and what is left of it.
mod broken;
/// What is spent, and what may be.
mod money;
/// What an agent gets from the platform, its user and its workspace.
mod prompt_layers;

use ratchet_core::chat::event::EventKind;
use ratchet_core::chat::permission_prompt::{Decision, PermissionScope};
use ratchet_core::chat::state::PermissionPromptId;
use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::record::observation::{Observation, ObservationKind};
use ratchet_core::record::trace::Trace;
use ratchet_stages::chat::{ChatError, ChatLimits, ChatService, ChatSettings};
use ratchet_testkit::ask;
use ratchet_testkit::scripted::{Call, Reply, Tokens};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::talk::{Client, Stage, assert_in_order};

/// A conversation with the real program, and someone who looks on.
struct Talking {
    stage: Stage,
    chats: ChatService,
    chat_id: SessionId,
    client: Client,
}

impl Talking {
    async fn start(stage: Stage, settings: ChatSettings) -> Self {
        let chats = stage.serve(ChatLimits::default()).await;
        let chat_id = stage.new_chat_with(&chats, settings).await;
        let client = stage.look_on(&chats, &chat_id, 0).await;
        Self { stage, chats, chat_id, client }
    }

    async fn say(&self, words: &str) -> TraceId {
        self.stage.say(&self.chats, &self.chat_id, words).await.unwrap()
    }

    /// What is asked next, and how it is called.
    async fn asked(&mut self, kind: EventKind) -> (PermissionPromptId, Value) {
        let asked = self.client.until(kind).await;
        (PermissionPromptId::new(asked["id"].as_str().unwrap()), asked)
    }

    async fn decide(&self, ask: PermissionPromptId, decision: Decision) {
        self.try_decide(ask, decision).await.unwrap();
    }

    async fn try_decide(
        &self,
        ask: PermissionPromptId,
        decision: Decision,
    ) -> Result<(), ChatError> {
        let (project, chat_id) = (self.stage.shop.clone(), self.chat_id.clone());
        self.chats.answer(project, chat_id, (ask, decision), None).await
    }

    /// How the turn ended; the chat is idle then.
    async fn done(&mut self) -> Value {
        let done = self.client.until(EventKind::Done).await;
        self.client.until_state("idle").await;
        done
    }

    async fn trace(&self, turn: &TraceId) -> Trace {
        ask::trace(self.stage.data.telemetry(), &self.stage.shop, &turn.to_string()).await
    }

    async fn steps(&self, turn: &TraceId) -> Vec<Observation> {
        steps(&self.stage, turn).await
    }

    /// The step that stands for the turn.
    async fn root(&self, turn: &TraceId) -> Observation {
        let steps = self.steps(turn).await;
        steps.into_iter().find(|step| step.id.to_string() == turn.to_string()).unwrap()
    }

    /// Whether a turn is recorded with what so many rounds used, as the model itself counts: each
    /// a hundred tokens in for $2 a million, and ten out for $10.
    async fn check_spent(&self, turn: &TraceId, done: &Value, rounds: u32) {
        let trace = self.trace(turn).await;
        let tokens = (trace.summary.input_tokens, trace.summary.output_tokens);
        assert_eq!(tokens, (u64::from(rounds) * 100, u64::from(rounds) * 10), "tokens");
        let dollars = f64::from(rounds) * 0.0003;
        assert!((done["cost"].as_f64().unwrap() - dollars).abs() < 1e-12, "{done}");
        assert_eq!(done["turn"], turn.to_string());
        let kept = trace.content.unwrap().metadata.into_iter();
        let mut kept = kept.filter(|(key, _)| key == "agent_cost").map(|(_, cost)| cost);
        assert_eq!(kept.next().unwrap().as_str(), done["cost"].to_string());
    }
}

/// A reply that uses a tool, for as much as any reply.
fn using(id: &str, name: &str, input: Value) -> Reply {
    let call = Call { id: id.to_owned(), name: name.to_owned(), input };
    Reply { calls: vec![call], ..Reply::text("") }
}

fn touch(id: &str, file: &str) -> Reply {
    using(id, "Bash", json!({"command": format!("touch {file}"), "description": "makes a file"}))
}

/// A setting in which shells need no asking.
fn free_shell() -> ChatSettings {
    ChatSettings { allowed_tools: vec!["Bash".to_owned()], ..ChatSettings::default() }
}

/// A reply that uses a tool.
fn calling(id: &str, name: &str, input: Value) -> Reply {
    let call = Call { id: id.to_owned(), name: name.to_owned(), input };
    let tokens = Tokens { input: 50, cache_read: 7, cache_write: 5, output: 20, reasoning: 0 };
    Reply { calls: vec![call], tokens, ..Reply::text("Let me see.") }
}

async fn allow(stage: &Stage, chats: &ChatService, chat_id: &SessionId, client: &mut Client) {
    let asked = client.until(EventKind::Permission).await;
    let ask = PermissionPromptId::new(asked["id"].as_str().unwrap());
    let decision = Decision::Allow { allowance: PermissionScope::Once, input: None };
    let project = stage.shop.clone();
    chats.answer(project, chat_id.clone(), (ask, decision), None).await.unwrap();
}

/// The steps of a turn.
async fn steps(stage: &Stage, turn: &TraceId) -> Vec<Observation> {
    let mut steps = ask::observations(stage.data.telemetry(), &stage.shop).await;
    steps.retain(|step| step.trace == *turn);
    steps
}

fn of_kind(steps: &[Observation], kind: ObservationKind) -> Vec<&Observation> {
    steps.iter().filter(|step| step.kind == kind).collect()
}

#[tokio::test]
async fn a_turn_becomes_a_trace_with_its_rounds_tools_and_permissions() {
    let stage = Stage::real();
    let command = json!({"command": "touch here", "description": "touch"});
    stage.model.say(calling("toolu_touch", "Bash", command).on("Touch"));
    stage.model.say(Reply::text("It is there.").on("toolu_touch"));
    let chats = stage.serve(ChatLimits::default()).await;
    let chat_id = stage.new_chat(&chats).await;
    let mut client = stage.look_on(&chats, &chat_id, 0).await;
    let turn = stage.say(&chats, &chat_id, "Touch a file, please.").await.unwrap();
    allow(&stage, &chats, &chat_id, &mut client).await;
    let done = client.until(EventKind::Done).await;
    assert_eq!((&done["is_error"], &done["result"]), (&json!(false), &json!("It is there.")));
    client.until_state("idle").await;
    assert_in_order(&client.seen);
    assert_eq!(client.words(), "Let me see.It is there.", "each word once");
    assert!(stage.path("work").join("here").exists());
    let trace = ask::trace(stage.data.telemetry(), &stage.shop, &turn.to_string()).await;
    assert_eq!(trace.session, Some(chat_id.clone()));
    assert_eq!(trace.user.as_deref(), Some("ann"));
    let (into, out) = (trace.summary.input_tokens, trace.summary.output_tokens);
    assert_eq!((into, out), (50 + 7 + 5 + 100, 20 + 10), "verified, each once");
    let steps = steps(&stage, &turn).await;
    assert_eq!(of_kind(&steps, ObservationKind::Generation).len(), 2);
    let tools = of_kind(&steps, ObservationKind::Tool);
    assert_eq!(tools.len(), 1, "{tools:#?}");
    assert!(tools[0].end.is_some(), "it is paired with its result");
    let asked = of_kind(&steps, ObservationKind::Span);
    assert_eq!(asked[0].parent.as_ref(), Some(&tools[0].id));
    assert!(asked[0].latency().is_some(), "how long the person took");
}

#[tokio::test]
async fn a_sub_agent_hangs_on_the_call_that_began_it() {
    let stage = Stage::real();
    let errand = json!({"description": "look", "prompt": "Look around.",
        "subagent_type": "general-purpose", "run_in_background": false});
    stage.model.say(calling("toolu_errand", "Task", errand).on("Send someone"));
    stage.model.say(Reply::text("Nothing there.").on("Look around"));
    stage.model.say_always(Reply::text("All is well."));
    let chats = stage.serve(ChatLimits::default()).await;
    let chat_id = stage.new_chat(&chats).await;
    let mut client = stage.look_on(&chats, &chat_id, 0).await;
    let turn = stage.say(&chats, &chat_id, "Send someone to look.").await.unwrap();
    let is_found = |said: &Value| said["text"] == "Nothing there.";
    let said = client.until_such(EventKind::TextDelta, is_found).await;
    assert_eq!(said["parent"], "toolu_errand");
    client.until_state("idle").await;
    chats.close(stage.shop.clone(), chat_id.clone()).await.unwrap();
    client.until_state("closed").await;
    let steps = steps(&stage, &turn).await;
    let agents = of_kind(&steps, ObservationKind::Agent);
    let errand = agents.iter().find(|agent| agent.parent.is_some()).unwrap();
    assert_eq!(errand.parent.as_ref().map(ToString::to_string).as_deref(), Some("toolu_errand"));
    let within = steps.iter().filter(|step| step.parent.as_ref() == Some(&errand.id));
    let tokens: Vec<u64> = within.map(|step| step.usage.total()).collect();
    assert_eq!(tokens, [110], "what the sub-agent used, once");
}

#[tokio::test]
async fn a_fork_knows_what_its_parent_knew_then_and_no_more() {
    let stage = Stage::real();
    for (on, text) in [("the word plum", "I will."), ("the word fig", "That too.")] {
        stage.model.say(Reply::text(text).on(on));
    }
    stage.model.say_always(Reply::text("Plum.").on("Which word"));
    let chats = stage.serve(ChatLimits::default()).await;
    let chat_id = stage.new_chat(&chats).await;
    let mut client = stage.look_on(&chats, &chat_id, 0).await;
    let first = stage.say(&chats, &chat_id, "Remember the word plum.").await.unwrap();
    client.until_state("idle").await;
    let fork = |of: &SessionId, at| chats.fork(stage.shop.clone(), of.clone(), Uuid::new_v4(), at);
    let now = fork(&chat_id, None).await.unwrap();
    // A fork that has said nothing is forked where it was forked itself.
    let again = fork(&now.id, None).await.unwrap();
    assert_eq!((&now.origin.family, &again.origin.family), (&chat_id, &chat_id));
    stage.say(&chats, &chat_id, "Remember the word fig.").await.unwrap();
    client.until_state("idle").await;
    let response = || async {
        let mut response = stage.kept(&chat_id).await;
        response.retain(|event| event.kind != EventKind::Raw);
        response
    };
    let before = response().await;
    let after_first = Uuid::parse_str(&first.to_string()).unwrap();
    let early = fork(&chat_id, Some(after_first)).await.unwrap();
    let late = fork(&chat_id, None).await.unwrap();
    let unset = fork(&chat_id, Some(Uuid::new_v4())).await.unwrap_err();
    assert!(matches!(unset, ChatError::Setting(_)), "{unset}");
    for (fork, knows_fig) in [(&now, false), (&again, false), (&early, false), (&late, true)] {
        let mut client = stage.look_on(&chats, &fork.id, 0).await;
        let turn = stage.say(&chats, &fork.id, "Which word was it?").await.unwrap();
        client.until_state("idle").await;
        assert_in_order(&client.seen);
        let asked = stage.model.requests().pop().unwrap()["messages"].to_string();
        assert!(asked.contains("the word plum") && asked.contains("I will."), "{asked}");
        assert_eq!(asked.contains("the word fig"), knows_fig, "{asked}");
        let trace = ask::trace(stage.data.telemetry(), &stage.shop, &turn.to_string()).await;
        assert_eq!(trace.session.as_ref(), Some(&fork.id));
        chats.close(stage.shop.clone(), fork.id.clone()).await.unwrap();
    }
    assert_eq!(response().await, before, "the parent stays as it is");
    let first = ask::trace(stage.data.telemetry(), &stage.shop, &first.to_string()).await;
    assert_eq!(first.session, Some(chat_id), "what was copied stays where it was said");
}
