use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::word::{Spelled, Word};

/// What a user says about the product itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubmitFeedback {
    /// The kind of thing it is about.
    pub target_type: TargetWord,
    /// Which one: a tool, a command, a path.
    pub target: String,
    /// What they say.
    pub feedback: String,
    /// What they wanted to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// Where more can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_url: Option<String>,
}

/// What feedback is about as its word.
pub type TargetWord = Word<FeedbackTarget>;

/// What feedback can be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedbackTarget {
    Skill,
    /// A tool of the MCP server.
    McpTool,
    Cli,
    /// A page of the documentation.
    Docs,
    /// A route of the API.
    PublicApi,
    Other,
}

impl Spelled for FeedbackTarget {
    const WHAT: &'static str = "feedback target type";

    fn all() -> Vec<Self> {
        vec![Self::Skill, Self::McpTool, Self::Cli, Self::Docs, Self::PublicApi, Self::Other]
    }

    fn word(self) -> &'static str {
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

/// What is answered to feedback.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FeedbackKept {
    /// Names the feedback when talking about it.
    pub id: String,
}
