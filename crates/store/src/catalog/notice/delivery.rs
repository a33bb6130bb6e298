use std::time::Duration;

use ratchet_core::chat::delivery_retry::{DELIVERY_BACKOFF, ReceiverKind};
use ratchet_core::chat::notification::NotificationKind;
use ratchet_core::job::{JobKind, JobPhase, Retry};
use ratchet_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::{NoticeReceiver, RECEIVERS, ReceiverKeys, owner, remove};
use crate::catalog::Catalog;
use crate::catalog::job::{
    self, JobFailure, JobLease, JobOrder, JobRecord, JobRequest, LeaseStatus, NewJob,
};
use crate::catalog::sql::Tx;
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
    /// Whether it is not worth an interruption: browsers do not get it.
    pub is_minor: bool,
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
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::Refused => "refused",
        }
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
    pub lease: JobLease,
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
    /// Not attempted: the server has no settings for e-mail.
    Unconfigured,
    /// The receiver no longer exists. A browser is deleted, a webhook is paused until a person
    /// fixes it.
    Gone,
}

/// What a job of a delivery says.
#[derive(Serialize, Deserialize)]
struct Payload {
    notice: String,
    kind: String,
    session: Option<String>,
    message: String,
}

/// What an attempt leaves behind.
#[derive(Default, Serialize, Deserialize)]
struct AttemptResult {
    status: Option<u32>,
    refused: bool,
}

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
        self.transact(move |tx| post_to_subscribers(tx, &project, &new, now)).await
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
            let known = RECEIVERS.require(tx, &project, &receiver)?;
            post(tx, &project, &known, &new, now)
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
        (limit, lease): (u64, Duration),
        secrets: Secrets,
        now: Timestamp,
    ) -> StoreResult<Vec<DueDelivery>> {
        let owner = "notifier".to_owned();
        let kind = JobKind::Notice;
        let request = JobRequest { kind, owner, lease, limit, max_running: None };
        self.transact(move |tx| {
            let jobs = job::claim_some(tx, &request, now)?;
            let due = jobs.into_iter().map(|job| due(tx, job, &secrets, now));
            due.filter_map(Result::transpose).collect()
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
    ) -> StoreResult<LeaseStatus> {
        self.transact(move |tx| {
            let retry = match settled {
                DeliveryState::Delivered => None,
                DeliveryState::Again(at) => Some(Retry::At(at)),
                DeliveryState::Failed
                | DeliveryState::Refused
                | DeliveryState::Unconfigured
                | DeliveryState::Gone => Some(Retry::Never),
            };
            let refused = settled == DeliveryState::Refused;
            let is_mail = tried.receiver_kind == ReceiverKind::Email;
            let error = match status {
                _ if refused => "the address is not public".to_owned(),
                _ if settled == DeliveryState::Unconfigured => {
                    "the server has no settings for e-mail (smtp.server, smtp.from)".to_owned()
                }
                Some(status) if is_mail => format!("SMTP status {status}"),
                Some(status) => format!("HTTP status {status}"),
                None => "no response".to_owned(),
            };
            let result = AttemptResult { status: status.map(u32::from), refused };
            let result = serde_json::to_string(&result).ok();
            let lease = match retry {
                None => job::complete(tx, &tried.lease, result, now)?,
                Some(retry) => {
                    job::fail(tx, &tried.lease, JobFailure { error, retry, result }, now)?
                }
            };
            if lease == LeaseStatus::Lost {
                return Ok(lease);
            }
            job::prune(tx, (&tried.project, JobKind::Notice, &tried.receiver), MAX_FINISHED)?;
            if settled == DeliveryState::Gone {
                gone(tx, &tried, now)?;
            }
            Ok(lease)
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
            RECEIVERS.require(tx, &project, &receiver)?;
            let jobs = job::of_group(
                tx,
                (&project, JobKind::Notice, &receiver),
                JobOrder::Enqueued,
                most,
            )?;
            Ok(jobs.into_iter().filter_map(|job| shown(&job)).collect())
        })
        .await
    }
}

/// Enqueues a notification for every receiver that subscribes to its kind and is not paused.
pub(in crate::catalog) fn post_to_subscribers(
    tx: &Tx<'_>,
    project: &ProjectId,
    new: &NewNotice,
    now: Timestamp,
) -> StoreResult<()> {
    let receivers = RECEIVERS.all(tx, project)?;
    let is_fit = |known: &NoticeReceiver| match known.kind {
        ReceiverKind::Browser => !new.is_minor,
        kind => !ReceiverKind::TRACKERS.contains(&kind) || new.kind == NotificationKind::Proposal,
    };
    let wants = |known: &&NoticeReceiver| {
        !known.is_paused && known.events.contains(&new.kind) && is_fit(known)
    };
    for known in receivers.iter().filter(wants) {
        post(tx, project, known, new, now)?;
    }
    Ok(())
}

fn post(
    tx: &Tx<'_>,
    project: &ProjectId,
    known: &NoticeReceiver,
    new: &NewNotice,
    now: Timestamp,
) -> StoreResult<()> {
    let waiting = "SELECT COUNT(*) FROM job WHERE project = $1 AND kind = $2 AND group_id = $3 \
                   AND phase IN ('queued', 'leased')";
    let group = [project.into(), JobKind::Notice.as_str().into(), (&known.id).into()];
    let waiting = tx.one(waiting, &group, |row| row.get::<u64>(0))?;
    if waiting.unwrap_or(0) >= MAX_PENDING {
        return Ok(());
    }
    let payload = Payload {
        notice: new.id.clone(),
        kind: new.kind.as_str().to_owned(),
        session: new.session.clone(),
        message: new.message.clone(),
    };
    let job = NewJob {
        kind: JobKind::Notice,
        id: format!("{}/{}", known.id, new.id),
        group: Some(known.id.clone()),
        payload: serde_json::to_string(&payload).unwrap_or_default(),
        priority: 0,
        run_at: now,
        max_attempts: DELIVERY_BACKOFF.max_attempts,
        // A test is also sent to a paused receiver.
        is_held: known.is_paused && new.kind != NotificationKind::Test,
    };
    job::enqueue(tx, project, &job, now).map(drop)
}

/// The delivery of a claimed job; `None` if it can never be made, which is recorded.
fn due(
    tx: &Tx<'_>,
    job: JobRecord,
    secrets: &Secrets,
    now: Timestamp,
) -> StoreResult<Option<DueDelivery>> {
    let lease = job.lease();
    let receiver = job.group.clone().unwrap_or_default();
    let sql = "SELECT kind, sealed FROM notice_receiver WHERE project = $1 AND id = $2";
    let key = [(&job.project).into(), (&receiver).into()];
    let known: Option<(ReceiverKind, String)> =
        tx.one(sql, &key, |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (Some((receiver_kind, sealed)), Some((payload, kind))) = (known, payload(&job)) else {
        let error = "its receiver or its event no longer exists".to_owned();
        let failure = JobFailure { error, retry: Retry::Never, result: None };
        return job::fail(tx, &lease, failure, now).map(|_| None);
    };
    let keys = match secrets.open(&sealed, &owner(&job.project, &receiver)) {
        Ok(opened) => ReceiverKeys::read(&opened),
        Err(StoreError::Sealed(_)) => None,
        Err(error) => return Err(error),
    };
    Ok(Some(DueDelivery {
        lease,
        project: job.project,
        receiver,
        keys,
        receiver_kind,
        notice: payload.notice,
        kind,
        message: payload.message,
        tries: job.state.attempts.saturating_sub(1),
        made_at: job.enqueued_at,
    }))
}

fn payload(job: &JobRecord) -> Option<(Payload, NotificationKind)> {
    let payload: Payload = serde_json::from_str(&job.payload).ok()?;
    let kind = NotificationKind::parse(&payload.kind)?;
    Some((payload, kind))
}

/// Handles a receiver that no longer exists.
fn gone(tx: &Tx<'_>, tried: &DueDelivery, now: Timestamp) -> StoreResult<()> {
    let (project, kind) = (&tried.project, tried.receiver_kind);
    let known = match RECEIVERS.require(tx, project, &tried.receiver) {
        Ok(known) => known,
        Err(StoreError::NotFound(_)) => return Ok(()),
        Err(error) => return Err(error),
    };
    match kind {
        ReceiverKind::Browser => remove(tx, project, &known, now),
        ReceiverKind::Webhook
        | ReceiverKind::Slack
        | ReceiverKind::Email
        | ReceiverKind::Github
        | ReceiverKind::Jira => {
            let sql = "UPDATE notice_receiver SET is_paused = 1, updated_at = $3 \
                       WHERE project = $1 AND id = $2";
            tx.execute(sql, &[project.into(), (&known.id).into(), now.into()])?;
            job::hold(tx, (project, JobKind::Notice, &known.id), true)
        }
    }
}

/// The delivery of a job, for people to look at.
fn shown(job: &JobRecord) -> Option<NoticeDelivery> {
    let (payload, kind) = payload(job)?;
    let result: AttemptResult =
        job.result.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let is_under_way = matches!(job.state.phase, JobPhase::Leased { .. });
    let outcome = match job.state.phase {
        JobPhase::Queued { .. } | JobPhase::Leased { .. } => DeliveryOutcome::Waiting,
        JobPhase::Done => DeliveryOutcome::Delivered,
        JobPhase::Dead if result.refused => DeliveryOutcome::Refused,
        JobPhase::Dead => DeliveryOutcome::Failed,
    };
    let tries = job.state.attempts.saturating_sub(u32::from(is_under_way));
    Some(NoticeDelivery {
        notice: payload.notice,
        kind,
        session: payload.session,
        outcome,
        tries,
        status: result.status,
        made_at: job.enqueued_at,
        due_at: job.run_at,
        tried_at: job.started_at.filter(|_| tries > 0),
    })
}
