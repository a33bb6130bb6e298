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
    pub calls: Vec<ToolCall>,
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
    pub async fn run_once(&self, slot: ProcessSlot, message: &str) -> Result<ClaudeRun, RunError> {
        let (process, lines) = self.spawn(slot)?;
        process.initialize().await?;
        process.send_user(&UserMessage::text(Uuid::new_v4(), message)).await?;
        let read = answer(&process, lines).await;
        process.end().await;
        let (report, calls, said) = read?;
        let ProviderResponse { text, model, usage, cost, .. } = report.response(&said)?;
        Ok(ClaudeRun { text, model, usage, cost, calls })
    }
}

async fn answer(
    process: &ClaudeProcess,
    mut lines: ClaudeLines,
) -> Result<(Report, Vec<ToolCall>, String), ClaudeError> {
    let (mut report, mut calls) = (Report::default(), Vec::new());
    while let Some(said) = lines.next().await {
        match said {
            FromClaude::Line(line) => {
                report.take(line.raw.get(), None);
                if line.is("result") {
                    return Ok((report, calls, String::new()));
                }
                calls.extend(tool_calls(&line));
                calls.truncate(MAX_CALLS);
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

fn tool_calls(line: &CliLine) -> Vec<ToolCall> {
    if !line.is("assistant") {
        return Vec::new();
    }
    let message: Value = serde_json::from_str(line.raw.get()).unwrap_or_default();
    let blocks = message["message"]["content"].as_array().into_iter().flatten();
    let uses = blocks.filter(|block| block["type"] == "tool_use");
    uses.map(|block| ToolCall {
        id: block["id"].as_str().unwrap_or_default().to_owned(),
        name: block["name"].as_str().unwrap_or_default().to_owned(),
        input: block["input"].clone(),
    })
    .collect()
}
