use ratchet_core::time::Timestamp;

use super::{QUEUE_COLUMNS, Queue, QueueId, find_queue, read_queue};
use crate::catalog::sql::{Listing, Tx};
use crate::catalog::{AuditAction, AuditObject, Catalog, user};
use crate::project::ProjectId;
use crate::query::{Page, PageNumber};
use crate::{StoreError, StoreResult};

impl Catalog {
    /// Assigns a reviewer to a queue, until somebody unassigns them. Idempotent.
    ///
    /// # Errors
    /// Fails if there is no such queue or user.
    pub async fn assign_queue(
        &self,
        of: QueueId,
        person: String,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            let queue = find_queue(tx, &of)?;
            let user = user::find(tx, &person)?;
            tx.execute(
                "INSERT INTO annotation_assignment (project, queue, person) VALUES ($1, $2, $3) \
                 ON CONFLICT (project, queue, person) DO UPDATE SET drawn_week = NULL",
                &[(&of.project).into(), (&of.queue).into(), (&person).into()],
            )?;
            let audited =
                AuditAction::Assigned.on(AuditObject::Queue, &queue.id).named(&queue.name);
            tx.audit(&of.project, now, &audited.became(user.email))
        })
        .await
    }

    /// Unassigns a reviewer from a queue.
    ///
    /// # Errors
    /// Fails if there is no such queue, or if the user is not assigned.
    pub async fn unassign_queue(
        &self,
        of: QueueId,
        person: String,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            let queue = find_queue(tx, &of)?;
            let sql = "DELETE FROM annotation_assignment \
                       WHERE project = $1 AND queue = $2 AND person = $3";
            let key = [(&of.project).into(), (&of.queue).into(), (&person).into()];
            if tx.execute(sql, &key)? == 0 {
                return Err(StoreError::NotFound(format!("the assignment of {person}")));
            }
            let audited =
                AuditAction::Unassigned.on(AuditObject::Queue, &queue.id).named(&queue.name);
            tx.audit(&of.project, now, &audited.was(user::find(tx, &person)?.email))
        })
        .await
    }

    /// Returns the ids of the people who are assigned to a queue.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn assignees(&self, of: QueueId) -> StoreResult<Vec<String>> {
        let sql = "SELECT person FROM annotation_assignment WHERE project = $1 AND queue = $2 \
                   ORDER BY person";
        self.transact(move |tx| {
            tx.rows(sql, &[(&of.project).into(), (&of.queue).into()], |row| row.get(0))
        })
        .await
    }

    /// Returns the queues that a person is assigned to, newest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn queues_of_person(
        &self,
        project: ProjectId,
        person: String,
        page: PageNumber,
    ) -> StoreResult<Page<Queue>> {
        let listing = Listing {
            columns: QUEUE_COLUMNS,
            from: "FROM annotation_queue WHERE project = $1 AND id IN (SELECT queue \
                   FROM annotation_assignment WHERE project = $1 AND person = $2)",
            order: "created_at DESC, id",
        };
        let key = move || [(&project).into(), (&person).into()];
        self.transact(move |tx| tx.page(listing, &key(), page, read_queue)).await
    }

    /// Returns the ids of the queues that a person is assigned to.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn assigned_queues(
        &self,
        project: ProjectId,
        person: String,
    ) -> StoreResult<Vec<String>> {
        let sql = "SELECT queue FROM annotation_assignment WHERE project = $1 AND person = $2 \
                   ORDER BY queue";
        self.transact(move |tx| {
            tx.rows(sql, &[(&project).into(), (&person).into()], |row| row.get(0))
        })
        .await
    }
}

/// Assigns who is on call for a week's draw in place of those whom earlier draws assigned. Who was
/// assigned by hand stays.
///
/// # Errors
/// Fails if there is no such queue or user.
pub(in crate::catalog) fn rotate_on_call(
    tx: &Tx<'_>,
    of: &QueueId,
    (week, person): (&str, Option<&str>),
    now: Timestamp,
) -> StoreResult<()> {
    let queue = find_queue(tx, of)?;
    let person = person.unwrap_or_default();
    let before = "FROM annotation_assignment \
                  WHERE project = $1 AND queue = $2 AND drawn_week < $3 AND person <> $4";
    let key = [(&of.project).into(), (&of.queue).into(), week.into(), person.into()];
    let gone: Vec<String> = tx.rows(&format!("SELECT person {before}"), &key, |row| row.get(0))?;
    tx.execute(&format!("DELETE {before}"), &key)?;
    for one in gone {
        let audited = AuditAction::Unassigned.on(AuditObject::Queue, &queue.id).named(&queue.name);
        tx.audit(&of.project, now, &audited.was(user::find(tx, &one)?.email))?;
    }
    if person.is_empty() {
        return Ok(());
    }
    let user = user::find(tx, person)?;
    let added = tx.execute(
        "INSERT INTO annotation_assignment (project, queue, drawn_week, person) \
         VALUES ($1, $2, $3, $4) ON CONFLICT (project, queue, person) \
         DO UPDATE SET drawn_week = $3 WHERE annotation_assignment.drawn_week < $3",
        &key,
    )?;
    if added == 0 {
        return Ok(());
    }
    let audited = AuditAction::Assigned.on(AuditObject::Queue, &queue.id).named(&queue.name);
    tx.audit(&of.project, now, &audited.became(user.email))
}
