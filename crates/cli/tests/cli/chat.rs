//! `ratchet chat` with the real program, against a scripted model.

/// What an agent may spend, see and trust.
mod bounds;
/// Chats with targets.
mod targets;
mod terminal;
mod together;

use std::path::{Path, PathBuf};

use ratchet_testkit::claude;
use ratchet_testkit::process::{Finished, Launch, PUBLIC_KEY, Ratchet, SECRET_KEY};
use ratchet_testkit::scripted::{Call, Failure, Reply, ScriptedModel};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

const BINARY: &str = env!("CARGO_BIN_EXE_ratchet");

/// A folder to work in, a folder for data, and a model.
pub(crate) struct Stage {
    top: TempDir,
    pub(crate) model: ScriptedModel,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let top = tempdir().unwrap();
        std::fs::create_dir(top.path().join("work")).unwrap();
        Self { top, model: ScriptedModel::start().unwrap() }
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.top.path().join("work")
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.top.path().join("data")
    }

    /// With what every process needs that runs agents.
    fn equipped(&self, launch: Launch) -> Launch {
        launch
            .env("RATCHET_CLAUDE_BIN", claude::real())
            .env("ANTHROPIC_BASE_URL", self.model.url())
            .env("ANTHROPIC_API_KEY", "none")
            .env("XDG_CONFIG_HOME", self.top.path().join("config"))
    }

    /// A server that runs agents in the folder.
    pub(crate) fn serve(&self) -> Ratchet {
        let serve = Launch::serve(BINARY, &self.data());
        self.equipped(serve.env("RATCHET_CHAT_ROOTS", canonical(&self.work()))).start()
    }

    fn chat(&self) -> Launch {
        let launch = Launch::command(BINARY).arg("chat").arg("--data").arg(self.data());
        self.equipped(launch)
    }

    pub(crate) fn begun(&self) -> Launch {
        self.chat().arg("--workspace").arg(self.work())
    }

    fn file(&self, path: impl AsRef<Path>, text: &str) -> PathBuf {
        let path = self.top.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Configures the MCP server `lake` in the platform's layer and in the workspace's; its one tool
    /// says which of them it is.
    fn tool_servers(&self) {
        let server = |who: &str| {
            let entry = json!({"command": claude::fake_mcp(), "args": [who]});
            json!({"mcpServers": {"lake": entry}}).to_string()
        };
        self.file("data/mcp.json", &server("platform"));
        self.file("work/.mcp.json", &server("workspace"));
    }
}

#[track_caller]
fn done(finished: &Finished) -> &str {
    assert_eq!(finished.code, Some(0), "{finished:?}");
    &finished.stdout
}

fn calling(name: &str, input: Value) -> Reply {
    let call = Call { id: format!("toolu_{name}"), name: name.to_owned(), input };
    Reply { calls: vec![call], ..Reply::text("") }
}

/// The events that `--json` printed, of one kind.
fn events<'a>(stdout: &'a str, kind: &'a str) -> impl Iterator<Item = Value> + 'a {
    let all = stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    all.filter(move |event| event["type"] == kind).map(|event| event["body"].clone())
}

#[test]
fn print_gives_the_final_answer_alone() {
    let stage = Stage::new();
    stage.model.script([Reply::text("Lisbon.")]);
    let finished = stage.begun().args(["--print", "Where to?"]).run();
    assert_eq!(done(&finished), "Lisbon.\n");
    let output = stage.model.requests()[0]["system"].to_string();
    let work = stage.work().canonicalize().unwrap();
    assert!(output.contains("You are an agent that people talk to through Ratchet"), "{output}");
    assert!(output.contains(work.to_str().unwrap()), "{output}");
}

#[test]
fn json_gives_every_event_in_order() {
    let stage = Stage::new();
    stage.model.script([Reply::text("Lisbon.")]);
    let finished = stage.begun().args(["--json", "--print", "Where to?"]).run();
    let stdout = done(&finished);
    let seqs: Vec<u64> = stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["seq"].as_u64().unwrap())
        .collect();
    assert!(seqs.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{seqs:?}");
    let words: String = events(stdout, "text_delta")
        .map(|body| body["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(words, "Lisbon.");
    let ends: Vec<Value> = events(stdout, "done").collect();
    assert_eq!(ends.len(), 1);
    assert_eq!((&ends[0]["result"], &ends[0]["is_error"]), (&json!("Lisbon."), &json!(false)));
    assert!(events(stdout, "raw").any(|body| body["type"] == "result"));
}

#[test]
fn attachments_reach_the_agent_as_material() {
    let stage = Stage::new();
    stage.model.script([Reply::text("Read.")]);
    let plan = stage.file("plan.md", "---\ntitle: Plan\n---\nShip on Friday.\n");
    let finished = stage.begun().args(["--print", "What is the plan?", "--attach"]).arg(plan).run();
    done(&finished);
    let output = stage.model.requests()[0]["system"].to_string();
    assert!(output.contains("Document 1 of 1: \\\"plan.md\\\""), "{output}");
    assert!(output.contains("  Ship on Friday."), "{output}");
    assert!(output.contains("<given-"), "{output}");
}

#[test]
fn a_permission_shows_the_command_and_is_given_by_number() {
    let stage = Stage::new();
    let command = json!({"command": "touch made-it", "description": "Makes a file"});
    stage.model.script([calling("Bash", command), Reply::text("Made.")]);
    let finished = stage.begun().typing("make it\n1\n").run();
    let stdout = done(&finished);
    assert!(stdout.contains("The agent wants to use Bash:\n    touch made-it\n"), "{stdout}");
    assert!(stdout.contains("✓ allowed: Bash touch made-it\n"), "{stdout}");
    assert!(stdout.contains("✓ Bash touch made-it · "), "{stdout}");
    assert!(stdout.contains("Made.\n"), "{stdout}");
    assert!(stage.work().join("made-it").exists());
}

#[test]
fn a_permission_that_nobody_can_give_is_denied() {
    let stage = Stage::new();
    let command = json!({"command": "touch made-it"});
    stage.model.script([calling("Bash", command), Reply::text("I could not.")]);
    let finished = stage.begun().args(["--print", "make it"]).run();
    assert_eq!(done(&finished), "I could not.\n");
    let output = "denied: Bash touch made-it (no terminal to ask; use `--allow Bash`)\n";
    assert!(finished.stderr.contains(output), "{finished:?}");
    assert!(!stage.work().join("made-it").exists());
    let heard = stage.model.requests()[1]["messages"].to_string();
    assert!(heard.contains("No person is there to answer"), "{heard}");
}

#[test]
fn a_tool_that_is_allowed_beforehand_is_used_and_stdin_is_part_of_the_message() {
    let stage = Stage::new();
    let command = json!({"command": "touch made-it"});
    stage.model.script([calling("Bash", command), Reply::text("Made.")]);
    let print = stage.begun().args(["--allow", "Bash", "--print", "make it"]);
    let finished = print.typing("from a pipe\n").run();
    assert_eq!(done(&finished), "Made.\n");
    assert!(stage.work().join("made-it").exists());
    let heard = stage.model.requests()[0]["messages"].to_string();
    assert!(heard.contains("make it\\n\\nfrom a pipe"), "{heard}");
}

#[test]
fn questions_are_menus() {
    let stage = Stage::new();
    let options =
        json!([{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]);
    let question = |text: &str, several: bool| json!({"question": text, "header": "Colour", "options": options, "multiSelect": several});
    let questions =
        json!({"questions": [question("Which one?", false), question("Which ones?", true)]});
    stage.model.script([calling("AskUserQuestion", questions), Reply::text("Fine.")]);
    let finished = stage.begun().typing("ask me\n2\n1,2\n").run();
    let stdout = done(&finished);
    assert!(stdout.contains("Which one?\n  1. Red: warm\n  2. Blue: cold\n"), "{stdout}");
    assert!(stdout.contains("Fine.\n"), "{stdout}");
    let heard = stage.model.requests()[1]["messages"].to_string();
    assert!(heard.contains("Blue") && heard.contains("Red, Blue"), "{heard}");
}

#[test]
fn a_chat_is_resumed_and_forked() {
    let stage = Stage::new();
    stage.model.script([Reply::text("Hello Ada."), Reply::text("Ada."), Reply::text("Ada too.")]);
    let first = stage.begun().args(["--json", "--print", "I am Ada."]).run();
    let chat = chat_of(&first);
    // The last one in the folder.
    let resume = || stage.chat().arg("--workspace").arg(stage.work()).arg("--resume");
    let resumed = resume().args(["--print", "Who am I?"]).run();
    assert_eq!(done(&resumed), "Ada.\n");
    assert!(resumed.stderr.contains(&chat), "{resumed:?}");
    let heard = stage.model.requests()[1]["messages"].to_string();
    assert!(heard.contains("I am Ada.") && heard.contains("Hello Ada."), "{heard}");
    let forked = stage.chat().args(["--fork", &chat, "--print", "And here?"]).run();
    assert_eq!(done(&forked), "Ada too.\n");
    let heard = stage.model.requests()[2]["messages"].to_string();
    assert!(heard.contains("Who am I?"), "{heard}");
    let unknown = stage.chat().args(["--resume", "nonsense", "--print", "x"]).run();
    assert_eq!(unknown.code, Some(1));
    let output = format!("there is no chat nonsense; there are:\n  {}", "");
    assert!(unknown.stderr.contains(&output) && unknown.stderr.contains(&chat), "{unknown:?}");
}

/// The id of the chat that a command printed on stderr.
fn chat_of(finished: &Finished) -> String {
    done(finished);
    let output = finished.stderr.lines().find_map(|line| line.strip_prefix("chat "));
    output.unwrap_or_else(|| panic!("{finished:?}")).split(' ').next().unwrap().to_owned()
}

#[test]
fn commands_begin_with_a_slash() {
    let stage = Stage::new();
    stage.model.script([Reply::text("Hi.")]);
    let attached = stage.file("notes.md", "Ship on Friday.\n");
    let typed = format!(
        "hello\n/cost\n/title Plums in spring\n/mode plan\n/nonsense\n/show 1\n/attach {}\n/fork\n/quit\nnot sent\n",
        attached.display()
    );
    let finished = stage.begun().typing(&typed).run();
    let stdout = done(&finished);
    for output in [
        ", turns: 1, tokens: ",
        "\ntitle: Plums in spring\n",
        "\nmode: plan\n",
        "\nthere is no /nonsense; there are:\n/mode [MODE]",
        "\nno tool was used yet\n",
        "\nattached to the next message: notes.md\n",
        "\n· from here on this is chat ",
        "/traces/",
    ] {
        assert!(stdout.contains(output), "no {output:?} in {stdout}");
    }
    let unknown = stage.begun().args(["--resume", "nonsense"]).run();
    assert!(unknown.stderr.contains("Plums in spring"), "{unknown:?}");
    assert_eq!(stage.model.requests().len(), 1);
}

#[test]
fn files_are_put_back_once_one_has_seen_which() {
    let stage = Stage::new();
    let note = stage.work().canonicalize().unwrap().join("note.txt");
    let written = json!({"file_path": note, "content": "one\ntwo\n"});
    stage.model.script([calling("Write", written), Reply::text("Written.")]);
    let typing = |typed: &str| stage.begun().args(["--mode", "acceptEdits"]).typing(typed).run();
    let finished = typing("/rewind yes\nWrite it down.\n/rewind\n");
    let stdout = done(&finished);
    assert!(stdout.contains("use /rewind first, which lists the files\n"), "{stdout}");
    assert!(stdout.contains("removed; /rewind yes restores them\n"), "{stdout}");
    assert!(note.exists(), "it was only told");
    let id = chat_of(&finished);
    let again = stage.chat().args(["--resume", &id]).typing("/rewind\n/rewind yes\n").run();
    assert!(done(&again).contains("\nrestored: "), "{again:?}");
    assert!(!note.exists(), "it was not there before");
}

#[test]
fn a_failing_model_is_told_and_exits_with_one() {
    let stage = Stage::new();
    stage.model.say_always(Reply::failing(Failure::Status(400)));
    let finished = stage.begun().args(["--print", "hello"]).run();
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stderr.contains("the turn failed"), "{finished:?}");
    assert_eq!(finished.stdout, "");
}

#[test]
fn a_server_runs_agents_for_its_clients() {
    let stage = Stage::new();
    stage.model.script([Reply::text("From afar.")]);
    let server = stage.serve();
    let client = || {
        let client = Launch::command(BINARY).args(["chat", "--server", server.web()]);
        client.env("RATCHET_PUBLIC_KEY", PUBLIC_KEY).env("RATCHET_SECRET_KEY", SECRET_KEY)
    };
    let finished = client().arg("--workspace").arg(stage.work()).args(["--print", "hello"]).run();
    assert_eq!(done(&finished), "From afar.\n");
    let outside =
        client().arg("--workspace").arg(stage.top.path()).args(["--print", "hello"]).run();
    assert_eq!(outside.code, Some(1));
    assert!(outside.stderr.contains("under none of the folders"), "{outside:?}");
}

fn canonical(path: &Path) -> String {
    path.canonicalize().unwrap().display().to_string()
}

#[test]
fn tool_servers_come_from_three_layers_if_the_workspace_is_trusted() {
    let stage = Stage::new();
    stage.tool_servers();
    let asks = || [calling("mcp__lake__who", json!({})), Reply::text("So.")];
    stage.model.script(asks());
    let untrusted = stage.begun().typing("who?\n1\n").run();
    assert!(done(&untrusted).contains("platform"), "{untrusted:?}");
    assert!(untrusted.stderr.contains("the workspace is not trusted"), "{untrusted:?}");
    stage.model.script(asks());
    let trusted = stage.begun().arg("--trust").typing("who?\n1\n").run();
    assert!(done(&trusted).contains("workspace"), "{trusted:?}");
    assert!(trusted.stderr.contains("instead of"), "{trusted:?}");
}
