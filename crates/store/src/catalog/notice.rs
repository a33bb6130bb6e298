//! Notifications by webhook and browser push: receivers and deliveries.

/// Deliveries: jobs, one per notification and receiver.
mod delivery;
/// Secrets of the server itself.
mod server_key;

use ratchet_core::chat::delivery_retry::ReceiverKind;
use ratchet_core::chat::notification::NotificationKind;
use ratchet_core::job::JobKind;
use ratchet_core::payload::Json;
use ratchet_core::record::limit::elide;
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use serde_json::{Value as JsonValue, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::project_table::ProjectTable;
use super::sql::{FromColumn, Row, Tx, Value};
use super::{AuditAction, AuditObject, Catalog, job};
use crate::project::ProjectId;
use crate::secrets::Secrets;
use crate::{StoreError, StoreResult};

pub(super) use delivery::post_to_subscribers;
pub use delivery::{DeliveryOutcome, DeliveryState, DueDelivery, NewNotice, NoticeDelivery};

/// Maximum number of receivers per project.
const MAX_RECEIVERS: usize = 200;
/// Maximum stored length of a name.
const NAME_BYTES: usize = 200;

/// A receiver of notifications, without its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoticeReceiver {
    pub id: String,
    pub kind: ReceiverKind,
    pub name: String,
    /// The public part of its URL.
    pub address: String,
    /// Subscribed events.
    pub events: Vec<NotificationKind>,
    /// Whether deliveries are paused.
    pub is_paused: bool,
    pub person: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// The address and keys of a receiver. All of it is secret: with it, anyone could send
/// notifications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceiverKeys {
    Webhook {
        url: Secret,
        /// HMAC key for signatures.
        secret: Secret,
    },
    Slack {
        /// URL of an incoming webhook.
        slack: Secret,
    },
    Browser {
        /// URL of the push service.
        endpoint: Secret,
        /// Public key of the browser, base64url.
        p256dh: String,
        /// Authentication secret of the browser, base64url.
        auth: Secret,
    },
    Email {
        /// One address.
        to: String,
    },
    Github {
        /// URL of a repository's issues.
        github: Secret,
        token: Secret,
    },
    Jira {
        /// URL that creates issues.
        jira: Secret,
        /// The user of the token; `None` for a personal access token.
        user: Option<String>,
        token: Secret,
        /// Key of the project that gets the issues.
        project: String,
    },
}

/// A receiver to create.
#[derive(Clone, Debug)]
pub struct NewReceiver {
    pub name: String,
    pub keys: ReceiverKeys,
    /// Subscribed events.
    pub events: Vec<NotificationKind>,
    pub person: Option<String>,
}

/// A change of a receiver; `None` leaves a field as it is.
#[derive(Clone, Debug, Default)]
pub struct ReceiverChange {
    pub name: Option<String>,
    /// Subscribed events.
    pub events: Option<Vec<NotificationKind>>,
    /// Whether deliveries are paused.
    pub is_paused: Option<bool>,
    /// New HMAC key of a webhook.
    pub secret: Option<Secret>,
}

const COLUMNS: &str = "id, kind, name, address, events, is_paused, person, created_at, updated_at";

const RECEIVERS: ProjectTable<NoticeReceiver> =
    ProjectTable::new(("notice_receiver", "receiver"), COLUMNS, read).in_order("created_at, id");

impl Catalog {
    /// Returns a project's receivers, oldest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn notice_receivers(&self, project: ProjectId) -> StoreResult<Vec<NoticeReceiver>> {
        self.transact(move |tx| RECEIVERS.all(tx, &project)).await
    }

    /// Returns a receiver.
    ///
    /// # Errors
    /// Fails if the project has no such receiver.
    pub async fn notice_receiver(
        &self,
        project: ProjectId,
        id: String,
    ) -> StoreResult<NoticeReceiver> {
        self.transact(move |tx| RECEIVERS.require(tx, &project, &id)).await
    }

    /// Adds a receiver. A known browser gets its new keys.
    ///
    /// # Errors
    /// Fails if the project has too many receivers, or if the server's encryption key is
    /// unavailable.
    pub async fn add_notice_receiver(
        &self,
        project: ProjectId,
        new: NewReceiver,
        secrets: Secrets,
        now: Timestamp,
    ) -> StoreResult<NoticeReceiver> {
        self.transact(move |tx| {
            let (id, mark) = (Uuid::new_v4().to_string(), new.keys.mark());
            let known = "SELECT id FROM notice_receiver WHERE project = $1 AND mark = $2";
            let key = [(&project).into(), mark.as_deref().unwrap_or(&id).into()];
            let known: Option<String> = tx.one(known, &key, |row| row.get(0))?;
            let count = "SELECT COUNT(*) FROM notice_receiver WHERE project = $1";
            let count = tx.one(count, &[(&project).into()], |row| row.get::<u64>(0))?;
            if known.is_none() && count.unwrap_or(0) >= MAX_RECEIVERS as u64 {
                let why = format!("a project has at most {MAX_RECEIVERS} receivers");
                return Err(StoreError::BadQuery(why));
            }
            let verb = if known.is_some() { AuditAction::Changed } else { AuditAction::Added };
            let id = known.unwrap_or(id);
            let (kind, address) = (new.keys.kind(), new.keys.shown());
            let sealed = secrets.seal(&new.keys.written(), &owner(&project, &id))?;
            tx.execute(
                "INSERT INTO notice_receiver (project, id, kind, name, address, mark, sealed, \
                 events, is_paused, person, created_at, updated_at) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, $10, $10) \
                 ON CONFLICT (project, id) DO UPDATE SET name = $4, sealed = $7, events = $8, \
                 is_paused = 0, person = $9, updated_at = $10",
                &[
                    (&project).into(),
                    (&id).into(),
                    kind.as_str().into(),
                    elide(&new.name, NAME_BYTES).as_ref().into(),
                    address.as_str().into(),
                    mark.unwrap_or_else(|| id.clone()).into(),
                    sealed.into(),
                    (&listed(&new.events)).into(),
                    new.person.clone().into(),
                    now.into(),
                ],
            )?;
            job::hold(tx, (&project, JobKind::Notice, &id), false)?;
            let made = RECEIVERS.require(tx, &project, &id)?;
            let audited = verb.on(noun(kind), &id).named(&made.name);
            tx.audit(&project, now, &audited.became(described(&made)))?;
            Ok(made)
        })
        .await
    }

    /// Changes a receiver.
    ///
    /// # Errors
    /// Fails if the project has no such receiver.
    pub async fn change_notice_receiver(
        &self,
        project: ProjectId,
        id: String,
        (change, secrets): (ReceiverChange, Secrets),
        now: Timestamp,
    ) -> StoreResult<NoticeReceiver> {
        self.transact(move |tx| {
            let before = RECEIVERS.require(tx, &project, &id)?;
            let name = change.name.as_ref().unwrap_or(&before.name);
            let events = change.events.as_ref().unwrap_or(&before.events);
            let is_paused = change.is_paused.unwrap_or(before.is_paused);
            tx.execute(
                "UPDATE notice_receiver SET name = $3, events = $4, is_paused = $5, \
                 updated_at = $6 WHERE project = $1 AND id = $2",
                &[
                    (&project).into(),
                    (&id).into(),
                    elide(name, NAME_BYTES).as_ref().into(),
                    (&listed(events)).into(),
                    is_paused.into(),
                    now.into(),
                ],
            )?;
            if is_paused != before.is_paused {
                job::hold(tx, (&project, JobKind::Notice, &id), is_paused)?;
            }
            if let Some(secret) = change.secret.clone() {
                sign_with(tx, (&project, &id), secret, &secrets)?;
            }
            let after = RECEIVERS.require(tx, &project, &id)?;
            let audited = AuditAction::Changed.on(noun(after.kind), &id).named(&after.name);
            let became = match change.secret.is_some() {
                true => format!("{}, another secret", described(&after)),
                false => described(&after),
            };
            tx.audit(&project, now, &audited.was(described(&before)).became(became))?;
            Ok(after)
        })
        .await
    }

    /// Removes a receiver and its delivery history.
    ///
    /// # Errors
    /// Fails if the project has no such receiver.
    pub async fn remove_notice_receiver(
        &self,
        project: ProjectId,
        id: String,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| remove(tx, &project, &RECEIVERS.require(tx, &project, &id)?, now))
            .await
    }
}

/// Deletes a receiver and its delivery history.
fn remove(
    tx: &Tx<'_>,
    project: &ProjectId,
    known: &NoticeReceiver,
    now: Timestamp,
) -> StoreResult<()> {
    job::delete_group(tx, (project, JobKind::Notice, &known.id))?;
    RECEIVERS.delete(tx, project, &known.id)?;
    let audited = AuditAction::Removed.on(noun(known.kind), &known.id).named(&known.name);
    tx.audit(project, now, &audited.was(described(known)))
}

/// Changes the HMAC key of a webhook.
fn sign_with(
    tx: &Tx<'_>,
    (project, id): (&ProjectId, &str),
    new: Secret,
    secrets: &Secrets,
) -> StoreResult<()> {
    let owner = owner(project, id);
    let sql = "SELECT sealed FROM notice_receiver WHERE project = $1 AND id = $2";
    let sealed: Option<String> = tx.one(sql, &[project.into(), id.into()], |row| row.get(0))?;
    let keys = secrets.open(&sealed.unwrap_or_default(), &owner)?;
    let Some(ReceiverKeys::Webhook { url, .. }) = ReceiverKeys::read(&keys) else {
        return Err(StoreError::BadQuery("only messages to webhooks are signed".to_owned()));
    };
    let keys = ReceiverKeys::Webhook { url, secret: new };
    let sealed = secrets.seal(&keys.written(), &owner)?;
    let sql = "UPDATE notice_receiver SET sealed = $3 WHERE project = $1 AND id = $2";
    tx.execute(sql, &[project.into(), id.into(), sealed.into()]).map(drop)
}

impl ReceiverKeys {
    /// The kind of receiver.
    pub const fn kind(&self) -> ReceiverKind {
        match self {
            Self::Webhook { .. } => ReceiverKind::Webhook,
            Self::Slack { .. } => ReceiverKind::Slack,
            Self::Browser { .. } => ReceiverKind::Browser,
            Self::Email { .. } => ReceiverKind::Email,
            Self::Github { .. } => ReceiverKind::Github,
            Self::Jira { .. } => ReceiverKind::Jira,
        }
    }

    /// A hash that identifies a browser without revealing its URL.
    fn mark(&self) -> Option<String> {
        match self {
            Self::Webhook { .. }
            | Self::Slack { .. }
            | Self::Email { .. }
            | Self::Github { .. }
            | Self::Jira { .. } => None,
            Self::Browser { endpoint, .. } => {
                let digest = Sha256::digest(endpoint.expose().as_bytes());
                Some(digest.iter().map(|byte| format!("{byte:02x}")).collect())
            }
        }
    }

    /// Scheme and host of the URL: the rest is often a secret. An e-mail address is none.
    fn shown(&self) -> String {
        let url = match self {
            Self::Email { to } => return to.clone(),
            Self::Webhook { url, .. }
            | Self::Slack { slack: url }
            | Self::Github { github: url, .. }
            | Self::Jira { jira: url, .. }
            | Self::Browser { endpoint: url, .. } => url,
        };
        let (scheme, rest) = url.expose().split_once("://").unwrap_or(("", ""));
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = host.rsplit('@').next().unwrap_or_default();
        format!("{scheme}://{host}/…")
    }

    fn written(&self) -> Secret {
        let value = match self {
            Self::Webhook { url, secret } => {
                json!({"url": url.expose(), "secret": secret.expose()})
            }
            Self::Slack { slack } => json!({"slack": slack.expose()}),
            Self::Browser { endpoint, p256dh, auth } => {
                json!({"endpoint": endpoint.expose(), "p256dh": p256dh, "auth": auth.expose()})
            }
            Self::Email { to } => json!({"email": to}),
            Self::Github { github, token } => {
                json!({"github": github.expose(), "token": token.expose()})
            }
            Self::Jira { jira, user, token, project } => json!({
                "jira": jira.expose(), "user": user, "token": token.expose(), "project": project,
            }),
        };
        Secret::new(value.to_string())
    }

    fn read(opened: &Secret) -> Option<Self> {
        let value: JsonValue = serde_json::from_str(opened.expose()).ok()?;
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        let secret = |key: &str| text(key).map(Secret::new);
        if let Some(slack) = secret("slack") {
            return Some(Self::Slack { slack });
        }
        if let Some(to) = text("email") {
            return Some(Self::Email { to });
        }
        if let Some(github) = secret("github") {
            return Some(Self::Github { github, token: secret("token")? });
        }
        if let Some(jira) = secret("jira") {
            let (user, project) = (text("user"), text("project")?);
            return Some(Self::Jira { jira, user, token: secret("token")?, project });
        }
        match secret("url") {
            Some(url) => Some(Self::Webhook { url, secret: secret("secret")? }),
            None => Some(Self::Browser {
                endpoint: secret("endpoint")?,
                p256dh: text("p256dh")?,
                auth: secret("auth")?,
            }),
        }
    }
}

const fn noun(kind: ReceiverKind) -> AuditObject {
    match kind {
        ReceiverKind::Webhook
        | ReceiverKind::Slack
        | ReceiverKind::Email
        | ReceiverKind::Github
        | ReceiverKind::Jira => AuditObject::Webhook,
        ReceiverKind::Browser => AuditObject::Browser,
    }
}

/// A short description of a receiver for the audit log.
fn described(known: &NoticeReceiver) -> String {
    let events: Vec<&str> = known.events.iter().map(|kind| kind.as_str()).collect();
    let paused = if known.is_paused { ", paused" } else { "" };
    format!("{} of {}{paused}", known.address, events.join(", "))
}

/// The associated data of the keys: moved to another row, they do not decrypt.
fn owner(project: &ProjectId, id: &str) -> String {
    format!("notices {project} {id}")
}

fn listed(events: &[NotificationKind]) -> Json {
    let words: Vec<&str> = events.iter().map(|kind| kind.as_str()).collect();
    Json::from_value(&words.into())
}

fn read(row: &Row<'_>) -> StoreResult<NoticeReceiver> {
    let events: Json = row.get(4)?;
    let words: Vec<String> = serde_json::from_str(events.as_str()).unwrap_or_default();
    Ok(NoticeReceiver {
        id: row.get(0)?,
        kind: row.get(1)?,
        name: row.get(2)?,
        address: row.get(3)?,
        events: words.iter().filter_map(|word| NotificationKind::parse(word)).collect(),
        is_paused: row.get(5)?,
        person: row.get(6)?,
        created_at: row.get(7)?,
        updated_at: row.get(8)?,
    })
}

impl FromColumn for ReceiverKind {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}

impl FromColumn for NotificationKind {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}
