//! Notifications to webhooks and browsers: when a turn ends, a person is needed, or a report is
//! ready.
//!
//! A chat event that people are notified of is noted in the commit that writes it (an outbox). The
//! notifier turns it into one job per receiver and retries each until it is delivered or too old;
//! chats wait for none of it. A crash at any point means at worst that a receiver gets a message
//! twice, under the same id.

/// Validation of requests to add receivers.
mod requests;
/// Notifications as e-mail.
mod mail;

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use ratchet_core::backoff::{Backoff, FailedAttempt};
use ratchet_core::chat::delivery_retry::{DELIVERY_BACKOFF, DeliveryResult, RetryDecision};
use ratchet_core::chat::notification::{
    Notification, NotificationKind, NotificationSource, notice_id, test_message,
};
use ratchet_core::improve::task::ProposalTask;
use ratchet_core::job::JobKind;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::time::Timestamp;
use ratchet_remote::backoff_clock::BackoffClock;
use ratchet_remote::delivery;
use ratchet_remote::delivery::{DeliveryError, OutgoingMessage};
use ratchet_remote::issue_tracker;
use ratchet_remote::smtp::SmtpError;
use ratchet_remote::web_push::{PushTarget, VapidKey};
use ratchet_remote::webhook;
use ratchet_store::catalog::{DeliveryState, DueDelivery, LeaseStatus, NewNotice, ReceiverKeys};
use ratchet_store::chat::PendingNotification;
use ratchet_store::{Store, StoreResult};

pub use mail::MailSettings;
pub use requests::{
    JiraRequest, NotificationRequestError, browser, email, events, github, jira, name, slack,
    webhook,
};

/// Events that are enqueued per query.
const PAGE: u32 = 100;
/// Name of the server's key for push services.
const VAPID: &str = "vapid";

/// Limits of the notifier.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryLimits {
    /// Concurrent deliveries.
    pub at_once: usize,
    /// Timeout of a delivery.
    pub answer: Duration,
    /// The longest time between two polls.
    pub look_every: Duration,
    pub backoff: Backoff,
}

impl Default for DeliveryLimits {
    fn default() -> Self {
        Self {
            at_once: 16,
            answer: Duration::from_secs(15),
            look_every: Duration::from_secs(30),
            backoff: DELIVERY_BACKOFF,
        }
    }
}

/// The worker that delivers notifications. One is enough for a data folder.
#[derive(Debug)]
pub struct Notifier {
    pub store: Store,
    /// Public URL of this server, without a slash at the end.
    pub server: String,
    pub outbound: OutboundPolicy,
    pub pace: Arc<dyn BackoffClock>,
    pub limits: DeliveryLimits,
    /// `None` where the operator has set up no e-mail.
    pub mail: Option<MailSettings>,
}

impl Notifier {
    /// Delivers notifications until `stop` ends. Unfinished deliveries are retried by the next
    /// server.
    pub async fn run(&self, stop: impl Future<Output = ()>) {
        tokio::pin!(stop);
        let now = self.pace.now();
        if let Err(error) = self.store.catalog.expire_leases(JobKind::Notice, now).await {
            tracing::warn!(%error, "cannot take over the deliveries of an earlier server");
        }
        let mut under_way = FuturesUnordered::new();
        loop {
            let pause = match self.look(&mut under_way).await {
                Ok(pause) => pause,
                Err(error) => {
                    tracing::warn!(%error, "cannot look for notifications to deliver");
                    self.limits.look_every
                }
            };
            tokio::select! {
                () = &mut stop => return,
                () = self.store.catalog.delivery_wanted() => {}
                Some(()) = under_way.next() => {}
                () = self.pace.pause(pause) => {}
            }
        }
    }

    /// Starts due deliveries; returns the time until the next one.
    async fn look<'a>(
        &'a self,
        under_way: &mut FuturesUnordered<BoxFuture<'a, ()>>,
    ) -> StoreResult<Duration> {
        self.settle().await?;
        let room = self.limits.at_once.saturating_sub(under_way.len());
        // Longer than any attempt takes, so that no other worker starts another meanwhile.
        let hold = self.limits.answer.saturating_mul(2);
        let (catalog, secrets) = (&self.store.catalog, self.store.secrets.clone());
        let now = self.pace.now();
        for due in catalog.claim_deliveries((room as u64, hold), secrets, now).await? {
            under_way.push(Box::pin(self.attempt(due)));
        }
        if under_way.len() >= self.limits.at_once {
            return Ok(self.limits.look_every);
        }
        let next = catalog.next_job(JobKind::Notice).await?;
        let until = match next {
            Some(next) if next > now => Duration::from_nanos(next.since(now).unsigned_abs()),
            // Due, but behind another delivery to the same receiver.
            Some(_) => self.limits.answer,
            None => self.limits.look_every,
        };
        Ok(until.min(self.limits.look_every))
    }

    /// Enqueues noted events for their receivers.
    async fn settle(&self) -> StoreResult<()> {
        loop {
            let news = self.store.telemetry.pending_notifications(PAGE).await?;
            if news.is_empty() {
                return Ok(());
            }
            let numbers = news.iter().map(|untold| untold.number).collect();
            for untold in news {
                self.post(untold).await?;
            }
            self.store.telemetry.mark_notified(numbers).await?;
        }
    }

    async fn post(&self, untold: PendingNotification) -> StoreResult<()> {
        let PendingNotification { project: Some(project), chat: chat_id, event, .. } = untold
        else {
            return Ok(());
        };
        let Some(notice) = Notification::of(&event) else { return Ok(()) };
        let now = self.pace.now();
        if age(event.at, now) > self.limits.backoff.max_elapsed {
            return Ok(());
        }
        let catalog = &self.store.catalog;
        let chat = catalog.chat(project.clone(), chat_id.clone()).await?;
        let title = chat.and_then(|chat| chat.title);
        let place = NotificationSource {
            project: project.as_str(),
            chat: &chat_id,
            title: title.as_deref(),
            server: &self.server,
        };
        let new = NewNotice {
            id: notice_id(&chat_id, event.seq),
            kind: notice.kind,
            session: Some(chat_id.to_string()),
            is_minor: notice.is_minor(),
            message: notice.message(place).payload(event.at).to_string(),
        };
        catalog.post_notice(project, new, now).await
    }

    /// Makes one attempt and records its result.
    async fn attempt(&self, due: DueDelivery) {
        let now = self.pace.now();
        let age = age(due.made_at, now);
        let reached = match (&due.keys, self.request(&due, now).await) {
            (Some(ReceiverKeys::Email { to }), _) => self.send_mail(&due, to, now).await,
            (_, Some(letter)) => self.send(letter, &due.receiver, now).await,
            (_, None) => Err(DeliveryState::Failed),
        };
        let attempt = FailedAttempt {
            attempt: due.tries.saturating_add(1),
            elapsed: age,
            retry_after: None,
            jitter: self.pace.jitter(),
        };
        let now = self.pace.now();
        let backoff = &self.limits.backoff;
        let step = reached.map(|reached| reached.next_step(due.receiver_kind, attempt, backoff));
        let settled = match step {
            Ok(RetryDecision::Delivered) => DeliveryState::Delivered,
            Ok(RetryDecision::Again(pause)) => DeliveryState::Again(now.plus(pause)),
            Ok(RetryDecision::Gone) => DeliveryState::Gone,
            Ok(RetryDecision::GivenUp) => DeliveryState::Failed,
            Err(settled) => settled,
        };
        let status = match reached {
            Ok(DeliveryResult::Answered { status, .. }) => Some(status),
            Ok(DeliveryResult::Nobody) | Err(_) => None,
        };
        let (receiver, notice) = (due.receiver.clone(), due.notice.clone());
        if settled != DeliveryState::Delivered {
            tracing::info!(receiver, notice, status, "a notice did not arrive");
        }
        match self.store.catalog.finish_delivery(due, (settled, status), now).await {
            Ok(LeaseStatus::Held) => {}
            Ok(LeaseStatus::Lost) => {
                tracing::warn!(receiver, notice, "a delivery took longer than its lease");
            }
            Err(error) => {
                tracing::error!(%error, receiver, notice, "cannot store the result of a delivery");
            }
        }
    }

    /// Sends a message, if the outbound policy allows the receiver's address.
    async fn send(
        &self,
        letter: OutgoingMessage,
        receiver: &str,
        now: Timestamp,
    ) -> Result<DeliveryResult, DeliveryState> {
        match letter.deliver(&self.outbound, self.limits.answer, now).await {
            Ok(receipt) => Ok(receipt.into()),
            Err(DeliveryError::Unreachable(_)) => Ok(DeliveryResult::Nobody),
            Err(DeliveryError::Refused(why)) => {
                tracing::warn!(receiver, %why, "a notice may not go where its receiver is");
                Err(DeliveryState::Refused)
            }
        }
    }

    /// The request to send; `None` if it can never be built.
    async fn request(&self, due: &DueDelivery, now: Timestamp) -> Option<OutgoingMessage> {
        let message = self.payload(due);
        match due.keys.as_ref()? {
            ReceiverKeys::Webhook { url, secret } => {
                let url = delivery::address(url.expose())?;
                Some(webhook::signed(url, secret, (&due.notice, &message), now))
            }
            ReceiverKeys::Slack { slack } => {
                Some(webhook::slack_notice(delivery::address(slack.expose())?, &message))
            }
            ReceiverKeys::Browser { endpoint, p256dh, auth } => {
                let message = mail::without_document(&message);
                let target = PushTarget::read(endpoint.expose(), p256dh, auth.expose()).ok()?;
                let contact = self.server.starts_with("https://").then(|| self.server.clone());
                let key = vapid(&self.store, contact, now).await.ok()?;
                target.message(&key, (due.kind, &message), now).ok()
            }
            ReceiverKeys::Github { github, token } => {
                let issue = mail::issue(&message, |task: &ProposalTask<'_>| task.github());
                let url = delivery::address(github.expose())?;
                Some(issue_tracker::github(url, token, (&due.notice, &issue)))
            }
            ReceiverKeys::Jira { jira, user, token, project } => {
                let issue = mail::issue(&message, |task| task.jira(project));
                let url = delivery::address(jira.expose())?;
                Some(issue_tracker::jira(url, (user.as_deref(), token), (&due.notice, &issue)))
            }
            ReceiverKeys::Email { .. } => None,
        }
    }

    fn payload(&self, due: &DueDelivery) -> String {
        match due.kind {
            NotificationKind::Test => {
                test_message(due.project.as_str(), &self.server).payload(due.made_at).to_string()
            }
            _ => due.message.clone(),
        }
    }

    /// Sends a message by SMTP, to a server that the operator chose.
    async fn send_mail(
        &self,
        due: &DueDelivery,
        to: &str,
        now: Timestamp,
    ) -> Result<DeliveryResult, DeliveryState> {
        let Some(settings) = &self.mail else { return Err(DeliveryState::Unconfigured) };
        let receiver = &due.receiver;
        let letter =
            mail::mail((to, &format!("{}.{receiver}", due.notice)), &self.payload(due), settings);
        match settings.server.send(&letter, self.limits.answer, now).await {
            Ok(status) | Err(SmtpError::Refused(status)) => {
                Ok(DeliveryResult::Answered { status, retry_after: None })
            }
            Err(error @ SmtpError::Unreachable(_)) => {
                tracing::warn!(receiver, %error, "an e-mail was not sent");
                Ok(DeliveryResult::Nobody)
            }
            Err(error @ SmtpError::Invalid(..)) => {
                tracing::warn!(receiver, %error, "an e-mail cannot be sent");
                Err(DeliveryState::Failed)
            }
        }
    }
}

/// Returns the server's key for push services, which is generated at the first call. The contact
/// is the server's public URL, if that is an `https` address.
///
/// # Errors
/// Fails if the key was sealed with another secret than this server's.
pub async fn vapid(
    store: &Store,
    contact: Option<String>,
    now: Timestamp,
) -> Result<VapidKey, NotificationRequestError> {
    let new = VapidKey::make()?;
    let secrets = store.secrets.clone();
    let kept = store.catalog.server_secret(VAPID, new, secrets, now).await?;
    Ok(VapidKey::read(&kept, contact)?)
}

/// Returns a test notification. Its message is added at delivery.
pub fn trial(id: String) -> NewNotice {
    NewNotice {
        id,
        kind: NotificationKind::Test,
        session: None,
        is_minor: false,
        message: String::new(),
    }
}

fn age(of: Timestamp, now: Timestamp) -> Duration {
    Duration::from_nanos(now.since(of).max(0).unsigned_abs())
}
