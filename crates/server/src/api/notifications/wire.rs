use ratchet_core::secret::Secret;
use ratchet_store::catalog::{DeliveryOutcome, NoticeDelivery, NoticeReceiver};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A webhook to create.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebhookRequest {
    /// Display name.
    pub name: String,
    /// The URL, http or https; that of an e-mail address begins with `mailto:`. It is stored encrypted
    /// and not shown again.
    pub url: String,
    /// Subscribed events: `turn.ended`, `person.needed`, `session.failed`, `week.report`,
    /// `improvement.report`, `proposal.significant`, `failure.pattern`, `review.drawn`,
    /// `review.alert`; all by default, and for e-mail the weekly document. Issue trackers get
    /// `proposal.significant` only.
    pub events: Option<Vec<String>>,
    /// What it receives; signed messages by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<WebhookFormat>,
    /// Token that may create issues; for `github` and `jira`. It is stored encrypted and not shown
    /// again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The e-mail address of the token's user in Jira Cloud.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Key of the project in Jira that gets the issues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jira_project: Option<String>,
}

/// What a webhook receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum WebhookFormat {
    /// Signed messages, as Standard Webhooks describes them.
    #[default]
    Signed,
    /// Messages of a Slack channel, by the URL of its incoming webhook.
    Slack,
    /// E-mail.
    Email,
    /// Issues on GitHub, by the URL of a repository's issues.
    Github,
    /// Issues in Jira, by the URL that creates them.
    Jira,
}

/// A browser to subscribe, from its `PushSubscription`.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BrowserRequest {
    /// Display name.
    pub name: String,
    /// The URL of the push service, https.
    pub endpoint: String,
    /// The keys of the subscription.
    pub keys: BrowserKeysRequest,
    /// Subscribed events; all by default.
    pub events: Option<Vec<String>>,
}

/// The keys of a `PushSubscription`.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BrowserKeysRequest {
    /// Public key, base64url.
    pub p256dh: String,
    /// Authentication secret, base64url.
    pub auth: String,
}

/// A change of a receiver; omitted fields stay as they are.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ReceiverUpdate {
    /// Display name.
    pub name: Option<String>,
    /// Subscribed events.
    pub events: Option<Vec<String>>,
    /// Whether it gets notifications.
    pub state: Option<ReceiverState>,
    /// Whether to rotate the secret that signs messages.
    pub new_secret: bool,
}

/// Whether a receiver gets notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReceiverState {
    /// It gets notifications.
    On,
    /// Deliveries are paused.
    Paused,
}

/// A receiver of notifications.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReceiverView {
    /// The receiver's id.
    pub id: String,
    /// `webhook`, `slack`, `browser`, `email`, `github` or `jira`.
    pub kind: String,
    /// Display name.
    pub name: String,
    /// Scheme and host of the URL. The rest is secret.
    pub address: String,
    /// Subscribed events.
    pub events: Vec<String>,
    /// Whether it gets notifications.
    pub state: ReceiverState,
    /// The user whose browser it is.
    pub person: Option<String>,
    /// Time of creation, RFC 3339.
    pub created_at: String,
    /// Time of the last change.
    pub updated_at: String,
}

impl From<NoticeReceiver> for ReceiverView {
    fn from(known: NoticeReceiver) -> Self {
        Self {
            id: known.id,
            kind: known.kind.as_str().to_owned(),
            name: known.name,
            address: known.address,
            events: known.events.iter().map(|kind| kind.as_str().to_owned()).collect(),
            state: if known.is_paused { ReceiverState::Paused } else { ReceiverState::On },
            person: known.person,
            created_at: known.created_at.to_string(),
            updated_at: known.updated_at.to_string(),
        }
    }
}

/// A receiver with its new secret, which is shown only once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewReceiverView {
    /// The receiver.
    #[serde(flatten)]
    pub receiver: ReceiverView,
    /// The secret that signs messages: `whsec_` and a key in base64. Shown only in this response.
    pub secret: Option<String>,
}

impl NewReceiverView {
    /// A receiver with its new secret, if any.
    pub fn new(known: NoticeReceiver, secret: Option<&Secret>) -> Self {
        let secret = secret.map(|secret| secret.expose().to_owned());
        Self { receiver: known.into(), secret }
    }
}

/// A removed receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RemovedReceiver {
    /// The receiver's id.
    pub removed: String,
}

/// A test notification that was enqueued.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SentNoticeView {
    /// The message id, sent as `webhook-id`.
    pub notice: String,
}

/// The server's key for browser subscriptions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PushKeyView {
    /// Public key, base64url: `applicationServerKey`.
    pub public_key: String,
}

/// A delivery of one notification to one receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryView {
    /// The message id, the same for every retry.
    pub notice: String,
    /// The kind of event.
    pub event: String,
    /// The chat it is about.
    pub session: Option<String>,
    /// `waiting`, `delivered`, `failed`, or `refused`: the receiver's address is not public, and
    /// `outbound.allow` does not list it.
    pub outcome: String,
    /// Number of attempts.
    pub tries: u32,
    /// HTTP status of the last attempt; null without a response.
    pub status: Option<u32>,
    /// Time of the event, RFC 3339.
    pub made_at: String,
    /// Time of the last attempt.
    pub tried_at: Option<String>,
    /// Time of the next attempt; null if there is none.
    pub next_at: Option<String>,
}

impl From<NoticeDelivery> for DeliveryView {
    fn from(known: NoticeDelivery) -> Self {
        let waits = known.outcome == DeliveryOutcome::Waiting;
        Self {
            notice: known.notice,
            event: known.kind.as_str().to_owned(),
            session: known.session,
            outcome: known.outcome.as_str().to_owned(),
            tries: known.tries,
            status: known.status,
            made_at: known.made_at.to_string(),
            tried_at: known.tried_at.map(|at| at.to_string()),
            next_at: waits.then(|| known.due_at.to_string()),
        }
    }
}
