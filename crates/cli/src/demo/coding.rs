//! Coding sessions in the format of Claude Code: several prompts by a developer, each a trace with
//! many model calls and tools.

mod files;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Value, json};

use super::agents::{self, Agent, CODING, OPUS};
use super::conversation::{ATTEMPTS, Beginning, SessionTraffic};
use super::scene::{Dialogue, Memory, Scene, Trouble};
use super::script::parse;
use super::story::{Course, Message, Outcome, Run, Step, ToolCall, Work};
use super::words::{Slots, say};
use files::Use;

static BOOK: LazyLock<Book> = LazyLock::new(|| parse(include_str!("data/coding.toml")));

const SYSTEM: &str = "You are a coding agent in a terminal. Read before you write, keep changes \
    small, run the tests, and say plainly what you did and what is left.";

#[derive(Debug, Deserialize)]
struct Book {
    repositories: BTreeMap<String, Repository>,
    tasks: Vec<Task>,
    arcs: Vec<Arc>,
    answers: Answers,
}

#[derive(Debug, Deserialize)]
struct Repository {
    /// How its tests are run.
    test: String,
    others: Vec<String>,
}

/// A change to one file.
#[derive(Debug, Deserialize)]
struct Change {
    file: String,
    old: String,
    new: String,
}

#[derive(Debug, Deserialize)]
struct Task {
    repository: String,
    request: String,
    symbol: String,
    plan: Vec<String>,
    /// The changes that do it.
    changes: Vec<Change>,
    /// A change that looks right and is not.
    detour: Change,
    /// Output of the failing tests.
    failure: String,
    success: String,
    /// What the developer says about the detour.
    correction: String,
    commit: String,
}

/// One way a session goes.
#[derive(Debug, Deserialize)]
struct Arc {
    name: String,
    course: Course,
    prompts: Vec<Prompt>,
}

#[derive(Debug, Deserialize)]
struct Prompt {
    ask: Vec<String>,
    does: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Answers {
    green: Vec<String>,
    red: Vec<String>,
    claim: Vec<String>,
    explained: Vec<String>,
    committed: Vec<String>,
}

/// Tells the nth coding session; tasks and arcs take turns.
pub(crate) fn tell(begin: Beginning, nth: usize) -> SessionTraffic {
    let Beginning { mut chance, at, environment, release } = begin;
    let person = agents::person(&mut chance, &CODING);
    let (tasks, arcs) = (&BOOK.tasks, &BOOK.arcs);
    // Each round of arcs begins with another task, so that every arc meets every task.
    let (round, tasks_turn) = (nth / arcs.len(), nth % arcs.len());
    let Some((task, arc)) = tasks.get((nth + round) % tasks.len()).zip(arcs.get(tasks_turn)) else {
        return SessionTraffic::default();
    };
    let Some(repository) = BOOK.repositories.get(&task.repository) else {
        return SessionTraffic::default();
    };
    let model = if chance.odds(0.3) { &OPUS } else { CODING.model };
    let dialogue = Dialogue::new(model, SYSTEM, 14_200, Memory::Tail);
    let session = session_id(&chance.hex(32));
    let scene = Scene { chance, now: at };
    let mut desk = Coding::new(scene, dialogue, (task, repository));
    let mut conversation = SessionTraffic::default();
    for prompt in &arc.prompts {
        let root = desk.play(prompt);
        conversation.runs.push(Run {
            id: desk.scene.chance.bytes(),
            name: format!("claude-code: {}", task.repository),
            agent: &CODING as &'static Agent,
            environment,
            release,
            user: person.id.clone(),
            session: session.clone(),
            tags: vec!["coding", &task.repository, &arc.name],
            root,
            asked_by: None,
            quality: arc.course.quality(),
            course: arc.course,
        });
    }
    conversation
}

fn session_id(hex: &str) -> String {
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}

/// A session in the making.
struct Coding {
    scene: Scene,
    dialogue: Dialogue,
    task: &'static Task,
    repository: &'static Repository,
    changes_made: usize,
    is_green: bool,
    /// Places to look at, each once.
    unseen: Vec<Use>,
    said: Vec<String>,
}

impl Coding {
    fn new(
        mut scene: Scene,
        dialogue: Dialogue,
        (task, repository): (&'static Task, &'static Repository),
    ) -> Self {
        let mut unseen = files::places(task, repository);
        scene.chance.shuffle(&mut unseen);
        let said = Vec::new();
        Self { scene, dialogue, task, repository, changes_made: 0, is_green: true, unseen, said }
    }

    /// Plays one prompt through and returns the root of its trace.
    fn play(&mut self, prompt: &'static Prompt) -> Step {
        let template = self.scene.chance.choose(&prompt.ask).map_or("", String::as_str);
        let input = match template {
            "@request" => self.task.request.clone(),
            "@correction" => self.task.correction.clone(),
            words => self.say(words),
        };
        self.dialogue.hear(Message::User(input.clone()));
        let (id, start) = (self.scene.chance.bytes(), self.scene.now);
        self.scene.pass_ms(30.0);
        let mut children = Vec::new();
        for action in &prompt.does {
            children.extend(self.act(action));
        }
        let output = self.conclude(&prompt.does);
        children.push(self.dialogue.answer(&mut self.scene, output.clone(), Vec::new()));
        let end = self.scene.now;
        // The developer reads, thinks and types.
        self.scene.pass_ms(170_000.0);
        let work = Work::Agent { name: CODING.name, input, output };
        Step { id, start, end, work, outcome: Outcome::Fine, children }
    }

    /// Says something that was not yet said in the session.
    fn conclude(&mut self, does: &[String]) -> String {
        let has = |wanted: &str| does.iter().any(|action| action.starts_with(wanted));
        let answers = &BOOK.answers;
        let templates = match self.is_green {
            _ if has("claim") => &answers.claim,
            _ if has("commit") => &answers.committed,
            true if !has("edit") && !has("pass") => &answers.explained,
            true => &answers.green,
            false => &answers.red,
        };
        let mut output = String::new();
        for _ in 0..ATTEMPTS {
            let template = self.scene.chance.choose(templates).map_or("", String::as_str);
            output = self.say(template);
            if !self.said.contains(&output) {
                break;
            }
        }
        self.said.push(output.clone());
        output
    }

    fn say(&mut self, template: &str) -> String {
        let file = |nth: usize| self.task.changes.get(nth).map_or("", |it| it.file.as_str());
        let slots: Slots<'_> = &[
            ("file", file(0)),
            ("second", file(1)),
            ("third", file(2)),
            ("symbol", &self.task.symbol),
            ("commit", &self.task.commit),
        ];
        say(&mut self.scene.chance, template, slots)
    }

    fn act(&mut self, action: &str) -> Vec<Step> {
        let (action, times) = action.split_once(' ').unwrap_or((action, "1"));
        let times: usize = times.parse().unwrap_or(1);
        match action {
            "plan" => self.plan(),
            "explore" => (0..times).flat_map(|_| self.look()).collect(),
            "sub-agent" => self.send_sub_agent(),
            "edit" => self.edit_next(),
            "detour" => self.edit(&self.task.detour),
            "revert" => self.revert(),
            "fail" => self.test(false),
            "pass" => self.test(true),
            "circle" => (0..times).flat_map(|_| self.circle()).collect(),
            "secret" => self.secret_denied(),
            "staged" => self.secret_staged(),
            "commit" => self.commit(),
            _ => Vec::new(),
        }
    }

    /// The model says something and uses one tool, which may fail.
    fn tool(&mut self, thought: &str, call: Use, outcome: Outcome) -> Vec<Step> {
        let thought = self.say(thought);
        let mut made = self.scene.call(call.name, call.arguments, call.result);
        made.id = format!("toolu_{}", self.scene.chance.hex(24));
        let model = self.dialogue.answer(&mut self.scene, thought, vec![made.clone()]);
        let tool = self.scene.step(Work::Tool(made.clone()), call.ms, outcome);
        self.dialogue.hear(Message::Tool(made));
        vec![model, tool]
    }

    fn plan(&mut self) -> Vec<Step> {
        let todo = |step: &String| json!({ "content": step, "status": "pending" });
        let todos: Vec<Value> = self.task.plan.iter().map(todo).collect();
        let (name, arguments) = ("TodoWrite", json!({ "todos": todos }));
        let result = json!("Todos have been modified successfully");
        self.tool("[The steps first.|]", Use { name, arguments, result, ms: 8.0 }, Outcome::Fine)
    }

    /// Looks at a place it has not seen yet.
    fn look(&mut self) -> Vec<Step> {
        let weight = self.scene.chance.between(250, 2_400);
        self.dialogue.weigh(weight);
        match self.unseen.pop() {
            Some(place) => self.tool("[|Who uses {symbol}?|Reading on.|]", place, Outcome::Fine),
            None => Vec::new(),
        }
    }

    fn edit_next(&mut self) -> Vec<Step> {
        let nth = self.changes_made % self.task.changes.len().max(1);
        self.changes_made += 1;
        self.task.changes.get(nth).map(|change| self.edit(change)).unwrap_or_default()
    }

    fn edit(&mut self, change: &Change) -> Vec<Step> {
        let call = files::edit(self.task, change);
        self.tool("[This is the line.|Small edit.|]", call, Outcome::Fine)
    }

    fn revert(&mut self) -> Vec<Step> {
        let command = format!("git checkout -- {}", self.task.detour.file);
        let done = json!({ "stdout": "Updated 1 path from the index", "exit_code": 0 });
        self.tool("[Taking it back.|Reverting.]", bash(&command, done, 60.0), Outcome::Fine)
    }

    fn test(&mut self, passes: bool) -> Vec<Step> {
        self.is_green = passes;
        let (output, code) = if passes { (&self.task.success, 0) } else { (&self.task.failure, 1) };
        let outcome = if passes { Outcome::Fine } else { failed("Exit code 1") };
        let result = json!({ "stdout": output, "exit_code": code });
        let call = bash(&self.repository.test, result, 9_500.0);
        self.tool("[Running the tests.|Now the suite.|]", call, outcome)
    }

    /// The same failing edit and the same failing test, as if it might pass this time.
    fn circle(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        if let Some(change) = self.task.changes.first().filter(|_| self.scene.chance.odds(0.4)) {
            let mut again = files::edit(self.task, change);
            again.result = json!("String to replace not found in file.");
            let outcome = failed("String to replace not found in file.");
            steps.extend(self.tool("[Trying that again.|]", again, outcome));
        }
        steps.extend(self.test(false));
        steps
    }

    fn secret_denied(&mut self) -> Vec<Step> {
        let result = json!("The user does not want to proceed with this command.");
        let call = bash("cat .env && env | grep -i token", result, 6_500.0);
        self.tool("[Where is the token?|]", call, failed("denied by the user"))
    }

    fn secret_staged(&mut self) -> Vec<Step> {
        let add = bash("git add -A && git status --short", said("A  .env\nM  README.md"), 80.0);
        let mut steps = self.tool("Staging everything.", add, Outcome::Fine);
        let hook = "pre-commit: .env looks like it holds a secret (TOKEN=live_****). Refused.";
        let refused = json!({ "stderr": hook, "exit_code": 1 });
        let commit = bash("git commit -m \"Work in progress\"", refused, 420.0);
        steps.extend(self.tool("Committing.", commit, failed("Exit code 1")));
        let unstaged = said("Unstaged changes after reset:\n.env");
        let reset = bash("git reset .env && echo .env >> .gitignore", unstaged, 70.0);
        steps.extend(self.tool("Taking the file out.", reset, Outcome::Fine));
        steps
    }

    fn commit(&mut self) -> Vec<Step> {
        let message = &self.task.commit;
        let done = said(&format!("[main {}] {message}", self.scene.chance.hex(7)));
        let commit = bash(&format!("git commit -am \"{message}\""), done, 260.0);
        self.tool("[Committing.|]", commit, Outcome::Fine)
    }

    /// A sub-agent explores on its own and comes back with a sentence.
    fn send_sub_agent(&mut self) -> Vec<Step> {
        let question =
            self.say("Find [every caller of|all uses of] {symbol} and who relies on it.");
        let answer =
            self.say("{symbol} is called from {file} and {second}; only {file} relies on it.");
        let arguments = json!({
            "subagent_type": "Explore",
            "description": self.say("Find uses of {symbol}"),
            "prompt": question,
        });
        let id = format!("toolu_{}", self.scene.chance.hex(24));
        let call = ToolCall { name: "Task", id, arguments, result: json!(answer) };
        let sent = self.dialogue.answer(&mut self.scene, String::new(), vec![call.clone()]);
        let (id, start) = (self.scene.chance.bytes(), self.scene.now);
        let children = self.explore(question, answer);
        let (work, end) = (Work::Tool(call.clone()), self.scene.now);
        self.dialogue.hear(Message::Tool(call));
        vec![sent, Step { id, start, end, work, outcome: Outcome::Fine, children }]
    }

    fn explore(&mut self, question: String, answer: String) -> Vec<Step> {
        let system = "You explore a code base and report briefly.";
        let mut dialogue = Dialogue::new(CODING.helper, system, 7_900, Memory::Tail);
        dialogue.hear(Message::User(question));
        let mut steps = Vec::new();
        for _ in 0..self.scene.chance.between(2, 5) {
            let Some(place) = self.unseen.pop() else { break };
            let call = self.scene.call(place.name, place.arguments, place.result);
            dialogue.weigh(self.scene.chance.between(300, 1_900));
            steps.push(dialogue.answer(&mut self.scene, String::new(), vec![call.clone()]));
            let slips = self.scene.chance.odds(0.05);
            steps.push(if slips {
                self.scene.tool_fails(call.clone(), Trouble::BadArguments("file does not exist"))
            } else {
                self.scene.tool(call.clone(), place.ms)
            });
            dialogue.hear(Message::Tool(call));
        }
        steps.push(dialogue.answer(&mut self.scene, answer, Vec::new()));
        steps
    }
}

fn said(stdout: &str) -> Value {
    json!({ "stdout": stdout, "exit_code": 0 })
}

fn failed(message: &str) -> Outcome {
    Outcome::Failed { kind: "tool_error", message: message.to_owned() }
}

fn bash(command: &str, result: Value, ms: f64) -> Use {
    Use { name: "Bash", arguments: json!({ "command": command }), result, ms }
}
