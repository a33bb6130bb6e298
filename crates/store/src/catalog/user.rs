use ratchet_core::catalog::account::Email;
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use uuid::Uuid;

use super::sql::{Row, Tx};
use super::{AuditAction, AuditObject, Catalog, Role, administration, login};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// A user who may sign in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub id: String,
    /// Unique.
    pub email: String,
    pub name: Option<String>,
    pub role: Role,
    pub created_at: Timestamp,
}

/// A user to create.
#[derive(Clone, Debug)]
pub struct NewUser {
    pub email: Email,
    pub name: Option<String>,
    pub password: Secret,
    pub role: Role,
    /// The user's project; owners have access to all. `None` for no project yet.
    pub project: Option<ProjectId>,
}

/// In place of a password hash for users without a password: nothing matches it.
pub(super) const NO_PASSWORD: &str = "";

const COLUMNS: &str = "id, email, name, role, created_at";

impl Catalog {
    /// Creates a user. Only a slow hash of the password is stored.
    ///
    /// # Errors
    /// Fails if the email is taken.
    pub async fn create_user(&self, new: NewUser, now: Timestamp) -> StoreResult<User> {
        let hash = self.passwords.hash(new.password).await?;
        let user = User::new(&new.email, new.name, new.role, now);
        self.transact(move |tx| {
            let user = insert(tx, user, &hash)?;
            if let Some(project) = &new.project {
                administration::join(tx, (project, &user), user.role, now)?;
            }
            Ok(user)
        })
        .await
    }

    /// Creates the first user, as owner, unless there is a user.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn create_first_owner(
        &self,
        new: NewUser,
        now: Timestamp,
    ) -> StoreResult<Option<User>> {
        let hash = self.passwords.hash(new.password).await?;
        let user = User::new(&new.email, new.name, Role::Owner, now);
        self.transact(move |tx| {
            let has_users = tx.exists("SELECT 1 FROM person", &[])?;
            if has_users { Ok(None) } else { insert(tx, user, &hash).map(Some) }
        })
        .await
    }

    /// Returns all users.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn users(&self) -> StoreResult<Vec<User>> {
        let sql = format!("SELECT {COLUMNS} FROM person ORDER BY created_at, id");
        self.transact(move |tx| tx.rows(&sql, &[], read)).await
    }

    /// Returns a user by id or email.
    ///
    /// # Errors
    /// Fails if there is no such user.
    pub async fn user(&self, named: String) -> StoreResult<User> {
        self.transact(move |tx| self::named(tx, &named)).await
    }

    /// Returns whether there are any users.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn has_users(&self) -> StoreResult<bool> {
        self.transact(|tx| tx.exists("SELECT 1 FROM person", &[])).await
    }

    /// Returns the user if the password matches. Takes the same time either way, outside any
    /// transaction.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn check_password(&self, email: &str, password: Secret) -> StoreResult<Option<User>> {
        let email = Email::parse(email);
        let found = self.transact(move |tx| {
            let user = email.map(|email| find_by_email(tx, &email)).transpose()?.flatten();
            let Some(user) = user else { return Ok(None) };
            let sql = "SELECT password_hash FROM person WHERE id = $1";
            let hash: Option<String> = tx.one(sql, &[(&user.id).into()], |row| row.get(0))?;
            Ok(hash.map(|hash| (user, hash)))
        });
        let (user, hash) = found.await?.unzip();
        let hash = hash.filter(|hash| hash != NO_PASSWORD);
        let is_right = self.passwords.verify(password, hash).await?;
        Ok(user.filter(|_| is_right))
    }

    /// Sets a user's password, and ends all of their logins but the given one.
    ///
    /// # Errors
    /// Fails if there is no such user.
    pub async fn set_password(
        &self,
        user: String,
        password: Secret,
        kept_session: Option<String>,
        now: Timestamp,
    ) -> StoreResult<User> {
        let hash = self.passwords.hash(password).await?;
        self.transact(move |tx| {
            let found = find(tx, &user)?;
            let sql = "UPDATE person SET password_hash = $1 WHERE id = $2";
            tx.execute(sql, &[hash.into(), (&user).into()])?;
            login::end_all_but(tx, &user, kept_session.as_deref().unwrap_or_default())?;
            let audited = AuditAction::Changed.on(AuditObject::Person, &user).named(&found.email);
            tx.audit_server(now, &audited.became("another password"))?;
            Ok(found)
        })
        .await
    }
}

impl User {
    pub(super) fn new(email: &Email, name: Option<String>, role: Role, now: Timestamp) -> Self {
        let (id, email) = (Uuid::new_v4().to_string(), email.to_string());
        Self { id, email, name, role, created_at: now }
    }
}

/// Inserts a new user.
///
/// # Errors
/// Fails if the email is taken.
pub(super) fn insert(tx: &Tx<'_>, user: User, password_hash: &str) -> StoreResult<User> {
    // Emails used to be stored as typed, so the unique column alone is not enough.
    let is_taken = "SELECT 1 FROM person WHERE LOWER(email) = $1";
    if tx.exists(is_taken, &[(&user.email).into()])? {
        return Err(StoreError::Exists(format!("a user with email {}", user.email)));
    }
    tx.execute(
        "INSERT INTO person (id, email, name, password_hash, role, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6)",
        &[
            (&user.id).into(),
            (&user.email).into(),
            user.name.as_deref().into(),
            password_hash.into(),
            user.role.into(),
            user.created_at.into(),
        ],
    )?;
    let audited = AuditAction::Made.on(AuditObject::Person, &user.id).named(&user.email);
    tx.audit_server(user.created_at, &audited.became(user.role.as_str()))?;
    Ok(user)
}

/// Returns a user by id.
///
/// # Errors
/// Fails if there is no such user.
pub(super) fn find(tx: &Tx<'_>, id: &str) -> StoreResult<User> {
    let sql = format!("SELECT {COLUMNS} FROM person WHERE id = $1");
    tx.one(&sql, &[id.into()], read)?.ok_or_else(|| StoreError::NotFound(format!("user {id}")))
}

/// Returns a user by id or email.
///
/// # Errors
/// Fails if there is no such user.
pub(super) fn named(tx: &Tx<'_>, named: &str) -> StoreResult<User> {
    let by_email = Email::parse(named).map(|email| find_by_email(tx, &email));
    by_email.transpose()?.flatten().map_or_else(|| find(tx, named), Ok)
}

/// A user by email, case-insensitive.
pub(super) fn find_by_email(tx: &Tx<'_>, email: &Email) -> StoreResult<Option<User>> {
    let sql = format!("SELECT {COLUMNS} FROM person WHERE LOWER(email) = $1 ORDER BY created_at");
    tx.one(&sql, &[email.as_str().into()], read)
}

fn read(row: &Row<'_>) -> StoreResult<User> {
    Ok(User {
        id: row.get(0)?,
        email: row.get(1)?,
        name: row.get(2)?,
        role: row.get(3)?,
        created_at: row.get(4)?,
    })
}
