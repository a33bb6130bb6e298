use std::sync::Arc;

use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use uuid::Uuid;

use super::cache::Cache;
use super::permission::Permissions;
use super::sql::{FromColumn, Row, Tx, Value};
use super::{AuditAction, AuditObject, Catalog, credentials, project, user};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// The role of a key or user in a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Write telemetry and nothing else.
    IngestOnly,
    /// Read and review the items of queues, and nothing else.
    Reviewer,
    Viewer,
    /// Read, record and change what is in the project.
    Member,
    /// Also change the project's settings.
    Owner,
}

impl Role {
    pub const ALL: [Self; 5] =
        [Self::IngestOnly, Self::Reviewer, Self::Viewer, Self::Member, Self::Owner];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::IngestOnly => "ingest-only",
            Self::Reviewer => "reviewer",
            Self::Viewer => "viewer",
            Self::Member => "member",
            Self::Owner => "owner",
        }
    }

    /// Parses its name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == word)
    }
}

impl From<Role> for Value {
    fn from(role: Role) -> Self {
        role.as_str().into()
    }
}

impl FromColumn for Role {
    fn from_column(value: Value) -> Option<Self> {
        // A role unknown to this binary gets the least privilege.
        Some(Self::parse(&String::from_column(value)?).unwrap_or(Self::IngestOnly))
    }
}

/// An API key. Only a salted hash of the secret is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    pub id: String,
    pub project: ProjectId,
    pub public_key: String,
    /// The last characters of the secret, to tell keys apart.
    pub secret_hint: String,
    /// Role in its project.
    pub role: Role,
    /// Permissions beyond its role.
    pub permissions: Permissions,
    pub note: Option<String>,
    /// Whose queues it sees, with the role reviewer.
    pub person: Option<KeyPerson>,
    pub created_at: Timestamp,
}

/// The user that a reviewer's key belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPerson {
    /// The user's id.
    pub id: String,
    pub email: String,
}

/// A key to create.
#[derive(Clone, Debug)]
pub struct NewKey {
    pub project: ProjectId,
    /// Role in its project.
    pub role: Role,
    /// Permissions beyond its role.
    pub permissions: Permissions,
    pub note: Option<String>,
    /// The user that it belongs to, by id or email: exactly with the role reviewer.
    pub person: Option<String>,
    /// Random when `None`.
    pub pair: Option<KeyPair>,
}

/// A public key and its secret, shown once.
#[derive(Clone, Debug)]
pub struct KeyPair {
    pub public_key: String,
    pub secret_key: Secret,
}

#[derive(Debug)]
struct StoredKey {
    key: ApiKey,
    salt: String,
    secret_hash: String,
}

/// Keys by public key, so that authentication needs no database.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyCache(Cache<String, StoredKey>);

impl KeyCache {
    pub(super) fn invalidate_project(&self, project: &ProjectId) {
        self.0.invalidate_where(|stored| stored.key.project == *project);
    }

    pub(super) fn invalidate_person(&self, user: &str) {
        let is_theirs = |key: &ApiKey| key.person.as_ref().is_some_and(|person| person.id == user);
        self.0.invalidate_where(|stored| is_theirs(&stored.key));
    }
}

const COLUMNS: &str = "id, project, public_key, secret_hint, role, permissions, note, \
                       created_at, salt, secret_hash, person";
const EMAIL: &str = "(SELECT person.email FROM person WHERE person.id = api_key.person)";

impl Catalog {
    /// Creates a key. The secret is only available in this result.
    ///
    /// # Errors
    /// Fails if the project does not exist, the public key is taken, a permission does not fit the
    /// role, or a reviewer's key names no user.
    pub async fn create_key(&self, new: NewKey, now: Timestamp) -> StoreResult<(ApiKey, KeyPair)> {
        let NewKey { project, role, permissions, note, person, pair } = new;
        refuse_misfit(permissions, role)?;
        refuse_wrong_person(person.as_deref(), role)?;
        let pair = pair.unwrap_or_else(credentials::random_pair);
        let mut key = ApiKey {
            id: Uuid::new_v4().to_string(),
            project,
            public_key: pair.public_key.clone(),
            secret_hint: credentials::hint(pair.secret_key.expose()),
            role,
            permissions,
            note,
            person: None,
            created_at: now,
        };
        self.transact(move |tx| {
            if !tx.exists("SELECT 1 FROM project WHERE id = $1", &[(&key.project).into()])? {
                return Err(project::missing(&key.project));
            }
            if let Some(named) = &person {
                let user = user::named(tx, named)?;
                key.person = Some(KeyPerson { id: user.id, email: user.email });
            }
            let salt = Uuid::new_v4().simple().to_string();
            let hash = credentials::hash_secret(&salt, pair.secret_key.expose());
            let (public, hint) = (&key.public_key, &key.secret_hint);
            let note = key.note.as_deref();
            tx.insert(
                &format!(
                    "INSERT INTO api_key ({COLUMNS}) \
                     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
                ),
                &[
                    (&key.id).into(),
                    (&key.project).into(),
                    public.into(),
                    hint.into(),
                    role.into(),
                    permissions.into(),
                    note.into(),
                    now.into(),
                    salt.into(),
                    hash.into(),
                    key.person.as_ref().map(|person| person.id.as_str()).into(),
                ],
                || format!("the public key {public}"),
            )?;
            let audited = AuditAction::Made.on(AuditObject::Key, &key.id).named(public);
            tx.audit(&key.project, now, &audited.became(described(&key)))?;
            Ok((key, pair))
        })
        .await
    }

    /// Returns the keys of a project, oldest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn keys(&self, project: ProjectId) -> StoreResult<Vec<ApiKey>> {
        let sql = select("project = $1 ORDER BY created_at, id");
        let read_key = |row: &Row<'_>| Ok(read(row)?.key);
        self.transact(move |tx| tx.rows(&sql, &[(&project).into()], read_key)).await
    }

    /// Sets the permissions of a key, given by id or public key.
    ///
    /// # Errors
    /// Fails if the project has no such key, or a permission does not fit its role.
    pub async fn set_permissions(
        &self,
        project: ProjectId,
        key: String,
        permissions: Permissions,
        now: Timestamp,
    ) -> StoreResult<ApiKey> {
        let set = self.transact(move |tx| {
            let which = "project = $1 AND (id = $2 OR public_key = $2)";
            let found = tx.one(&select(which), &[(&project).into(), (&key).into()], read)?;
            let before = found.ok_or_else(|| StoreError::NotFound(format!("key {key}")))?.key;
            refuse_misfit(permissions, before.role)?;
            let update = "UPDATE api_key SET permissions = $1 WHERE id = $2";
            tx.execute(update, &[permissions.into(), (&before.id).into()])?;
            let after = ApiKey { permissions, ..before.clone() };
            let audited =
                AuditAction::Changed.on(AuditObject::Key, &after.id).named(&after.public_key);
            tx.audit(&project, now, &audited.was(described(&before)).became(described(&after)))?;
            Ok(after)
        });
        let changed = set.await?;
        self.keys.0.invalidate(&changed.public_key);
        Ok(changed)
    }

    /// Revokes a key, given by id or public key.
    ///
    /// # Errors
    /// Fails if the project has no such key.
    pub async fn revoke_key(
        &self,
        project: ProjectId,
        key: String,
        now: Timestamp,
    ) -> StoreResult<ApiKey> {
        let revoke = self.transact(move |tx| {
            let which = "project = $1 AND (id = $2 OR public_key = $2)";
            let found = tx.one(&select(which), &[(&project).into(), (&key).into()], read)?;
            let found = found.ok_or_else(|| StoreError::NotFound(format!("key {key}")))?;
            revoke(tx, &found.key, now)?;
            Ok(found)
        });
        let revoked = revoke.await?;
        self.keys.0.invalidate(&revoked.key.public_key);
        Ok(revoked.key)
    }

    /// Returns the key if public key and secret match. Constant time.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn authenticate(&self, public: &str, secret: &str) -> StoreResult<Option<ApiKey>> {
        let stored = self.stored_key(public).await?;
        // An unknown key is hashed and compared too, so that timing reveals nothing.
        let (salt, expected) = stored
            .as_ref()
            .map_or(("", ""), |stored| (stored.salt.as_str(), stored.secret_hash.as_str()));
        let is_right = credentials::matches(salt, secret, expected);
        Ok(stored.filter(|_| is_right).map(|stored| stored.key.clone()))
    }

    /// Returns a key by its public half alone: enough to send feedback from a browser.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn public_key(&self, public: &str) -> StoreResult<Option<ApiKey>> {
        Ok(self.stored_key(public).await?.map(|stored| stored.key.clone()))
    }

    async fn stored_key(&self, public: &str) -> StoreResult<Option<Arc<StoredKey>>> {
        let (known, look) = self.keys.0.get(public);
        if known.is_some() {
            return Ok(known);
        }
        let wanted = public.to_owned();
        let sql = select("public_key = $1");
        let found = self.transact(move |tx| tx.one(&sql, &[wanted.into()], read)).await?;
        let found = found.map(Arc::new);
        if let Some(stored) = &found {
            self.keys.0.remember(stored.key.public_key.clone(), stored, look);
        }
        Ok(found)
    }
}

fn select(condition: &str) -> String {
    format!("SELECT {COLUMNS}, {EMAIL} FROM api_key WHERE {condition}")
}

fn revoke(tx: &Tx<'_>, key: &ApiKey, now: Timestamp) -> StoreResult<()> {
    tx.execute("DELETE FROM api_key WHERE id = $1", &[(&key.id).into()])?;
    let audited = AuditAction::Revoked.on(AuditObject::Key, &key.id).named(&key.public_key);
    tx.audit(&key.project, now, &audited.was(described(key)))
}

/// Revokes the keys of a user who is deleted.
///
/// # Errors
/// Fails only when the database does.
pub(super) fn revoke_of_person(tx: &Tx<'_>, user: &str, now: Timestamp) -> StoreResult<()> {
    let theirs = tx.rows(&select("person = $1"), &[user.into()], read)?;
    theirs.iter().try_for_each(|stored| revoke(tx, &stored.key, now))
}

/// A reviewer sees the queues of one person, so that its key belongs to one, and no other key does.
fn refuse_wrong_person(person: Option<&str>, role: Role) -> StoreResult<()> {
    let why = match (role, person) {
        (Role::Reviewer, Some(_)) => return Ok(()),
        (Role::Reviewer, None) => {
            "a reviewer's key belongs to a user, whose queues it sees; give an email address"
        }
        (_, Some(_)) => "only a key with the role reviewer belongs to a user",
        (_, None) => return Ok(()),
    };
    Err(StoreError::BadQuery(format!("person: {why}")))
}

fn refuse_misfit(permissions: Permissions, role: Role) -> StoreResult<()> {
    let Some(misfit) = permissions.misfit(role) else { return Ok(()) };
    let (permission, role) = (misfit.as_str(), role.as_str());
    let needed: Vec<&str> =
        Role::ALL.into_iter().filter(|role| misfit.fits(*role)).map(Role::as_str).collect();
    Err(StoreError::BadQuery(format!(
        "permissions: {permission} does not fit the role {role}; it takes {}",
        needed.join(" or ")
    )))
}

/// A short description of role, permissions and note for the audit log.
fn described(key: &ApiKey) -> String {
    let mut text = key.role.as_str().to_owned();
    if key.permissions != Permissions::NONE {
        text += &format!(" ({})", key.permissions);
    }
    if let Some(person) = &key.person {
        text += &format!(" of {}", person.email);
    }
    match &key.note {
        Some(note) => format!("{text}: {note}"),
        None => text,
    }
}

fn read(row: &Row<'_>) -> StoreResult<StoredKey> {
    let key = ApiKey {
        id: row.get(0)?,
        project: row.get(1)?,
        public_key: row.get(2)?,
        secret_hint: row.get(3)?,
        role: row.get(4)?,
        permissions: row.get(5)?,
        note: row.get(6)?,
        person: person(row.get(10)?, row.get(11)?),
        created_at: row.get(7)?,
    };
    Ok(StoredKey { key, salt: row.get(8)?, secret_hash: row.get(9)? })
}

fn person(id: Option<String>, email: Option<String>) -> Option<KeyPerson> {
    Some(KeyPerson { id: id?, email: email? })
}
