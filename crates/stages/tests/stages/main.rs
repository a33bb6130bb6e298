//! Stages as their callers see them, on a real store and with real processes.
#![expect(clippy::unwrap_used, reason = "a broken expectation must stop the test")]

/// What the tests of chats share.
mod talk;
/// Chats with a scripted program.
mod chats;
/// Recovery of transcript lines that were not recorded.
mod recovery;
mod slots;
/// Many chats, many clients, bad connections.
mod crowd;
/// Chats with the real program.
mod real;
/// Notifications.
mod notices;
/// The weekly draw and the metrics of its reviews.
mod weekly_review;
/// Promotions: deployments, the watch, and the way back.
mod promotions;
/// Alerts about the weekly review.
mod review_alerts;
/// Weekly documents and their channels.
mod publications;
/// False-alarm rates of reports.
mod alarm_rates;
/// Coverage of the intervals of reports.
mod interval_coverage;
/// Runs of schedules, from the claim to the result.
mod schedules;
/// Panels that tell whether a judge drifts.
mod panels;
/// Traces are judged as they arrive.
mod evaluators;
/// Runs of experiments and decisions of gates on them, without processes.
mod gates;
/// Runs with long items, or with many.
mod long_runs;
