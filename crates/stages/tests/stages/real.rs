//! The real program against a scripted model.

use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::major::asked::{Allowance, Decision};
use ratchet_core::major::event::EventKind;
use ratchet_core::major::state::AskId;
use ratchet_core::observation::{Observation, ObservationKind};
use ratchet_stages::major::{Major, MajorLimits};
use ratchet_testkit::ask;
use ratchet_testkit::scripted::{Call, Failure, Reply, Tokens};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::talk::{Client, Stage, assert_in_order, kill};

/// A reply that uses a tool.
fn calling(id: &str, name: &str, input: Value) -> Reply {
    let call = Call { id: id.to_owned(), name: name.to_owned(), input };
    let tokens = Tokens { input: 50, cache_read: 7, cache_write: 5, output: 20 };
    Reply { calls: vec![call], tokens, ..Reply::text("Let me see.") }
}

async fn allow(stage: &Stage, major: &Major, session: &SessionId, client: &mut Client) {
    let asked = client.until(EventKind::Permission).await;
    let ask = AskId::new(asked["id"].as_str().unwrap());
    let decision = Decision::Allow { allowance: Allowance::Once, input: None };
    let project = stage.shop.clone();
    major.answer(project, session.clone(), (ask, decision), None).await.unwrap();
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
    let major = stage.serve(MajorLimits::default()).await;
    let session = stage.session(&major).await;
    let mut client = stage.look_on(&major, &session, 0).await;
    let turn = stage.say(&major, &session, "Touch a file, please.").await.unwrap();
    allow(&stage, &major, &session, &mut client).await;
    let done = client.until(EventKind::Done).await;
    assert_eq!((&done["is_error"], &done["result"]), (&json!(false), &json!("It is there.")));
    client.until_state("idle").await;
    assert_in_order(&client.seen);
    assert_eq!(client.words(), "Let me see.It is there.", "each word once");
    assert!(stage.path("work").join("here").exists());
    let trace = ask::trace(stage.data.telemetry(), &stage.shop, &turn.to_string()).await;
    assert_eq!(trace.session, Some(session.clone()));
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
    let major = stage.serve(MajorLimits::default()).await;
    let session = stage.session(&major).await;
    let mut client = stage.look_on(&major, &session, 0).await;
    let turn = stage.say(&major, &session, "Send someone to look.").await.unwrap();
    let said = loop {
        let said = client.until(EventKind::TextDelta).await;
        if said["text"] == "Nothing there." {
            break said;
        }
    };
    assert_eq!(said["parent"], "toolu_errand");
    client.until_state("idle").await;
    major.close(stage.shop.clone(), session.clone()).await.unwrap();
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
async fn a_killed_agent_goes_on_where_it_was() {
    let stage = Stage::real();
    stage.model.say(Reply::text("I will.").on("Remember the word plum"));
    stage.model.say(Reply::failing(Failure::Silence).on("Think for long"));
    stage.model.say(Reply::text("Plum.").on("Which word"));
    let major = stage.serve(MajorLimits::default()).await;
    let session = stage.session(&major).await;
    let mut client = stage.look_on(&major, &session, 0).await;
    stage.say(&major, &session, "Remember the word plum.").await.unwrap();
    client.until_state("idle").await;
    stage.say(&major, &session, "Think for long.").await.unwrap();
    client.until_state("running").await;
    let chat = major.chat(stage.shop.clone(), session.clone()).await.unwrap();
    kill(chat.standing.process.unwrap().pid);
    client.until_state("failed").await;
    stage.say(&major, &session, "Which word was it?").await.unwrap();
    client.until_state("idle").await;
    assert_eq!(client.words(), "I will.Plum.");
    let asked = stage.model.requests().pop().unwrap().to_string();
    assert!(asked.contains("Remember the word plum"), "the conversation went on");
    assert_in_order(&client.seen);
}

#[tokio::test]
async fn a_fork_knows_what_its_parent_knew() {
    let stage = Stage::real();
    stage.model.say(Reply::text("I will.").on("Remember the word plum"));
    stage.model.say(Reply::text("Plum.").on("Which word"));
    let major = stage.serve(MajorLimits::default()).await;
    let session = stage.session(&major).await;
    let mut client = stage.look_on(&major, &session, 0).await;
    let first = stage.say(&major, &session, "Remember the word plum.").await.unwrap();
    client.until_state("idle").await;
    let mut before = stage.kept(&session).await;
    before.retain(|event| event.kind != EventKind::Raw);
    let fork = major.fork(stage.shop.clone(), session.clone(), Uuid::new_v4(), None).await.unwrap();
    assert_eq!(fork.origin.family, session);
    let mut client = stage.look_on(&major, &fork.id, 0).await;
    let turn = stage.say(&major, &fork.id, "Which word was it?").await.unwrap();
    client.until_state("idle").await;
    assert_eq!(client.words(), "Plum.");
    let asked = stage.model.requests().pop().unwrap().to_string();
    assert!(asked.contains("Remember the word plum"), "it knows what was said before");
    let mut kept = stage.kept(&session).await;
    kept.retain(|event| event.kind != EventKind::Raw);
    assert_eq!(kept, before, "the parent stays as it is");
    let trace = ask::trace(stage.data.telemetry(), &stage.shop, &turn.to_string()).await;
    assert_eq!(trace.session, Some(fork.id));
    let first = ask::trace(stage.data.telemetry(), &stage.shop, &first.to_string()).await;
    assert_eq!(first.session, Some(session), "what was copied stays where it was said");
}
