//! Storage: the only crate with SQL and database files.
//!
//! [`Store`] opens all of it. Two interfaces, because two kinds of data scale differently: [`telemetry::Telemetry`] is huge,
//! append-mostly and merged by id; [`catalog::Catalog`] is small, relational and transactional.

/// Errors of the store.
pub mod error;
/// Project ids: every query is limited to one project.
pub mod project;
/// Typed queries: filters, order and pagination.
pub mod query;
/// The live tail: the latest records in order of arrival.
pub mod live_tail;
/// Queries with a deadline.
pub mod deadline_query;
/// Observations and scores that belong to traces.
pub mod attached;
pub mod facets;
/// Streaming of one trace, slice by slice.
pub mod trace_stream;
/// Latency histograms with subtraction.
pub mod histogram;
/// Hourly sums of observations by dimension.
pub mod aggregate;
/// Metrics by dimension and time bucket.
pub mod metrics;
pub mod experiment;
/// Queries for end users of agents.
pub mod user;
/// Score statistics by name.
pub mod score_stats;
/// Signals of traces for review, and samples drawn by them.
pub mod review_signals;
/// Traces, observations, sessions and scores.
pub mod telemetry;
/// Token counts of model calls without usage.
pub mod token_count;
/// Traces that evaluators are yet to see.
pub mod evaluation;
/// Events of chats.
pub mod chat;
/// Projects, API keys, users, prompts, datasets and other small relational data.
pub mod catalog;
/// Files and folders that only their owner can read.
pub mod private_files;
/// Media files.
pub mod media;
/// The server's encryption key: signed links and encrypted secrets.
pub mod secrets;
/// Free disk space, and the reserve that recording leaves.
pub mod disk_reserve;
/// Backups of a data folder.
pub mod backup;
/// Checks of a data folder.
pub mod integrity;
mod store;
/// The embedded engine: SQLite in a data folder. Nothing outside this crate knows it.
mod embedded;
/// Blocking work off the async runtime.
pub mod blocking;
mod prices;
mod agent_aliases;
mod varint;

pub use error::{StoreError, StoreResult};
pub use store::{CompactReport, Store, StoreOptions, StoreStats};
