/// Who reviews which queues.
mod assignment;
/// Changing and deleting queues.
mod change;
/// Items by the objects that they are about.
mod objects;
mod progress;
/// Leases, answers and their undoing.
mod review;

use ratchet_core::catalog::annotation::{ItemKind, ItemStatus};
use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;
use uuid::Uuid;

use super::project_table::ProjectTable;
use super::sql::{FromColumn, Listing, Row, Tx, Value};
use super::{AuditAction, AuditObject, Catalog, redaction};
use crate::project::ProjectId;
use crate::query::{Page, PageNumber};
use crate::{StoreError, StoreResult};

pub(super) use assignment::rotate_on_call;
pub use progress::QueueProgress;
pub use review::{NewReview, Review, ReviewEffect, ReviewLease};

/// An annotation queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    pub id: String,
    /// Unique in the project.
    pub name: String,
    pub description: Option<String>,
    /// Ids of the score configs for its items.
    pub score_configs: Vec<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A queue to create.
#[derive(Clone, Debug)]
pub struct NewQueue {
    pub name: String,
    pub description: Option<String>,
    /// Ids of the score configs for its items.
    pub score_configs: Vec<String>,
}

/// An item of an annotation queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueItem {
    pub id: String,
    pub queue: String,
    pub kind: ItemKind,
    /// Id of the object.
    pub object: String,
    pub status: ItemStatus,
    pub completed_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// An item to add to a queue.
#[derive(Clone, Debug)]
pub struct NewQueueItem {
    pub kind: ItemKind,
    /// Id of the object.
    pub object: String,
    pub status: ItemStatus,
}

/// Identifies a queue of a project.
#[derive(Clone, Debug)]
pub struct QueueId {
    pub project: ProjectId,
    pub queue: String,
}

const QUEUE_COLUMNS: &str = "id, name, description, score_configs, created_at, updated_at";

const QUEUES: ProjectTable<Queue> =
    ProjectTable::new(("annotation_queue", "annotation queue"), QUEUE_COLUMNS, read_queue);
const ITEM_COLUMNS: &str =
    "id, queue, object_kind, object, status, completed_at, created_at, updated_at";

impl Catalog {
    /// Creates a queue.
    ///
    /// # Errors
    /// Fails if its name is taken, if a score config does not exist, or if a redaction rule matches
    /// it.
    pub async fn create_queue(
        &self,
        project: ProjectId,
        new: NewQueue,
        now: Timestamp,
    ) -> StoreResult<Queue> {
        self.transact(move |tx| {
            check_score_configs(tx, &project, &new.score_configs)?;
            let name = redaction::said(&new.name);
            let about = redaction::said(new.description.as_deref().unwrap_or_default());
            redaction::must_pass(tx, &project, &[("name", &name), ("description", &about)])?;
            let configs = Json::from_value(&new.score_configs.clone().into());
            let id = Uuid::new_v4().to_string();
            tx.insert(
                "INSERT INTO annotation_queue (project, id, name, description, score_configs, \
                 created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $6)",
                &[
                    (&project).into(),
                    (&id).into(),
                    (&new.name).into(),
                    new.description.clone().into(),
                    (&configs).into(),
                    now.into(),
                ],
                || format!("an annotation queue with the name {}", new.name),
            )?;
            tx.audit(
                &project,
                now,
                &AuditAction::Made.on(AuditObject::Queue, &id).named(&new.name),
            )?;
            let NewQueue { name, description, score_configs } = new;
            Ok(Queue { id, name, description, score_configs, created_at: now, updated_at: now })
        })
        .await
    }

    /// Returns the queues of a project, newest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn queues(&self, project: ProjectId, page: PageNumber) -> StoreResult<Page<Queue>> {
        self.transact(move |tx| QUEUES.page(tx, &project, page)).await
    }

    /// Returns a queue.
    ///
    /// # Errors
    /// Fails if the project has no such queue.
    pub async fn queue(&self, of: QueueId) -> StoreResult<Queue> {
        self.transact(move |tx| find_queue(tx, &of)).await
    }

    /// Returns the queue of a name, creating it if there is none.
    ///
    /// # Errors
    /// Fails if a redaction rule matches the name.
    pub async fn ensure_queue(
        &self,
        project: ProjectId,
        new: NewQueue,
        now: Timestamp,
    ) -> StoreResult<Queue> {
        match self.queue_named(project.clone(), new.name.clone()).await? {
            Some(known) => Ok(known),
            None => self.create_queue(project, new, now).await,
        }
    }

    /// Returns the queue of a name.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn queue_named(
        &self,
        project: ProjectId,
        name: String,
    ) -> StoreResult<Option<Queue>> {
        self.transact(move |tx| {
            let sql = format!(
                "SELECT {QUEUE_COLUMNS} FROM annotation_queue WHERE project = $1 AND name = $2"
            );
            tx.one(&sql, &[(&project).into(), (&name).into()], read_queue)
        })
        .await
    }

    /// Adds an item to a queue. If the object is already pending there, returns that item.
    ///
    /// # Errors
    /// Fails if the project has no such queue.
    pub async fn add_queue_item(
        &self,
        to: QueueId,
        new: NewQueueItem,
        now: Timestamp,
    ) -> StoreResult<QueueItem> {
        self.transact(move |tx| {
            find_queue(tx, &to)?;
            add(tx, &to, new, now)
        })
        .await
    }

    /// Adds items to a queue like [`Catalog::add_queue_item`], all or none.
    ///
    /// # Errors
    /// Fails if the project has no such queue.
    pub async fn add_queue_items(
        &self,
        to: QueueId,
        new: Vec<NewQueueItem>,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            find_queue(tx, &to)?;
            new.into_iter().try_for_each(|new| add(tx, &to, new, now).map(drop))
        })
        .await
    }

    /// Returns the items of a queue, newest first; those of one status if given.
    ///
    /// # Errors
    /// Fails if the project has no such queue.
    pub async fn queue_items(
        &self,
        of: QueueId,
        status: Option<ItemStatus>,
        page: PageNumber,
    ) -> StoreResult<Page<QueueItem>> {
        let listing = Listing {
            columns: ITEM_COLUMNS,
            from: "FROM annotation_item \
                   WHERE project = $1 AND queue = $2 AND (status = $3 OR $3 = '')",
            order: "created_at DESC, id",
        };
        self.transact(move |tx| {
            find_queue(tx, &of)?;
            let status = status.map_or("", ItemStatus::as_str);
            tx.page(
                listing,
                &[(&of.project).into(), (&of.queue).into(), status.into()],
                page,
                read_item,
            )
        })
        .await
    }

    /// Returns an item of a queue.
    ///
    /// # Errors
    /// Fails if there is no such item.
    pub async fn queue_item(&self, of: QueueId, id: String) -> StoreResult<QueueItem> {
        self.transact(move |tx| find_item(tx, &of, &id)).await
    }

    /// Sets the status of an item; unchanged when `None`.
    ///
    /// # Errors
    /// Fails if there is no such item, or if it would become pending while the same object is
    /// pending.
    pub async fn set_queue_item(
        &self,
        of: QueueId,
        id: String,
        status: Option<ItemStatus>,
        now: Timestamp,
    ) -> StoreResult<QueueItem> {
        self.transact(move |tx| {
            let item = find_item(tx, &of, &id)?;
            let Some(status) = status.filter(|status| *status != item.status) else {
                return Ok(item);
            };
            set_status(tx, &of, &item, status, now)?;
            let completed_at = completed_at(status, now);
            Ok(QueueItem { status, completed_at, updated_at: now, ..item })
        })
        .await
    }

    /// Removes an item from a queue.
    ///
    /// # Errors
    /// Fails if there is no such item.
    pub async fn remove_queue_item(
        &self,
        of: QueueId,
        id: String,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            let item = find_item(tx, &of, &id)?;
            tx.execute(
                "DELETE FROM annotation_item WHERE project = $1 AND queue = $2 AND id = $3",
                &[(&of.project).into(), (&of.queue).into(), (&id).into()],
            )?;
            let was = format!("{} {}", item.kind.as_str().to_lowercase(), item.object);
            tx.audit(
                &of.project,
                now,
                &AuditAction::Removed.on(AuditObject::QueueItem, &id).was(was),
            )
        })
        .await
    }
}

/// Fails on score configs that the project does not have.
fn check_score_configs(tx: &Tx<'_>, project: &ProjectId, ids: &[String]) -> StoreResult<()> {
    for id in ids {
        let sql = "SELECT 1 FROM score_config WHERE project = $1 AND id = $2";
        if !tx.exists(sql, &[project.into(), id.into()])? {
            return Err(StoreError::NotFound(format!("score config {id}")));
        }
    }
    Ok(())
}

pub(super) fn add(
    tx: &Tx<'_>,
    to: &QueueId,
    new: NewQueueItem,
    now: Timestamp,
) -> StoreResult<QueueItem> {
    if new.status == ItemStatus::Pending
        && let Some(waiting) = find_waiting(tx, to, &new)?
    {
        return Ok(waiting);
    }
    let item = QueueItem {
        id: Uuid::new_v4().to_string(),
        queue: to.queue.clone(),
        kind: new.kind,
        object: new.object,
        status: new.status,
        completed_at: completed_at(new.status, now),
        created_at: now,
        updated_at: now,
    };
    tx.execute(
        "INSERT INTO annotation_item (project, queue, id, object_kind, object, status, \
         completed_at, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)",
        &[
            (&to.project).into(),
            (&item.queue).into(),
            (&item.id).into(),
            item.kind.as_str().into(),
            (&item.object).into(),
            item.status.as_str().into(),
            item.completed_at.into(),
            now.into(),
        ],
    )?;
    Ok(item)
}

fn set_status(
    tx: &Tx<'_>,
    of: &QueueId,
    item: &QueueItem,
    status: ItemStatus,
    now: Timestamp,
) -> StoreResult<()> {
    tx.insert(
        "UPDATE annotation_item SET status = $1, completed_at = $2, updated_at = $3 \
         WHERE project = $4 AND queue = $5 AND id = $6",
        &[
            status.as_str().into(),
            completed_at(status, now).into(),
            now.into(),
            (&of.project).into(),
            (&of.queue).into(),
            (&item.id).into(),
        ],
        || format!("a pending item for {} {}", item.kind.as_str(), item.object),
    )
}

const fn completed_at(status: ItemStatus, now: Timestamp) -> Option<Timestamp> {
    match status {
        ItemStatus::Pending => None,
        ItemStatus::Completed => Some(now),
    }
}

fn find_queue(tx: &Tx<'_>, of: &QueueId) -> StoreResult<Queue> {
    QUEUES.require(tx, &of.project, &of.queue)
}

fn find_item(tx: &Tx<'_>, of: &QueueId, id: &str) -> StoreResult<QueueItem> {
    let sql = format!(
        "SELECT {ITEM_COLUMNS} FROM annotation_item WHERE project = $1 AND queue = $2 AND id = $3"
    );
    let found = tx.one(&sql, &[(&of.project).into(), (&of.queue).into(), id.into()], read_item)?;
    found.ok_or_else(|| StoreError::NotFound(format!("annotation queue item {id}")))
}

fn find_waiting(tx: &Tx<'_>, of: &QueueId, new: &NewQueueItem) -> StoreResult<Option<QueueItem>> {
    let sql = format!(
        "SELECT {ITEM_COLUMNS} FROM annotation_item WHERE project = $1 AND queue = $2 \
         AND object_kind = $3 AND object = $4 AND status = 'PENDING'"
    );
    tx.one(
        &sql,
        &[(&of.project).into(), (&of.queue).into(), new.kind.as_str().into(), (&new.object).into()],
        read_item,
    )
}

impl FromColumn for ItemStatus {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}

impl FromColumn for ItemKind {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}

/// The strings of a JSON list.
fn texts(json: &Json) -> Vec<String> {
    serde_json::from_str(json.as_str()).unwrap_or_default()
}

fn read_queue(row: &Row<'_>) -> StoreResult<Queue> {
    Ok(Queue {
        id: row.get(0)?,
        name: row.get(1)?,
        description: row.get(2)?,
        score_configs: texts(&row.get(3)?),
        created_at: row.get(4)?,
        updated_at: row.get(5)?,
    })
}

fn read_item(row: &Row<'_>) -> StoreResult<QueueItem> {
    Ok(QueueItem {
        id: row.get(0)?,
        queue: row.get(1)?,
        kind: row.get(2)?,
        object: row.get(3)?,
        status: row.get(4)?,
        completed_at: row.get(5)?,
        created_at: row.get(6)?,
        updated_at: row.get(7)?,
    })
}
