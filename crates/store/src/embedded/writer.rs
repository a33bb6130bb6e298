//! The writer thread. All queued batches go into one transaction and are acknowledged after the
//! commit (group commit): fast under light load, many rows per commit under heavy load, and always
//! on disk before the acknowledgement.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use ratchet_core::record::price::PriceTable;
use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::oneshot;

use super::apply::{Applier, WriterCache};
use super::evaluation_outbox::EvaluatedProjects;
use super::prepare::Prepared;
use super::{compact, sqlite_error};
use crate::disk_reserve::{DiskMonitor, DiskSpace};
use crate::live_tail::Log;
use crate::{StoreError, StoreResult};

/// Maximum bytes in the queue; beyond it, writes are rejected.
const MAX_WAITING_BYTES: usize = 256 * 1024 * 1024;
/// A transaction is committed once it has this many bytes of compressed payloads and rows.
const MAX_GROUP_BYTES: usize = 16 * 1024 * 1024;

type Task = Box<dyn FnOnce(&mut Writer) + Send>;

enum Job {
    Commit(Prepared, oneshot::Sender<StoreResult<()>>),
    Task(Task),
}

/// Metrics of the writer.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) waiting: AtomicU64,
    waiting_bytes: AtomicUsize,
    pub(super) commits: AtomicU64,
    pub(super) observations: AtomicU64,
    pub(super) outdated: AtomicU64,
    /// Size of the last write that did not fit on the disk.
    pub(super) refused_bytes: AtomicU64,
}

/// The handle to the writer thread, which ends when the last handle is dropped and the queue is
/// empty.
#[derive(Debug)]
pub(super) struct WriterHandle {
    queue: Mutex<Option<SyncSender<Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    pub(super) counters: Arc<Counters>,
    pub(super) arrivals: Arc<Mutex<Log>>,
}

pub(super) struct Writer {
    pub(super) db: Connection,
    pub(super) file: PathBuf,
    pub(super) prices: Arc<PriceTable>,
    evaluated: EvaluatedProjects,
    memory: WriterCache,
    counters: Arc<Counters>,
    arrivals: Arc<Mutex<Log>>,
    room: DiskMonitor,
}

impl WriterHandle {
    pub(super) fn start(
        (db, file): (Connection, PathBuf),
        (prices, evaluated): (Arc<PriceTable>, EvaluatedProjects),
        (queue_len, room): (usize, DiskMonitor),
    ) -> StoreResult<Self> {
        let counters = Arc::new(Counters::default());
        let arrivals = Arc::new(Mutex::new(Log::default()));
        let (queue, inbox) = sync_channel(queue_len);
        let mut writer = Writer {
            db,
            file: file.clone(),
            prices,
            evaluated,
            memory: WriterCache::default(),
            counters: counters.clone(),
            arrivals: arrivals.clone(),
            room,
        };
        let thread = std::thread::Builder::new()
            .name("ratchet-writer".to_owned())
            .spawn(move || writer.run(&inbox))
            .map_err(|source| StoreError::File {
                what: "start a writer for",
                path: file,
                source,
            })?;
        let (queue, thread) = (Mutex::new(Some(queue)), Mutex::new(Some(thread)));
        Ok(Self { queue, thread, counters, arrivals })
    }

    /// Queues a batch and waits until it is on disk.
    pub(super) async fn commit(&self, prepared: Prepared) -> StoreResult<()> {
        let weight = prepared.weight;
        let waiting = self.counters.waiting_bytes.fetch_add(weight, Ordering::Relaxed);
        let (reply, answer) = oneshot::channel();
        let sent = if waiting > MAX_WAITING_BYTES {
            Err(StoreError::QueueFull)
        } else {
            self.send(Job::Commit(prepared, reply))
        };
        if let Err(error) = sent {
            self.counters.waiting_bytes.fetch_sub(weight, Ordering::Relaxed);
            return Err(error);
        }
        answer.await.unwrap_or(Err(StoreError::Closing))
    }

    /// Runs a task on the writer thread between transactions, and waits for it.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        task: impl FnOnce(&mut Writer) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let (reply, answer) = oneshot::channel();
        self.send(Job::Task(Box::new(move |writer| {
            // The caller may have stopped waiting: the work is done either way.
            drop(reply.send(task(writer)));
        })))?;
        answer.await.unwrap_or(Err(StoreError::Closing))
    }

    fn send(&self, job: Job) -> StoreResult<()> {
        let queue = self.queue.lock().map_err(|_| StoreError::Closing)?;
        let queue = queue.as_ref().ok_or(StoreError::Closing)?;
        self.counters.waiting.fetch_add(1, Ordering::Relaxed);
        queue.try_send(job).map_err(|error| {
            self.counters.waiting.fetch_sub(1, Ordering::Relaxed);
            match error {
                TrySendError::Full(_) => StoreError::QueueFull,
                TrySendError::Disconnected(_) => StoreError::Closing,
            }
        })
    }

    /// Rejects new work, finishes what is queued and joins the thread.
    pub(super) fn close(&self) {
        let queue = self.queue.lock().ok().and_then(|mut queue| queue.take());
        drop(queue);
        let thread = self.thread.lock().ok().and_then(|mut thread| thread.take());
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the writer thread ended with a panic");
        }
    }
}

impl Drop for WriterHandle {
    fn drop(&mut self) {
        self.close();
    }
}

struct Group {
    batches: Vec<(Prepared, oneshot::Sender<StoreResult<()>>)>,
    weight: usize,
}

impl Writer {
    fn run(&mut self, inbox: &Receiver<Job>) {
        while let Ok(job) = inbox.recv() {
            let mut group = Group { batches: Vec::new(), weight: 0 };
            let mut task = group.take(job);
            while task.is_none() && group.weight < MAX_GROUP_BYTES {
                let Ok(job) = inbox.try_recv() else { break };
                task = group.take(job);
            }
            let jobs = group.batches.len() + usize::from(task.is_some());
            self.counters.waiting.fetch_sub(jobs as u64, Ordering::Relaxed);
            self.counters.waiting_bytes.fetch_sub(group.weight, Ordering::Relaxed);
            self.commit(group);
            if let Some(task) = task {
                // Deletion and compaction may use the whole reserve.
                self.checkpoint_if_low(0);
                task(self);
            }
        }
    }

    /// Commits a group. If it fails for a reason that may be one batch's, each batch is tried
    /// alone.
    fn commit(&mut self, group: Group) {
        if group.batches.is_empty() {
            return;
        }
        let room = self.check_free_space(group.weight);
        let outcome = room.and_then(|()| self.write(group.batches.iter().map(|(batch, _)| batch)));
        let is_shared_fate =
            group.batches.len() == 1 || !matches!(outcome, Err(StoreError::Database(_)));
        if is_shared_fate {
            let mut next = outcome;
            for (_, reply) in group.batches {
                let again = match &next {
                    Ok(()) => Ok(()),
                    Err(error) => Err(error.again().unwrap_or(StoreError::Closing)),
                };
                drop(reply.send(std::mem::replace(&mut next, again)));
            }
            return;
        }
        for (batch, reply) in group.batches {
            drop(reply.send(self.write(std::iter::once(&batch))));
        }
    }

    /// Rejects a write that would use the disk reserve.
    fn check_free_space(&mut self, weight: usize) -> StoreResult<()> {
        // Data is written twice: to the WAL, then from the WAL to the database.
        let wanted = (weight as u64).saturating_mul(2);
        let checked = self.checkpoint_if_low(wanted).map_or(Ok(()), |space| space.check(wanted));
        let refused = if checked.is_err() { wanted } else { 0 };
        self.counters.refused_bytes.store(refused, Ordering::Relaxed);
        checked
    }

    /// Checkpoints and truncates the WAL if the disk would have less than its reserve after growing
    /// by so many bytes and by the WAL's size. Returns the free space.
    fn checkpoint_if_low(&mut self, wanted: u64) -> Option<DiskSpace> {
        let space = self.room.free_space()?;
        let log = compact::log_bytes(&self.file);
        if space.check(log.saturating_add(wanted)).is_ok() {
            return Some(space);
        }
        if log > 0
            && let Err(error) = compact::checkpoint_soon(self)
        {
            tracing::warn!(error.cause = %error, "cannot checkpoint the WAL to free disk space");
        }
        self.room.free_space()
    }

    /// Free space, which limits the pages that one compaction slice may move.
    pub(super) fn free_bytes(&self) -> Option<DiskSpace> {
        self.room.free_space()
    }

    fn write<'a>(
        &mut self,
        batches: impl Iterator<Item = &'a Prepared> + Clone,
    ) -> StoreResult<()> {
        let mut observations = 0;
        self.transact(|applier| {
            for batch in batches.clone() {
                applier.apply(batch)?;
                observations += batch.len();
            }
            Ok(())
        })?;
        self.counters.observations.fetch_add(observations as u64, Ordering::Relaxed);
        // The log stays consistent after a panic in another thread: it is append-only.
        let mut arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        for batch in batches {
            arrivals.add(batch.project.clone(), batch.arrivals());
        }
        Ok(())
    }

    /// Clears cached numbers of projects and terms, because they may have been reassigned.
    pub(super) fn forget_numbers(&mut self) {
        self.memory = WriterCache::default();
    }

    /// Runs changes in one transaction, which is rolled back if they fail.
    pub(super) fn transact<T>(
        &mut self,
        changes: impl FnOnce(&mut Applier<'_>) -> rusqlite::Result<T>,
    ) -> StoreResult<T> {
        let outcome = self.try_transact(changes);
        match &outcome {
            Ok(_) => {
                self.counters.commits.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => {
                // Cached state may have been rolled back.
                self.memory = WriterCache::default();
                tracing::error!(%error, "cannot write to the store");
            }
        }
        outcome.map_err(|error| sqlite_error(&self.file, error))
    }

    fn try_transact<T>(
        &mut self,
        changes: impl FnOnce(&mut Applier<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut applier = Applier::new(&transaction, &mut self.memory, Arc::clone(&self.prices));
        applier.evaluated = self.evaluated.current();
        let value = changes(&mut applier)?;
        let outdated = applier.finish()?;
        transaction.commit()?;
        self.counters.outdated.fetch_add(outdated as u64, Ordering::Relaxed);
        Ok(value)
    }
}

impl Group {
    /// Adds a batch to the group, or returns a task: tasks wait until the group is committed.
    fn take(&mut self, job: Job) -> Option<Task> {
        match job {
            Job::Task(task) => Some(task),
            Job::Commit(batch, reply) => {
                self.weight += batch.weight;
                self.batches.push((batch, reply));
                None
            }
        }
    }
}
