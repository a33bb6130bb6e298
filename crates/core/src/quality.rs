//! Quality over time: labels, calibration, the weekly report and suggestions.

/// Labels: ground-truth scores that people gave to sessions.
pub mod label;
/// Calibration: agreement between judge and human labels, and drift of a judge.
pub mod calibration;
/// Synthesis: aggregates, outliers and issues of one week of scored sessions.
pub mod synthesis;
/// Suggestions for improvement, with evidence and expected impact.
pub mod suggestion;
/// Success metrics of quality monitoring, with their targets.
pub mod success_metrics;
/// The weekly report as a document.
pub mod report;
/// Entries for the learnings file.
pub mod learnings;
