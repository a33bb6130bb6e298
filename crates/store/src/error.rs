use std::path::PathBuf;

use ratchet_core::size::bytes_text;

const DISK_FULL_ADVICE: &str =
    "delete traces, set a retention, run `ratchet compact`, or make the disk larger";

/// The result of a store operation.
pub type StoreResult<T> = Result<T, StoreError>;

/// An error of the store. Callers match on the variant to choose the HTTP status.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The write queue is full; the client should retry.
    #[error("the recording queue is full")]
    QueueFull,
    /// The store is shutting down.
    #[error("the store is shutting down")]
    Closing,
    /// The disk is full; nothing of this commit was stored.
    #[error("the disk is full; {DISK_FULL_ADVICE}")]
    DiskFull,
    /// Free disk space is down to the reserve for deleting and compacting.
    #[error("the disk is full up to its reserve: {} are free, and {} are kept free (disk.reserve); {DISK_FULL_ADVICE}", bytes_text(*free), bytes_text(*reserve))]
    DiskLow {
        free: u64,
        /// Bytes that recording leaves free.
        reserve: u64,
    },
    /// The folder or file cannot be written.
    #[error("{} cannot be written", .0.display())]
    ReadOnly(PathBuf),
    /// Another process holds the data folder.
    #[error("{} is in use by {holder}; stop it or choose another folder with --data", folder.display())]
    Locked {
        folder: PathBuf,
        /// The holder, as written in the lock file.
        holder: String,
    },
    /// A newer Ratchet wrote the database.
    #[error("{} has schema version {found}, newer than the {known} this ratchet knows; upgrade ratchet", file.display())]
    TooNew {
        file: PathBuf,
        found: u32,
        /// The newest version this binary knows.
        known: u32,
    },
    /// A database file is damaged.
    #[error("{} is damaged: {what}; restore a backup with `ratchet restore`", file.display())]
    Corrupt { file: PathBuf, what: String },
    /// A backup is damaged, foreign or too new.
    #[error("{0}")]
    Backup(String),
    /// A secret was encrypted with another key.
    #[error("a stored secret cannot be opened with {}; put the key back or set the secret again", .0.display())]
    Sealed(PathBuf),
    /// The operating system has no randomness.
    #[error("the system has no randomness: {0}")]
    Random(String),
    /// Settings of a project are invalid; nothing is recorded until they are fixed.
    #[error("{0}")]
    Unsettled(String),
    /// An invalid query: an unknown cursor, a filter on the wrong type.
    #[error("{0}")]
    BadQuery(String),
    /// The query exceeded its time limit.
    #[error("the query takes too long; use a shorter time range or a narrower filter")]
    TooSlow,
    /// Blocking work panicked; the message is that of the panic.
    #[error("internal error: {0}")]
    Panicked(String),
    /// The object exists already.
    #[error("{0} exists already")]
    Exists(String),
    /// The caller may not do it; somebody else may.
    #[error("{0}")]
    Denied(String),
    /// The current state forbids it.
    #[error("{0}")]
    Conflict(String),
    #[error("{0} not found")]
    NotFound(String),
    /// Any other failure of the database.
    #[error("the database failed")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Any other failure of a file.
    #[error("cannot {what} {}", path.display())]
    File {
        what: &'static str,
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

impl StoreError {
    pub(crate) fn database(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Database(Box::new(error))
    }

    /// The same error for another caller of a failed group commit; `None` if it concerns one batch
    /// only.
    pub(crate) fn again(&self) -> Option<Self> {
        match self {
            Self::DiskFull => Some(Self::DiskFull),
            Self::DiskLow { free, reserve } => {
                Some(Self::DiskLow { free: *free, reserve: *reserve })
            }
            Self::ReadOnly(path) => Some(Self::ReadOnly(path.clone())),
            _ => None,
        }
    }
}
