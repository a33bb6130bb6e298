//! Durable truth. The only crate that knows SQL and files.
//!
//! Two small interfaces, because two kinds of data scale differently: [`telemetry::Telemetry`] is
//! huge, append-mostly and merged by id; [`catalog::Catalog`] is small, relational and
//! transactional.

/// What can go wrong, and whose fault it is.
pub mod error;
/// Which project: the border no query crosses.
pub mod project;
/// Questions to the store, as types.
pub mod query;
/// What came in last, for whoever looks on.
pub mod live_tail;
/// Lists that are looked for within a time.
pub mod deadline_query;
/// What hangs on traces, by id and in numbers.
pub mod attached;
/// All that hangs on one trace, slice by slice.
pub mod trace_stream;
/// How long things took, in a form that can be subtracted.
pub mod histogram;
/// Sums by hour and by dimension.
pub mod aggregate;
/// Figures by dimension and step of time.
pub mod metrics;
/// Questions about experiments.
pub mod experiment;
/// Questions about the users that agents served.
pub mod user;
/// Questions about scores by name.
pub mod score_stats;
/// Traces, observations, sessions and scores.
pub mod telemetry;
/// Tokens that are counted after recording.
pub mod token_count;
/// What chat agents said.
pub mod chat;
/// Projects, keys and people.
pub mod catalog;
/// Files that only their owner can read.
pub mod private_files;
/// The bytes of media.
pub mod media;
/// The server's own key: signed links and sealed texts.
pub mod secrets;
/// SQLite in one folder.
pub mod embedded;
/// Work on threads that may block.
mod blocking;
mod prices;
mod varint;

pub use error::{StoreError, StoreResult};
