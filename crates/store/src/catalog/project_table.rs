//! The scaffold for what a project keeps in a table of its own: one way to find, list, page and
//! delete. What is one JSON document needs no table: see `document.rs`.

use super::sql::{Listing, Row, Tx};
use crate::project::ProjectId;
use crate::query::{Page, PageNumber};
use crate::{StoreError, StoreResult};

/// A table whose rows belong to projects. Its methods see one project's rows only.
#[derive(Debug)]
pub(super) struct ProjectTable<T> {
    name: &'static str,
    /// What errors call a row.
    noun: &'static str,
    columns: &'static str,
    read: fn(&Row<'_>) -> StoreResult<T>,
    /// The column that identifies a row within its project.
    key: &'static str,
    /// `ORDER BY` expressions; must leave no ties.
    order: &'static str,
}

impl<T> ProjectTable<T> {
    /// A table by its name and by what errors call a row. The key is `id`, and the newest row comes
    /// first.
    pub(super) const fn new(
        (name, noun): (&'static str, &'static str),
        columns: &'static str,
        read: fn(&Row<'_>) -> StoreResult<T>,
    ) -> Self {
        Self { name, noun, columns, read, key: "id", order: "created_at DESC, id" }
    }

    /// With another key.
    pub(super) const fn by(self, key: &'static str) -> Self {
        Self { key, ..self }
    }

    /// In another order.
    pub(super) const fn in_order(self, order: &'static str) -> Self {
        Self { order, ..self }
    }

    /// Returns the row with a key, if there is one.
    pub(super) fn find(
        &self,
        tx: &Tx<'_>,
        project: &ProjectId,
        key: &str,
    ) -> StoreResult<Option<T>> {
        self.find_by(tx, project, (self.key, key))
    }

    /// Returns the row with a value in another unique column, if there is one.
    pub(super) fn find_by(
        &self,
        tx: &Tx<'_>,
        project: &ProjectId,
        (column, value): (&'static str, &str),
    ) -> StoreResult<Option<T>> {
        let Self { columns, name, .. } = self;
        let sql = format!("SELECT {columns} FROM {name} WHERE project = $1 AND {column} = $2");
        tx.one(&sql, &[project.into(), value.into()], self.read)
    }

    /// Returns the row with a key, or an error that names it.
    pub(super) fn require(&self, tx: &Tx<'_>, project: &ProjectId, key: &str) -> StoreResult<T> {
        self.find(tx, project, key)?.ok_or_else(|| self.missing(key))
    }

    /// Returns all rows in order.
    pub(super) fn all(&self, tx: &Tx<'_>, project: &ProjectId) -> StoreResult<Vec<T>> {
        let Self { columns, name, order, .. } = self;
        let sql = format!("SELECT {columns} FROM {name} WHERE project = $1 ORDER BY {order}");
        tx.rows(&sql, &[project.into()], self.read)
    }

    /// Returns a page of the rows, and their number.
    pub(super) fn page(
        &self,
        tx: &Tx<'_>,
        project: &ProjectId,
        page: PageNumber,
    ) -> StoreResult<Page<T>> {
        let from = format!("FROM {} WHERE project = $1", self.name);
        let listing = Listing { columns: self.columns, from: &from, order: self.order };
        tx.page(listing, &[project.into()], page, self.read)
    }

    /// Deletes the row with a key, and returns what it was.
    pub(super) fn delete(&self, tx: &Tx<'_>, project: &ProjectId, key: &str) -> StoreResult<T> {
        let found = self.require(tx, project, key)?;
        let sql = format!("DELETE FROM {} WHERE project = $1 AND {} = $2", self.name, self.key);
        tx.execute(&sql, &[project.into(), key.into()])?;
        Ok(found)
    }

    /// The error for a key without a row.
    pub(super) fn missing(&self, key: &str) -> StoreError {
        StoreError::NotFound(format!("{} {key}", self.noun))
    }
}
