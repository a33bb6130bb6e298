use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;

use super::llm_connection::{self, LlmConnection};
use super::sql::{Listing, Row, Tx, Value};
use super::{AuditAction, AuditObject, Catalog};
use crate::project::ProjectId;
use crate::query::{Page, Paging};
use crate::{StoreError, StoreResult};

/// Maximum number of documents of one kind in a project.
const MAX_DOCUMENTS: u64 = 10_000;

/// The kind of a catalog document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentKind {
    Dashboard,
    Widget,
    /// An evaluator with all its versions.
    Evaluator,
    /// Which evaluators score which traces.
    EvaluationRule,
}

impl DocumentKind {
    const fn as_str(self) -> &'static str {
        self.noun().as_str()
    }

    /// The noun for the audit log.
    const fn noun(self) -> AuditObject {
        match self {
            Self::Dashboard => AuditObject::Dashboard,
            Self::Widget => AuditObject::Widget,
            Self::Evaluator => AuditObject::Evaluator,
            Self::EvaluationRule => AuditObject::EvaluationRule,
        }
    }
}

/// A definition stored as a whole JSON document.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Unique within project and kind.
    pub id: String,
    pub body: Json,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A project's documents within one transaction.
#[derive(Debug)]
pub struct Documents<'tx> {
    tx: &'tx Tx<'tx>,
    project: &'tx ProjectId,
}

const COLUMNS: &str = "id, body, created_at, updated_at";
const FROM: &str = "FROM document WHERE project = $1 AND kind = $2";
const LAST_CHANGED_FIRST: &str = "updated_at DESC, id";

impl Catalog {
    /// Runs work on a project's documents in one transaction, which is rolled back if the work
    /// fails.
    ///
    /// Read, validate and save a document in the same transaction: between two transactions another
    /// client may have changed it.
    ///
    /// # Errors
    /// Fails when the database does, or with the error of the work.
    pub async fn with_documents<T, E>(
        &self,
        project: ProjectId,
        work: impl FnOnce(&Documents<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.transact_or_refuse(move |tx| work(&Documents { tx, project: &project })).await
    }
}

impl Documents<'_> {
    /// Returns all documents of a kind, last changed first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub fn all(&self, kind: DocumentKind) -> StoreResult<Vec<Document>> {
        let sql = format!("SELECT {COLUMNS} {FROM} ORDER BY {LAST_CHANGED_FIRST}");
        self.tx.rows(&sql, &self.of_kind(kind), read)
    }

    /// Returns a page of documents of a kind, last changed first.
    ///
    /// # Errors
    /// Fails if the cursor is malformed.
    pub fn page(&self, kind: DocumentKind, paging: Paging) -> StoreResult<Page<Document>> {
        let values = self.of_kind(kind);
        match paging {
            Paging::Numbered(page) => {
                let listing = Listing { columns: COLUMNS, from: FROM, order: LAST_CHANGED_FIRST };
                self.tx.page(listing, &values, page, read)
            }
            Paging::After { cursor, limit } => self.behind(values.to_vec(), cursor, limit),
        }
    }

    fn behind(
        &self,
        mut values: Vec<Value>,
        cursor: Option<String>,
        limit: u64,
    ) -> StoreResult<Page<Document>> {
        let mut from = FROM.to_owned();
        if let Some(cursor) = cursor {
            let (updated_at, id) = parse_cursor(&cursor)?;
            values.extend([updated_at.into(), id.into()]);
            from.push_str(" AND (updated_at < $3 OR (updated_at = $3 AND id > $4))");
        }
        let listing = Listing { columns: COLUMNS, from: &from, order: LAST_CHANGED_FIRST };
        self.tx.page_behind(listing, (values, limit), read, cursor_behind)
    }

    /// Returns a document.
    ///
    /// # Errors
    /// Fails if the project has no document with that id.
    pub fn find(&self, kind: DocumentKind, id: &str) -> StoreResult<Document> {
        let sql = format!("SELECT {COLUMNS} {FROM} AND id = $3");
        let values = [self.project.into(), kind.as_str().into(), id.into()];
        let found = self.tx.one(&sql, &values, read)?;
        found.ok_or_else(|| StoreError::NotFound(format!("{} {id}", kind.as_str())))
    }

    /// Upserts a document.
    ///
    /// # Errors
    /// Fails if the project has too many of that kind.
    pub fn upsert(&self, kind: DocumentKind, document: &Document) -> StoreResult<()> {
        let sql = format!("SELECT 1 {FROM} AND id = $3");
        let which = [self.project.into(), kind.as_str().into(), (&document.id).into()];
        let verb =
            if self.tx.exists(&sql, &which)? { AuditAction::Changed } else { AuditAction::Made };
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
        let sql = format!("SELECT COUNT(*) {FROM}");
        let count: Option<u64> = self.tx.one(&sql, &self.of_kind(kind), |row| row.get(0))?;
        if count > Some(MAX_DOCUMENTS) {
            let what = format!("a project has at most {MAX_DOCUMENTS} of one kind");
            return Err(StoreError::BadQuery(what));
        }
        let name = name(&document.body).unwrap_or_else(|| document.id.clone());
        let audited = verb.on(kind.noun(), &document.id).named(&name);
        self.tx.audit(self.project, document.updated_at, &audited)
    }

    /// Deletes a document.
    ///
    /// # Errors
    /// Fails if the project has no document with that id.
    pub fn delete(&self, kind: DocumentKind, id: &str, now: Timestamp) -> StoreResult<()> {
        let found = self.find(kind, id)?;
        let sql = "DELETE FROM document WHERE project = $1 AND kind = $2 AND id = $3";
        self.tx.execute(sql, &[self.project.into(), kind.as_str().into(), id.into()])?;
        let name = name(&found.body).unwrap_or_else(|| id.to_owned());
        self.tx.audit(self.project, now, &AuditAction::Deleted.on(kind.noun(), id).named(&name))
    }

    /// Returns the project's LLM connection of a provider, which documents may reference.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub fn llm_connection(&self, provider: &str) -> StoreResult<Option<LlmConnection>> {
        llm_connection::by_provider(self.tx, self.project, provider)
    }

    fn of_kind(&self, kind: DocumentKind) -> [Value; 2] {
        [self.project.into(), kind.as_str().into()]
    }
}

/// The display name in a document, if any.
fn name(body: &Json) -> Option<String> {
    let body: serde_json::Value = serde_json::from_str(body.as_str()).ok()?;
    body.get("name")?.as_str().map(str::to_owned)
}

/// The cursor after a document.
fn cursor_behind(document: &Document) -> String {
    format!("{}.{}", document.updated_at.nanos(), document.id)
}

fn parse_cursor(cursor: &str) -> StoreResult<(Timestamp, &str)> {
    let parts = cursor.split_once('.').and_then(|(nanos, id)| Some((nanos.parse().ok()?, id)));
    let (nanos, id) = parts.ok_or_else(|| StoreError::BadQuery("cursor: malformed".into()))?;
    Ok((Timestamp::from_nanos(nanos), id))
}

fn read(row: &Row<'_>) -> StoreResult<Document> {
    Ok(Document {
        id: row.get(0)?,
        body: row.get(1)?,
        created_at: row.get(2)?,
        updated_at: row.get(3)?,
    })
}
