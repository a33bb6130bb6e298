use ratchet_agent::claude::process_identity::ProcessIdentity;
use ratchet_testkit::scripted::Reply;
use ratchet_testkit::wait;
use serde_json::json;

use super::request_text;
use crate::talk::{Stage, Talk};

/// A shell command that writes its process id to a file and then sleeps.
fn sleeper() -> Reply {
    let command = "echo $$ > pid; exec sleep 1000";
    let input = json!({"command": command, "description": "Sleeps", "run_in_background": true});
    Reply::call("Bash", input)
}

async fn with_sleeper(stage: &Stage) -> (Talk, ProcessIdentity) {
    stage.model.script([sleeper(), Reply::text("It sleeps.")]);
    let mut command = stage.real();
    command.options.allowed_tools = vec!["Bash".to_owned()];
    let mut talk = Talk::start(&command).await;
    talk.say("Sleep.").await;
    talk.result().await;
    let file = stage.file("pid");
    let read = async || std::fs::read_to_string(&file).ok()?.trim().parse().ok();
    let pid = wait::for_value_async("the shell's process id", read, Option::is_some).await;
    (talk, ProcessIdentity::of(pid.unwrap()))
}

#[tokio::test]
async fn shells_in_the_background_end_with_it() {
    let stage = Stage::new();
    let (talk, sleeper) = with_sleeper(&stage).await;
    assert!(sleeper.is_alive());
    talk.process.kill().await;
    assert!(!sleeper.is_alive(), "a shell is left behind");
}

#[tokio::test]
async fn an_orphan_is_known_again_and_ended_with_its_shells() {
    let stage = Stage::new();
    let (talk, sleeper) = with_sleeper(&stage).await;
    let identity = talk.process.identity().clone();
    // All that a restarted server has stored.
    let kept = ProcessIdentity { pid: identity.pid, started: identity.started.clone() };
    assert!(kept.end_orphan(&stage.path("t")));
    assert_eq!(talk.exit().await.signal, Some(9));
    assert!(!kept.is_alive() && !sleeper.is_alive());
    assert!(!kept.end_orphan(&stage.path("t")), "there was nobody left");
}

#[tokio::test]
async fn what_it_keeps_lies_in_its_own_folders() {
    let stage = Stage::new();
    let show = json!({"command": "env", "description": "Shows the environment"});
    stage.model.script([Reply::call("Bash", show), Reply::text("Shown.")]);
    let mut command = stage.real();
    command.options.allowed_tools = vec!["Bash".to_owned()];
    let mut talk = Talk::start(&command).await;
    talk.say("Show it.").await;
    talk.result().await;
    let shown = request_text(&stage.model.requests()[1]);
    assert!(shown.contains("TMPDIR=") && !shown.contains("CARGO_"), "{shown}");
    talk.process.end().await;
    assert!(!stage.path("home").exists(), "it writes into the home of its user");
    let session = std::fs::read_dir(stage.path("config/projects")).unwrap().count();
    assert_eq!(session, 1);
}
