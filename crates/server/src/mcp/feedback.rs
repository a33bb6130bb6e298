use std::path::PathBuf;
use std::sync::Arc;

use ratchet_core::calendar::Week;
use ratchet_core::improve::phrases::FailurePhrases;
use ratchet_core::time::Timestamp;
use ratchet_stages::improve::codebase::{self, CodeFolder};
use ratchet_stages::improve::feedback::{self, FeedbackInput, FeedbackWeek};
use ratchet_stages::improve::tools::{FeedbackTool, FeedbackTools};
use ratchet_stages::review::review_site::ReviewSite;
use ratchet_stages::review::weekly_metrics;
use ratchet_stages::source::Source;
use rmcp::model::JsonObject;
use serde_json::Value;
use tokio::sync::Mutex;

use super::api::ToolError;
use crate::clock::Clock;

/// How long a week that was read answers calls: scores may still arrive.
const FRESH: i64 = 5 * 60 * 1_000_000_000;

/// The weeks that the tools of the feedback loop read.
#[derive(Clone, Debug)]
pub struct FeedbackRecords {
    source: Source,
    site: ReviewSite,
    /// The agent's code.
    code: Option<PathBuf>,
    clock: Clock,
    /// The last week that was read: several calls are about one.
    read: Arc<Mutex<Option<ReadWeek>>>,
}

#[derive(Debug)]
struct ReadWeek {
    week: String,
    at: Timestamp,
    tools: FeedbackTools,
}

impl FeedbackRecords {
    /// Creates records that read from a source, and code below a folder.
    pub fn new(source: Source, site: ReviewSite, code: Option<PathBuf>, clock: Clock) -> Self {
        Self { source, site, code, clock, read: Arc::default() }
    }

    pub(super) async fn answer(
        &self,
        tool: FeedbackTool,
        mut arguments: JsonObject,
    ) -> Result<Value, ToolError> {
        let asked = arguments.remove("week").filter(|week| !week.is_null());
        let asked = match &asked {
            Some(Value::String(day)) => Some(day.as_str()),
            Some(_) => return Err(ToolError("week must be a date, such as 2026-11-08".to_owned())),
            None => None,
        };
        let week = self.week(asked).await?;
        let mut read = self.read.lock().await;
        let now = self.clock.now();
        let is_fresh =
            |known: &ReadWeek| known.week == week.to_string() && now.since(known.at) < FRESH;
        let tools = match read.as_ref().filter(|known| is_fresh(known)) {
            Some(known) => known.tools.clone(),
            None => {
                let tools = self.open(&week).await?;
                let known = ReadWeek { week: week.to_string(), at: now, tools: tools.clone() };
                *read = Some(known);
                tools
            }
        };
        drop(read);
        tools.call(tool, arguments.into()).map_err(|fault| ToolError(fault.to_string()))
    }

    async fn week(&self, day: Option<&str>) -> Result<Week, ToolError> {
        let zone = weekly_metrics::zone(&self.site).await.map_err(|error| said(&error))?;
        match day {
            Some(day) => Week::parse(day, &zone).map_err(|why| ToolError(format!("week: {why}"))),
            None => weekly_metrics::default_week(&self.site, (&zone, self.clock.now()))
                .await
                .map_err(|error| said(&error)),
        }
    }

    async fn open(&self, week: &Week) -> Result<FeedbackTools, ToolError> {
        let code = match &self.code {
            Some(root) => codebase::read(root).map_err(|error| said(&error))?,
            None => Vec::new(),
        };
        let folder = self.code.as_deref().map(CodeFolder::open).transpose();
        let folder = folder.map_err(|error| said(&error))?.map(Arc::new);
        let input = FeedbackInput::new(&code, FailurePhrases::shipped(), &[]);
        let from = (&self.source, &self.site);
        let read: FeedbackWeek = Box::pin(feedback::read(from, week, None, input))
            .await
            .map_err(|error| said(&error))?;
        Ok(FeedbackTools::new(Arc::new(read), folder, "an MCP client"))
    }
}

fn said(error: &dyn std::error::Error) -> ToolError {
    ToolError(error.to_string())
}
