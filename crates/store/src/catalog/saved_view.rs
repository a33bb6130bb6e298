use ratchet_core::time::Timestamp;
use uuid::Uuid;

use super::project_table::ProjectTable;
use super::sql::{FromColumn, Row, Value};
use super::{AuditAction, AuditObject, Catalog};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// Maximum number of views per page.
const MAX_VIEWS: usize = 100;

/// A saved view of a list page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedView {
    pub id: String,
    pub page: ViewedPage,
    /// Unique per page.
    pub name: String,
    /// The query string of the page's URL.
    pub query: String,
    /// User id, where users sign in.
    pub author: Option<String>,
    pub created_at: Timestamp,
}

/// A view to save.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewView {
    pub page: ViewedPage,
    pub name: String,
    /// The query string of the page's URL.
    pub query: String,
    pub author: Option<String>,
}

/// A page that has saved views.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewedPage {
    Traces,
    Observations,
    Sessions,
}

impl ViewedPage {
    pub const ALL: [Self; 3] = [Self::Traces, Self::Observations, Self::Sessions];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Traces => "traces",
            Self::Observations => "observations",
            Self::Sessions => "sessions",
        }
    }

    /// Parses its name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|page| page.as_str() == word)
    }
}

impl From<ViewedPage> for Value {
    fn from(page: ViewedPage) -> Self {
        page.as_str().into()
    }
}

impl FromColumn for ViewedPage {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}

const COLUMNS: &str = "id, page, name, query, author, created_at";

const VIEWS: ProjectTable<SavedView> =
    ProjectTable::new(("saved_view", "saved view"), COLUMNS, read).in_order("name, id");

impl Catalog {
    /// Returns the saved views of a page, by name.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn saved_views(
        &self,
        project: ProjectId,
        page: ViewedPage,
    ) -> StoreResult<Vec<SavedView>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM saved_view WHERE project = $1 AND page = $2 ORDER BY name, id"
        );
        self.transact(move |tx| tx.rows(&sql, &[(&project).into(), page.into()], read)).await
    }

    /// Upserts a view by name.
    ///
    /// # Errors
    /// Fails if the page has too many views.
    pub async fn save_view(
        &self,
        project: ProjectId,
        new: NewView,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            let others =
                "SELECT id FROM saved_view WHERE project = $1 AND page = $2 AND name <> $3";
            let others: Vec<String> = tx.rows(
                others,
                &[(&project).into(), new.page.into(), (&new.name).into()],
                |row| row.get(0),
            )?;
            if others.len() >= MAX_VIEWS {
                let why = format!("a page has at most {MAX_VIEWS} saved views; delete one first");
                return Err(StoreError::BadQuery(why));
            }
            let known = "SELECT id FROM saved_view \
                         WHERE project = $1 AND page = $2 AND name = $3";
            let which = [(&project).into(), new.page.into(), (&new.name).into()];
            let known: Option<String> = tx.one(known, &which, |row| row.get(0))?;
            let id = known.clone().unwrap_or_else(|| Uuid::new_v4().to_string());
            tx.execute(
                "INSERT INTO saved_view (project, id, page, name, query, author, created_at) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7) \
                 ON CONFLICT (project, page, name) DO UPDATE SET query = $5, author = $6",
                &[
                    (&project).into(),
                    (&id).into(),
                    new.page.into(),
                    (&new.name).into(),
                    (&new.query).into(),
                    new.author.into(),
                    now.into(),
                ],
            )?;
            let verb = if known.is_some() { AuditAction::Changed } else { AuditAction::Made };
            let audited = verb.on(AuditObject::View, &id).named(&new.name);
            tx.audit(&project, now, &audited.became(format!("{}?{}", new.page.as_str(), new.query)))
        })
        .await
    }

    /// Deletes a view.
    ///
    /// # Errors
    /// Fails if the project has no such view.
    pub async fn delete_view(
        &self,
        project: ProjectId,
        id: String,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            let found = VIEWS.delete(tx, &project, &id)?;
            tx.audit(
                &project,
                now,
                &AuditAction::Deleted.on(AuditObject::View, &id).named(&found.name),
            )
        })
        .await
    }
}

fn read(row: &Row<'_>) -> StoreResult<SavedView> {
    Ok(SavedView {
        id: row.get(0)?,
        page: row.get(1)?,
        name: row.get(2)?,
        query: row.get(3)?,
        author: row.get(4)?,
        created_at: row.get(5)?,
    })
}
