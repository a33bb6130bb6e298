//! Opens database connections; nothing else does.

use std::io;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::sqlite_error;
use crate::{StoreError, StoreResult, private_files};

/// Whether a connection reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Write,
    Read,
}

/// Busy timeout for locks held by other connections.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Prepared statements cached per connection.
const CACHED_STATEMENTS: usize = 128;

/// Opens a database with the pragmas that durability and speed depend on.
pub(super) fn open(file: &Path, purpose: Purpose) -> StoreResult<Connection> {
    let failed = |error| sqlite_error(file, error);
    if purpose == Purpose::Write {
        make_private(file)?;
    }
    let flags = match purpose {
        Purpose::Write => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        Purpose::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
    };
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags).map_err(failed)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    let settings = match purpose {
        // Vacuum mode only takes effect on a new file. FULL: a commit is on disk when it returns. A
        // larger WAL before each checkpoint means fewer pages written twice.
        Purpose::Write => {
            "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;
             PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;
             PRAGMA cache_size = -65536; PRAGMA wal_autocheckpoint = 4000;
             PRAGMA journal_size_limit = 134217728;"
        }
        Purpose::Read => {
            "PRAGMA query_only = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192;"
        }
    };
    connection.execute_batch(settings).map_err(failed)?;
    super::function::register_functions(&connection).map_err(failed)?;
    Ok(connection)
}

/// SQLite would create files readable for others; WAL and index inherit the file's permissions.
fn make_private(file: &Path) -> StoreResult<()> {
    private_files::ensure_file(file).map_err(|source| match source.kind() {
        io::ErrorKind::StorageFull => StoreError::DiskFull,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            StoreError::ReadOnly(file.to_owned())
        }
        _ => StoreError::File { what: "make", path: file.to_owned(), source },
    })
}

/// SQL of a forward-only migration.
pub(super) type Migration = &'static str;

/// Runs pending migrations, each in its own transaction.
pub(super) fn migrate(db: &mut Connection, file: &Path, steps: &[Migration]) -> StoreResult<()> {
    let failed = |error| sqlite_error(file, error);
    let found = version(db).map_err(failed)?;
    let known = u32::try_from(steps.len()).unwrap_or(u32::MAX);
    if found > known {
        return Err(StoreError::TooNew { file: file.to_owned(), found, known });
    }
    for (step, to) in steps.iter().zip(1u32..).skip(found as usize) {
        let immediate = TransactionBehavior::Immediate;
        let transaction = db.transaction_with_behavior(immediate).map_err(failed)?;
        // Another process may have run the migration while this one waited for the lock.
        if version(&transaction).map_err(failed)? >= to {
            continue;
        }
        transaction.execute_batch(step).map_err(failed)?;
        transaction.pragma_update(None, "user_version", to).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        tracing::debug!(file = %file.display(), version = to, "migrated the database");
    }
    // A new database has nothing that was migrated.
    if found > 0 && found < known {
        tracing::info!(file = %file.display(), from = found, to = known, "migrated the database");
    }
    Ok(())
}

/// Schema version of a database.
pub(super) fn version(db: &Connection) -> rusqlite::Result<u32> {
    db.query_row("PRAGMA user_version", [], |row| row.get(0))
}
