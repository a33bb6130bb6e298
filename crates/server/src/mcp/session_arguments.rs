use rmcp::model::JsonObject;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::api::ToolError;
use super::bounds::{MAX_TEXT_BYTES, USUAL_TEXT_BYTES};

/// Rows of an answer at most.
pub(super) const MAX_ROWS: u64 = 200;

#[derive(Debug)]
pub(super) enum Question {
    Sessions(SessionsArguments),
    Session(SessionArguments),
    Scores(ScoresArguments),
    Report(ReportArguments),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SessionsArguments {
    pub(super) days: u64,
    pub(super) limit: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionArguments {
    pub(super) session_id: String,
    pub(super) trace: Option<u32>,
    #[serde(default = "first")]
    pub(super) from_trace: u32,
    #[serde(default = "usual_rows")]
    pub(super) limit: u64,
    #[serde(default = "usual_text")]
    pub(super) max_bytes: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ScoresArguments {
    pub(super) session_id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) days: u64,
    pub(super) limit: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ReportArguments {
    pub(super) week: Option<String>,
}

impl Default for SessionsArguments {
    fn default() -> Self {
        Self { days: 7, limit: usual_rows() }
    }
}

impl Default for ScoresArguments {
    fn default() -> Self {
        Self { session_id: None, name: None, days: 7, limit: usual_rows() }
    }
}

const fn first() -> u32 {
    1
}

const fn usual_rows() -> u64 {
    50
}

const fn usual_text() -> u64 {
    USUAL_TEXT_BYTES as u64
}

impl Question {
    /// Reads a call.
    ///
    /// # Errors
    /// What is wrong with the arguments.
    pub(super) fn read(tool: &str, arguments: JsonObject) -> Result<Self, ToolError> {
        let question = match tool {
            "list_sessions" => Self::Sessions(arguments_of(arguments)?),
            "get_session" => Self::Session(arguments_of(arguments)?),
            "list_scores" => Self::Scores(arguments_of(arguments)?),
            "get_report" => Self::Report(arguments_of(arguments)?),
            other => return Err(ToolError(format!("unknown tool {other}"))),
        };
        question.check()?;
        Ok(question)
    }

    fn check(&self) -> Result<(), ToolError> {
        let within = |what: &str, number: u64, most: u64| {
            let is_within = (1..=most).contains(&number);
            let refused = || ToolError(format!("{what} must be from 1 to {most}"));
            is_within.then_some(()).ok_or_else(refused)
        };
        const MOST_DAYS: u64 = 3_660;
        match self {
            Self::Sessions(asked) => {
                within("days", asked.days, MOST_DAYS)?;
                within("limit", asked.limit, MAX_ROWS)
            }
            Self::Session(asked) => {
                within("limit", asked.limit, MAX_ROWS)?;
                within("max_bytes", asked.max_bytes, MAX_TEXT_BYTES as u64)
            }
            Self::Scores(asked) => {
                within("days", asked.days, MOST_DAYS)?;
                within("limit", asked.limit, MAX_ROWS)
            }
            Self::Report(_) => Ok(()),
        }
    }
}

fn arguments_of<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, ToolError> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| ToolError(error.to_string()))
}
