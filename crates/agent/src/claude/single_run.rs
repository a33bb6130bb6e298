use std::time::{Duration, Instant};

use ratchet_core::money::Money;
use ratchet_core::record::usage::Usage;
use serde_json::Value;
use uuid::Uuid;

use super::command::ClaudeCommand;
use super::error::ClaudeError;
use super::lines::{ClaudeLines, CliLine, FromClaude};
use super::message::UserMessage;
use super::process::ClaudeProcess;
use super::process_slots::ProcessSlot;
use crate::error::ModelError;
use crate::provider::claude::report::Report;
use crate::request::ToolCall;
use crate::response::ProviderResponse;

/// The most calls of tools that are kept.
const MAX_CALLS: usize = 10_000;

/// What came of a conversation of one message.
#[derive(Clone, Debug)]
pub struct ClaudeRun {
    /// The last answer.
    pub text: String,
    pub model: Option<String>,
    /// What all of it used and cost.
    pub usage: Option<Usage>,
    pub cost: Option<Money>,
    /// Calls of tools in their order, those of sub-agents included.
    pub calls: Vec<CalledClaudeTool>,
}

/// A call of a tool, and what it returned.
#[derive(Clone, Debug)]
pub struct CalledClaudeTool {
    pub call: ToolCall,
    /// Id of the call that started the sub-agent that it belongs to.
    pub parent: Option<String>,
    /// `None` if the run ended before the tool did.
    pub output: Option<String>,
    pub failed: bool,
    /// Since the clock was started.
    pub started: Duration,
    pub ended: Option<Duration>,
}

/// The time since a caller began to wait for a run.
#[derive(Clone, Copy, Debug)]
pub struct RunClock(Instant);

impl RunClock {
    /// Starts now.
    pub fn start() -> Self {
        Self(Instant::now())
    }
}

/// Why a conversation has no answer.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Claude(#[from] ClaudeError),
    #[error(transparent)]
    Model(#[from] ModelError),
}

impl ClaudeCommand {
    /// Starts the program, sends one message, and ends it with the answer. Permission prompts are
    /// refused: no person can answer them. Dropping the future kills it with all it started.
    ///
    /// # Errors
    /// Says why there is no answer.
    pub async fn run_once(
        &self,
        slot: ProcessSlot,
        message: &str,
        clock: RunClock,
    ) -> Result<ClaudeRun, RunError> {
        let (process, lines) = self.spawn(slot)?;
        process.initialize().await?;
        process.send_user(&UserMessage::text(Uuid::new_v4(), message)).await?;
        let read = answer(&process, lines, clock).await;
        process.end().await;
        let (report, calls, said) = read?;
        let ProviderResponse { text, model, usage, cost, .. } = report.response(&said)?;
        Ok(ClaudeRun { text, model, usage, cost, calls })
    }
}

async fn answer(
    process: &ClaudeProcess,
    mut lines: ClaudeLines,
    clock: RunClock,
) -> Result<(Report, Vec<CalledClaudeTool>, String), ClaudeError> {
    let (mut report, mut calls) = (Report::default(), Vec::new());
    while let Some(said) = lines.next().await {
        match said {
            FromClaude::Line(line) => {
                report.take(line.raw.get(), None);
                if line.is("result") {
                    return Ok((report, calls, String::new()));
                }
                take_calls(&mut calls, &line, clock.0.elapsed());
            }
            FromClaude::Request(request) => {
                process.refuse(&request, "nobody is there to answer").await?;
            }
            FromClaude::Withdrawn { .. } | FromClaude::Lost { .. } => {}
            FromClaude::Ended(end) => return Err(ClaudeError::Ended(end)),
        }
    }
    Ok((report, calls, "its output ended early".to_owned()))
}

/// Adds the calls that a line has, and what it says of earlier ones.
fn take_calls(calls: &mut Vec<CalledClaudeTool>, line: &CliLine, at: Duration) {
    let (is_call, is_result) = (line.is("assistant"), line.is("user"));
    if !is_call && !is_result {
        return;
    }
    let message: Value = serde_json::from_str(line.raw.get()).unwrap_or_default();
    let parent = message["parent_tool_use_id"].as_str();
    for block in message["message"]["content"].as_array().into_iter().flatten() {
        if is_call && block["type"] == "tool_use" && calls.len() < MAX_CALLS {
            calls.push(called(block, parent, at));
        } else if is_result && block["type"] == "tool_result" {
            let of = block["tool_use_id"].as_str().unwrap_or_default();
            let Some(call) = calls.iter_mut().find(|known| known.call.id == of) else { continue };
            call.output = Some(text_of(&block["content"]));
            call.failed = block["is_error"] == true;
            call.ended = Some(at);
        }
    }
}

fn called(block: &Value, parent: Option<&str>, at: Duration) -> CalledClaudeTool {
    CalledClaudeTool {
        call: ToolCall {
            id: block["id"].as_str().unwrap_or_default().to_owned(),
            name: block["name"].as_str().unwrap_or_default().to_owned(),
            input: block["input"].clone(),
        },
        parent: parent.map(str::to_owned),
        output: None,
        failed: false,
        started: at,
        ended: None,
    }
}

/// The text of a result, which is text or a list of parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
