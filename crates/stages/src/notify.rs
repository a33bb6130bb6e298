//! People who are not looking are told when a turn ends or a person is needed.
//!
//! An event that is news is noted in the commit that writes it. From there the courier settles who
//! is told, and tells them until they have it or it is too old; whoever runs a session waits for
//! none of it. A crash at any point means at worst that someone is told the same twice, under the
//! same name.

/// What people ask for, checked.
mod requests;

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use ratchet_core::chat::delivery_retry::{
    Attempt, DeliveryPatience, DeliveryResult, RetryDecision,
};
use ratchet_core::chat::notification::{
    Notification, NotificationKind, NotificationSource, notice_id, test_message,
};
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::time::Timestamp;
use ratchet_remote::delivery;
use ratchet_remote::delivery::{HandOverError, OutgoingMessage};
use ratchet_remote::langfuse::client::backoff_clock::BackoffClock;
use ratchet_remote::web_push::{PushTarget, VapidKey};
use ratchet_remote::webhook;
use ratchet_store::catalog::{DeliveryState, DueDelivery, NewNotice, ReceiverKeys};
use ratchet_store::chat::PendingNotification;
use ratchet_store::{Store, StoreResult};

pub use requests::{NotificationRequestError, browser, events, name, webhook};

/// Events that are settled at once.
const PAGE: u32 = 100;
/// What the server's key for push services is kept as.
const VAPID: &str = "vapid";

/// How much, and how long.
#[derive(Clone, Copy, Debug)]
pub struct CourierLimits {
    /// Receivers that are told something at the same time.
    pub at_once: usize,
    /// How long an answer may take.
    pub answer: Duration,
    /// How often to look whether something is due, if nobody says so.
    pub look_every: Duration,
    /// How long to go on trying.
    pub patience: DeliveryPatience,
}

impl Default for CourierLimits {
    fn default() -> Self {
        Self {
            at_once: 16,
            answer: Duration::from_secs(15),
            look_every: Duration::from_secs(30),
            patience: DeliveryPatience::default(),
        }
    }
}

/// Whoever tells people who are not looking. One is enough for a data folder.
#[derive(Debug)]
pub struct Notifier {
    /// Where news and receivers are kept.
    pub store: Store,
    /// Where people reach this server, without a slash at the end.
    pub server: String,
    pub outbound: OutboundPolicy,
    pub pace: Arc<dyn BackoffClock>,
    /// How much, and how long.
    pub limits: CourierLimits,
}

impl Notifier {
    /// Tells whoever wants to hear, until told to stop. What is under way then is tried again by
    /// whoever comes next.
    pub async fn run(&self, stop: impl Future<Output = ()>) {
        tokio::pin!(stop);
        if let Err(error) = self.store.catalog.free_deliveries().await {
            tracing::warn!(%error, "cannot take up notices that an earlier server had begun to tell");
        }
        let mut under_way = FuturesUnordered::new();
        loop {
            let pause = match self.look(&mut under_way).await {
                Ok(pause) => pause,
                Err(error) => {
                    tracing::warn!(%error, "cannot look for notices to tell");
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

    /// Begins to tell what is due; returns how long there is nothing else to do.
    async fn look<'a>(
        &'a self,
        under_way: &mut FuturesUnordered<BoxFuture<'a, ()>>,
    ) -> StoreResult<Duration> {
        self.settle().await?;
        let room = self.limits.at_once.saturating_sub(under_way.len());
        // Longer than any try takes, so that nobody else begins another meanwhile.
        let hold = self.limits.answer.saturating_mul(2);
        let (catalog, secrets) = (&self.store.catalog, self.store.secrets.clone());
        let now = self.pace.now();
        for due in catalog.claim_deliveries((room as u64, hold), secrets, now).await? {
            under_way.push(Box::pin(self.deliver(due)));
        }
        if under_way.len() >= self.limits.at_once {
            return Ok(self.limits.look_every);
        }
        let next = catalog.next_delivery().await?;
        let until = next.map(|next| next.since(now).max(0).unsigned_abs());
        let until = until.map(Duration::from_nanos).unwrap_or(self.limits.look_every);
        // What is due but waits for another delivery to the same receiver comes after that one.
        let shortest = if under_way.is_empty() { Duration::ZERO } else { self.limits.answer };
        Ok(until.max(shortest).min(self.limits.look_every))
    }

    /// Settles who is told of what has happened.
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
        if age(event.at, now) > self.limits.patience.whole {
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
            message: notice.message(place, event.at),
        };
        catalog.post_notice(project, new, now).await
    }

    /// Tries once, and notes what became of it.
    async fn deliver(&self, due: DueDelivery) {
        let now = self.pace.now();
        let age = age(due.made_at, now);
        let reached = match self.letter(&due, now).await {
            Some(letter) => self.hand_over(letter, &due.receiver, now).await,
            None => Err(DeliveryState::Failed),
        };
        let attempt = Attempt {
            receiver: due.receiver_kind,
            tries: due.tries.saturating_add(1),
            age,
            chance: self.pace.chance(),
        };
        let now = self.pace.now();
        let step = reached.map(|reached| attempt.next_step(reached, &self.limits.patience));
        let settled = match step {
            Ok(RetryDecision::Delivered) => DeliveryState::Delivered,
            Ok(RetryDecision::Again(pause)) => DeliveryState::Again(later(now, pause)),
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
        if let Err(error) = self.store.catalog.finish_delivery(due, (settled, status), now).await {
            tracing::error!(%error, receiver, notice, "cannot keep what became of a notice");
        }
    }

    /// Hands a message over, if it may go where its receiver is.
    async fn hand_over(
        &self,
        letter: OutgoingMessage,
        receiver: &str,
        now: Timestamp,
    ) -> Result<DeliveryResult, DeliveryState> {
        match letter.hand_over(&self.outbound, self.limits.answer, now).await {
            Ok(receipt) => Ok(receipt.into()),
            Err(HandOverError::Unreachable(_)) => Ok(DeliveryResult::Nobody),
            Err(HandOverError::Refused(why)) => {
                tracing::warn!(receiver, %why, "a notice may not go where its receiver is");
                Err(DeliveryState::Refused)
            }
        }
    }

    /// What is handed over; `None` if that cannot be written, now or later.
    async fn letter(&self, due: &DueDelivery, now: Timestamp) -> Option<OutgoingMessage> {
        let message = match due.kind {
            NotificationKind::Test => test_message(due.project.as_str(), &self.server, due.made_at),
            _ => due.message.clone(),
        };
        match due.keys.as_ref()? {
            ReceiverKeys::Webhook { url, secret } => {
                let url = delivery::address(url.expose())?;
                Some(webhook::signed(url, secret, (&due.notice, &message), now))
            }
            ReceiverKeys::Browser { endpoint, p256dh, auth } => {
                let target = PushTarget::read(endpoint.expose(), p256dh, auth.expose()).ok()?;
                let contact = self.server.starts_with("https://").then(|| self.server.clone());
                let key = vapid(&self.store, contact, now).await.ok()?;
                target.letter(&key, (due.kind, &message), now).ok()
            }
        }
    }
}

/// Who this server is to push services; made when it is first asked for. The contact is where
/// people reach the server, if that is an `https` address.
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

/// News of nothing, for someone who tries whether news arrives. What it says is added on the way.
pub fn trial(id: String) -> NewNotice {
    NewNotice { id, kind: NotificationKind::Test, session: None, message: String::new() }
}

fn age(of: Timestamp, now: Timestamp) -> Duration {
    Duration::from_nanos(now.since(of).max(0).unsigned_abs())
}

fn later(now: Timestamp, pause: Duration) -> Timestamp {
    now.plus_nanos(i64::try_from(pause.as_nanos()).unwrap_or(i64::MAX))
}
