use ratchet_agent::request::{
    CacheablePart, LlmRequest, ToolCall, ToolOutcome, ToolResult, ToolSpec, Turn,
};
use ratchet_agent::response::LlmResponse;
use ratchet_core::improve::draft::ProposalDraft;
use ratchet_core::improve::proposal::{Proposal, sort};
use ratchet_core::improve::report::{FeedbackReport, ModelNote};
use ratchet_core::money::Money;
use ratchet_core::record::usage::Usage;
use ratchet_core::time::Timestamp;
use serde_json::{Value, json};

use super::tools::{FeedbackTool, FeedbackTools, ToolFault};
use crate::score::judge::ModelJudge;

/// The system prompt, which a file of this name in the data folder replaces.
pub const FILE: &str = "feedback-system.md";
pub const SHIPPED: &str = include_str!("../../../../prompts/feedback-system.md");
/// Calls of the model at most.
const MAX_TURNS: usize = 40;
/// Calls of tools that are answered after one call of the model.
const MAX_CALLS: usize = 16;
/// Proposals at most.
const MAX_PROPOSALS: usize = 20;
/// Bytes of one answer of a tool.
const MAX_ANSWER: usize = 30_000;

/// The agent: a model with seven tools that read.
#[derive(Clone, Copy)]
pub struct FeedbackAgent<'a> {
    /// The model, and what may be spent on it.
    pub judge: &'a ModelJudge,
    /// The system prompt.
    pub words: &'a str,
    pub clock: &'a (dyn Fn() -> Timestamp + Sync),
}

/// One call of the model, or of a tool.
#[derive(Clone, Debug)]
pub struct AgentStep {
    pub kind: StepKind,
    pub input: Value,
    pub output: String,
    pub start: Timestamp,
    pub end: Timestamp,
}

#[derive(Clone, Debug)]
pub enum StepKind {
    Model { name: String, usage: Usage, cost: Option<Money> },
    Tool { name: String, failed: bool },
}

/// What the agent did.
#[derive(Clone, Debug, Default)]
pub struct FeedbackRun {
    /// Checked proposals.
    pub proposals: Vec<Proposal>,
    /// Why others were refused.
    pub refused: Vec<String>,
    pub steps: Vec<AgentStep>,
    /// Why it did not finish.
    pub error: Option<String>,
}

impl FeedbackAgent<'_> {
    /// Runs until the model has nothing left to propose, its budget is spent, or it fails. What was
    /// proposed until then counts.
    pub async fn run(&self, tools: &FeedbackTools) -> FeedbackRun {
        let mut run = FeedbackRun::default();
        let mut ask = LlmRequest {
            system: vec![CacheablePart::cached(self.words.trim())],
            tools: FeedbackTool::ALL.map(spec).to_vec(),
            temperature: Some(0.0),
            max_tokens: 8_192,
            ..LlmRequest::new(task(tools))
        };
        for _ in 0..MAX_TURNS {
            let start = (self.clock)();
            let response = match self.judge.model.complete(&ask, &self.judge.budget).await {
                Ok(response) => response,
                Err(error) => {
                    // All viewers of the report read it.
                    run.error = Some(error.without_reply());
                    return run;
                }
            };
            run.steps.push(model_step(&ask, &response, (start, (self.clock)())));
            if response.calls.is_empty() {
                return run;
            }
            let results = response.calls.iter().enumerate();
            let results: Vec<ToolResult> =
                results.map(|(at, call)| self.answer((at, call), tools, &mut run)).collect();
            ask.turns.push(Turn::Model { text: response.text, calls: response.calls });
            ask.turns.push(Turn::Tools(results));
        }
        run.error = Some(format!("it was stopped after {MAX_TURNS} calls"));
        run
    }

    fn answer(
        &self,
        (at, call): (usize, &ToolCall),
        tools: &FeedbackTools,
        run: &mut FeedbackRun,
    ) -> ToolResult {
        let start = (self.clock)();
        let answer = if at < MAX_CALLS {
            called(call, tools, run)
        } else {
            Err(ToolFault(format!("at most {MAX_CALLS} tool calls at once")))
        };
        let failed = answer.is_err();
        let text = match answer {
            Ok(answer) => cut(answer.to_string()),
            Err(fault) => fault.to_string(),
        };
        run.steps.push(AgentStep {
            kind: StepKind::Tool { name: call.name.clone(), failed },
            input: call.input.clone(),
            output: text.clone(),
            start,
            end: (self.clock)(),
        });
        let outcome = if failed { ToolOutcome::Failed } else { ToolOutcome::Fine };
        ToolResult { id: call.id.clone(), text, outcome }
    }
}

impl FeedbackRun {
    /// Adds the proposals to a report: those about a known pattern take the place of its template.
    pub fn add_to(self, report: &mut FeedbackReport, (name, trace): (&str, Option<String>)) {
        let steps = self.steps.iter();
        let tool_calls = steps.filter(|step| matches!(step.kind, StepKind::Tool { .. })).count();
        report.model = Some(ModelNote {
            name: name.to_owned(),
            steps: tool_calls,
            dollars: self.cost().map(Money::dollars),
            refused: self.refused,
            error: self.error,
            trace,
        });
        for proposal in self.proposals {
            report.proposals.retain(|known| known.id != proposal.id);
            report.proposals.push(proposal);
        }
        sort(&mut report.proposals);
    }

    /// The cost of its calls; `None` where a price is unknown.
    fn cost(&self) -> Option<Money> {
        let mut costs = self.steps.iter().filter_map(|step| match &step.kind {
            StepKind::Model { cost, .. } => Some(*cost),
            StepKind::Tool { .. } => None,
        });
        costs.try_fold(Money::ZERO, |sum, cost| Some(sum + cost?))
    }
}

/// Answers a call, and keeps what it proposes.
fn called(
    call: &ToolCall,
    tools: &FeedbackTools,
    run: &mut FeedbackRun,
) -> Result<Value, ToolFault> {
    let tool = FeedbackTool::named(&call.name);
    let tool = tool.ok_or_else(|| ToolFault(format!("there is no tool {}", call.name)))?;
    if tool != FeedbackTool::GenerateProposal {
        return tools.call(tool, call.input.clone());
    }
    let proposed = serde_json::from_value::<ProposalDraft>(call.input.clone())
        .map_err(|error| ToolFault(error.to_string()))
        .and_then(|draft| tools.proposal(&draft));
    match proposed {
        Ok(proposal) => {
            let answer = json!({"accepted_for_report": true, "id": proposal.id});
            run.proposals.retain(|known| known.id != proposal.id);
            if run.proposals.len() >= MAX_PROPOSALS {
                return Err(ToolFault(format!("a report has at most {MAX_PROPOSALS} proposals")));
            }
            run.proposals.push(proposal);
            Ok(answer)
        }
        Err(fault) => {
            run.refused.push(fault.to_string());
            Err(fault)
        }
    }
}

fn spec(tool: FeedbackTool) -> ToolSpec {
    ToolSpec {
        name: tool.name().to_owned(),
        description: tool.about().to_owned(),
        input: tool.schema(),
    }
}

/// What it is asked: no text of a trace stands in it.
fn task(tools: &FeedbackTools) -> String {
    let report = &tools.week().report;
    let known = report.proposals.iter().map(|it| {
        json!({
            "agent": it.agent, "component": it.component, "failures": it.failures,
            "evidence": it.evidence.iter().take(5).collect::<Vec<_>>(), "files": it.files,
        })
    });
    format!(
        "The week of {}. Agents: {}. Patterns that were found without a model, whose diagnosis may be \
         wrong: {}",
        report.week,
        report.agents.join(", "),
        Value::from_iter(known)
    )
}

fn model_step(
    ask: &LlmRequest,
    response: &LlmResponse,
    (start, end): (Timestamp, Timestamp),
) -> AgentStep {
    // What came before is in the steps before.
    let input = match ask.turns.last() {
        Some(Turn::User(parts)) => parts.iter().map(|part| json!(part.text)).collect(),
        Some(Turn::Tools(results)) => {
            results.iter().map(|it| json!({"id": it.id, "result": it.text})).collect()
        }
        Some(Turn::Model { .. }) | None => Value::Null,
    };
    let calls = response.calls.iter();
    let calls: Vec<Value> =
        calls.map(|call| json!({"tool": call.name, "input": call.input})).collect();
    AgentStep {
        kind: StepKind::Model {
            name: response.model.clone(),
            usage: response.usage.clone(),
            cost: response.cost,
        },
        input,
        output: json!({"text": response.text, "calls": calls}).to_string(),
        start,
        end,
    }
}

fn cut(text: String) -> String {
    if text.len() <= MAX_ANSWER {
        return text;
    }
    let start: String = text.chars().take(MAX_ANSWER / 4).collect();
    format!("{start}… (too long: ask for fewer rows or characters)")
}
