use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::wire_name::{WireEnum, WireName};

/// User feedback on the product itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubmitFeedback {
    /// Type of the target.
    pub target_type: FeedbackTargetName,
    /// Target: a tool, a command, a path.
    pub target: String,
    /// Feedback text.
    pub feedback: String,
    /// The user's goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// Reference URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_url: Option<String>,
}

/// The API name of a feedback target.
pub type FeedbackTargetName = WireName<FeedbackTarget>;

/// A feedback target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedbackTarget {
    Skill,
    /// A tool of the MCP server.
    McpTool,
    Cli,
    /// A documentation page.
    Docs,
    /// An API route.
    PublicApi,
    Other,
}

impl WireEnum for FeedbackTarget {
    const WHAT: &'static str = "feedback target type";

    fn all() -> Vec<Self> {
        vec![Self::Skill, Self::McpTool, Self::Cli, Self::Docs, Self::PublicApi, Self::Other]
    }

    fn wire_name(self) -> &'static str {
        match self {
            Self::Skill => "skill",
            Self::McpTool => "mcp-tool",
            Self::Cli => "cli",
            Self::Docs => "docs",
            Self::PublicApi => "public-api",
            Self::Other => "other",
        }
    }
}

/// The response to submitted feedback.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FeedbackSaved {
    /// Feedback id.
    pub id: String,
}
