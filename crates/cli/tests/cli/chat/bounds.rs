//! What an agent may spend, see and trust.

use ratchet_testkit::scripted::{Call, Reply};
use serde_json::json;

use super::{Stage, calling, done};

/// The last prompt of the model, as text.
fn output(stage: &Stage) -> String {
    stage.model.requests().pop().unwrap()["messages"].to_string()
}

#[test]
fn a_budget_holds_over_processes_and_can_be_raised() {
    let stage = Stage::new();
    stage.model.say_always(Reply::text("Lisbon."));
    // Each answer costs $0.0003.
    let first = ["--model", "claude-sonnet-5", "--budget", "0.0005", "--print", "Where to?"];
    assert_eq!(done(&stage.begun().args(first).run()), "Lisbon.\n");
    let again = || stage.begun().args(["--resume", "--print", "Where to?"]).run();
    again();
    let asked = stage.model.requests().len();
    let refused = again();
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("has spent $0.0006 of its budget of $0.0005"), "{refused:?}");
    assert!(refused.stderr.contains("/budget"), "{refused:?}");
    assert_eq!(stage.model.requests().len(), asked, "nobody was asked");
    let raised = ["--resume", "--budget", "1", "--print", "Where to?"];
    assert_eq!(done(&stage.begun().args(raised).run()), "Lisbon.\n");
}

#[test]
fn agents_see_what_is_named_of_the_environment_and_never_what_is_ours() {
    let stage = Stage::new();
    let command = "echo [$SECRET_ONE][$SECRET_TWO][$RATCHET_LOG]";
    let look = json!({"command": command, "description": "looks"});
    let seen = |names: Option<&str>| {
        stage.model.script([calling("Bash", look.clone()), Reply::text("So.")]);
        let launch = stage.begun().env("SECRET_ONE", "one").env("SECRET_TWO", "two");
        let launch = launch.env("RATCHET_LOG", "warn");
        let launch = match names {
            Some(names) => launch.env("RATCHET_CHAT_ENV", names),
            None => launch,
        };
        let finished = launch.args(["--print", "Look.", "--allow", "Bash"]).run();
        assert_eq!(done(&finished), "So.\n");
        output(&stage)
    };
    assert!(seen(None).contains("[][][]"));
    assert!(seen(Some("default,SECRET_ONE")).contains("[one][][]"));
    assert!(seen(Some("*")).contains("[one][two][]"));
    let ours = stage.begun().env("RATCHET_CHAT_ENV", "RATCHET_SECRET_KEY").run();
    assert!(ours.stderr.contains("RATCHET_"), "{ours:?}");
    assert_ne!(ours.code, Some(0));
}

#[test]
fn trust_is_for_the_one_who_gives_it_and_not_kept() {
    let stage = Stage::new();
    stage.tool_servers();
    let ask = |arguments: &[&str]| {
        // A call of an id that the conversation knows already would not be made.
        let id = format!("toolu_{}", arguments.join(""));
        let call = Call { id, name: "mcp__lake__who".to_owned(), input: json!({}) };
        stage.model.script([Reply { calls: vec![call], ..Reply::text("") }, Reply::text("So.")]);
        let launch = stage.begun().args(arguments);
        let finished = launch.args(["--print", "Who?", "--allow", "mcp__lake__who"]).run();
        assert_eq!(done(&finished), "So.\n");
        let output = output(&stage);
        let (_, last) = output.rsplit_once("I am ").unwrap_or_else(|| panic!("{output}"));
        last.chars().take(400).collect::<String>()
    };
    assert!(ask(&["--trust"]).starts_with("workspace"));
    let untrusted = ask(&["--resume"]);
    assert!(untrusted.starts_with("platform"), "trust ends with who gave it: {untrusted}");
    assert!(ask(&["--trust", "--resume"]).starts_with("workspace"));
    assert!(ask(&["--no-trust", "--resume"]).starts_with("platform"));
}
