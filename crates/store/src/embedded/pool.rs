//! Connections for reading, used from threads that may block.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};
use tokio::sync::Semaphore;

use super::connection::{self, Purpose};
use super::sqlite_error;
use crate::blocking::{Outcome, beside, unboxed};
use crate::{StoreError, StoreResult};

/// How long any question may take: longer than whoever asked is likely to wait.
const LONGEST: Duration = Duration::from_secs(120);
/// Steps of SQLite's machine between two looks at the clock: well under a millisecond.
const STEPS: i32 = 10_000;

/// A question to a database, boxed: how it is asked is compiled once for all of them.
type Query = Box<dyn FnOnce(&Connection) -> StoreResult<Outcome> + Send>;

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

    /// Runs a query on a thread that may block, all of it on one snapshot. It ends early when
    /// nobody waits for the answer any more.
    pub(super) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        query: impl FnOnce(&Connection) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.read_within(LONGEST, query).await
    }

    /// The same, refused as too slow after a time.
    pub(super) async fn read_within<T: Send + 'static>(
        self: &Arc<Self>,
        time: Duration,
        query: impl FnOnce(&Connection) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let query: Query = Box::new(move |db| query(db).map(|found| Box::new(found) as Outcome));
        unboxed(self.ask(time, query).await?)
    }

    async fn ask(self: &Arc<Self>, time: Duration, query: Query) -> StoreResult<Outcome> {
        let permit = self.permits.clone().acquire_owned().await;
        let pool = self.clone();
        let waiting = Waiting::default();
        let is_left = waiting.is_left.clone();
        let work = move || {
            let _permit = permit.map_err(|_| StoreError::Closing)?;
            let mut db = pool.take()?;
            let started = Instant::now();
            let gives_up = move || is_left.load(Ordering::Relaxed) || started.elapsed() >= time;
            db.progress_handler(STEPS, Some(gives_up))
                .map_err(|error| sqlite_error(&pool.file, error))?;
            let transaction = db.transaction().map_err(|error| sqlite_error(&pool.file, error))?;
            let answer = query(&transaction).map_err(interrupted);
            drop(transaction);
            // One that was interrupted may still be inside its transaction.
            if db.is_autocommit()
                && let Ok(mut idle) = pool.idle.lock()
            {
                idle.push(db);
            }
            answer
        };
        beside(work).await?
    }

    fn take(&self) -> StoreResult<Connection> {
        let idle = self.idle.lock().ok().and_then(|mut idle| idle.pop());
        idle.map_or_else(|| connection::open(&self.file, Purpose::Read), Ok)
    }
}

/// Whoever waits for an answer. A request whose client has gone is dropped while it waits.
#[derive(Debug, Default)]
struct Waiting {
    is_left: Arc<AtomicBool>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.is_left.store(true, Ordering::Relaxed);
    }
}

fn interrupted(error: StoreError) -> StoreError {
    match error {
        StoreError::Database(why)
            if why.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) =>
        {
            StoreError::TooSlow
        }
        other => other,
    }
}
