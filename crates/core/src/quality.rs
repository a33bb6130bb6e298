//! Quality over time: labels, calibration, the weekly report and suggestions.

/// What a week of scored sessions says.
pub mod synthesis;
/// What could be changed so that the next is better.
pub mod suggestion;
/// Whether watching quality pays.
pub mod success_metrics;
/// What people say of sessions, to hold a judge against.
pub mod label;
/// How far a judge is to be trusted.
pub mod calibration;
/// What people are told of a week.
pub mod report;
/// What is added to the file of learnings.
pub mod learnings;
