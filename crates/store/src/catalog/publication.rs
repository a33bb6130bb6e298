use ratchet_core::time::Timestamp;

use super::sql::{FromColumn, Row, Tx, Value};
use super::{AuditAction, AuditObject, Catalog};
use crate::project::ProjectId;
use crate::secrets::random_token;
use crate::{StoreError, StoreResult};

/// Maximum number of public links of a project.
const MAX_LINKS: usize = 1_000;
/// Maximum number of bookmarked sessions of a project: a filter names them all.
const MAX_BOOKMARKS: usize = 100;

/// What a public link shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishedKind {
    Trace,
    /// All traces of a session, also those recorded later.
    Session,
}

impl PublishedKind {
    pub const ALL: [Self; 2] = [Self::Trace, Self::Session];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Session => "session",
        }
    }
}

impl From<PublishedKind> for Value {
    fn from(kind: PublishedKind) -> Self {
        kind.as_str().into()
    }
}

impl FromColumn for PublishedKind {
    fn from_column(value: Value) -> Option<Self> {
        let word = String::from_column(value)?;
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// A public link: a request with its token may read one trace or one session, without signing in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publication {
    pub project: ProjectId,
    pub kind: PublishedKind,
    /// Id of the trace or session.
    pub object: String,
    /// 256 random bits. Stored as they are, so that the link can be copied again: what it opens
    /// lies in the same data folder.
    pub token: String,
    /// User id, where users sign in.
    pub author: Option<String>,
    pub created_at: Timestamp,
}

const COLUMNS: &str = "project, kind, object, token, author, created_at";

impl Catalog {
    /// Creates the public link of a trace or session, or returns the one it has.
    ///
    /// # Errors
    /// Fails if the project has too many public links.
    pub async fn publish(
        &self,
        project: ProjectId,
        (kind, object): (PublishedKind, String),
        author: Option<String>,
        now: Timestamp,
    ) -> StoreResult<Publication> {
        let token = random_token()?.expose().to_owned();
        self.transact(move |tx| {
            if let Some(known) = find(tx, &project, kind, &object)? {
                return Ok(known);
            }
            let count = "SELECT object FROM publication WHERE project = $1";
            let links: Vec<String> = tx.rows(count, &[(&project).into()], |row| row.get(0))?;
            if links.len() >= MAX_LINKS {
                let why = format!("a project has at most {MAX_LINKS} public links; revoke one");
                return Err(StoreError::BadQuery(why));
            }
            tx.execute(
                "INSERT INTO publication (project, kind, object, token, author, created_at) \
                 VALUES ($1, $2, $3, $4, $5, $6)",
                &[
                    (&project).into(),
                    kind.into(),
                    (&object).into(),
                    (&token).into(),
                    author.clone().into(),
                    now.into(),
                ],
            )?;
            let audited = AuditAction::Made.on(AuditObject::PublicLink, &object);
            tx.audit(&project, now, &audited.became(kind.as_str()))?;
            Ok(Publication { project, kind, object, token, author, created_at: now })
        })
        .await
    }

    /// Revokes the public link of a trace or session; returns whether there was one.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn unpublish(
        &self,
        project: ProjectId,
        (kind, object): (PublishedKind, String),
        now: Timestamp,
    ) -> StoreResult<bool> {
        self.transact(move |tx| {
            if find(tx, &project, kind, &object)?.is_none() {
                return Ok(false);
            }
            tx.execute(
                "DELETE FROM publication WHERE project = $1 AND kind = $2 AND object = $3",
                &[(&project).into(), kind.into(), (&object).into()],
            )?;
            let audited = AuditAction::Revoked.on(AuditObject::PublicLink, &object);
            tx.audit(&project, now, &audited.was(kind.as_str()))?;
            Ok(true)
        })
        .await
    }

    /// Returns the public link of a trace or session.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn publication(
        &self,
        project: ProjectId,
        (kind, object): (PublishedKind, String),
    ) -> StoreResult<Option<Publication>> {
        self.transact(move |tx| find(tx, &project, kind, &object)).await
    }

    /// Returns what a token opens.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn publication_by_token(&self, token: String) -> StoreResult<Option<Publication>> {
        let sql = format!("SELECT {COLUMNS} FROM publication WHERE token = $1");
        self.transact(move |tx| tx.one(&sql, &[(&token).into()], read)).await
    }

    /// Returns the public links of a project, newest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn publications(&self, project: ProjectId) -> StoreResult<Vec<Publication>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM publication WHERE project = $1 ORDER BY created_at DESC, object"
        );
        self.transact(move |tx| tx.rows(&sql, &[(&project).into()], read)).await
    }

    /// Adds or removes the bookmarks of sessions.
    ///
    /// # Errors
    /// Fails if the project would have too many bookmarked sessions.
    pub async fn bookmark_sessions(
        &self,
        project: ProjectId,
        sessions: Vec<String>,
        is_bookmarked: bool,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            for session in &sessions {
                let (sql, rest) = if is_bookmarked {
                    let sql = "INSERT INTO session_bookmark (project, session, created_at) \
                               VALUES ($1, $2, $3) ON CONFLICT (project, session) DO NOTHING";
                    (sql, Some(now.into()))
                } else {
                    ("DELETE FROM session_bookmark WHERE project = $1 AND session = $2", None)
                };
                let values = [(&project).into(), session.into()].into_iter().chain(rest);
                tx.execute(sql, &values.collect::<Vec<Value>>())?;
            }
            if is_bookmarked && bookmarks(tx, &project)?.len() > MAX_BOOKMARKS {
                let why = format!("a project has at most {MAX_BOOKMARKS} bookmarked sessions");
                return Err(StoreError::BadQuery(why));
            }
            Ok(())
        })
        .await
    }

    /// Returns the ids of the bookmarked sessions of a project.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn bookmarked_sessions(&self, project: ProjectId) -> StoreResult<Vec<String>> {
        self.transact(move |tx| bookmarks(tx, &project)).await
    }
}

fn bookmarks(tx: &Tx<'_>, project: &ProjectId) -> StoreResult<Vec<String>> {
    let sql = "SELECT session FROM session_bookmark WHERE project = $1 ORDER BY session";
    tx.rows(sql, &[project.into()], |row| row.get(0))
}

fn find(
    tx: &Tx<'_>,
    project: &ProjectId,
    kind: PublishedKind,
    object: &str,
) -> StoreResult<Option<Publication>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM publication WHERE project = $1 AND kind = $2 AND object = $3"
    );
    tx.one(&sql, &[project.into(), kind.into(), object.into()], read)
}

fn read(row: &Row<'_>) -> StoreResult<Publication> {
    Ok(Publication {
        project: row.get(0)?,
        kind: row.get(1)?,
        object: row.get(2)?,
        token: row.get(3)?,
        author: row.get(4)?,
        created_at: row.get(5)?,
    })
}
