use serde_json::{Value, json};

use crate::demo::scene::{Dialogue, Scene};
use crate::demo::story::{Message, Outcome, Step, Work};

use super::files::{self, Spot, Use};
use super::script::{Ask, Beat, Prompt};
use super::sub_agent;
use super::tasks::{Change, Task};

/// A developer's desk: one session, as far as it has come.
#[derive(Debug)]
pub(crate) struct Desk {
    /// What time it is there.
    pub(crate) scene: Scene,
    dialogue: Dialogue,
    task: &'static Task,
    changes_made: usize,
    steps: usize,
    is_green: bool,
    unseen: Vec<Spot>,
}

/// What a run of the desk says at its end.
const GREEN: [&str; 3] = [
    "Done. I changed {file} and {second}, and all tests pass. {commit}.",
    "That was it: {commit}. The tests are green and the public surface is as it was.",
    "It works now, with a test that fails without the change. I left everything else alone.",
];
const RED: [&str; 3] = [
    "Not there yet: one test still fails. I know that {symbol} is involved, but not why the value differs.",
    "I made progress on {file}, but the suite is red. Next I would look at who calls {symbol}.",
    "State: {file} is changed, the new test fails, nothing is committed.",
];
const CLAIM: [&str; 2] =
    ["All tests pass now. {commit}. Ready to merge.", "Fixed and verified: everything is green."];

impl Desk {
    /// A desk with nothing done yet.
    pub(crate) fn new(mut scene: Scene, dialogue: Dialogue, task: &'static Task) -> Self {
        let mut unseen = files::spots(task);
        scene.chance.shuffle(&mut unseen);
        Self { scene, dialogue, task, changes_made: 0, steps: 0, is_green: true, unseen }
    }

    /// Model and tool calls so far.
    pub(crate) fn steps(&self) -> usize {
        self.steps
    }

    /// Plays one prompt through and returns the run's root.
    pub(crate) fn play(&mut self, prompt: &Prompt) -> Step {
        let template = match prompt.ask {
            Ask::Request => self.task.request,
            Ask::Correction => self.task.correction,
            Ask::Words(words) => words,
        };
        let input = self.scene.say(&[template], &[]);
        self.dialogue.hear(Message::User(input.clone()));
        let (id, start) = (self.scene.chance.bytes(), self.scene.now);
        self.scene.pass_ms(30.0);
        let mut children = Vec::new();
        for beat in prompt.beats {
            children.extend(self.beat(*beat));
        }
        let output = self.conclude(prompt.beats.contains(&Beat::ClaimDone));
        children.push(self.dialogue.answer(&mut self.scene, output.clone(), Vec::new()));
        self.steps += 1;
        let end = self.scene.now;
        // The developer reads, thinks and types.
        self.scene.pass_ms(170_000.0);
        let work = Work::Agent { name: "claude-code", input, output };
        Step { id, start, end, work, outcome: Outcome::Fine, children }
    }

    fn conclude(&mut self, claims: bool) -> String {
        let templates: &[&str] = match (claims, self.is_green) {
            (true, _) => &CLAIM,
            (false, true) => &GREEN,
            (false, false) => &RED,
        };
        let [first, second, _] = &self.task.changes;
        let slots = [
            ("file", first.file),
            ("second", second.file),
            ("symbol", self.task.symbol),
            ("commit", self.task.commit),
        ];
        self.scene.say(templates, &slots)
    }

    fn beat(&mut self, beat: Beat) -> Vec<Step> {
        match beat {
            Beat::Plan => self.plan(),
            Beat::Explore(files) => (0..files).flat_map(|_| self.look()).collect(),
            Beat::SubAgent => self.send_sub_agent(),
            Beat::Edit => self.edit_next(),
            Beat::Detour => self.detour(),
            Beat::Revert => self.revert(),
            Beat::TestFail => self.test(false),
            Beat::TestPass => self.test(true),
            Beat::Circle(times) => (0..times).flat_map(|_| self.circle()).collect(),
            Beat::SecretDenied => self.secret_denied(),
            Beat::SecretStaged => self.secret_staged(),
            Beat::Compact => self.compact(),
            Beat::Commit => self.commit(),
            Beat::ClaimDone => Vec::new(),
        }
    }

    /// The model says something and uses one tool, which takes a while and may fail.
    fn tool(&mut self, thought: &[&str], call: Use, outcome: Outcome) -> Vec<Step> {
        let thought = self.scene.say(thought, &[("symbol", self.task.symbol)]);
        let mut made = self.scene.call(call.name, call.arguments, call.result);
        made.id = format!("toolu_{}", self.scene.chance.hex(24));
        let model = self.dialogue.answer(&mut self.scene, thought, vec![made.clone()]);
        let tool = self.scene.step(Work::Tool(made.clone()), call.median_ms, outcome);
        self.dialogue.hear(Message::Tool(made));
        self.steps += 2;
        vec![model, tool]
    }

    fn plan(&mut self) -> Vec<Step> {
        let todos: Vec<Value> = self
            .task
            .plan
            .iter()
            .map(|step| json!({ "content": step, "status": "pending" }))
            .collect();
        let call = Use {
            name: "TodoWrite",
            arguments: json!({ "todos": todos }),
            result: json!("Todos have been modified successfully"),
            median_ms: 8.0,
        };
        self.tool(
            &["Let me write down the steps first.", "I will work through this in order."],
            call,
            Outcome::Fine,
        )
    }

    /// Looks at a place it has not seen yet.
    fn look(&mut self) -> Vec<Step> {
        let weight = self.scene.chance.between(250, 2_400);
        self.dialogue.weigh(weight);
        let spot = self.unseen.pop().unwrap_or(Spot::Listing);
        let call = files::look(self.task, spot);
        self.tool(spot.thoughts(), call, Outcome::Fine)
    }

    fn edit_next(&mut self) -> Vec<Step> {
        let changes = &self.task.changes;
        let change = changes.get(self.changes_made % changes.len()).unwrap_or(&changes[0]);
        self.changes_made += 1;
        self.edit(
            change,
            &[
                "[Making|Here is] the change.",
                "Small edit in the place that decides it.",
                "This is the line.",
            ],
        )
    }

    fn edit(&mut self, change: &Change, thought: &[&str]) -> Vec<Step> {
        let call = files::edit(self.task, change);
        self.tool(thought, call, Outcome::Fine)
    }

    fn detour(&mut self) -> Vec<Step> {
        let task = self.task;
        self.edit(&task.detour, &["The quickest way is to change it here.", "This should do it."])
    }

    fn revert(&mut self) -> Vec<Step> {
        let command = format!("git checkout -- {}", self.task.detour.file);
        let result = json!({ "stdout": "Updated 1 path from the index", "exit_code": 0 });
        self.tool(
            &["That was the wrong approach; taking the edit back.", "Reverting my change."],
            bash(&command, result, 60.0),
            Outcome::Fine,
        )
    }

    fn test(&mut self, passes: bool) -> Vec<Step> {
        self.is_green = passes;
        let (output, exit_code) =
            if passes { (self.task.success, 0) } else { (self.task.failure, 1) };
        let outcome = if passes { Outcome::Fine } else { failed("Exit code 1") };
        let call = bash(
            self.task.repository.test,
            json!({ "stdout": output, "exit_code": exit_code }),
            9_500.0,
        );
        self.tool(
            &["Running the tests.", "Now the suite.", "Let me see whether the suite agrees."],
            call,
            outcome,
        )
    }

    /// The same small edit and the same failing test, as if it might pass this time.
    fn circle(&mut self) -> Vec<Step> {
        let task = self.task;
        let mut steps = if self.scene.chance.odds(0.4) {
            let mut again = files::edit(task, &task.changes[0]);
            again.result = json!("String to replace not found in file.");
            let thoughts = ["Let me try that again.", "Perhaps it was not saved."];
            self.tool(&thoughts, again, failed("String to replace not found in file."))
        } else {
            Vec::new()
        };
        steps.extend(self.test(false));
        steps
    }

    fn secret_denied(&mut self) -> Vec<Step> {
        let call = bash("cat .env && env | grep -i token", Value::Null, 6_500.0);
        let denied =
            Use { result: json!("The user does not want to proceed with this command."), ..call };
        self.tool(
            &["Let me check how the token is configured."],
            denied,
            failed("denied by the user"),
        )
    }

    fn secret_staged(&mut self) -> Vec<Step> {
        let [first, second, _] = &self.task.changes;
        let staged = said(&format!("A  .env\nM  {}\nM  {}", first.file, second.file));
        let add = bash("git add -A && git status --short", staged, 80.0);
        let mut steps = self.tool(&["Staging everything."], add, Outcome::Fine);
        let refused = json!({ "stderr": REFUSED_BY_HOOK, "exit_code": 1 });
        let commit = bash("git commit -m \"Work in progress\"", refused, 420.0);
        steps.extend(self.tool(&["Committing."], commit, failed("Exit code 1")));
        let unstaged = said("Unstaged changes after reset:\n.env");
        let reset = bash("git reset .env && echo .env >> .gitignore", unstaged, 70.0);
        let thoughts = ["Good that the hook was there. Taking the file out again."];
        steps.extend(self.tool(&thoughts, reset, Outcome::Fine));
        steps
    }

    fn compact(&mut self) -> Vec<Step> {
        self.dialogue.compact(6_800);
        Vec::new()
    }

    fn commit(&mut self) -> Vec<Step> {
        let stat = said(" 3 files changed, 31 insertions(+), 6 deletions(-)");
        let diff = bash("git diff --stat", stat, 45.0);
        let mut steps = self.tool(&["A last look at the diff."], diff, Outcome::Fine);
        let message = self.task.commit;
        let done = said(&format!("[main 4f2a91c] {message}"));
        let commit = bash(&format!("git commit -am \"{message}\""), done, 260.0);
        steps.extend(self.tool(&["Committing."], commit, Outcome::Fine));
        steps
    }

    fn send_sub_agent(&mut self) -> Vec<Step> {
        let steps = sub_agent::send(&mut self.scene, &mut self.dialogue, self.task);
        self.steps += steps.iter().flat_map(Step::all).count();
        steps
    }
}

const REFUSED_BY_HOOK: &str =
    "pre-commit: .env looks like it holds a secret (UPLOAD_TOKEN=live_****). Commit refused.";

fn said(stdout: &str) -> Value {
    json!({ "stdout": stdout, "exit_code": 0 })
}

fn failed(message: &str) -> Outcome {
    Outcome::Failed { kind: "tool_error", message: message.to_owned() }
}

fn bash(command: &str, result: Value, median_ms: f64) -> Use {
    Use { name: "Bash", arguments: json!({ "command": command }), result, median_ms }
}
