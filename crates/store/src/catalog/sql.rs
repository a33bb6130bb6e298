//! The SQL that SQLite and PostgreSQL share: parameters, columns, transactions.
//!
//! Statements use only TEXT, BIGINT and DOUBLE PRECISION, `$1`, `$2` … as parameters, and what both
//! databases understand. Booleans are 0 and 1, times are nanoseconds since 1970.

/// Parameter and column values.
mod value;
/// `WHERE` conditions.
mod conditions;
/// Which statements add content.
mod content;

use std::cell::Cell;
use std::path::Path;

use ratchet_core::record::redact::KnownSecrets;
use rusqlite::types::ValueRef;
use rusqlite::{ErrorCode, OptionalExtension, params_from_iter};

use super::Actor;
use crate::embedded::{sqlite_code, sqlite_error};
use crate::query::{Page, PageNumber};
use crate::{StoreError, StoreResult};

pub(crate) use conditions::{Conditions, contains};
pub(crate) use value::{FromColumn, Value};

/// The parts of a paginated SELECT.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listing<'sql> {
    pub(crate) columns: &'sql str,
    /// From `FROM` to the end of `WHERE`.
    pub(crate) from: &'sql str,
    /// `ORDER BY` expressions; must leave no ties.
    pub(crate) order: &'sql str,
}

/// A transaction. Rolled back unless its work succeeds.
#[derive(Debug)]
pub(crate) struct Tx<'db> {
    db: &'db rusqlite::Transaction<'db>,
    file: &'db Path,
    actor: &'db Actor,
    /// What no project may store, whatever its rules are.
    secrets: Option<&'db KnownSecrets>,
    /// Approximate bytes of content that its statements have added.
    added: &'db Cell<u64>,
}

/// A row of a result.
#[derive(Debug)]
pub(crate) struct Row<'row> {
    row: &'row rusqlite::Row<'row>,
    file: &'row Path,
}

impl<'db> Tx<'db> {
    pub(crate) fn new(
        db: &'db rusqlite::Transaction<'db>,
        file: &'db Path,
        added: &'db Cell<u64>,
    ) -> Self {
        Self { db, file, actor: &Actor::Server, secrets: None, added }
    }

    /// The same transaction on behalf of another actor.
    pub(crate) fn by<'short>(&'short self, actor: &'short Actor) -> Tx<'short> {
        let secrets = self.secrets;
        Tx { db: self.db, file: self.file, actor, secrets, added: self.added }
    }

    /// The same transaction, which knows secrets.
    pub(crate) fn knowing<'short>(&'short self, secrets: &'short KnownSecrets) -> Tx<'short> {
        let (actor, secrets) = (self.actor, Some(secrets));
        Tx { db: self.db, file: self.file, actor, secrets, added: self.added }
    }

    pub(crate) fn known_secrets(&self) -> KnownSecrets {
        self.secrets.cloned().unwrap_or_default()
    }

    pub(crate) fn actor(&self) -> &Actor {
        self.actor
    }

    /// Runs a statement and returns the number of affected rows.
    pub(crate) fn execute(&self, sql: &str, values: &[Value]) -> StoreResult<u64> {
        let run = || self.db.prepare_cached(&numbered(sql))?.execute(params_from_iter(values));
        let rows = run().map_err(|error| sqlite_error(self.file, error))?;
        self.added.set(self.added.get().saturating_add(content::added_by(sql, values)));
        Ok(u64::try_from(rows).unwrap_or(u64::MAX))
    }

    /// Inserts a row; a conflict is an error that names the given object.
    pub(crate) fn insert(
        &self,
        sql: &str,
        values: &[Value],
        exists: impl FnOnce() -> String,
    ) -> StoreResult<()> {
        match self.execute(sql, values) {
            Err(error) if sqlite_code(&error) == Some(ErrorCode::ConstraintViolation) => {
                Err(StoreError::Exists(exists()))
            }
            other => other.map(drop),
        }
    }

    /// Returns all rows of a result.
    pub(crate) fn rows<T>(
        &self,
        sql: &str,
        values: &[Value],
        read: impl Fn(&Row<'_>) -> StoreResult<T>,
    ) -> StoreResult<Vec<T>> {
        let failed = |error| sqlite_error(self.file, error);
        let mut statement = self.db.prepare_cached(&numbered(sql)).map_err(failed)?;
        let mut answer = statement.query(params_from_iter(values)).map_err(failed)?;
        let mut rows = Vec::new();
        while let Some(row) = answer.next().map_err(failed)? {
            rows.push(read(&Row { row, file: self.file })?);
        }
        Ok(rows)
    }

    /// Returns the first row of a result, if any.
    pub(crate) fn one<T>(
        &self,
        sql: &str,
        values: &[Value],
        read: impl FnOnce(&Row<'_>) -> StoreResult<T>,
    ) -> StoreResult<Option<T>> {
        let failed = |error| sqlite_error(self.file, error);
        let mut statement = self.db.prepare_cached(&numbered(sql)).map_err(failed)?;
        let first = |row: &rusqlite::Row<'_>| Ok(read(&Row { row, file: self.file }));
        let found = statement.query_row(params_from_iter(values), first).optional();
        found.map_err(failed)?.transpose()
    }

    /// Returns whether a query has any row.
    pub(crate) fn exists(&self, sql: &str, values: &[Value]) -> StoreResult<bool> {
        Ok(self.one(sql, values, |_| Ok(()))?.is_some())
    }

    /// Returns one page of a list, and the total number of rows.
    pub(crate) fn page<T>(
        &self,
        listing: Listing<'_>,
        values: &[Value],
        page: PageNumber,
        read: impl Fn(&Row<'_>) -> StoreResult<T>,
    ) -> StoreResult<Page<T>> {
        let Listing { columns, from, order } = listing;
        let count = format!("SELECT COUNT(*) {from}");
        let total = self.one(&count, values, |row| row.get(0))?;
        let (limit, offset) = (values.len() + 1, values.len() + 2);
        let select =
            format!("SELECT {columns} {from} ORDER BY {order} LIMIT ${limit} OFFSET ${offset}");
        let mut all = values.to_vec();
        all.extend([Value::from(page.limit), Value::from(page.offset())]);
        let rows = self.rows(&select, &all, read)?;
        Ok(Page { rows, total, cursor: None })
    }

    /// Returns the first rows of a list, and the cursor behind the last one if there are more. The
    /// condition that a cursor stands for is part of the listing.
    pub(crate) fn page_behind<T>(
        &self,
        listing: Listing<'_>,
        (mut values, limit): (Vec<Value>, u64),
        read: impl Fn(&Row<'_>) -> StoreResult<T>,
        cursor: impl Fn(&T) -> String,
    ) -> StoreResult<Page<T>> {
        let Listing { columns, from, order } = listing;
        // One extra row reveals whether there is a next page.
        values.push(limit.saturating_add(1).into());
        let last = values.len();
        let sql = format!("SELECT {columns} {from} ORDER BY {order} LIMIT ${last}");
        let mut rows = self.rows(&sql, &values, read)?;
        let goes_on = rows.len() as u64 > limit;
        rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        let cursor = rows.last().filter(|_| goes_on).map(cursor);
        Ok(Page { rows, total: None, cursor })
    }
}

/// SQLite numbers `$2` by position and `?2` by value; PostgreSQL only knows `$2`.
fn numbered(sql: &str) -> String {
    sql.replace('$', "?")
}

impl Row<'_> {
    pub(crate) fn get<T: FromColumn>(&self, column: usize) -> StoreResult<T> {
        let value = match self.row.get_ref(column).map_err(StoreError::database)? {
            ValueRef::Null => Some(Value::Null),
            ValueRef::Integer(number) => Some(Value::Whole(number)),
            ValueRef::Real(number) => Some(Value::Real(number)),
            ValueRef::Text(_) => self.row.get(column).ok().map(Value::Text),
            ValueRef::Blob(_) => None,
        };
        value.and_then(T::from_column).ok_or_else(|| {
            let what = format!("column {column} of a row has an unexpected type");
            StoreError::Corrupt { file: self.file.to_owned(), what }
        })
    }
}
