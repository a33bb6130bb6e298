//! The wire types of Langfuse's public API.
//!
//! Our server answers with them and a client of ours can read them back. Payloads are raw JSON
//! throughout: they pass through untouched, digit for digit. Views are made from the product's
//! records here, once, and nowhere else.

/// Raw JSON in and out of records.
pub mod json;
/// Times as text.
pub mod time;
/// Enums as words.
pub mod word;
/// Absent, null, or there.
pub mod maybe;
/// Reading JSON with errors that name the field.
pub mod read;
/// What is answered when something is wrong.
pub mod error;
/// Lists in numbered pages.
pub mod page;
/// Projects.
pub mod project;
/// Traces, from narrow to full.
pub mod trace;
/// Observations.
pub mod observation;
/// Observations, a group of fields at a time.
pub mod observation_v2;
/// Figures.
pub mod metrics;
/// Sessions.
pub mod session;
/// Scores, as read.
pub mod score;
/// Prompts.
pub mod prompt;
/// Skills.
pub mod skill;
/// Images, sounds and files.
pub mod media;
/// Annotation queues.
pub mod queue;
/// Comments.
pub mod comment;
/// What scores must look like.
pub mod score_config;
/// Datasets and their items.
pub mod dataset;
/// Runs over datasets.
pub mod dataset_run;
/// Experiments and their items.
pub mod experiment;
/// Models and what they cost.
pub mod model;
/// How models are reached.
pub mod llm_connection;
/// Projects, keys and people, as owners see them.
pub mod administration;
/// What users say about the product.
pub mod feedback;
/// Dashboards and the charts on them.
pub mod dashboard;
/// How to score.
pub mod evaluator;
/// The same, as it is asked for.
pub mod evaluator_request;
/// What to score, and with what.
pub mod evaluation_rule;
/// Batches of events, as sent.
pub mod ingestion;

#[cfg(test)]
mod tests;
