use ratchet_core::secret::Secret;
use ratchet_store::catalog::{DeliveryOutcome, NoticeDelivery, NoticeReceiver};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A program to be told, as clients ask for it.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebhookRequest {
    /// What people will call it.
    pub name: String,
    /// Its address, http or https. It is sealed, and not shown again.
    pub url: String,
    /// What it is told of: `turn.ended`, `person.needed`, `session.failed`; all when left out.
    pub events: Option<Vec<String>>,
}

/// A browser to be told, as its `PushSubscription` has it.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BrowserRequest {
    /// What people will call it.
    pub name: String,
    /// The address that its push service gave it, https.
    pub endpoint: String,
    /// Its keys.
    pub keys: BrowserKeysRequest,
    /// What it is told of; all news when left out.
    pub events: Option<Vec<String>>,
}

/// The keys of a `PushSubscription`.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BrowserKeysRequest {
    /// Its public key, base64url.
    pub p256dh: String,
    /// What it shares with the server, base64url.
    pub auth: String,
}

/// What is to be different about a receiver; what is left out stays.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ReceiverUpdate {
    /// What people call it.
    pub name: Option<String>,
    /// What it is told of.
    pub events: Option<Vec<String>>,
    /// Whether it is told anything.
    pub state: Option<ReceiverState>,
    /// Whether messages are signed with another secret from now on.
    pub new_secret: bool,
}

/// Whether a receiver is told anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReceiverState {
    /// It is.
    On,
    /// It is left alone.
    Paused,
}

/// Someone who is told, as clients see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReceiverView {
    /// Its id.
    pub id: String,
    /// `webhook` or `browser`.
    pub kind: String,
    /// What people call it.
    pub name: String,
    /// Where it is: scheme and host. The rest is a secret.
    pub address: String,
    /// What it is told of.
    pub events: Vec<String>,
    /// Whether it is told anything.
    pub state: ReceiverState,
    /// Whose browser it is.
    pub person: Option<String>,
    /// Since when, RFC 3339.
    pub created_at: String,
    /// When it last changed.
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

/// A receiver with its secret, if there is a new one, as clients see it this once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewReceiverView {
    /// The receiver.
    #[serde(flatten)]
    pub receiver: ReceiverView,
    /// What messages are signed with: `whsec_` and a key in base64. A plain text because this is
    /// the one answer that must show it.
    pub secret: Option<String>,
}

impl NewReceiverView {
    /// A receiver with the secret that is new.
    pub fn new(known: NoticeReceiver, secret: Option<&Secret>) -> Self {
        let secret = secret.map(|secret| secret.expose().to_owned());
        Self { receiver: known.into(), secret }
    }
}

/// A receiver that was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RemovedReceiver {
    /// Its id.
    pub removed: String,
}

/// A test that is on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SentNoticeView {
    /// The id that the receiver gets, as `webhook-id`.
    pub notice: String,
}

/// The server's key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PushKeyView {
    /// Its public half, base64url: `applicationServerKey`.
    pub public_key: String,
}

/// What became of one notice for one receiver, as clients see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryView {
    /// The notice: the same id whenever it is delivered again.
    pub notice: String,
    /// What kind of news.
    pub event: String,
    /// In which session.
    pub session: Option<String>,
    /// `waiting`, `delivered`, `failed`, or `refused`: the receiver's address is not public, and
    /// `outbound.allow` does not name it.
    pub outcome: String,
    /// How often it was tried.
    pub tries: u32,
    /// What the receiver answered last, as HTTP has it; null if it did not.
    pub status: Option<u32>,
    /// When it happened, RFC 3339.
    pub made_at: String,
    /// When it was tried last.
    pub tried_at: Option<String>,
    /// When it is tried next; null when it is not.
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
