//! The product, its stages in order. Each reads inputs, decides in `core`, and writes outputs.

/// An agent's work becomes a trace.
pub mod record;
/// Judges turn sessions into scores.
pub mod score;
/// People look at figures, and keep their questions on dashboards.
pub mod look;
/// What is wrong with what someone sent.
pub mod checks;
/// People talk to agents.
pub mod major;
/// People who are not looking are told.
pub mod notify;
/// Cases to try agents on are collected.
pub mod collect;
/// Models behind a project's connections.
pub mod connect;
/// People mark sessions, and a judge is held against them.
pub mod trust;
/// Where stages read from.
pub mod source;
/// Where stages write to.
pub mod sink;
/// A week of scores becomes a report.
pub mod week;
/// What runs by itself.
pub mod schedule;
