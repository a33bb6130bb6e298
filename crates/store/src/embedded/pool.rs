//! A pool of read connections, used from blocking threads.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};

use super::connection::{self, Purpose};
use super::{sqlite_code, sqlite_error};
use crate::blocking::{BlockingPool, Cancellation, Outcome, downcast};
use crate::{StoreError, StoreResult};

/// Query timeout: longer than a client is likely to wait.
const QUERY_TIMEOUT: Duration = Duration::from_secs(120);
/// SQLite VM instructions between two checks of the deadline: well under a millisecond.
const INSTRUCTIONS_PER_CHECK: i32 = 10_000;

/// A boxed query: the code around it is compiled once.
type Query = Box<dyn FnOnce(&Connection) -> StoreResult<Outcome> + Send>;

/// A pool of read connections to one database.
#[derive(Debug)]
pub(super) struct Pool {
    file: PathBuf,
    idle: Mutex<Vec<Connection>>,
    /// One thread per connection.
    threads: BlockingPool,
}

impl Pool {
    /// A pool of at most `size` connections, opened on demand.
    pub(super) fn new(file: PathBuf, size: usize) -> Self {
        Self { file, idle: Mutex::new(Vec::new()), threads: BlockingPool::new(size) }
    }

    /// Runs a query on a blocking thread, on one snapshot. It is interrupted when the caller drops
    /// the future.
    pub(super) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        query: impl FnOnce(&Connection) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.read_within(QUERY_TIMEOUT, query).await
    }

    /// Like `read`, with a time limit.
    pub(super) async fn read_within<T: Send + 'static>(
        self: &Arc<Self>,
        time: Duration,
        query: impl FnOnce(&Connection) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let query: Query = Box::new(move |db| query(db).map(|found| Box::new(found) as Outcome));
        downcast(self.ask(time, query).await?)
    }

    async fn ask(self: &Arc<Self>, time: Duration, query: Query) -> StoreResult<Outcome> {
        let pool = self.clone();
        let work = move |cancellation: Cancellation| {
            let mut db = pool.take()?;
            let started = Instant::now();
            let gives_up = move || cancellation.is_requested() || started.elapsed() >= time;
            db.progress_handler(INSTRUCTIONS_PER_CHECK, Some(gives_up))
                .map_err(|error| sqlite_error(&pool.file, error))?;
            let transaction = db.transaction().map_err(|error| sqlite_error(&pool.file, error))?;
            let answer = query(&transaction).map_err(interrupted);
            drop(transaction);
            // An interrupted query may still be inside its transaction.
            if db.is_autocommit()
                && let Ok(mut idle) = pool.idle.lock()
            {
                idle.push(db);
            }
            answer
        };
        self.threads.run_cancellable(work).await?
    }

    fn take(&self) -> StoreResult<Connection> {
        let idle = self.idle.lock().ok().and_then(|mut idle| idle.pop());
        idle.map_or_else(|| connection::open(&self.file, Purpose::Read), Ok)
    }
}

fn interrupted(error: StoreError) -> StoreError {
    match sqlite_code(&error) {
        Some(ErrorCode::OperationInterrupted) => StoreError::TooSlow,
        _ => error,
    }
}
