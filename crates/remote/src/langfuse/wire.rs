//! Wire types of Langfuse's public API.
//!
//! Used by the server for responses and by the client to parse them. Payloads are raw JSON: they
//! are passed through unchanged, digit for digit. Conversion from records happens here only.

/// Raw JSON.
pub mod json;
/// Timestamps as text.
pub mod time;
/// Enums as names.
pub mod wire_name;
/// Optional fields that distinguish absent from null.
pub mod maybe;
/// JSON deserialization with errors that name the field.
pub mod read;
/// An error response.
pub mod error;
/// Pagination.
pub mod page;
/// Projects.
pub mod project;
/// Traces, in several levels of detail.
pub mod trace;
/// Observations.
pub mod observation;
/// Observations in API version 2, by field group.
pub mod observation_v2;
/// Conditions of the `filter` parameter.
pub mod filter;
/// Metrics.
pub mod metrics;
/// Sessions.
pub mod session;
/// Scores in responses.
pub mod score;
/// Prompts.
pub mod prompt;
/// Skills.
pub mod skill;
/// Media files.
pub mod media;
/// Annotation queues.
pub mod queue;
/// Comments.
pub mod comment;
/// Score configs.
pub mod score_config;
/// Datasets and their items.
pub mod dataset;
/// Runs over datasets.
pub mod dataset_run;
/// Experiments and their items.
pub mod experiment;
/// Models and prices.
pub mod model;
/// LLM connections.
pub mod llm_connection;
/// Administration of projects, API keys and members.
pub mod administration;
/// Feedback on the product.
pub mod feedback;
/// Dashboards and widgets.
pub mod dashboard;
/// Scoring definition.
pub mod evaluator;
/// Evaluators in requests.
pub mod evaluator_request;
/// Evaluation rules.
pub mod evaluation_rule;
/// Ingestion batches.
pub mod ingestion;

#[cfg(test)]
mod tests;
