//! Experiments that Ratchet runs: targets, trials and the decisions of their runner.
//!
//! A target is an agent that can be called. A trial is one call of it with the input of one dataset
//! item; an item has as many trials as the run has repeats.

/// Target files.
pub mod target;
/// Which items of a dataset a run includes.
pub mod item_filter;
/// What a run is to do, and how far it is.
pub mod plan;
/// What a runner of trials and the keeper of their run tell each other.
pub mod runner;
/// Identifiers of trials and their traces.
pub mod trial;
/// Evaluators of trials.
pub mod evaluator;
/// Evaluators of whole runs.
pub mod run_evaluator;
/// What an agent did on its way to an answer.
pub mod trajectory;
/// A run as a whole: scores, latency, cost.
pub mod run_summary;
/// Two runs by each of their scores.
pub mod score_comparison;
/// Conversations with targets.
pub mod conversation;
