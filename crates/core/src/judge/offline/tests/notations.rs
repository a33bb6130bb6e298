//! Golden sessions: the same work, recorded in the notations of agent families.

use serde_json::{Value, json};

use super::*;
use crate::judge::evidence::TaskContext;
use crate::judge::notations::{CallOutcome, golden};
use crate::sessions::{StepOf, agent, generation, session, tool, trace, turn, user};

const TESTS: &str = "python -m pytest tests";

/// A session whose agent edits, runs the tests and says so, as text between program and model.
fn in_text(command: &str, result: &str) -> Evidence {
    let asked = user("Make the parser accept empty lines.");
    let runs = agent(&format!("I run the tests.\n\n{command}"));
    let history = json!([asked, runs, user(result)]);
    session(vec![trace(vec![
        generation(json!([asked]), runs.clone()),
        generation(history, agent("Have a look.")),
    ])])
}

/// The same with a recorded call.
fn recorded(output: Value) -> Evidence {
    let run = tool("shell", json!({"command": TESTS}), output);
    session(vec![turn(json!("Make it accept empty lines."), vec![run], json!("Have a look."))])
}

#[track_caller]
fn check(name: &str, evidence: &Evidence, expected: &str) {
    let why = of(evidence, "task_completion").rationale.to_lowercase();
    assert!(why.contains(expected), "{name}: {why}");
}

#[test]
fn results_as_text_messages() {
    let bash = format!("```bash\n{TESTS}\n```");
    let tags =
        format!("<function=execute_bash>\n<parameter=command>{TESTS}</parameter>\n</function>");
    let cline = format!("<execute_command>\n<command>{TESTS}</command>\n</execute_command>");
    let hermes =
        format!(r#"<tool_call>{{"name":"bash","arguments":{{"command":"{TESTS}"}}}}</tool_call>"#);
    let react = format!("Action: bash\nAction Input: {{\"command\": \"{TESTS}\"}}");
    let cases: [(&str, &str, [&str; 2]); 6] = [
        (
            "mini-SWE-agent",
            &bash,
            [
                "<returncode>0</returncode>\n<output>..</output>",
                "<returncode>1</returncode>\n<output>..</output>",
            ],
        ),
        (
            "SWE-agent",
            &bash,
            ["OBSERVATION:\n4 passed in 0.1s", "OBSERVATION:\n1 failed, 3 passed in 0.1s"],
        ),
        (
            "OpenHands",
            &tags,
            [
                "EXECUTION RESULT of [execute_bash]:\n..\n[Command finished with exit code 0]",
                "EXECUTION RESULT of [execute_bash]:\n..\n[Command finished with exit code 1]",
            ],
        ),
        (
            "Cline",
            &cline,
            [
                "[execute_command for 'x'] Result:\nCommand executed. Exit code: 0\nOutput:\n..",
                "[execute_command for 'x'] Result:\nCommand executed. Exit code: 1\nOutput:\n..",
            ],
        ),
        (
            "Hermes",
            &hermes,
            [
                "<tool_response>\n4 passed in 0.1s\n</tool_response>",
                "<tool_response>\n1 failed, 3 passed\n</tool_response>",
            ],
        ),
        ("ReAct", &react, ["Observation: 4 passed in 0.1s", "Observation: 2 failed, 1 passed"]),
    ];
    for (name, command, [passed, failed]) in cases {
        check(name, &in_text(command, passed), "the last test run passed");
        check(name, &in_text(command, failed), "the last test run failed");
    }
}

#[test]
fn results_of_recorded_calls() {
    let cases: [(&str, [Value; 2]); 6] = [
        (
            "object",
            [json!({"exit_code": 0, "stdout": "ok"}), json!({"exit_code": 1, "stdout": "ok"})],
        ),
        (
            "Codex, first version",
            [
                json!({"output": "..", "metadata": {"exit_code": 0}}),
                json!({"output": "..", "metadata": {"exit_code": 1}}),
            ],
        ),
        ("Codex", [json!("Exit code: 0\nOutput:\n.."), json!("Exit code: 1\nOutput:\n..")]),
        (
            "Copilot",
            [json!("..\n<exited with exit code 0>"), json!("..\n<exited with exit code 1>")],
        ),
        (
            "Gemini CLI",
            [
                json!({"output": "Output: ..\nProcess Group PGID: 1"}),
                json!({"output": "Output: ..\nExit Code: 1\nProcess Group PGID: 1"}),
            ],
        ),
        ("Claude Code", [json!("4 passed in 0.1s"), json!("Exit code 1\n..")]),
    ];
    for (name, [passed, failed]) in cases {
        check(name, &recorded(passed), "the last test run passed");
        check(name, &recorded(failed), "the last test run failed");
    }
}

/// Each notation that is known, down to the verdict: what its results say of a call reaches the marks.
#[test]
fn every_notation_of_a_result_reaches_the_verdict() {
    for (family, output, outcome) in golden::RESULTS {
        let run = |nth: usize| -> StepOf {
            tool("shell", json!({"command": format!("./step {nth}")}), json!(output))
        };
        let why = of(&session(vec![trace((0..3).map(run).collect())]), "tool_mastery").rationale;
        let has_failed = why.contains("3 tool calls failed");
        assert_eq!(has_failed, outcome == CallOutcome::Failed, "{family}: {output}: {why}");
    }
}

/// What a framework writes in the role of the user is never a later word of the user.
#[test]
fn every_notation_of_a_message_is_not_the_user() {
    for (text, _) in golden::USER_ROLES {
        let asked = user("Make the parser accept empty lines.");
        let history = json!([asked, agent("I look."), user(text)]);
        let evidence = session(vec![trace(vec![
            generation(json!([asked]), agent("I look.")),
            generation(history, agent("Have a look.")),
        ])]);
        let said = TaskContext::of(&evidence);
        assert!(said.request.is_some() && said.later.is_empty(), "{text}: {said:?}");
    }
}

#[test]
fn an_unknown_result_is_neither() {
    for output in [json!(".."), json!({"stdout": ".."}), json!({"status": "done", "rows": 3})] {
        let why = of(&recorded(output.clone()), "task_completion").rationale;
        assert!(!why.contains("test run"), "{output}: {why}");
    }
}

#[test]
fn the_exit_code_of_a_pipe_is_not_that_of_the_tests() {
    let run = |command: &str, output: Value| {
        let run = tool("Bash", json!({"command": command}), output);
        session(vec![trace(vec![run])])
    };
    let printed = json!({"exit_code": 0, "stdout": "1 failed, 3 passed in 2s"});
    check("pipe", &run("pytest -q | tail -3", printed.clone()), "the last test run failed");
    check("whatever", &run("pytest -q; true", printed.clone()), "the last test run failed");
    check("plain", &run("pytest -q 2>&1", printed), "the last test run passed");
}

#[test]
fn a_status_line_at_the_end_counts_where_commands_usually_have_one() {
    let run = |nth: usize, output: &str| -> StepOf {
        tool("Bash", json!({"command": format!("./step {nth}")}), json!(output))
    };
    let failures = |evidence: &Evidence| {
        let why = of(evidence, "tool_mastery").rationale;
        why.contains("1 tool call failed")
    };
    let line = "done\n[Command finished with exit code 1]";
    // A file that ends as such an output.
    let read = session(vec![trace(vec![run(1, "a"), run(2, line), run(3, "b")])]);
    assert!(!failures(&read));
    let ok = "done\n[Command finished with exit code 0]";
    let usual = session(vec![trace(vec![run(1, ok), run(2, line), run(3, ok)])]);
    assert!(failures(&usual));
    let page = tool("fetch", json!({"url": "https://example.org"}), json!(line));
    assert!(!failures(&session(vec![trace(vec![page])])));
}

#[test]
fn a_search_without_a_match_is_no_failure() {
    let run = |command: &str| {
        let run = tool("Bash", json!({"command": command}), json!("Exit code 1")).failed();
        session(vec![trace(vec![run])])
    };
    let found =
        |command: &str| of(&run(command), "error_recovery").finding != Finding::NotObservable;
    assert!(!found("grep -rn todo src") && !found("cat a | grep b") && !found("cd x && diff a b"));
    assert!(found("make") && found("grep a b | sh"));
}
