use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The most rows of one answer, and the longest text in it.
const MAX_ROWS: u64 = 200;
const MAX_TEXT_BYTES: u64 = 100_000;

#[derive(Debug)]
pub(super) enum Question {
    Sessions(SessionsAsked),
    Session(SessionAsked),
    Scores(OfScores),
    Report(ReportAsked),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SessionsAsked {
    pub(super) days: u64,
    pub(super) limit: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionAsked {
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
pub(super) struct OfScores {
    pub(super) session_id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) days: u64,
    pub(super) limit: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ReportAsked {
    pub(super) week: Option<String>,
}

impl Default for SessionsAsked {
    fn default() -> Self {
        Self { days: 7, limit: usual_rows() }
    }
}

impl Default for OfScores {
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
    2_000
}

impl Question {
    /// Reads a call, or says what is wrong with it.
    pub(super) fn read(tool: &str, arguments: JsonObject) -> Result<Self, String> {
        let question = match tool {
            "list_sessions" => Self::Sessions(arguments_of(arguments)?),
            "get_session" => Self::Session(arguments_of(arguments)?),
            "list_scores" => Self::Scores(arguments_of(arguments)?),
            "get_report" => Self::Report(arguments_of(arguments)?),
            other => return Err(format!("unknown tool {other}")),
        };
        question.check()?;
        Ok(question)
    }

    fn check(&self) -> Result<(), String> {
        let within = |what: &str, number: u64, most: u64| {
            let is_within = (1..=most).contains(&number);
            is_within.then_some(()).ok_or_else(|| format!("{what} must be from 1 to {most}"))
        };
        const MOST_DAYS: u64 = 3_660;
        match self {
            Self::Sessions(asked) => {
                within("days", asked.days, MOST_DAYS)?;
                within("limit", asked.limit, MAX_ROWS)
            }
            Self::Session(asked) => {
                within("limit", asked.limit, MAX_ROWS)?;
                within("max_bytes", asked.max_bytes, MAX_TEXT_BYTES)
            }
            Self::Scores(asked) => {
                within("days", asked.days, MOST_DAYS)?;
                within("limit", asked.limit, MAX_ROWS)
            }
            Self::Report(_) => Ok(()),
        }
    }
}

fn arguments_of<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, String> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| error.to_string())
}

/// Every tool that there is.
pub(super) fn all() -> Vec<Tool> {
    let days = json!({"type": "integer", "minimum": 1, "description": "days to look back [7]"});
    let limit = json!({
        "type": "integer", "minimum": 1, "maximum": MAX_ROWS,
        "description": "maximum number of results [50]",
    });
    vec![
        tool(
            "list_sessions",
            "Lists sessions, newest first: time, number of traces, errors, tokens, cost.",
            json!({"days": days, "limit": limit}),
            &[],
        ),
        tool(
            "get_session",
            "Shows one session: its scores with their reasons, and its traces in order, numbered as \
             scores cite them. With `trace`, one trace with all its observations.",
            json!({
                "session_id": {"type": "string"},
                "trace": {"type": "integer", "minimum": 1, "description": "only this trace, with its observations"},
                "from_trace": {"type": "integer", "minimum": 1, "description": "traces from this number on [1]"},
                "limit": limit,
                "max_bytes": {
                    "type": "integer", "minimum": 1, "maximum": MAX_TEXT_BYTES,
                    "description": "truncate inputs and outputs to this many bytes, in the middle [2000]",
                },
            }),
            &["session_id"],
        ),
        tool(
            "list_scores",
            "Lists scores, newest first, with rationale and source; filter by session or by name, such as overall_quality.",
            json!({
                "session_id": {"type": "string"},
                "name": {"type": "string"},
                "days": days,
                "limit": limit,
            }),
            &[],
        ),
        tool(
            "get_report",
            "Shows a weekly report on the quality of sessions: means, trends, outliers, common \
             issues and suggestions. The newest unless `week` names another by its first day.",
            json!({"week": {"type": "string", "description": "such as 2026-11-08"}}),
            &[],
        ),
    ]
}

fn tool(name: &'static str, about: &'static str, properties: Value, required: &[&str]) -> Tool {
    let mut schema = JsonObject::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), properties);
    schema.insert("required".to_owned(), json!(required));
    schema.insert("additionalProperties".to_owned(), json!(false));
    let mut hints = ToolAnnotations::new();
    hints.read_only_hint = Some(true);
    hints.open_world_hint = Some(false);
    Tool::new(name, about, schema).with_annotations(hints)
}
