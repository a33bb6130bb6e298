//! The product, its stages in order. Each reads inputs, decides in `core`, and writes outputs.

/// An agent's work becomes a trace.
pub mod record;
/// Judges turn sessions into scores.
pub mod score;
/// Dashboards: metrics queries and stored charts.
pub mod dashboards;
/// Validation errors of requests.
pub mod validation;
pub mod chat;
/// Notifications by webhook and browser push.
pub mod notify;
/// Cases to try agents on are collected.
pub mod dataset_import;
/// Agents are run on the items of datasets.
pub mod experiment;
/// Models behind a project's connections.
pub mod llm_connections;
/// People mark sessions, and a judge is held against them.
pub mod review;
/// Decides whether a run may go on.
pub mod gate;
/// Versions of agents reach production, are watched there, and are taken back.
pub mod promote;
pub mod source;
pub mod sink;
/// The state that the API and the pages share.
pub mod app_state;
/// The clock: the only module that reads the system time.
pub mod clock;
/// Where commands work: a data folder or a server.
pub mod data_target;
/// Users' own prices, rubrics and prompts in a data folder.
pub mod user_files;
/// A week of scores becomes a report.
pub mod weekly_report;
pub mod schedule;
/// What to change, by a model or by templates.
pub mod improve;
