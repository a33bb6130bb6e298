//! Where commands work: in a data folder that they open themselves, or on a server.

/// A lock that shows whether a run is alive.
mod live_run;
mod scoring;

use ratchet_remote::ratchet::RatchetClient;
use ratchet_store::{Store, StoreResult};

pub use scoring::{JournalLocation, SEED, ScoringOptions, ScoringTarget, ScoringTargetError};

/// Where a command works.
#[derive(Clone, Debug)]
pub enum DataTarget {
    /// A data folder, locked until closed.
    Folder(Store),
    /// A Ratchet or Langfuse server.
    Server(RatchetClient),
}

impl DataTarget {
    /// Closes the data folder, if it is one.
    ///
    /// # Errors
    /// As [`Store::close`].
    pub async fn close(self) -> StoreResult<()> {
        match self {
            Self::Folder(store) => store.close().await,
            Self::Server(_) => Ok(()),
        }
    }
}
