use std::time::Duration;

use ratchet_core::chat::delivery_retry::ReceiverKind;
use ratchet_core::chat::notification::NotificationKind;
use ratchet_core::time::Timestamp;

use super::{NoticeReceiver, ReceiverKeys, owner, remove, wanted};
use crate::catalog::Catalog;
use crate::catalog::sql::{FromColumn, Row, Tx, Value};
use crate::project::ProjectId;
use crate::secrets::Secrets;
use crate::{StoreError, StoreResult};

/// Finished deliveries retained per receiver.
const MAX_FINISHED: u64 = 100;
/// Maximum number of pending deliveries per receiver; older ones are dropped.
const MAX_PENDING: u64 = 1_000;

/// A notification to enqueue for all subscribed receivers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewNotice {
    /// Idempotency key: each receiver gets it once, however often it is posted.
    pub id: String,
    pub kind: NotificationKind,
    pub session: Option<String>,
    /// The payload, a JSON object.
    pub message: String,
}

/// State of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// Pending, or to be retried.
    Waiting,
    Delivered,
    Failed,
    /// Not attempted: the receiver's address is not public.
    Refused,
}

impl DeliveryOutcome {
    pub const ALL: [Self; 4] = [Self::Waiting, Self::Delivered, Self::Failed, Self::Refused];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::Refused => "refused",
        }
    }

    /// Parses its name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == word)
    }
}

/// A delivery of one notification to one receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoticeDelivery {
    pub notice: String,
    pub kind: NotificationKind,
    pub session: Option<String>,
    pub outcome: DeliveryOutcome,
    pub tries: u32,
    /// HTTP status of the last attempt; `None` without a response.
    pub status: Option<u32>,
    pub made_at: Timestamp,
    /// Time of the next attempt, while pending.
    pub due_at: Timestamp,
    /// Time of the last attempt.
    pub tried_at: Option<Timestamp>,
}

/// A claimed delivery.
#[derive(Clone, Debug)]
pub struct DueDelivery {
    pub project: ProjectId,
    pub receiver: String,
    /// `None` if they were encrypted with another key.
    pub keys: Option<ReceiverKeys>,
    pub receiver_kind: ReceiverKind,
    pub notice: String,
    pub kind: NotificationKind,
    pub message: String,
    /// Earlier attempts.
    pub tries: u32,
    pub made_at: Timestamp,
}

/// Result of a delivery attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryState {
    Delivered,
    /// Retry at this time.
    Again(Timestamp),
    /// No more retries.
    Failed,
    /// Not attempted: the receiver's address is not public.
    Refused,
    /// The receiver no longer exists. A browser is deleted, a webhook is paused until a person
    /// fixes it.
    Gone,
}

const COLUMNS: &str = "notice, kind, session, outcome, tries, status, made_at, due_at, tried_at";

impl Catalog {
    /// Wakes the delivery worker.
    pub fn wake_delivery(&self) {
        self.bell.notify_one();
    }

    /// Waits until [`Catalog::wake_delivery`] is called.
    pub async fn delivery_wanted(&self) {
        self.bell.notified().await;
    }

    /// Enqueues a notification for every receiver that subscribes to its kind and is not paused.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn post_notice(
        &self,
        project: ProjectId,
        new: NewNotice,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            let sql = format!(
                "SELECT {} FROM notice_receiver WHERE project = $1 AND is_paused = 0",
                super::COLUMNS
            );
            let receivers = tx.rows(&sql, &[(&project).into()], super::read)?;
            let wants = |known: &&NoticeReceiver| known.events.contains(&new.kind);
            for known in receivers.iter().filter(wants) {
                post(tx, (&project, &known.id), &new, now)?;
            }
            Ok(())
        })
        .await
    }

    /// Enqueues a notification for one receiver, whatever it subscribes to.
    ///
    /// # Errors
    /// Fails if the project has no such receiver.
    pub async fn post_notice_to(
        &self,
        project: ProjectId,
        receiver: String,
        new: NewNotice,
        now: Timestamp,
    ) -> StoreResult<()> {
        let posted = self.transact(move |tx| {
            let known = wanted(tx, &project, &receiver)?;
            post(tx, (&project, &known.id), &new, now)
        });
        posted.await?;
        self.wake_delivery();
        Ok(())
    }

    /// Claims due deliveries of all projects: one per receiver, and none for a receiver with a
    /// claimed delivery.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn claim_deliveries(
        &self,
        (most, hold): (u64, Duration),
        secrets: Secrets,
        now: Timestamp,
    ) -> StoreResult<Vec<DueDelivery>> {
        let hold = i64::try_from(hold.as_nanos()).unwrap_or(i64::MAX);
        self.transact(move |tx| {
            let due = due(tx, most, &secrets, now)?;
            for one in &due {
                tx.execute(
                    "UPDATE notice_delivery SET claimed_until = $4 \
                     WHERE project = $1 AND receiver = $2 AND notice = $3",
                    &[
                        (&one.project).into(),
                        (&one.receiver).into(),
                        (&one.notice).into(),
                        now.plus_nanos(hold).into(),
                    ],
                )?;
            }
            Ok(due)
        })
        .await
    }

    /// Releases the claims of an earlier server process: a folder has one server at a time.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn free_deliveries(&self) -> StoreResult<()> {
        self.transact(move |tx| {
            tx.execute("UPDATE notice_delivery SET claimed_until = 0 WHERE claimed_until > 0", &[])
                .map(drop)
        })
        .await
    }

    /// Returns when the next delivery of any project is due, if one is pending.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn next_delivery(&self) -> StoreResult<Option<Timestamp>> {
        self.transact(move |tx| {
            let sql = "SELECT MIN(d.due_at) FROM notice_delivery d JOIN notice_receiver r \
                       ON r.project = d.project AND r.id = d.receiver \
                       WHERE d.outcome = 'waiting' AND d.claimed_until = 0 AND r.is_paused = 0";
            Ok(tx.one(sql, &[], |row| row.get::<Option<Timestamp>>(0))?.flatten())
        })
        .await
    }

    /// Records the result of an attempt, with the receiver's HTTP status.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn finish_delivery(
        &self,
        tried: DueDelivery,
        (settled, status): (DeliveryState, Option<u16>),
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            let (project, receiver) = (&tried.project, &tried.receiver);
            if settled == DeliveryState::Gone && gone(tx, &tried, now)? {
                return Ok(());
            }
            let (outcome, due) = match settled {
                DeliveryState::Delivered => (DeliveryOutcome::Delivered, tried.made_at),
                DeliveryState::Again(at) => (DeliveryOutcome::Waiting, at),
                DeliveryState::Failed | DeliveryState::Gone => {
                    (DeliveryOutcome::Failed, tried.made_at)
                }
                DeliveryState::Refused => (DeliveryOutcome::Refused, tried.made_at),
            };
            tx.execute(
                "UPDATE notice_delivery SET outcome = $4, tries = $5, status = $6, due_at = $7, \
                 tried_at = $8, claimed_until = 0 \
                 WHERE project = $1 AND receiver = $2 AND notice = $3",
                &[
                    project.into(),
                    receiver.into(),
                    (&tried.notice).into(),
                    outcome.as_str().into(),
                    tried.tries.saturating_add(1).into(),
                    status.map(u32::from).into(),
                    due.into(),
                    now.into(),
                ],
            )?;
            trim(tx, project, receiver)
        })
        .await
    }

    /// Returns the last deliveries to a receiver, latest first.
    ///
    /// # Errors
    /// Fails if the project has no such receiver.
    pub async fn notice_deliveries(
        &self,
        project: ProjectId,
        receiver: String,
        most: u64,
    ) -> StoreResult<Vec<NoticeDelivery>> {
        self.transact(move |tx| {
            wanted(tx, &project, &receiver)?;
            let sql = format!(
                "SELECT {COLUMNS} FROM notice_delivery WHERE project = $1 AND receiver = $2 \
                 ORDER BY made_at DESC, notice DESC LIMIT $3"
            );
            tx.rows(&sql, &[(&project).into(), (&receiver).into(), most.into()], read)
        })
        .await
    }
}

fn post(
    tx: &Tx<'_>,
    (project, receiver): (&ProjectId, &str),
    new: &NewNotice,
    now: Timestamp,
) -> StoreResult<()> {
    let waiting = "SELECT COUNT(*) FROM notice_delivery WHERE project = $1 AND receiver = $2 \
                   AND outcome = 'waiting'";
    let waiting = tx.one(waiting, &[project.into(), receiver.into()], |row| row.get::<u64>(0))?;
    if waiting.unwrap_or(0) >= MAX_PENDING {
        return Ok(());
    }
    tx.execute(
        "INSERT INTO notice_delivery (project, receiver, notice, kind, session, message, outcome, \
         tries, made_at, due_at, claimed_until) \
         VALUES ($1, $2, $3, $4, $5, $6, 'waiting', 0, $7, $7, 0) \
         ON CONFLICT (project, receiver, notice) DO NOTHING",
        &[
            project.into(),
            receiver.into(),
            (&new.id).into(),
            new.kind.as_str().into(),
            new.session.clone().into(),
            (&new.message).into(),
            now.into(),
        ],
    )
    .map(drop)
}

fn due(tx: &Tx<'_>, most: u64, secrets: &Secrets, now: Timestamp) -> StoreResult<Vec<DueDelivery>> {
    // The first of each receiver; a test message is also sent to a paused one.
    let sql = "SELECT d.project, d.receiver, r.kind, r.sealed, d.notice, d.kind, d.message, \
               d.tries, d.made_at FROM notice_delivery d \
               JOIN notice_receiver r ON r.project = d.project AND r.id = d.receiver \
               WHERE d.outcome = 'waiting' AND d.due_at <= $1 AND d.claimed_until <= $1 \
               AND (r.is_paused = 0 OR d.kind = 'test') \
               AND NOT EXISTS (SELECT 1 FROM notice_delivery o WHERE o.project = d.project \
               AND o.receiver = d.receiver AND o.outcome = 'waiting' \
               AND (r.is_paused = 0 OR o.kind = 'test') AND (o.claimed_until > $1 \
               OR (o.due_at <= $1 AND (o.made_at < d.made_at \
               OR (o.made_at = d.made_at AND o.notice < d.notice))))) \
               ORDER BY d.due_at, d.notice LIMIT $2";
    tx.rows(sql, &[now.into(), most.into()], |row| {
        let (project, receiver): (ProjectId, String) = (row.get(0)?, row.get(1)?);
        let opened = secrets.open(&row.get::<String>(3)?, &owner(&project, &receiver));
        let keys = match opened {
            Ok(opened) => ReceiverKeys::read(&opened),
            Err(StoreError::Sealed(_)) => None,
            Err(error) => return Err(error),
        };
        Ok(DueDelivery {
            project,
            receiver,
            keys,
            receiver_kind: row.get(2)?,
            notice: row.get(4)?,
            kind: row.get(5)?,
            message: row.get(6)?,
            tries: row.get(7)?,
            made_at: row.get(8)?,
        })
    })
}

/// Handles a receiver that no longer exists; returns whether nothing is left to record.
fn gone(tx: &Tx<'_>, tried: &DueDelivery, now: Timestamp) -> StoreResult<bool> {
    let (project, kind) = (&tried.project, tried.receiver_kind);
    let known = match wanted(tx, project, &tried.receiver) {
        Ok(known) => known,
        Err(StoreError::NotFound(_)) => return Ok(true),
        Err(error) => return Err(error),
    };
    match kind {
        ReceiverKind::Browser => remove(tx, project, &known, now).map(|()| true),
        ReceiverKind::Webhook => {
            let sql = "UPDATE notice_receiver SET is_paused = 1, updated_at = $3 \
                       WHERE project = $1 AND id = $2";
            tx.execute(sql, &[project.into(), (&known.id).into(), now.into()]).map(|_| false)
        }
    }
}

/// Deletes all but the last finished deliveries.
fn trim(tx: &Tx<'_>, project: &ProjectId, receiver: &str) -> StoreResult<()> {
    tx.execute(
        "DELETE FROM notice_delivery WHERE project = $1 AND receiver = $2 \
         AND outcome <> 'waiting' AND notice NOT IN (SELECT notice FROM notice_delivery \
         WHERE project = $1 AND receiver = $2 AND outcome <> 'waiting' \
         ORDER BY made_at DESC, notice DESC LIMIT $3)",
        &[project.into(), receiver.into(), MAX_FINISHED.into()],
    )
    .map(drop)
}

fn read(row: &Row<'_>) -> StoreResult<NoticeDelivery> {
    Ok(NoticeDelivery {
        notice: row.get(0)?,
        kind: row.get(1)?,
        session: row.get(2)?,
        outcome: row.get(3)?,
        tries: row.get(4)?,
        status: row.get(5)?,
        made_at: row.get(6)?,
        due_at: row.get(7)?,
        tried_at: row.get(8)?,
    })
}

impl FromColumn for DeliveryOutcome {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}
