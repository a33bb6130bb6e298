use ratchet_core::issue::{Issue, PathStep};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An error response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// Error message.
    pub message: String,
    /// Error type, or all validation issues of the request.
    pub error: ErrorDetail,
}

/// The details of an error response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum ErrorDetail {
    /// An error type that clients compare: `LangfuseNotFoundError`, `UnauthorizedError`, …
    Kind(String),
    /// Validation issues.
    Issues(Vec<IssueView>),
}

/// A validation issue of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Issue)]
pub struct IssueView {
    /// Path to the value, outermost first.
    pub path: Vec<StepView>,
    /// Message.
    pub message: String,
}

/// A segment of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
#[schema(as = Step)]
pub enum StepView {
    /// Field name.
    Field(String),
    /// List index, from 0.
    Index(usize),
}

impl From<Issue> for IssueView {
    fn from(issue: Issue) -> Self {
        let step = |step| match step {
            PathStep::Field(name) => StepView::Field(name),
            PathStep::Index(index) => StepView::Index(index),
        };
        Self { path: issue.path.into_iter().map(step).collect(), message: issue.message }
    }
}

impl From<IssueView> for Issue {
    fn from(view: IssueView) -> Self {
        let step = |step| match step {
            StepView::Field(name) => PathStep::Field(name),
            StepView::Index(index) => PathStep::Index(index),
        };
        Self { path: view.path.into_iter().map(step).collect(), message: view.message }
    }
}
