//! Dashboards: metrics queries, charts and their stored definitions.
//!
//! The API and the pages use the same queries, so that a chart shows the numbers of the API.

/// Conditions on what is counted.
pub mod filter;
pub mod view;
/// From what was sent to a question for the store.
mod query;
pub mod response;
/// Stored filter conditions.
pub mod widget_filters;
/// Stored charts (widgets).
pub mod widget;
pub mod dashboard;
/// Stored definitions of dashboards and widgets.
pub mod definitions;

pub use query::{QueryPart, QueryProblem, Question, question};
