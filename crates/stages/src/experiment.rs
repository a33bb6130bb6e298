//! Experiments: an agent is run on the items of a dataset.
//!
//! The plan and the trials of a run are in the catalog (`service`), the trials as jobs of the one
//! queue. A runner claims them from a data folder or a server (`host`), calls the target where the
//! runner was started (`target`), has the answers evaluated (`evaluators`) and reports the results
//! (`runner`). Each trial is a trace, an item of the dataset run, and scores.

/// Runs and trials in the catalog; traces and scores of results.
pub mod service;
/// The trials of a run: those it starts with, and those of its extensions.
mod planned_trials;
/// Runs of other clients, read from what they recorded.
mod recorded_runs;
/// Lists of runs.
mod run_list;
/// Scores of runs as a whole.
mod run_scores;
/// Runs and trials as the API shows them.
mod views;
/// The ends of trials.
mod finished_trials;
/// What a result leaves behind: trace, run item and scores.
mod records;
/// Where a runner gets trials from: a data folder or a server.
pub mod site;
/// The runner.
pub mod runner;
/// Ids of runners.
pub mod runner_id;
/// Calls of targets.
pub mod target;
/// Verdicts on answers.
pub mod evaluators;
/// Targets that a server can run by itself.
pub mod server_targets;
/// The worker of a server that runs them.
pub mod worker;
/// People talk to targets.
pub mod target_chat;
/// What the items of an agent's datasets do not cover yet.
pub mod coverage;

pub(crate) use records::{EVALUATOR_VERSION, JUDGE_COST, RUN_NAME, metadata};
