use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;

use super::Catalog;
use super::sql::{Row, Tx};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// How many documents of one kind a project may have.
const MAX_DOCUMENTS: usize = 10_000;

/// What a document defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentKind {
    /// A page of charts.
    Dashboard,
    /// One chart.
    Widget,
    /// How to score, all versions of it.
    Evaluator,
    /// What to score, and with which evaluators.
    EvaluationRule,
}

impl DocumentKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Dashboard => "dashboard",
            Self::Widget => "widget",
            Self::Evaluator => "evaluator",
            Self::EvaluationRule => "evaluation rule",
        }
    }
}

/// A definition that is kept whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Names it among those of its kind in the project.
    pub id: String,
    /// What it says.
    pub body: Json,
    /// Since when.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A project's documents within one transaction.
#[derive(Debug)]
pub struct Documents<'tx> {
    tx: &'tx Tx<'tx>,
    project: &'tx ProjectId,
}

const COLUMNS: &str = "id, body, created_at, updated_at";

impl Catalog {
    /// Works with a project's documents in one transaction, of which nothing stays if it fails.
    ///
    /// # Errors
    /// Fails when the database does, or with what the work says.
    pub async fn with_documents<T: Send + 'static>(
        &self,
        project: ProjectId,
        work: impl FnOnce(&Documents<'_>) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.transact(move |tx| work(&Documents { tx, project: &project })).await
    }
}

impl Documents<'_> {
    /// Returns all documents of a kind, the last changed first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub fn all(&self, kind: DocumentKind) -> StoreResult<Vec<Document>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM document WHERE project = $1 AND kind = $2 \
             ORDER BY updated_at DESC, id"
        );
        self.tx.rows(&sql, &[self.project.into(), kind.as_str().into()], read)
    }

    /// Returns a document.
    ///
    /// # Errors
    /// Fails if the project has none of that id.
    pub fn find(&self, kind: DocumentKind, id: &str) -> StoreResult<Document> {
        let sql =
            format!("SELECT {COLUMNS} FROM document WHERE project = $1 AND kind = $2 AND id = $3");
        let values = [self.project.into(), kind.as_str().into(), id.into()];
        let found = self.tx.one(&sql, &values, read)?;
        found.ok_or_else(|| StoreError::NotFound(format!("{} {id}", kind.as_str())))
    }

    /// Keeps a document, new or again.
    ///
    /// # Errors
    /// Fails if the project has too many of that kind.
    pub fn keep(&self, kind: DocumentKind, document: &Document) -> StoreResult<()> {
        self.tx.execute(
            "INSERT INTO document (project, kind, id, body, created_at, updated_at) \
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (project, kind, id) \
             DO UPDATE SET body = excluded.body, updated_at = excluded.updated_at",
            &[
                self.project.into(),
                kind.as_str().into(),
                (&document.id).into(),
                (&document.body).into(),
                document.created_at.into(),
                document.updated_at.into(),
            ],
        )?;
        if self.all(kind)?.len() > MAX_DOCUMENTS {
            let what = format!("a project has at most {MAX_DOCUMENTS} of one kind");
            return Err(StoreError::BadQuery(what));
        }
        Ok(())
    }

    /// Removes a document.
    ///
    /// # Errors
    /// Fails if the project has none of that id.
    pub fn delete(&self, kind: DocumentKind, id: &str) -> StoreResult<()> {
        let sql = "DELETE FROM document WHERE project = $1 AND kind = $2 AND id = $3";
        match self.tx.execute(sql, &[self.project.into(), kind.as_str().into(), id.into()])? {
            0 => Err(StoreError::NotFound(format!("{} {id}", kind.as_str()))),
            _ => Ok(()),
        }
    }
}

fn read(row: &Row<'_>) -> StoreResult<Document> {
    Ok(Document {
        id: row.get(0)?,
        body: row.get(1)?,
        created_at: row.get(2)?,
        updated_at: row.get(3)?,
    })
}
