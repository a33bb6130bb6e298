use serde_json::json;

use crate::demo::people::HAIKU;
use crate::demo::scene::{Dialogue, Memory, Scene, Trouble};
use crate::demo::story::{Message, Step, ToolCall, Work};

use super::files::{self, Spot};
use super::tasks::Task;

/// Sends a sub-agent out, which explores on its own and comes back with a sentence. Returns the
/// model call that sent it and the tool call that holds what it did.
pub(crate) fn send(scene: &mut Scene, dialogue: &mut Dialogue, task: &'static Task) -> Vec<Step> {
    let symbol = task.symbol;
    let question = format!("Find everything that calls `{symbol}` and tell me who relies on it.");
    let report =
        format!("`{symbol}` has four callers; only {} relies on it.", task.changes[0].file);
    let order = json!({
        "subagent_type": "Explore",
        "description": format!("Find uses of {symbol}"),
        "prompt": question,
    });
    let id = format!("toolu_{}", scene.chance.hex(24));
    let call = ToolCall { name: "Task", id, arguments: order, result: json!(report) };
    let thought = "I will have this explored separately.".to_owned();
    let sent = dialogue.answer(scene, thought, vec![call.clone()]);
    let step = scene.within(|scene| {
        let steps = explore(scene, task, question, report);
        (Work::Tool(call.clone()), steps)
    });
    dialogue.hear(Message::Tool(call));
    vec![sent, step]
}

fn explore(scene: &mut Scene, task: &'static Task, question: String, report: String) -> Vec<Step> {
    let system = "You explore a code base and report briefly.";
    let mut dialogue = Dialogue::new(&HAIKU, system, 7_900, Memory::Tail);
    dialogue.hear(Message::User(question));
    let mut unseen = files::spots(task);
    scene.chance.shuffle(&mut unseen);
    let mut steps = Vec::new();
    for _ in 0..scene.chance.between(3, 8) {
        let look = files::look(task, unseen.pop().unwrap_or(Spot::Listing));
        let call = scene.call(look.name, look.arguments, look.result);
        dialogue.weigh(scene.chance.between(300, 1_900));
        steps.push(dialogue.answer(scene, String::new(), vec![call.clone()]));
        let slips = scene.chance.odds(0.06);
        steps.push(if slips {
            scene.tool_fails(call.clone(), Trouble::BadArguments("file does not exist"))
        } else {
            scene.tool(call.clone(), look.median_ms)
        });
        dialogue.hear(Message::Tool(call));
    }
    steps.push(dialogue.answer(scene, report, Vec::new()));
    steps
}
