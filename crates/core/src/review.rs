//! Review: which traces and sessions people look at, and what their answers say of all of them.

/// Signal matrix: categories of traces by user feedback and judge.
pub mod category;
/// What each category teaches and what to do on a finding.
pub mod guide;
/// How many traces of each category are reviewed.
pub mod allocation;
/// Seeded sampling within strata.
pub mod sampler;
/// The weekly sample of sessions that people label by a rubric.
pub mod session_sample;
/// A week's draw: the facts that are stored with each item.
pub mod draw;
/// Estimates of a week from its reviewed sample.
pub mod estimate;
/// Weekly metrics with targets.
pub mod metrics;
/// A week's facts from its draws and answers.
pub mod week_facts;
/// The weekly metrics as a document.
pub mod weekly;
/// Rules for going back to offline experiments.
pub mod phase_rules;
/// What a split of the sample costs in precision and finds in failures.
pub mod rebalance;
/// Proposals for the next split, from the reviews of a quarter.
pub mod split_proposal;
/// Alerts about weekly metrics, once per change of state.
pub mod alerts;
