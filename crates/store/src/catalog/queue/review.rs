use ratchet_core::catalog::annotation::{ItemKind, ItemStatus};
use ratchet_core::catalog::review::{REVIEW_LEASE, ReviewOutcome, ReviewSettings};
use ratchet_core::job::JobKind;
use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;

use super::{QueueId, QueueItem, completed_at, find_item, find_queue, texts};
use crate::StoreResult;
use crate::catalog::job::{self, JobLease, NewJob};
use crate::catalog::sql::{FromColumn, Row, Tx, Value};
use crate::catalog::{AuditAction, AuditObject, Catalog, redaction};
use crate::project::ProjectId;

/// An item that a reviewer holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewLease {
    pub item: QueueItem,
    /// Identifies the lease among those of the item.
    pub number: u64,
    /// Earlier reviews of the item by the reviewer, those that were taken back included.
    pub attempt: u64,
}

/// What a person answered about an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Review {
    /// The same for an answer that is sent twice, which counts once.
    pub id: String,
    pub item: String,
    /// Id of the user, or a name where there are no users.
    pub reviewer: String,
    pub outcome: ReviewOutcome,
    pub is_correct: Option<bool>,
    /// Why the judge was wrong.
    pub judge_error: Option<String>,
    /// Whether it came after the lease was lost to another reviewer.
    pub is_late: bool,
    pub seconds: Option<u64>,
    /// Ids of the scores that it wrote.
    pub scores: Vec<String>,
    /// Ids of the dataset items that it wrote.
    pub dataset_items: Vec<String>,
    pub created_at: Timestamp,
}

/// A review to save.
#[derive(Clone, Debug)]
pub struct NewReview {
    pub id: String,
    pub item: String,
    pub reviewer: String,
    /// Whether the reviewer skipped the item.
    pub is_skipped: bool,
    pub is_correct: Option<bool>,
    pub judge_error: Option<String>,
    pub seconds: Option<u64>,
    pub scores: Vec<String>,
    pub dataset_items: Vec<String>,
}

/// What became of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewEffect {
    /// The item has all its reviews.
    Completed,
    /// The item needs more reviews.
    Counted,
    /// Kept as a second review: another reviewer has or had the item.
    Late,
    /// It was saved before.
    Repeated,
}

const COLUMNS: &str = "id, item, reviewer, outcome, is_correct, judge_error, is_late, seconds, \
                       scores, dataset_items, created_at";
const KIND: JobKind = JobKind::Review;

impl Catalog {
    /// Returns how the items of a queue are reviewed.
    ///
    /// # Errors
    /// Fails if the project has no such queue.
    pub async fn review_settings(&self, of: QueueId) -> StoreResult<ReviewSettings> {
        self.transact(move |tx| {
            find_queue(tx, &of)?;
            settings(tx, &of)
        })
        .await
    }

    /// Sets how the items of a queue are reviewed.
    ///
    /// # Errors
    /// Fails if the project has no such queue, or if a redaction rule matches the instructions.
    pub async fn set_review_settings(
        &self,
        of: QueueId,
        new: ReviewSettings,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            let queue = find_queue(tx, &of)?;
            let text = redaction::said(&new.instructions);
            redaction::must_pass(tx, &of.project, &[("instructions", &text)])?;
            tx.execute(
                "INSERT INTO review_settings (project, queue, instructions, reviews, is_blind) \
                 VALUES ($1, $2, $3, $4, $5) ON CONFLICT (project, queue) DO UPDATE \
                 SET instructions = $3, reviews = $4, is_blind = $5",
                &[
                    (&of.project).into(),
                    (&of.queue).into(),
                    (&new.instructions).into(),
                    new.reviews.into(),
                    new.is_blind.into(),
                ],
            )?;
            let blind = if new.is_blind { "blind" } else { "not blind" };
            let became = format!("{} reviews per item, {blind}", new.reviews);
            let audited = AuditAction::Changed.on(AuditObject::Queue, &queue.id);
            tx.audit(&of.project, now, &audited.named(&queue.name).became(became))
        })
        .await
    }

    /// Gives a reviewer an item to review: the one they hold already, the wanted one, or the first
    /// that is pending, free and not reviewed by them. Returns `None` if there is none.
    ///
    /// # Errors
    /// Fails if the project has no such queue.
    pub async fn claim_review(
        &self,
        of: QueueId,
        reviewer: String,
        wanted: Option<String>,
        now: Timestamp,
    ) -> StoreResult<Option<ReviewLease>> {
        self.transact(move |tx| {
            find_queue(tx, &of)?;
            let found = match wanted {
                Some(item) => Some(item),
                None => match held_item(tx, &of, &reviewer, now)? {
                    Some(item) => Some(item),
                    None => free_item(tx, &of, &reviewer, now)?,
                },
            };
            let Some(item) = found else { return Ok(None) };
            claim(tx, &of, (&reviewer, find_item(tx, &of, &item)?), now)
        })
        .await
    }

    /// Extends a reviewer's lease.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn renew_review(
        &self,
        of: QueueId,
        (item, lease): (String, u64),
        now: Timestamp,
    ) -> StoreResult<job::LeaseStatus> {
        self.renew_job(job_lease(&of, &item, lease), REVIEW_LEASE, now).await
    }

    /// Saves a review, and completes its item if that has all its reviews.
    ///
    /// # Errors
    /// Fails if there is no such item.
    pub async fn save_review(
        &self,
        of: QueueId,
        new: NewReview,
        now: Timestamp,
    ) -> StoreResult<ReviewEffect> {
        self.transact(move |tx| {
            let item = find_item(tx, &of, &new.item)?;
            if find(tx, &of, &new.id)?.is_some() {
                return Ok(ReviewEffect::Repeated);
            }
            let is_late = !is_ours(tx, &of, &new, &item, now)?;
            insert(tx, &of, &new, is_late, now)?;
            if is_late {
                return Ok(ReviewEffect::Late);
            }
            job::forget(tx, (&of.project, KIND, &new.reviewer), Some(&job_id(&of, &item.id)))?;
            if new.is_skipped || answered(tx, &of, &item.id)? < settings(tx, &of)?.reviews.into() {
                return Ok(ReviewEffect::Counted);
            }
            set_status(tx, &of, &item, ItemStatus::Completed, now)?;
            Ok(ReviewEffect::Completed)
        })
        .await
    }

    /// Returns whether a review was saved, even if it was taken back since.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn is_review_saved(&self, of: QueueId, id: String) -> StoreResult<bool> {
        self.transact(move |tx| Ok(find(tx, &of, &id)?.is_some())).await
    }

    /// Takes a reviewer's last review of a queue back: its item is pending again and theirs.
    /// Returns `None` if there is none.
    ///
    /// # Errors
    /// Fails if the same object was added to the queue again.
    pub async fn undo_review(
        &self,
        of: QueueId,
        reviewer: String,
        now: Timestamp,
    ) -> StoreResult<Option<Review>> {
        self.transact(move |tx| {
            let sql = format!(
                "SELECT {COLUMNS} FROM annotation_review WHERE project = $1 AND queue = $2 \
                 AND reviewer = $3 AND outcome <> 'undone' \
                 ORDER BY created_at DESC, id LIMIT 1"
            );
            let key = [(&of.project).into(), (&of.queue).into(), (&reviewer).into()];
            let Some(last) = tx.one(&sql, &key, read)? else { return Ok(None) };
            tx.execute(
                "UPDATE annotation_review SET outcome = 'undone' \
                 WHERE project = $1 AND queue = $2 AND id = $3",
                &[(&of.project).into(), (&of.queue).into(), (&last.id).into()],
            )?;
            let item = find_item(tx, &of, &last.item)?;
            if !last.is_late {
                set_status(tx, &of, &item, ItemStatus::Pending, now)?;
            }
            // Any other item that they hold goes back to the queue.
            job::forget(tx, (&of.project, KIND, &reviewer), None)?;
            let pending = QueueItem { status: ItemStatus::Pending, ..item };
            claim(tx, &of, (&reviewer, pending), now)?;
            Ok(Some(last))
        })
        .await
    }

    /// Returns the reviews of a queue that were not taken back, oldest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn reviews(&self, of: QueueId) -> StoreResult<Vec<Review>> {
        self.transact(move |tx| {
            let sql = format!(
                "SELECT {COLUMNS} FROM annotation_review WHERE project = $1 AND queue = $2 \
                 AND outcome <> 'undone' ORDER BY created_at, id"
            );
            tx.rows(&sql, &[(&of.project).into(), (&of.queue).into()], read)
        })
        .await
    }

    /// Returns whether an object is in any queue of the project.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn is_in_queue(
        &self,
        project: ProjectId,
        (kind, object): (ItemKind, String),
    ) -> StoreResult<bool> {
        let sql = "SELECT 1 FROM annotation_item WHERE project = $1 AND object_kind = $2 \
                   AND object = $3";
        self.transact(move |tx| {
            tx.exists(sql, &[(&project).into(), kind.as_str().into(), (&object).into()])
        })
        .await
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

    /// Returns who holds an item, if anyone does.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn review_holder(
        &self,
        of: QueueId,
        item: String,
        now: Timestamp,
    ) -> StoreResult<Option<String>> {
        self.transact(move |tx| {
            let job = job::one(tx, &of.project, KIND, &job_id(&of, &item))?;
            Ok(job.filter(|job| job.state.is_leased(now)).and_then(|job| job.owner))
        })
        .await
    }
}

fn job_id(of: &QueueId, item: &str) -> String {
    format!("{}/{item}", of.queue)
}

fn job_lease(of: &QueueId, item: &str, number: u64) -> JobLease {
    JobLease { project: of.project.clone(), kind: KIND, id: job_id(of, item), number }
}

fn settings(tx: &Tx<'_>, of: &QueueId) -> StoreResult<ReviewSettings> {
    let sql = "SELECT instructions, reviews, is_blind FROM review_settings \
               WHERE project = $1 AND queue = $2";
    let read = |row: &Row<'_>| {
        Ok(ReviewSettings {
            instructions: row.get(0)?,
            reviews: row.get(1)?,
            is_blind: row.get(2)?,
        })
    };
    let found = tx.one(sql, &[(&of.project).into(), (&of.queue).into()], read)?;
    Ok(found.unwrap_or_default())
}

/// The pending item that a reviewer holds.
fn held_item(
    tx: &Tx<'_>,
    of: &QueueId,
    reviewer: &str,
    now: Timestamp,
) -> StoreResult<Option<String>> {
    let sql = "SELECT i.id FROM annotation_item i JOIN job j ON j.project = i.project \
               AND j.kind = $3 AND j.id = i.queue || '/' || i.id \
               WHERE i.project = $1 AND i.queue = $2 AND i.status = 'PENDING' AND j.owner = $4 \
               AND j.phase = 'leased' AND j.expires_at > $5 ORDER BY i.created_at, i.id LIMIT 1";
    let key = [
        (&of.project).into(),
        (&of.queue).into(),
        KIND.as_str().into(),
        reviewer.into(),
        now.into(),
    ];
    tx.one(sql, &key, |row| row.get(0))
}

/// The first pending item that no one else holds and that the reviewer has not reviewed.
fn free_item(
    tx: &Tx<'_>,
    of: &QueueId,
    reviewer: &str,
    now: Timestamp,
) -> StoreResult<Option<String>> {
    let sql = "SELECT i.id FROM annotation_item i \
               WHERE i.project = $1 AND i.queue = $2 AND i.status = 'PENDING' \
               AND NOT EXISTS (SELECT 1 FROM job j WHERE j.project = i.project AND j.kind = $3 \
               AND j.id = i.queue || '/' || i.id AND j.phase = 'leased' AND j.expires_at > $5) \
               AND NOT EXISTS (SELECT 1 FROM annotation_review r WHERE r.project = i.project \
               AND r.queue = i.queue AND r.item = i.id AND r.reviewer = $4 \
               AND r.outcome <> 'undone') ORDER BY i.created_at, i.id LIMIT 1";
    let key = [
        (&of.project).into(),
        (&of.queue).into(),
        KIND.as_str().into(),
        reviewer.into(),
        now.into(),
    ];
    tx.one(sql, &key, |row| row.get(0))
}

/// Leases an item to a reviewer, unless it is done or another reviewer holds it.
fn claim(
    tx: &Tx<'_>,
    of: &QueueId,
    (reviewer, item): (&str, QueueItem),
    now: Timestamp,
) -> StoreResult<Option<ReviewLease>> {
    if item.status != ItemStatus::Pending {
        return Ok(None);
    }
    let sql = "SELECT COUNT(*) FROM annotation_review WHERE project = $1 AND queue = $2 \
               AND item = $3 AND reviewer = $4";
    let key = [(&of.project).into(), (&of.queue).into(), (&item.id).into(), reviewer.into()];
    let attempt = tx.one(sql, &key, |row| row.get(0))?.unwrap_or(0);
    let id = job_id(of, &item.id);
    let held = job::one(tx, &of.project, KIND, &id)?;
    if let Some(held) = held.filter(|job| job.owner.as_deref() == Some(reviewer)) {
        let lease = held.lease();
        if job::renew(tx, &lease, REVIEW_LEASE, now)? == job::LeaseStatus::Held {
            return Ok(Some(ReviewLease { item, number: lease.number, attempt }));
        }
    }
    let new = NewJob {
        kind: KIND,
        id,
        group: None,
        payload: String::new(),
        priority: 0,
        run_at: now,
        max_attempts: u32::MAX,
        is_held: false,
    };
    let claimed = job::claim_one(tx, &of.project, &new, (reviewer, REVIEW_LEASE), now)?;
    Ok(claimed.map(|job| ReviewLease { item, number: job.state.leases, attempt }))
}

/// Whether a review decides about its item: it is pending, and no one else holds it.
fn is_ours(
    tx: &Tx<'_>,
    of: &QueueId,
    new: &NewReview,
    item: &QueueItem,
    now: Timestamp,
) -> StoreResult<bool> {
    if item.status != ItemStatus::Pending {
        return Ok(false);
    }
    let job = job::one(tx, &of.project, KIND, &job_id(of, &item.id))?;
    let is_lost = job.is_some_and(|job| {
        let is_theirs = job.owner.as_deref() == Some(&new.reviewer);
        job.state.is_leased(now) && !is_theirs
    });
    Ok(!is_lost)
}

fn answered(tx: &Tx<'_>, of: &QueueId, item: &str) -> StoreResult<u64> {
    let sql = "SELECT COUNT(DISTINCT reviewer) FROM annotation_review WHERE project = $1 \
               AND queue = $2 AND item = $3 AND outcome = 'answered'";
    let key = [(&of.project).into(), (&of.queue).into(), item.into()];
    Ok(tx.one(sql, &key, |row| row.get(0))?.unwrap_or(0))
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

fn find(tx: &Tx<'_>, of: &QueueId, id: &str) -> StoreResult<Option<Review>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM annotation_review WHERE project = $1 AND queue = $2 AND id = $3"
    );
    tx.one(&sql, &[(&of.project).into(), (&of.queue).into(), id.into()], read)
}

fn insert(
    tx: &Tx<'_>,
    of: &QueueId,
    new: &NewReview,
    is_late: bool,
    now: Timestamp,
) -> StoreResult<()> {
    let outcome = if new.is_skipped { ReviewOutcome::Skipped } else { ReviewOutcome::Answered };
    let list = |ids: &[String]| Json::from_value(&ids.to_vec().into());
    let sql = format!(
        "INSERT INTO annotation_review ({COLUMNS}, project, queue) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
    );
    let values = [
        (&new.id).into(),
        (&new.item).into(),
        (&new.reviewer).into(),
        outcome.as_str().into(),
        new.is_correct.into(),
        new.judge_error.clone().into(),
        is_late.into(),
        new.seconds.into(),
        (&list(&new.scores)).into(),
        (&list(&new.dataset_items)).into(),
        now.into(),
        (&of.project).into(),
        (&of.queue).into(),
    ];
    tx.execute(&sql, &values).map(drop)
}

impl FromColumn for ReviewOutcome {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}

fn read(row: &Row<'_>) -> StoreResult<Review> {
    Ok(Review {
        id: row.get(0)?,
        item: row.get(1)?,
        reviewer: row.get(2)?,
        outcome: row.get(3)?,
        is_correct: row.get(4)?,
        judge_error: row.get(5)?,
        is_late: row.get(6)?,
        seconds: row.get(7)?,
        scores: texts(&row.get(8)?),
        dataset_items: texts(&row.get(9)?),
        created_at: row.get(10)?,
    })
}
