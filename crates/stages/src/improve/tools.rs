//! Seven tools over a week that was read before (`FeedbackWeek`): they hold data and a folder that
//! can only be read, no store and no client, so that none of them can write.

/// Names, parameters and texts of the tools.
mod specs;
/// Shares of scores by week.
mod scores;
/// Traces, annotations and clusters.
mod traces;

use std::sync::Arc;

use ratchet_core::improve::draft::{DraftContext, ProposalDraft, check};
use ratchet_core::improve::proposal::Proposal;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::codebase::CodeFolder;
use super::failure_source::AgentTraces;
use super::feedback::FeedbackWeek;

pub use specs::{FeedbackTool, ToolParameter, ToolParameterKind};

/// Lines of a file in one answer.
const MAX_LINES: usize = 400;
/// Files of a list.
const MAX_FILES: usize = 500;

/// Why a tool gave no answer, for the model that called it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolFault(pub String);

type ToolAnswer = Result<Value, ToolFault>;

/// The tools on one week.
#[derive(Clone, Debug)]
pub struct FeedbackTools {
    week: Arc<FeedbackWeek>,
    code: Option<Arc<CodeFolder>>,
    /// Whose proposals are checked.
    author: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CodeArguments {
    path: Option<String>,
    from_line: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentArguments {
    pub(super) agent: Option<String>,
}

impl FeedbackTools {
    /// Creates the tools on a week, and on the code of its agents if there is a folder.
    pub fn new(week: Arc<FeedbackWeek>, code: Option<Arc<CodeFolder>>, author: &str) -> Self {
        Self { week, code, author: author.to_owned() }
    }

    /// Returns the week.
    pub fn week(&self) -> &FeedbackWeek {
        &self.week
    }

    /// Answers a call. Nothing is changed anywhere.
    ///
    /// # Errors
    /// Says what is wrong with the arguments, or why a proposal is refused.
    pub fn call(&self, tool: FeedbackTool, arguments: Value) -> ToolAnswer {
        match tool {
            FeedbackTool::QueryScores => scores::answer(self, &read(arguments)?),
            FeedbackTool::QueryTraces => traces::traces(self, &read(arguments)?),
            FeedbackTool::QueryAnnotations => traces::annotations(self, &read(arguments)?),
            FeedbackTool::ClusterFailures => traces::clusters(self, &read(arguments)?),
            FeedbackTool::ReadCodebase => self.codebase(&read(arguments)?),
            FeedbackTool::ReadChangelog => {
                let AgentArguments { agent } = read(arguments)?;
                let is_asked =
                    |of: &Option<String>| agent.is_none() || of.is_none() || *of == agent;
                let events = self.week.report.events.iter().filter(|event| is_asked(&event.agent));
                Ok(json!({"events": events.collect::<Vec<_>>()}))
            }
            FeedbackTool::GenerateProposal => {
                let proposal = self.proposal(&read(arguments)?)?;
                Ok(json!({"accepted_for_report": true, "proposal": proposal}))
            }
        }
    }

    /// Checks a proposal; nothing is stored.
    ///
    /// # Errors
    /// Says everything that is wrong with it.
    pub fn proposal(&self, draft: &ProposalDraft) -> Result<Proposal, ToolFault> {
        let (agent, traces) = self.agent(Some(&draft.agent))?;
        let context = DraftContext {
            agent,
            traces: &traces.traces,
            traffic: traces.traffic,
            code: &self.week.code,
            known: &self.week.report.proposals,
            author: &self.author,
        };
        check(draft, context).map_err(|faults| ToolFault(faults.join("; ")))
    }

    fn codebase(&self, asked: &CodeArguments) -> ToolAnswer {
        let none = || ToolFault("no folder with code was given (--code DIR)".to_owned());
        let folder = self.code.as_ref().ok_or_else(none)?;
        let Some(path) = &asked.path else {
            let code = &self.week.code;
            let file = |file: &ratchet_core::improve::code::CodeFile| json!({"path": file.path, "lines": file.text.lines().count()});
            let files: Vec<Value> = code.iter().take(MAX_FILES).map(file).collect();
            return Ok(json!({"files": files, "has_more": code.len() > MAX_FILES}));
        };
        let text = folder.text(path).map_err(|error| ToolFault(error.to_string()))?;
        let from = asked.from_line.unwrap_or(1).max(1);
        let lines = text.lines().enumerate().skip(from - 1);
        let numbered = |(at, line): (usize, &str)| format!("{}: {line}", at + 1);
        let shown: Vec<String> = lines.take(MAX_LINES).map(numbered).collect();
        let has_more = text.lines().count() >= from + MAX_LINES;
        Ok(json!({"path": path, "lines": shown, "has_more": has_more}))
    }

    /// The traces of an agent; of the only one if none is named.
    pub(super) fn agent(&self, name: Option<&str>) -> Result<(&str, &AgentTraces), ToolFault> {
        let agents = &self.week.agents;
        let found = match name {
            Some(name) => agents.get_key_value(name),
            None if agents.len() == 1 => agents.first_key_value(),
            None => None,
        };
        let names = || agents.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let missing = || ToolFault(format!("agent: it has to be one of: {}", names()));
        found.map(|(name, traces)| (name.as_str(), traces)).ok_or_else(missing)
    }
}

fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, ToolFault> {
    let arguments = if arguments.is_null() { json!({}) } else { arguments };
    serde_json::from_value(arguments).map_err(|error| ToolFault(error.to_string()))
}

#[cfg(test)]
mod tests;
