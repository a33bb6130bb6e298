//! The gate: whether a change to an agent may go on, decided on a run over a dataset.
//!
//! The unit is the item, never the trial: repeats of an item are averaged first, because they say
//! little about other items. Three verdicts (ADR 101): a change passes only where the bounds allow
//! no worse than the rule permits, and is blocked only where they show harm.

/// One-sided bounds of accuracy and of paired differences, over items.
pub mod bounds;
/// Corrections by people, applied to the same item in both runs.
pub mod correction;
/// Pinned items that must not fail.
pub mod critical;
/// The decision rule and its reasons.
pub mod decision;
/// Plain words for a decision, and what to try next.
pub mod explain;
/// Items that changed between two runs.
pub mod flip;
/// Exact McNemar test for one run each.
pub mod mcnemar;
/// Trials of items in a run.
pub mod outcomes;
/// What a gate can see before it runs: smallest detectable drop, cost.
pub mod plan;
/// Answers of earlier runs, which the evaluator of a gate judges again.
pub mod stored_answer;
/// A gate's result as it is stored, printed and served.
pub mod report;
/// Reports as JUnit XML and as Markdown.
pub mod format;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod replay;
