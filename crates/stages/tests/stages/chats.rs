use std::collections::BTreeMap;
use std::os::unix::process::CommandExt as _;
use std::time::Duration;

use ratchet_agent::claude::command::ClaudeTimeouts;
use ratchet_agent::claude::process_identity::ProcessIdentity;
use ratchet_core::chat::event::EventKind;
use ratchet_core::chat::permission_prompt::{Decision, PermissionScope};
use ratchet_core::chat::state::{ChatStateName, PermissionPromptId};
use ratchet_core::id::SessionId;
use ratchet_stages::chat::{
    ChatChange, ChatError, ChatLimits, ChatService, ChatSettings, ModelChoice,
};
use ratchet_store::catalog::{ChatProcess, ChatStatus};
use ratchet_testkit::wait;
use serde_json::{Value, json};

use crate::talk::{Stage, assert_in_order, body, is_alive, kill};

const ALLOW: Decision = Decision::Allow { allowance: PermissionScope::Once, input: None };

fn ask_of(response: &Value) -> PermissionPromptId {
    PermissionPromptId::new(response["id"].as_str().unwrap())
}

async fn answer(
    stage: &Stage,
    chats: &ChatService,
    chat_id: &SessionId,
    (ask, decision, by): (&PermissionPromptId, Decision, &str),
) -> Result<(), ChatError> {
    let (project, by) = (stage.shop.clone(), Some(by.to_owned()));
    chats.answer(project, chat_id.clone(), (ask.clone(), decision), by).await
}

#[tokio::test]
async fn all_who_look_on_see_the_same() {
    let stage = Stage::fake();
    let chats = stage.serve(ChatLimits::default()).await;
    let chat_id = stage.new_chat(&chats).await;
    let mut first = stage.look_on(&chats, &chat_id, 0).await;
    let mut second = stage.look_on(&chats, &chat_id, 0).await;
    let turn = stage.say(&chats, &chat_id, "hello").await.unwrap();
    let done = first.until(EventKind::Done).await;
    assert_eq!((&done["turn"], &done["result"]), (&json!(turn.to_string()), &json!("Hello")));
    assert_eq!(done["cost"], 0.25);
    first.until_state("idle").await;
    second.until_state("idle").await;
    assert_eq!(first.seen, second.seen);
    assert_in_order(&first.seen);
    assert_eq!(first.words(), "Hello", "no word twice");
    assert_eq!(first.states(), ["starting", "running", "idle"]);
    assert_eq!(stage.kept(&chat_id).await, first.seen, "what was told is what is kept");
    // Later clients get all events, or those after their position.
    let mut late = stage.look_on(&chats, &chat_id, 0).await;
    late.until_state("idle").await;
    assert_eq!(late.seen, first.seen);
    let mut back = stage.look_on(&chats, &chat_id, 3).await;
    back.until_state("idle").await;
    assert_eq!(back.seen, first.seen[3..]);
    let chat = chats.chat(stage.shop.clone(), chat_id.clone()).await.unwrap();
    assert_eq!((chat.status.state, chat.status.turns), (ChatStateName::Idle, 1));
}

#[tokio::test]
async fn one_turn_at_a_time_and_the_first_answer_counts() {
    let stage = Stage::fake();
    let chats = stage.serve(ChatLimits::default()).await;
    let chat_id = stage.new_chat(&chats).await;
    let mut client = stage.look_on(&chats, &chat_id, 0).await;
    let turn = stage.say(&chats, &chat_id, "ask").await.unwrap();
    let asked = client.until(EventKind::Permission).await;
    assert_eq!((&asked["tool"], &asked["rules"]), (&json!("Bash"), &json!(["Bash(ls)"])));
    let busy = stage.say(&chats, &chat_id, "hello").await.unwrap_err();
    assert!(matches!(&busy, ChatError::Busy { turn: runs } if *runs == turn), "{busy}");
    let ask = ask_of(&asked);
    let says = Decision::Says("yes".to_owned());
    let odd = answer(&stage, &chats, &chat_id, (&ask, says, "ann")).await.unwrap_err();
    assert!(matches!(odd, ChatError::AnswerMismatch(_)), "{odd}");
    let (ann, bob) = tokio::join!(
        answer(&stage, &chats, &chat_id, (&ask, ALLOW, "ann")),
        answer(&stage, &chats, &chat_id, (&ask, Decision::TimedOut, "bob")),
    );
    assert!(ann.is_ok() != bob.is_ok(), "{ann:?} {bob:?}");
    let winner = if ann.is_ok() { "ann" } else { "bob" };
    let second = ann.err().or(bob.err()).unwrap();
    let ChatError::Answered { first, .. } = &second else { panic!("{second}") };
    let first: Value = serde_json::from_str(first).unwrap();
    assert_eq!(first["by"], winner);
    client.until_state("idle").await;
    let answers = client.received().into_iter().filter(|(kind, _)| *kind == EventKind::Answered);
    assert_eq!(answers.map(|(_, body)| body).collect::<Vec<_>>(), [first]);
    let unasked =
        answer(&stage, &chats, &chat_id, (&PermissionPromptId::new("x"), ALLOW, "ann")).await;
    assert!(matches!(unasked, Err(ChatError::NotOpen(_))), "{unasked:?}");
}

#[tokio::test]
async fn the_first_answer_counts_after_a_restart_too() {
    let stage = Stage::fake();
    let chats = stage.serve(ChatLimits::default()).await;
    let chat_id = stage.new_chat(&chats).await;
    let mut client = stage.look_on(&chats, &chat_id, 0).await;
    stage.say(&chats, &chat_id, "ask").await.unwrap();
    let ask = ask_of(&client.until(EventKind::Permission).await);
    answer(&stage, &chats, &chat_id, (&ask, ALLOW, "ann")).await.unwrap();
    client.until_state("idle").await;
    chats.stop().await;
    let chats = stage.serve(ChatLimits::default()).await;
    let late = answer(&stage, &chats, &chat_id, (&ask, ALLOW, "bob")).await.unwrap_err();
    let ChatError::Answered { first, .. } = &late else { panic!("{late}") };
    let first: Value = serde_json::from_str(first).unwrap();
    assert_eq!((&first["by"], &first["decision"]), (&json!("ann"), &json!("allow")));
}

#[tokio::test]
async fn a_turn_of_the_agents_own_is_not_mistaken_for_ours() {
    let stage = Stage::fake();
    let chats = stage.serve(ChatLimits::default()).await;
    let chat_id = stage.new_chat(&chats).await;
    let mut client = stage.look_on(&chats, &chat_id, 0).await;
    let turn = stage.say(&chats, &chat_id, "own").await.unwrap();
    let own = client.until(EventKind::Done).await;
    assert_eq!((&own["result"], &own["turn"]), (&json!("a task has ended"), &Value::Null));
    let ours = client.until(EventKind::Done).await;
    assert_eq!((&ours["result"], &ours["turn"]), (&json!("now yours"), &json!(turn.to_string())));
    client.until_state("idle").await;
    let chat = chats.chat(stage.shop.clone(), chat_id.clone()).await.unwrap();
    assert_eq!((chat.status.turns, chat.status.cost.dollars()), (2, 0.5), "none is for free");
}

#[tokio::test]
async fn questions_are_answered_and_turns_interrupted() {
    let stage = Stage::fake();
    let chats = stage.serve(ChatLimits::default()).await;
    let chat_id = stage.new_chat(&chats).await;
    let mut client = stage.look_on(&chats, &chat_id, 0).await;
    stage.say(&chats, &chat_id, "question").await.unwrap();
    let asked = client.until(EventKind::Question).await;
    assert_eq!(asked["questions"][0]["question"], "Which?");
    let answers = BTreeMap::from([("Which?".to_owned(), "A".to_owned())]);
    let decision = Decision::Answers(answers);
    answer(&stage, &chats, &chat_id, (&ask_of(&asked), decision, "ann")).await.unwrap();
    assert_eq!(client.until(EventKind::Done).await["result"], "it was allowed");
    client.until_state("idle").await;
    stage.say(&chats, &chat_id, "question").await.unwrap();
    client.until(EventKind::Question).await;
    chats.interrupt(stage.shop.clone(), chat_id.clone()).await.unwrap();
    assert_eq!(client.until(EventKind::Answered).await["decision"], "withdrawn");
    assert_eq!(client.until(EventKind::Done).await["is_error"], true);
    client.until_state("idle").await;
    let nothing = chats.interrupt(stage.shop.clone(), chat_id.clone()).await;
    assert!(matches!(nothing, Err(ChatError::NoTurn)), "{nothing:?}");
}

#[tokio::test]
async fn nobody_is_waited_for_for_ever() {
    let stage = Stage::fake();
    let limits = ChatLimits { answer: Duration::from_millis(30), ..ChatLimits::default() };
    let chats = stage.serve(limits).await;
    let chat_id = stage.new_chat(&chats).await;
    let mut client = stage.look_on(&chats, &chat_id, 0).await;
    stage.say(&chats, &chat_id, "ask").await.unwrap();
    assert_eq!(client.until(EventKind::Answered).await["decision"], "timeout");
    assert_eq!(client.until(EventKind::Done).await["result"], "it was denied");
}

#[tokio::test]
async fn an_agent_that_dies_at_work_is_started_anew() {
    let stage = Stage::fake();
    let chats = stage.serve(ChatLimits::default()).await;
    let chat_id = stage.new_chat(&chats).await;
    let mut client = stage.look_on(&chats, &chat_id, 0).await;
    let turn = stage.say(&chats, &chat_id, "die").await.unwrap();
    let error = client.until(EventKind::Error).await;
    assert_eq!(error["turn"], turn.to_string());
    assert!(error["message"].as_str().unwrap().contains("signal 9"), "{error}");
    client.until_state("failed").await;
    stage.say(&chats, &chat_id, "hello").await.unwrap();
    assert_eq!(client.until(EventKind::Done).await["result"], "Hello");
    client.until_state("idle").await;
    assert_in_order(&client.seen);
}

#[tokio::test]
async fn an_agent_that_does_not_start_says_why() {
    let stage = Stage::fake();
    let chats = stage.serve(ChatLimits::default()).await;
    let settings = ChatSettings { model: Some("gone".to_owned()), ..ChatSettings::default() };
    let chat_id = stage.new_chat_with(&chats, settings).await;
    let mut client = stage.look_on(&chats, &chat_id, 0).await;
    stage.say(&chats, &chat_id, "hello").await.unwrap();
    let why = client.until_state("failed").await["why"].as_str().unwrap().to_owned();
    assert!(why.contains("does not want to start"), "{why}");
    let usual = ChatChange { model: Some(ModelChoice::Usual), ..ChatChange::default() };
    chats.change(stage.shop.clone(), chat_id.clone(), usual).await.unwrap();
    stage.say(&chats, &chat_id, "hello").await.unwrap();
    client.until_state("idle").await;
}

#[tokio::test]
async fn a_restart_of_the_server_loses_nothing() {
    let stage = Stage::fake();
    let chats = stage.serve(ChatLimits::default()).await;
    let chat_id = stage.new_chat(&chats).await;
    let mut client = stage.look_on(&chats, &chat_id, 0).await;
    stage.say(&chats, &chat_id, "ask").await.unwrap();
    client.until(EventKind::Permission).await;
    let chat = chats.chat(stage.shop.clone(), chat_id.clone()).await.unwrap();
    let pid = chat.status.process.unwrap().pid;
    let before = client.seen.clone();
    drop((chats, client));
    let chats = stage.serve(ChatLimits::default()).await;
    assert!(!is_alive(pid), "the agent outlives the server");
    let mut client = stage.look_on(&chats, &chat_id, 0).await;
    let failed = client.until_state("failed").await;
    assert!(failed["why"].as_str().unwrap().contains("restarted"), "{failed}");
    assert_eq!(client.seen[..before.len()], before);
    stage.say(&chats, &chat_id, "hello").await.unwrap();
    client.until_state("idle").await;
    assert_in_order(&client.seen);
}

#[tokio::test]
async fn what_an_earlier_server_left_running_is_ended() {
    let stage = Stage::fake();
    let chats = stage.serve(ChatLimits::default()).await;
    let chat_id = stage.new_chat(&chats).await;
    drop(chats);
    let mut left = std::process::Command::new("cat");
    let mut left = left.stdin(std::process::Stdio::piped()).process_group(0).spawn().unwrap();
    let mark = ProcessIdentity::of(left.id());
    let process = Some(ChatProcess { pid: mark.pid, started: mark.started });
    let status = ChatStatus { process, state: ChatStateName::Idle, ..ChatStatus::new() };
    let catalog = stage.data.catalog();
    let now = ratchet_testkit::build::START;
    catalog.set_chat_status(stage.shop.clone(), chat_id.clone(), status, now).await.unwrap();
    let chats = stage.serve(ChatLimits::default()).await;
    assert!(!wait::exit("the process left running", &mut left).success(), "it was killed");
    let chat = chats.chat(stage.shop.clone(), chat_id.clone()).await.unwrap();
    assert_eq!((chat.status.state, chat.status.process), (ChatStateName::Parked, None));
    assert_eq!(stage.kept(&chat_id).await.len(), 1);
}

#[tokio::test]
async fn idle_chats_give_their_process_up_and_get_another() {
    let stage = Stage::fake();
    let limits = ChatLimits { idle: Duration::from_millis(30), ..ChatLimits::default() };
    let chats = stage.serve(limits).await;
    let chat_id = stage.new_chat(&chats).await;
    let mut client = stage.look_on(&chats, &chat_id, 0).await;
    for _ in 0..2 {
        stage.say(&chats, &chat_id, "hello").await.unwrap();
        client.until_state("parked").await;
    }
    assert_in_order(&client.seen);
    let expected = ["starting", "running", "idle", "parked"].repeat(2);
    assert_eq!(client.states(), expected);
}

#[tokio::test]
async fn a_transcript_that_is_gone_is_said() {
    let stage = Stage::fake();
    let limits = ChatLimits { idle: Duration::from_millis(30), ..ChatLimits::default() };
    let chats = stage.serve(limits).await;
    let chat_id = stage.new_chat(&chats).await;
    let mut client = stage.look_on(&chats, &chat_id, 0).await;
    stage.say(&chats, &chat_id, "hello").await.unwrap();
    client.until_state("parked").await;
    std::fs::remove_dir_all(stage.path("families")).unwrap();
    for expected in [1, 1] {
        stage.say(&chats, &chat_id, "hello").await.unwrap();
        client.until_state("parked").await;
        let response = client.received().into_iter().filter(|(kind, _)| *kind == EventKind::Error);
        let response: Vec<_> = response.map(|(_, body)| body["message"].to_string()).collect();
        assert_eq!(
            response.len(),
            expected,
            "said once, for there is a transcript again: {response:?}"
        );
        assert!(response[0].contains("remembers nothing of what was said before"), "{response:?}");
    }
    // A fork of what is gone says so as well.
    let fork = uuid::Uuid::new_v4();
    let mut chat = chats.chat(stage.shop.clone(), chat_id.clone()).await.unwrap();
    chat.origin.parent = Some(SessionId::parse(&fork.to_string()).unwrap());
    chat.origin.fork_at = Some(fork.to_string());
    chat.id = SessionId::parse(&uuid::Uuid::new_v4().to_string()).unwrap();
    chat.status = ChatStatus::new();
    let id = chat.id.clone();
    stage.data.catalog().create_chat(stage.shop.clone(), chat).await.unwrap();
    let mut client = stage.look_on(&chats, &id, 0).await;
    stage.say(&chats, &id, "hello").await.unwrap();
    let response = client.until(EventKind::Error).await;
    assert!(response["message"].to_string().contains("is gone"), "{response}");
}

#[tokio::test]
async fn who_needs_a_process_gets_that_of_an_idle_chat() {
    let stage = Stage::fake();
    let chats = stage.serve(ChatLimits { processes: 1, ..ChatLimits::default() }).await;
    let (one, other) = (stage.new_chat(&chats).await, stage.new_chat(&chats).await);
    let mut first = stage.look_on(&chats, &one, 0).await;
    let mut second = stage.look_on(&chats, &other, 0).await;
    stage.say(&chats, &one, "silence").await.unwrap();
    first.until_state("running").await;
    stage.say(&chats, &other, "hello").await.unwrap();
    second.until_state("starting").await;
    chats.interrupt(stage.shop.clone(), one.clone()).await.unwrap();
    first.until_state("parked").await;
    second.until_state("idle").await;
}

#[tokio::test]
async fn all_who_wait_for_a_process_get_one() {
    let stage = Stage::fake();
    let chats = stage.serve(ChatLimits { processes: 1, ..ChatLimits::default() }).await;
    let mut clients = Vec::new();
    for _ in 0..4 {
        let chat_id = stage.new_chat(&chats).await;
        let client = stage.look_on(&chats, &chat_id, 0).await;
        stage.say(&chats, &chat_id, "hello").await.unwrap();
        clients.push(client);
    }
    for client in &mut clients {
        assert_eq!(client.until(EventKind::Done).await["result"], "Hello");
    }
}

#[tokio::test]
async fn what_an_agent_cannot_do_is_told() {
    let stage = Stage::fake();
    let timeouts = ClaudeTimeouts {
        start: Duration::from_secs(2),
        silence: Duration::from_millis(500),
        ..ClaudeTimeouts::default()
    };
    let chats = stage.serve_with(ChatLimits::default(), timeouts).await;
    let chat_id = stage.new_chat(&chats).await;
    let mut client = stage.look_on(&chats, &chat_id, 0).await;
    let cases = [
        ("silence", "sent no output for too long"),
        ("fail 7", "ended with code 7: something went wrong inside"),
    ];
    for (words, why) in cases {
        stage.say(&chats, &chat_id, words).await.unwrap();
        let response = client.until(EventKind::Error).await["message"].as_str().unwrap().to_owned();
        assert!(response.contains(why), "{words}: {response}");
    }
    let settings = ChatSettings { model: Some("mute".to_owned()), ..ChatSettings::default() };
    let mute = stage.new_chat_with(&chats, settings).await;
    let mut client = stage.look_on(&chats, &mute, 0).await;
    stage.say(&chats, &mute, "hello").await.unwrap();
    let why = client.until_state("failed").await["why"].as_str().unwrap().to_owned();
    assert!(why.contains("did not answer initialize"), "{why}");
}

#[tokio::test]
async fn noise_and_endless_lines_do_not_stop_a_chat() {
    let stage = Stage::fake();
    let chats = stage.serve(ChatLimits::default()).await;
    let chat_id = stage.new_chat(&chats).await;
    let mut client = stage.look_on(&chats, &chat_id, 0).await;
    stage.say(&chats, &chat_id, "garbage").await.unwrap();
    assert_eq!(client.until(EventKind::Done).await["result"], "after the noise");
    client.until_state("idle").await;
    stage.say(&chats, &chat_id, "huge 5000000").await.unwrap();
    let response = client.until(EventKind::TextDelta).await["text"].as_str().unwrap().len();
    assert_eq!(response, 5_000_000, "a long line comes whole");
    client.until_state("idle").await;
    stage.say(&chats, &chat_id, "huge 70000000").await.unwrap();
    let response = client.until(EventKind::Error).await["message"].as_str().unwrap().to_owned();
    assert!(response.contains("too long to store"), "{response}");
    // Its end was in such a line, too.
    chats.interrupt(stage.shop.clone(), chat_id.clone()).await.unwrap();
    client.until_state("idle").await;
    assert_in_order(&client.seen);
}

#[tokio::test]
async fn a_slow_reader_is_told_and_comes_back() {
    let stage = Stage::fake();
    let chats = stage.serve(ChatLimits { backlog: 12, ..ChatLimits::default() }).await;
    let chat_id = stage.new_chat(&chats).await;
    let mut slow = stage.look_on(&chats, &chat_id, 0).await;
    stage.say(&chats, &chat_id, "hello").await.unwrap();
    slow.until_state("idle").await;
    let mut quick = stage.look_on(&chats, &chat_id, slow.feed.after()).await;
    // More than is held for those who look on.
    for _ in 0..3 {
        stage.say(&chats, &chat_id, "huge 300000").await.unwrap();
        quick.until_state("idle").await;
    }
    let reason = loop {
        match slow.next().await.unwrap() {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    let ChatError::Behind { after } = reason else { panic!("{reason}") };
    assert_eq!(slow.seen.last().unwrap().seq, after);
    let mut again = stage.look_on(&chats, &chat_id, after).await;
    let missed = quick.seen.last().unwrap().seq - after;
    for _ in 0..missed {
        again.next().await.unwrap().unwrap();
    }
    let all: Vec<_> = slow.seen.iter().chain(&again.seen).cloned().collect();
    assert_in_order(&all);
    assert_eq!(all.last(), quick.seen.last());
}

#[tokio::test]
async fn a_closed_chat_ends_for_everyone() {
    let stage = Stage::fake();
    let chats = stage.serve(ChatLimits::default()).await;
    let chat_id = stage.new_chat(&chats).await;
    let mut client = stage.look_on(&chats, &chat_id, 0).await;
    stage.say(&chats, &chat_id, "linger").await.unwrap();
    client.until(EventKind::TextDelta).await;
    let chat = chats.chat(stage.shop.clone(), chat_id.clone()).await.unwrap();
    // A client that returns at once need not wait for the end of the old process.
    let coming_back = async {
        client.until_state("closed").await;
        stage.look_on(&chats, &chat_id, client.feed.after()).await.next().await
    };
    let closing = chats.close(stage.shop.clone(), chat_id.clone());
    let (gone, closed) = tokio::join!(coming_back, closing);
    closed.unwrap();
    assert!(gone.is_none(), "{gone:?}");
    assert!(client.next().await.is_none());
    let late = stage.say(&chats, &chat_id, "hello").await.unwrap_err();
    assert!(matches!(late, ChatError::Closed), "{late}");
    let mut after = stage.look_on(&chats, &chat_id, 0).await;
    after.until_state("closed").await;
    assert!(after.next().await.is_none());
    chats.stop().await;
    assert!(!is_alive(chat.status.process.unwrap().pid));
    let missing = SessionId::parse("nobody").unwrap();
    let missing = stage.say(&chats, &missing, "hello").await.unwrap_err();
    assert!(matches!(missing, ChatError::NotFound(_)), "{missing}");
}

#[tokio::test]
async fn an_idle_agent_that_is_killed_is_not_missed() {
    let stage = Stage::fake();
    let chats = stage.serve(ChatLimits::default()).await;
    let chat_id = stage.new_chat(&chats).await;
    let mut client = stage.look_on(&chats, &chat_id, 0).await;
    chats.resume(stage.shop.clone(), chat_id.clone()).await.unwrap();
    client.until_state("idle").await;
    let chat = chats.chat(stage.shop.clone(), chat_id.clone()).await.unwrap();
    kill(chat.status.process.unwrap().pid);
    client.until_state("parked").await;
    stage.say(&chats, &chat_id, "hello").await.unwrap();
    client.until_state("idle").await;
    assert!(client.seen.iter().all(|event| event.kind != EventKind::Error));
    assert_eq!(body(&client.seen[0])["state"], "starting");
}
