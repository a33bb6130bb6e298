//! The behaviour suite that every store engine must pass.
//!
//! A behaviour is a function that gets an empty store. `check` runs a list of them, each on a new
//! store, and fails with the names of those that failed.

/// Patches of one record merge, in any order.
pub mod merging;
/// Sums over traces and sessions.
pub mod summaries;
pub mod paging;
/// Queries with a deadline, and the live tail.
pub mod seeking;
pub mod filters;
/// End users of agents.
pub mod users;
pub mod scores;
/// Score statistics by name, and pairs.
pub mod judgements;
pub mod experiments;
pub mod chats;
pub mod search;
/// Sums by hour and dimension.
pub mod aggregates;
/// Metrics by dimension and time bucket.
pub mod metrics;
pub mod retention;
pub mod borders;
/// The job queue, model-checked.
pub mod jobs;
/// Property tests: random patches, compared with the reference store.
pub mod random;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;

use ratchet_store::telemetry::Telemetry;
use tokio::runtime::{Builder, Runtime};

/// An empty store, and what must live as long as it does.
pub struct Fresh {
    pub store: Telemetry,
    /// Its folder, its server …
    pub keep: Box<dyn Any>,
}

/// A behaviour: its name and its test function.
pub type Behaviour = (&'static str, fn(Telemetry) -> Pin<Box<dyn Future<Output = ()>>>);

/// Runs behaviours, each on a new store, and fails if any does.
#[track_caller]
pub fn check(open: fn() -> Fresh, behaviours: &[Behaviour]) {
    let runtime = runtime();
    let holds = |behaviour: &&Behaviour| {
        let (_, show) = behaviour;
        let fresh = open();
        let shown = catch_unwind(AssertUnwindSafe(|| runtime.block_on(show(fresh.store.clone()))));
        drop(fresh);
        shown.is_err()
    };
    let broken: Vec<_> = behaviours.iter().filter(holds).map(|(name, _)| *name).collect();
    assert!(broken.is_empty(), "{} of {} do not hold: {broken:#?}", broken.len(), behaviours.len());
}

/// A runtime for one test.
pub fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}
