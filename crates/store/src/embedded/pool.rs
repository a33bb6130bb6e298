//! Connections for reading, used from threads that may block.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::connection::{self, Purpose};
use super::sqlite_error;
use crate::{StoreError, StoreResult};

/// A pool of reading connections to one database.
#[derive(Debug)]
pub(super) struct Pool {
    file: PathBuf,
    idle: Mutex<Vec<Connection>>,
    /// As many permits as connections may be open.
    permits: Arc<Semaphore>,
}

impl Pool {
    /// A pool of at most so many connections, opened as they are needed.
    pub(super) fn new(file: PathBuf, size: usize) -> Self {
        let permits = Arc::new(Semaphore::new(size.max(1)));
        Self { file, idle: Mutex::new(Vec::new()), permits }
    }

    /// Runs a query on a thread that may block, all of it on one snapshot.
    pub(super) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        query: impl FnOnce(&Connection) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let permit = self.permits.clone().acquire_owned().await;
        let pool = self.clone();
        let work = move || {
            let _permit = permit.map_err(|_| StoreError::Closing)?;
            let mut db = pool.take()?;
            let transaction = db.transaction().map_err(|error| sqlite_error(&pool.file, error))?;
            let answer = query(&transaction);
            drop(transaction);
            if let Ok(mut idle) = pool.idle.lock() {
                idle.push(db);
            }
            answer
        };
        tokio::task::spawn_blocking(work).await.unwrap_or(Err(StoreError::Closing))
    }

    fn take(&self) -> StoreResult<Connection> {
        let idle = self.idle.lock().ok().and_then(|mut idle| idle.pop());
        idle.map_or_else(|| connection::open(&self.file, Purpose::Read), Ok)
    }
}
