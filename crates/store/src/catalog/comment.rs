use ratchet_core::catalog::annotation::CommentedKind;
use ratchet_core::record::redact::path::Root;
use ratchet_core::time::Timestamp;
use uuid::Uuid;

use super::project_table::ProjectTable;
use super::sql::{FromColumn, Listing, Row, Tx, Value};
use super::{AuditAction, AuditObject, Catalog, user};
use crate::project::ProjectId;
use crate::query::{Page, PageNumber};
use crate::{StoreError, StoreResult};

/// A user's comment on an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    pub id: String,
    pub kind: CommentedKind,
    /// Id of the object.
    pub object: String,
    pub content: String,
    /// User id, if the author is a user.
    pub author: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A comment to create. The caller has checked that its object exists, unless that is a prompt.
#[derive(Clone, Debug)]
pub struct NewComment {
    pub kind: CommentedKind,
    /// Id of the object.
    pub object: String,
    pub content: String,
    /// User id, if the author is a user.
    pub author: Option<String>,
}

/// A filter for comments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommentFilter {
    pub kind: Option<CommentedKind>,
    /// Id of the object.
    pub object: Option<String>,
    pub author: Option<String>,
}

const COLUMNS: &str = "id, object_kind, object, content, author, created_at, updated_at";

const COMMENTS: ProjectTable<Comment> = ProjectTable::new(("comment", "comment"), COLUMNS, read);

impl Catalog {
    /// Creates a comment, redacted by the project's rules.
    ///
    /// # Errors
    /// Fails if there is no such author, or no such prompt.
    pub async fn create_comment(
        &self,
        project: ProjectId,
        new: NewComment,
        now: Timestamp,
    ) -> StoreResult<Comment> {
        let settings = self.recording_settings(&project).await?;
        let content = settings.redactor.uncut().plain(&new.content, Root::Comment).into_owned();
        let new = NewComment { content, ..new };
        self.transact(move |tx| {
            if new.kind == CommentedKind::Prompt {
                must_have_prompt(tx, &project, &new.object)?;
            }
            if let Some(author) = &new.author {
                user::find(tx, author)?;
            }
            let NewComment { kind, object, content, author } = new;
            let id = Uuid::new_v4().to_string();
            tx.execute(
                "INSERT INTO comment (project, id, object_kind, object, content, author, \
                 created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $7)",
                &[
                    (&project).into(),
                    (&id).into(),
                    kind.as_str().into(),
                    (&object).into(),
                    (&content).into(),
                    author.clone().into(),
                    now.into(),
                ],
            )?;
            Ok(Comment { id, kind, object, content, author, created_at: now, updated_at: now })
        })
        .await
    }

    /// Returns the comments of a project that match, newest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn comments(
        &self,
        project: ProjectId,
        filter: CommentFilter,
        page: PageNumber,
    ) -> StoreResult<Page<Comment>> {
        let listing = Listing {
            columns: COLUMNS,
            from: "FROM comment WHERE project = $1 AND (object_kind = $2 OR $2 = '') \
                   AND (object = $3 OR $3 = '') AND (author = $4 OR $4 = '')",
            order: "created_at DESC, id",
        };
        self.transact(move |tx| {
            let kind = filter.kind.map_or("", CommentedKind::as_str);
            let (object, author) = (filter.object.as_deref(), filter.author.as_deref());
            let values = &[
                (&project).into(),
                kind.into(),
                object.unwrap_or_default().into(),
                author.unwrap_or_default().into(),
            ];
            tx.page(listing, values, page, read)
        })
        .await
    }

    /// Returns a comment.
    ///
    /// # Errors
    /// Fails if the project has no such comment.
    pub async fn comment(&self, project: ProjectId, id: String) -> StoreResult<Comment> {
        self.transact(move |tx| COMMENTS.require(tx, &project, &id)).await
    }

    /// Deletes a comment.
    ///
    /// # Errors
    /// Fails if the project has no such comment.
    pub async fn delete_comment(
        &self,
        project: ProjectId,
        id: String,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            COMMENTS.delete(tx, &project, &id)?;
            tx.audit(&project, now, &AuditAction::Deleted.on(AuditObject::Comment, &id))
        })
        .await
    }
}

fn must_have_prompt(tx: &Tx<'_>, project: &ProjectId, id: &str) -> StoreResult<()> {
    let sql = "SELECT 1 FROM prompt WHERE project = $1 AND id = $2";
    let is_there = tx.exists(sql, &[project.into(), id.into()])?;
    is_there.then_some(()).ok_or_else(|| StoreError::NotFound(format!("prompt {id}")))
}

impl FromColumn for CommentedKind {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}

fn read(row: &Row<'_>) -> StoreResult<Comment> {
    Ok(Comment {
        id: row.get(0)?,
        kind: row.get(1)?,
        object: row.get(2)?,
        content: row.get(3)?,
        author: row.get(4)?,
        created_at: row.get(5)?,
        updated_at: row.get(6)?,
    })
}
