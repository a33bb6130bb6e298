//! Tools, retrievers and other agents that a conversation uses.

use serde_json::{Value, json};

use super::Teller;
use crate::demo::agents::{self, EMBEDDING};
use crate::demo::scene::{Dialogue, Errand, Memory, Trouble};
use crate::demo::script::{Tool, ToolKind};
use crate::demo::story::{AskedBy, Course, Message, Outcome, Step, ToolCall, Work};

/// How likely a tool fails once and is called again.
const HICCUP: f64 = 0.03;

impl Teller {
    /// The model calls a tool by its key in the script and receives the result.
    pub(super) fn use_tool(&mut self, key: &str) -> Vec<Step> {
        let Some((key, tool)) = self.script.tools.get_key_value(key) else { return Vec::new() };
        let thought = self.facts.one(&mut self.scene.chance, &tool.thought);
        let mut call = self.call(key, tool);
        if self.breaks(key) {
            return self.broken(tool, call, thought);
        }
        let mut steps = vec![self.dialogue.answer(&mut self.scene, thought, vec![call.clone()])];
        match tool.kind {
            ToolKind::Tool => {
                let errand = Errand { call: call.clone(), median_ms: tool.ms, trouble: HICCUP };
                steps.extend(self.scene.run(errand));
            }
            ToolKind::Retriever => steps.extend(self.retrieve(tool, &call)),
            ToolKind::Agent => {
                let (step, went_well) = self.sub_agent(tool, &call);
                if !went_well {
                    call.result = json!({ "finding": null, "note": "the source would not load" });
                }
                steps.push(step);
            }
            ToolKind::Remote => steps.push(self.ask_other(tool, &call)),
        }
        if let Some([low, high]) = tool.weight {
            self.dialogue.weigh(self.scene.chance.between(low, high));
        }
        self.dialogue.hear(Message::Tool(call));
        steps
    }

    fn breaks(&self, key: &str) -> bool {
        self.is_broken && key == self.script.failing.tool
    }

    fn call(&mut self, key: &'static str, tool: &'static Tool) -> ToolCall {
        let arguments = self.facts.json(&mut self.scene.chance, &tool.arguments);
        let result = self.facts.json(&mut self.scene.chance, &tool.result);
        let is_agent = matches!(tool.kind, ToolKind::Agent | ToolKind::Remote);
        let key = if is_agent { key.trim_end_matches("_a").trim_end_matches("_b") } else { key };
        let name = tool.name.as_deref().filter(|_| !is_agent).unwrap_or(key);
        self.scene.call(name, arguments, result)
    }

    /// A tool that fails, and is called once more with the same arguments.
    fn broken(&mut self, tool: &'static Tool, mut call: ToolCall, thought: String) -> Vec<Step> {
        let trouble = match (&tool.wrong, &tool.fails) {
            (Some(wrong), Some(message)) if self.release.is_bad => {
                call.arguments = self.facts.json(&mut self.scene.chance, wrong);
                Trouble::BadArguments(message)
            }
            (None, Some(message)) => Trouble::BadArguments(message),
            (_, None) | (Some(_), Some(_)) => Trouble::Unavailable,
        };
        let mut steps = vec![self.dialogue.answer(&mut self.scene, thought, vec![call.clone()])];
        for _ in 0..2 {
            let step = self.scene.tool_fails(call.clone(), trouble);
            if let Work::Tool(failed) = &step.work {
                call.result = failed.result.clone();
            }
            steps.push(step);
            self.scene.pass_ms(120.0);
        }
        self.dialogue.hear(Message::Tool(call));
        steps
    }

    fn retrieve(&mut self, tool: &'static Tool, call: &ToolCall) -> Vec<Step> {
        let query = call.arguments.get("query").and_then(Value::as_str).unwrap_or_default();
        let mut steps = Vec::new();
        if self.script.embeds {
            let (input, tokens) = (query.to_owned(), super::tokens(query));
            let work = Work::Embedding { model: &EMBEDDING, input, tokens };
            steps.push(self.scene.step(work, 90.0, Outcome::Fine));
        }
        let (query, documents) = (query.to_owned(), call.result.clone());
        let work = Work::Retrieval { name: call.name, query, documents };
        steps.push(self.scene.step(work, tool.ms, Outcome::Fine));
        steps
    }

    /// A sub-agent with a small model; returns whether it found what it was sent for.
    fn sub_agent(&mut self, tool: &'static Tool, call: &ToolCall) -> (Step, bool) {
        let input = call.arguments.as_object().and_then(|fields| fields.values().next());
        let input = input.and_then(Value::as_str).unwrap_or_default().to_owned();
        let name = tool.name.as_deref().unwrap_or("sub-agent");
        let (id, start) = (self.scene.chance.bytes(), self.scene.now);
        self.scene.pass_ms(2.0);
        let system = format!("You are {name}. Do what you are asked, and say what you rely on.");
        let own = Dialogue::new(self.agent.helper, &system, 310, Memory::Whole);
        let outer = std::mem::replace(&mut self.dialogue, own);
        self.dialogue.hear(Message::User(input.clone()));
        let went_well = !tool.uses.iter().any(|key| self.breaks(key));
        let mut children: Vec<Step> = tool.uses.iter().flat_map(|key| self.use_tool(key)).collect();
        let output = if went_well {
            self.facts.fill(&mut self.scene.chance, &tool.output)
        } else {
            let lost = "[Not verified: {a_source} would not load.|{a_source} refuses robots.]";
            self.facts.fill(&mut self.scene.chance, lost)
        };
        children.push(self.dialogue.answer(&mut self.scene, output.clone(), Vec::new()));
        self.dialogue = outer;
        self.scene.pass_ms(3.0);
        let work = Work::Agent { name, input, output };
        let end = self.scene.now;
        (Step { id, start, end, work, outcome: Outcome::Fine, children }, went_well)
    }

    /// Another agent, asked like a tool: its run is a trace of its own in the same session.
    fn ask_other(&mut self, tool: &'static Tool, call: &ToolCall) -> Step {
        let (id, start) = (self.scene.chance.bytes(), self.scene.now);
        self.scene.pass_ms(40.0);
        let (root, _) = self.sub_agent(tool, call);
        self.scene.pass_ms(20.0);
        let mut run = self.run(&agents::RESEARCH, root, Course::Good);
        run.release = agents::RESEARCH.releases.first().unwrap_or(self.release);
        run.name = format!("{}: question of {}", run.agent.name, self.agent.name);
        run.asked_by = Some(AskedBy { trace: [0; 16], step: id });
        self.asked.push(run);
        let work = Work::Tool(call.clone());
        Step { id, start, end: self.scene.now, work, outcome: Outcome::Fine, children: Vec::new() }
    }
}
