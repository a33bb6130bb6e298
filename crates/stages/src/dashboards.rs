//! People look at figures: a question becomes an answer, and questions are kept on dashboards.
//!
//! The API and the pages use the same queries, so that a chart shows the numbers of the API.

/// Conditions on what is counted.
pub mod filter;
pub mod view;
/// From what was sent to a question for the store.
mod query;
pub mod response;
/// Conditions that are kept.
pub mod widget_filters;
/// Questions that are kept: charts.
pub mod widget;
pub mod dashboard;
/// Definitions that are kept whole.
pub mod definitions;

pub use query::{QueryPart, QueryProblem, Question, question};
