/// Types of leases and reviews.
mod records;
/// How the items of a queue are reviewed.
mod settings;

use std::collections::BTreeSet;

use ratchet_core::catalog::annotation::ItemStatus;
use ratchet_core::catalog::review::{REVIEW_LEASE, ReviewOutcome};
use ratchet_core::job::JobKind;
use ratchet_core::payload::Json;
use ratchet_core::record::redact::Redacted;
use ratchet_core::time::Timestamp;

pub use self::records::{NewReview, Review, ReviewEffect, ReviewLease};
use super::{QueueId, QueueItem, find_item, find_queue, set_status, texts};
use crate::StoreResult;
use crate::catalog::Catalog;
use crate::catalog::job::{self, JobLease, NewJob};
use crate::catalog::sql::{FromColumn, Row, Tx, Value};

const COLUMNS: &str = "id, item, reviewer, outcome, is_correct, judge_error, is_late, seconds, \
                       scores, dataset_items, created_at";
const KIND: JobKind = JobKind::Review;

impl Catalog {
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
                None => next_item(tx, &of, &reviewer, now)?,
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

    /// Saves a review, redacted by the project's rules, and completes its item if that has all its reviews.
    ///
    /// # Errors
    /// Fails if there is no such item.
    pub async fn save_review(
        &self,
        of: QueueId,
        new: NewReview,
        now: Timestamp,
    ) -> StoreResult<ReviewEffect> {
        let redacted = self.redacted(&of.project, new).await?;
        self.transact(move |tx| {
            let new = redacted.get();
            let item = find_item(tx, &of, &new.item)?;
            if find(tx, &of, &new.id)?.is_some() {
                return Ok(ReviewEffect::Repeated);
            }
            let is_late = !is_ours(tx, &of, new, &item, now)?;
            insert(tx, &of, &redacted, is_late, now)?;
            if is_late {
                return Ok(ReviewEffect::Late);
            }
            job::forget(tx, (&of.project, KIND, &new.reviewer), Some(&job_id(&of, &item.id)))?;
            if new.is_skipped
                || answered(tx, &of, &item.id)? < settings::read(tx, &of)?.reviews as usize
            {
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
            let mut given = select(tx, &of, "reviewer = $3 AND outcome <> 'undone'", &[&reviewer])?;
            let Some(last) = given.pop() else { return Ok(None) };
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
        self.transact(move |tx| select(tx, &of, "outcome <> 'undone'", &[])).await
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

/// The pending item that a reviewer holds, or else the first that no one holds and that they have
/// not reviewed.
fn next_item(
    tx: &Tx<'_>,
    of: &QueueId,
    reviewer: &str,
    now: Timestamp,
) -> StoreResult<Option<String>> {
    let sql = "SELECT i.id FROM annotation_item i LEFT JOIN job j ON j.project = i.project \
               AND j.kind = $3 AND j.id = i.queue || '/' || i.id AND j.phase = 'leased' \
               AND j.expires_at > $5 \
               WHERE i.project = $1 AND i.queue = $2 AND i.status = 'PENDING' \
               AND (j.owner = $4 OR (j.id IS NULL \
               AND NOT EXISTS (SELECT 1 FROM annotation_review r WHERE r.project = i.project \
               AND r.queue = i.queue AND r.item = i.id AND r.reviewer = $4 \
               AND r.outcome <> 'undone'))) ORDER BY j.id IS NULL, i.created_at, i.id LIMIT 1";
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
    let earlier = select(tx, of, "item = $3 AND reviewer = $4", &[&item.id, reviewer])?;
    let attempt = earlier.len() as u64;
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

/// People who answered about an item.
fn answered(tx: &Tx<'_>, of: &QueueId, item: &str) -> StoreResult<usize> {
    let answers = select(tx, of, "item = $3 AND outcome = 'answered'", &[item])?;
    let people: BTreeSet<String> = answers.into_iter().map(|review| review.reviewer).collect();
    Ok(people.len())
}

/// Reviews of a queue that meet a condition on `$3`, `$4` …, oldest first.
fn select(tx: &Tx<'_>, of: &QueueId, condition: &str, values: &[&str]) -> StoreResult<Vec<Review>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM annotation_review WHERE project = $1 AND queue = $2 \
         AND {condition} ORDER BY created_at, id"
    );
    let key = [(&of.project).into(), (&of.queue).into()];
    let key: Vec<Value> = key.into_iter().chain(values.iter().map(|one| (*one).into())).collect();
    tx.rows(&sql, &key, read)
}

fn find(tx: &Tx<'_>, of: &QueueId, id: &str) -> StoreResult<Option<Review>> {
    Ok(select(tx, of, "id = $3", &[id])?.pop())
}

fn insert(
    tx: &Tx<'_>,
    of: &QueueId,
    new: &Redacted<NewReview>,
    is_late: bool,
    now: Timestamp,
) -> StoreResult<()> {
    let new = new.get();
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
