use std::path::PathBuf;

use ratchet_core::size::bytes_text;

/// What helps against a full disk.
const MAKE_ROOM: &str =
    "delete traces, set a retention, run `ratchet compact`, or make the disk larger";

/// The result of asking the store.
pub type StoreResult<T> = Result<T, StoreError>;

/// What can go wrong in the store. Callers match on the kind to know what to tell the client.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Too much is waiting to be written; the client should come back.
    #[error("the recording queue is full")]
    QueueFull,
    /// The store is closing and takes no more work.
    #[error("the store is shutting down")]
    Closing,
    /// The disk has no room; nothing of this commit was kept.
    #[error("the disk is full; {MAKE_ROOM}")]
    DiskFull,
    /// The disk has no more room than what is kept free for deleting and compacting.
    #[error("the disk is full up to its reserve: {} are free, and {} are kept free (disk.reserve); {MAKE_ROOM}", bytes_text(*free), bytes_text(*reserve))]
    DiskLow {
        /// Bytes that are free.
        free: u64,
        /// Bytes that recording leaves alone.
        reserve: u64,
    },
    /// The folder or file cannot be written.
    #[error("{} cannot be written", .0.display())]
    ReadOnly(PathBuf),
    /// Another process holds the data folder.
    #[error("{} is in use by {holder}; stop it or choose another folder with --data", folder.display())]
    Locked {
        folder: PathBuf,
        /// Who holds it, as that process wrote it into the lock file.
        holder: String,
    },
    /// The database was written by a newer Ratchet.
    #[error("{} has schema version {found}, newer than the {known} this ratchet knows; upgrade ratchet", file.display())]
    TooNew {
        file: PathBuf,
        found: u32,
        /// The newest this binary knows.
        known: u32,
    },
    /// A database file is damaged.
    #[error("{} is damaged: {what}; restore a backup with `ratchet restore`", file.display())]
    Corrupt { file: PathBuf, what: String },
    /// A backup is not whole, not ours, or too new.
    #[error("{0}")]
    Backup(String),
    /// A secret was sealed with another key.
    #[error("a stored secret cannot be opened with {}; put the key back or set the secret again", .0.display())]
    Sealed(PathBuf),
    /// The system gives no random bytes.
    #[error("the system gives no random bytes: {0}")]
    Random(String),
    /// What a project has settled cannot be followed; nothing may be recorded until it can.
    #[error("{0}")]
    Unsettled(String),
    /// The question makes no sense: an unknown cursor, a filter on the wrong type.
    #[error("{0}")]
    BadQuery(String),
    /// The answer takes longer to find than anyone may wait.
    #[error("finding the answer takes too long; ask about a shorter time, or for less")]
    TooSlow,
    /// What was to be made is there already.
    #[error("{0} exists already")]
    Exists(String),
    /// What was asked for is not there.
    #[error("{0} not found")]
    NotFound(String),
    /// Any other failure of the database.
    #[error("the database failed")]
    Database(#[source] rusqlite::Error),
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
    /// The same for one more of those whom it concerns; `None` if it was about one of them alone.
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
