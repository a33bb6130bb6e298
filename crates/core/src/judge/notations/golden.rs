//! An example of each entry of the notations file: one that no earlier entry reads, so that an entry
//! that is lost or shadowed is noticed.

use super::results::ReadResult;
use super::*;

use CallOutcome::{Failed, Passed, Unknown};
use UserRole::{Note, Result as Reported};

/// Results in the order of the entries.
pub(crate) const RESULTS: [(&str, &str, CallOutcome); 29] = [
    ("Claude Code", "Exit code 1\nboom", Failed),
    ("Claude Code", "<tool_use_error>File has not been read yet.</tool_use_error>", Failed),
    ("mini-SWE-agent", "<returncode>0</returncode>\n<output>\nok\n</output>", Passed),
    ("mini-SWE-agent", "<exception>TimeoutExpired</exception>", Failed),
    ("SWE-agent", "Your command ran successfully and did not produce any output.", Passed),
    ("SWE-agent", "EXECUTION TIMED OUT", Failed),
    ("OpenHands", "ok\n[The command completed with exit code 0.]", Passed),
    (
        "OpenHands",
        "building\n[The command has no new output after 30 seconds. You may wait]",
        Unknown,
    ),
    ("OpenHands", "ERROR:\nInvalid `path` parameter: /w/x", Failed),
    (
        "Codex",
        "Chunk ID: 1f\nWall time: 0.2 seconds\nProcess exited with code 2\nOutput:\nok",
        Failed,
    ),
    ("Codex", "apply_patch verification failed: Failed to find expected lines", Failed),
    ("Copilot", "ok\n<exited with exit code 101>", Failed),
    ("Gemini CLI", "Output: ok\nExit Code: 1\nProcess Group PGID: 4500", Failed),
    ("Gemini CLI", "Command: ls\nDirectory: (root)\nStdout: ok\nError: (none)\nSignal: 9", Failed),
    ("Gemini CLI", "Output: ok\nProcess Group PGID: 4500", Passed),
    ("Cline", "Command executed in terminal. Exit code: 2\nOutput:\nok", Failed),
    ("Cline", "The tool execution failed with the following error:\nno such file", Failed),
    ("deepagents", "ok\n[Command succeeded with exit code 0]", Passed),
    ("AutoGen", "exitcode: 1 (execution failed)\nCode output: ok", Failed),
    ("AppWorld", "Execution failed. KeyError", Failed),
    ("AppWorld", "Execution successful.", Passed),
    ("smolagents", "Error in code parsing:\nno pattern was found", Failed),
    ("OpenAI Agents", "An error occurred while running the tool. Please try again.", Failed),
    ("LangChain", "Error executing tool: no such order", Failed),
    ("LlamaIndex", "Encountered error: no such index", Failed),
    ("Model Context Protocol", "MCP error -32602: Invalid params", Failed),
    ("shell", "cat: /etc/app.conf: No such file or directory", Failed),
    ("any", "Traceback (most recent call last):\n  File \"a.py\", line 1", Failed),
    ("any", "ok\n[exit code: 0]", Passed),
];

/// Messages in the role of the user in the order of the entries.
pub(crate) const USER_ROLES: [(&str, UserRole); 20] = [
    ("<command-name>/clear</command-name>", Note),
    ("<returncode>0</returncode>\n<output></output>", Reported),
    ("Format error:\n\nPlease always provide EXACTLY ONE action in triple backticks.", Note),
    ("OBSERVATION:\nls: no such file", Reported),
    ("Your output was not formatted correctly.", Note),
    ("EXECUTION RESULT of [execute_bash]:\nok", Reported),
    ("Please continue working on the task on whatever approach you think is suitable.", Note),
    ("<environment_context><cwd>/</cwd></environment_context>", Note),
    ("Please continue.", Note),
    ("[execute_command for 'ls'] Result:\nok", Reported),
    ("[ERROR] You did not use a tool in your previous response! Please retry.", Note),
    ("# Fix any errors below, if possible.", Note),
    ("exitcode: 0 (execution succeeded)\nCode output: 4", Reported),
    ("Observation: 12", Reported),
    ("Now let's retry: take care not to repeat previous errors!", Note),
    ("Output:\n```\n3\n```", Reported),
    ("Please proceed to the next step using your best judgement.", Note),
    ("Current URL: https://shop.example", Note),
    ("Moving on then. I must either use a tool or give my best answer.", Note),
    ("Your previous response could not be parsed. Please try again.", Note),
];

/// Calls in an agent's text in the order of the entries, with the tool.
const CALLS: [(&str, &str); 8] = [
    ("<function=execute_bash>\n<parameter=command>make</parameter>\n</function>", "execute_bash"),
    ("<execute_bash>ls</execute_bash>", "execute_bash"),
    ("<execute_ipython>1 + 1</execute_ipython>", "execute_ipython"),
    (r#"<tool_call>{"name": "look", "arguments": {"id": 7}}</tool_call>"#, "look"),
    ("<execute_command>\n<command>npm test</command>\n</execute_command>", "execute_command"),
    ("Thought: look\nAction: look\nAction Input: {\"id\": 7}", "look"),
    ("I look.\n\n```bash\nls -l\n```", "bash"),
    ("```python\nprint(1)\n```", "python"),
];

#[test]
fn every_notation_of_a_result_has_an_example() {
    let all = Notations::shipped();
    assert_eq!(all.results.len(), RESULTS.len(), "an example for each [[result]], in its order");
    for (at, (family, text, outcome)) in RESULTS.into_iter().enumerate() {
        let first = |count: usize| Notations {
            results: all.results.iter().take(count).cloned().collect(),
            ..all.clone()
        };
        assert_eq!(all.results[at].family, family, "entry {at}");
        let (before, with) = (first(at), first(at + 1));
        assert_eq!(before.read_result(text), ReadResult::default(), "before {family}: {text}");
        assert_ne!(with.read_result(text), ReadResult::default(), "{family}: {text}");
        assert_eq!(all.read_result(text).outcome, outcome, "{family}: {text}");
    }
}

#[test]
fn every_notation_of_a_message_has_an_example() {
    let all = Notations::shipped();
    assert_eq!(all.user_roles.len(), USER_ROLES.len(), "an example for each [[user_role]]");
    for (at, (text, role)) in USER_ROLES.into_iter().enumerate() {
        let first = |count: usize| Notations {
            user_roles: all.user_roles.iter().take(count).cloned().collect(),
            ..all.clone()
        };
        assert_eq!(first(at).user_role(text), UserRole::User, "before entry {at}: {text}");
        assert_eq!(first(at + 1).user_role(text), role, "entry {at}: {text}");
    }
}

#[test]
fn every_notation_of_a_call_has_an_example() {
    let all = Notations::shipped();
    assert_eq!(all.calls.len(), CALLS.len(), "an example for each [[call]]");
    for (at, (text, tool)) in CALLS.into_iter().enumerate() {
        let first = |count: usize| Notations {
            calls: all.calls.iter().take(count).cloned().collect(),
            ..all.clone()
        };
        assert_eq!(first(at).text_call(text), None, "before entry {at}: {text}");
        let call = first(at + 1).text_call(text);
        assert_eq!(call.map(|call| call.tool).as_deref(), Some(tool), "entry {at}: {text}");
    }
}
