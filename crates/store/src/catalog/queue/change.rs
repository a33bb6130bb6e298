use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;

use super::{NewQueue, QUEUES, Queue, QueueId, check_score_configs, find_queue};
use crate::catalog::agent::{self, AGENTS};
use crate::catalog::sql::Tx;
use crate::catalog::{AuditAction, AuditObject, Catalog, redaction};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

impl Catalog {
    /// Changes the name, the description and the score configs of a queue. Agents whose weekly
    /// sample goes into it follow a new name.
    ///
    /// # Errors
    /// Fails if the name is taken, if a score config does not exist, or if a redaction rule matches
    /// it.
    pub async fn change_queue(
        &self,
        of: QueueId,
        new: NewQueue,
        now: Timestamp,
    ) -> StoreResult<Queue> {
        self.transact(move |tx| {
            let before = find_queue(tx, &of)?;
            check_score_configs(tx, &of.project, &new.score_configs)?;
            let name = redaction::said(&new.name);
            let about = redaction::said(new.description.as_deref().unwrap_or_default());
            redaction::must_pass(tx, &of.project, &[("name", &name), ("description", &about)])?;
            let configs = Json::from_value(&new.score_configs.clone().into());
            tx.insert(
                "UPDATE annotation_queue SET name = $3, description = $4, score_configs = $5, \
                 updated_at = $6 WHERE project = $1 AND id = $2",
                &[
                    (&of.project).into(),
                    (&of.queue).into(),
                    (&new.name).into(),
                    new.description.clone().into(),
                    (&configs).into(),
                    now.into(),
                ],
                || format!("an annotation queue with the name {}", new.name),
            )?;
            if before.name != new.name {
                rename_in_agents(tx, &of.project, (&before.name, &new.name), now)?;
            }
            let audited = AuditAction::Changed.on(AuditObject::Queue, &of.queue).named(&new.name);
            tx.audit(&of.project, now, &audited.was(before.name.as_str()))?;
            find_queue(tx, &of)
        })
        .await
    }

    /// Deletes a queue with its items, reviews and assignments. Scores that its reviewers gave stay.
    ///
    /// # Errors
    /// Fails if there is no such queue, or with a conflict if weekly samples were drawn into it:
    /// their estimates are computed from its reviews.
    pub async fn delete_queue(&self, of: QueueId, now: Timestamp) -> StoreResult<Queue> {
        self.transact(move |tx| {
            let queue = find_queue(tx, &of)?;
            let key = [(&of.project).into(), (&of.queue).into()];
            let drawn = "SELECT 1 FROM review_draw WHERE project = $1 AND queue = $2 LIMIT 1";
            if tx.exists(drawn, &key)? {
                return Err(StoreError::Conflict(format!(
                    "queue {}: weekly samples were drawn into it, and the metrics of their weeks \
                     are computed from its reviews",
                    queue.name
                )));
            }
            let tables = [
                "annotation_assignment",
                "annotation_review",
                "review_settings",
                "annotation_item",
            ];
            for table in tables {
                let sql = format!("DELETE FROM {table} WHERE project = $1 AND queue = $2");
                tx.execute(&sql, &key)?;
            }
            QUEUES.delete(tx, &of.project, &of.queue)?;
            let audited = AuditAction::Deleted.on(AuditObject::Queue, &of.queue).named(&queue.name);
            tx.audit(&of.project, now, &audited)?;
            Ok(queue)
        })
        .await
    }
}

/// Agents whose weekly sample goes into a queue of the old name choose the new one.
fn rename_in_agents(
    tx: &Tx<'_>,
    project: &ProjectId,
    (old, new): (&str, &str),
    now: Timestamp,
) -> StoreResult<()> {
    let agents = AGENTS.all(tx, project)?;
    let count = agents.len();
    for mut agent in agents {
        if agent.settings.queue_name(&agent.name, count) == old {
            agent.settings.queue = Some(new.to_owned());
            agent.updated_at = now;
            agent::write(tx, project, &agent)?;
        }
    }
    Ok(())
}
