use serde_json::json;

use super::*;

#[track_caller]
fn check(text: &str, expected: CallOutcome) {
    assert_eq!(Notations::shipped().read_result(text).outcome, expected, "{text}");
}

#[test]
fn the_file_that_ships_has_its_shape() {
    let notations = Notations::parse(BUILTIN).unwrap();
    assert!(notations.version > 0 && notations.results.len() > 10);
}

#[test]
fn a_file_that_is_wrong_says_why() {
    let wrong = BUILTIN.replace("exit_codes =", "exits =");
    assert!(matches!(Notations::parse(&wrong), Err(NotationsError::Shape(_))));
    let wrong = BUILTIN.replace("(?P<code>-?\\d+)\\s*</returncode>", "(");
    assert!(matches!(Notations::parse(&wrong), Err(NotationsError::Pattern { .. })));
    let wrong = BUILTIN.replace("<returncode>\\s*(?P<code>-?\\d+)", "<returncode>\\d+");
    let outcome = NotationsError::Outcome("mini-SWE-agent".to_owned());
    assert_eq!(Notations::parse(&wrong).unwrap_err(), outcome);
}

#[test]
fn facts_of_an_object_decide() {
    for text in [
        r#"{"exit_code":0,"stdout":"ok"}"#,
        r#"{"exit_code": 0, "stdout": "error: none", "error": "a warning"}"#,
        r#"{"exitCode":"0","output":"3 failed"}"#,
        r#"{"output":"fine","metadata":{"exit_code":0,"duration_seconds":0.1}}"#,
        r#"{"success": true, "error": "deprecated"}"#,
        r#"{"status": "success", "data": {"status": "failed"}}"#,
    ] {
        check(text, CallOutcome::Passed);
    }
    for text in [
        r#"{"error": "no such order"}"#,
        r#"{"success": false}"#,
        r#"{"stdout": "", "exit_code": 2}"#,
        r#"{"metadata":{"exit_code":1},"output":"All tests passed"}"#,
        r#"{"isError": true, "content": [{"type": "text", "text": "boom"}]}"#,
        r#"{"status": "Failed", "message": "no"}"#,
        r#"{"output": "Error: no such file"}"#,
        "Observation: Error: no such user",
        "bash: line 1: steghide: command not found",
        "/bin/sh: 1: zsteg: not found",
        "cat: /etc/app.conf: No such file or directory",
        "ls: cannot access 'x': No such file or directory",
        "<tool_response>\n{\"success\": false}\n</tool_response>",
    ] {
        check(text, CallOutcome::Failed);
    }
}

#[test]
fn what_no_notation_knows_is_unknown() {
    for text in [
        "",
        "0 errors",
        "Error handling in Rust: a guide",
        "A page on errors. Error: this is quoted",
        r#"{"error": null, "rows": []}"#,
        r#"{"rows": [{"error": "in a row"}]}"#,
        r#"{"errors": []}"#,
        r#"[{"error": "x"}]"#,
        // The status of a record, not of the call.
        r#"{"order_id": "W1", "status": "failed", "items": []}"#,
        r#"{"status": "cancelled"}"#,
        "It said: Exit code: 1, and went on.",
        "README: how to use the command not found handler",
        "<returncode>one</returncode>",
    ] {
        check(text, CallOutcome::Unknown);
    }
}

/// The notations of agent families: a passed and a failed result each.
const FAMILIES: [(&str, &str, &str); 11] = [
    ("Claude Code", "Exit code 0\nok", "Exit code 1\nboom"),
    (
        "mini-SWE-agent",
        "<returncode>0</returncode>\n<output>\nok\n</output>",
        "<returncode>1</returncode>\n<output>\nok\n</output>",
    ),
    (
        "SWE-agent",
        "Your command ran successfully and did not produce any output.",
        "EXECUTION TIMED OUT",
    ),
    (
        "OpenHands",
        "ok\n[The command completed with exit code 0.]\n[Current working directory: /w]",
        "ok\n[Python interpreter: /usr/bin/python]\n[Command finished with exit code 1]",
    ),
    (
        "Codex",
        "Exit code: 0\nWall time: 0.1 seconds\nOutput:\nok",
        "Chunk ID: 1f\nWall time: 0.2 seconds\nProcess exited with code 2\nOutput:\nok",
    ),
    ("Copilot", "ok\n<exited with exit code 0>", "ok\n<exited with exit code 101>"),
    (
        "Gemini CLI",
        "Output: ok\nProcess Group PGID: 4500",
        "Output: ok\nExit Code: 1\nProcess Group PGID: 4500",
    ),
    (
        "Gemini CLI, first version",
        "Command: ls\nDirectory: (root)\nStdout: ok\nStderr: (empty)\nError: (none)\nExit Code: 0\nSignal: (none)",
        "Command: ls\nDirectory: (root)\nStdout: ok\nStderr: (empty)\nError: (none)\nExit Code: 2\nSignal: (none)",
    ),
    (
        "Cline",
        "[execute_command for 'make'] Result:\nCommand executed in terminal. Exit code: 0\nOutput:\nok",
        "[execute_command for 'make'] Result:\nCommand executed in terminal. Exit code: 2\nOutput:\nok",
    ),
    (
        "AutoGen",
        "exitcode: 0 (execution succeeded)\nCode output: ok",
        "exitcode: 1 (execution failed)\nCode output: ok",
    ),
    ("another", "ok\n[exit code: 0]", "ok\nexit status: 3"),
];

#[test]
fn each_family_is_read() {
    for (family, passed, failed) in FAMILIES {
        assert_eq!(
            Notations::shipped().read_result(passed).outcome,
            CallOutcome::Passed,
            "{family}"
        );
        assert_eq!(
            Notations::shipped().read_result(failed).outcome,
            CallOutcome::Failed,
            "{family}"
        );
    }
}

#[test]
fn metadata_has_facts_too() {
    let read = |key, value| Notations::shipped().read_metadata([(key, value)].into_iter());
    assert_eq!(read("tool.exit_code", "1"), CallOutcome::Failed);
    assert_eq!(read("exit_code", r#""0""#), CallOutcome::Passed);
    assert_eq!(read("success", r#""false""#), CallOutcome::Failed);
    assert_eq!(read("error", r#""a note""#), CallOutcome::Unknown);
}

#[test]
fn messages_in_the_role_of_the_user_have_other_writers() {
    let role = |text: &str| Notations::shipped().user_role(text);
    for text in [
        "Fix the till.",
        "no, that is wrong",
        "[Request interrupted by user]",
        "Observations of birds: which app?",
        "Your answer is not correct",
        "Please continue with the second file.",
        "System requirements?",
    ] {
        assert_eq!(role(text), UserRole::User, "{text}");
    }
    for text in [
        "OBSERVATION:\nls: no such file",
        "<returncode>0</returncode>\n<output></output>",
        "EXECUTION RESULT of [execute_bash]:\nok",
        "Observation: 12",
        "exitcode: 0 (execution succeeded)\nCode output: 4",
        "<tool_response>\n{}\n</tool_response>",
        "[execute_command for 'ls'] Result:\nok",
        "a.rs\n(Open file: n/a)\n(Current directory: /w)\nbash-$",
    ] {
        assert_eq!(role(text), UserRole::Result, "{text}");
    }
    for text in [
        "<command-name>/clear</command-name>",
        "<environment_context><cwd>/</cwd></environment_context>",
        "Please continue.",
        "Please continue working on the task on whatever approach you think is suitable.",
        "[ERROR] You did not use a tool in your previous response! Please retry.",
        "Your output was not formatted correctly.",
        "Your previous response could not be parsed. Please try again.",
        "[SYSTEM]: three steps are left",
        "# Fix any errors below, if possible.",
    ] {
        assert_eq!(role(text), UserRole::Note, "{text}");
    }
}

#[test]
fn calls_in_text() {
    let call =
        |text: &str| Notations::shipped().text_call(text).map(|call| (call.tool, call.input));
    let bash = |command: &str| Some(("bash".to_owned(), json!({"command": command})));
    assert_eq!(call("I look.\n\n```bash\nls -l\n```"), bash("ls -l"));
    assert_eq!(call("DISCUSSION\nFirst.\n```\npytest\n```\n"), bash("pytest"));
    let tagged = "<function=execute_bash>\n<parameter=command>make test</parameter>\n</function>";
    assert_eq!(call(tagged), Some(("execute_bash".to_owned(), json!({"command": "make test"}))));
    let cline = "<execute_command>\n<command>npm test</command>\n</execute_command>";
    assert_eq!(call(cline), Some(("execute_command".to_owned(), json!({"command": "npm test"}))));
    let hermes = r#"<tool_call>{"name": "look", "arguments": {"id": 7}}</tool_call>"#;
    assert_eq!(call(hermes), Some(("look".to_owned(), json!({"id": 7}))));
    let react = "Thought: look\nAction: look\nAction Input: {\"id\": 7}";
    assert_eq!(call(react), Some(("look".to_owned(), json!({"id": 7}))));
    assert_eq!(call("Nothing to run."), None);
}
