use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use uuid::Uuid;

use super::sql::{Row, Tx};
use super::{Catalog, Role, credentials};
use crate::{StoreError, StoreResult};

/// A person who may sign in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Names the person in the database.
    pub id: String,
    /// Names the person for people; unique.
    pub email: String,
    /// What they may do.
    pub role: Role,
    /// Since when.
    pub created_at: Timestamp,
}

/// A person to be made.
#[derive(Clone, Debug)]
pub struct NewUser {
    /// Names the person for people.
    pub email: String,
    /// What they sign in with.
    pub password: Secret,
    /// What they may do.
    pub role: Role,
}

impl Catalog {
    /// Makes a person who may sign in. Only a slow hash of the password is kept.
    ///
    /// # Errors
    /// Fails if the email is taken.
    pub async fn create_user(&self, new: NewUser, now: Timestamp) -> StoreResult<User> {
        let NewUser { email, password, role } = new;
        let user = User { id: Uuid::new_v4().to_string(), email, role, created_at: now };
        self.transact(move |tx| {
            let hash = credentials::hash_password(&password)?;
            tx.insert(
                "INSERT INTO person (id, email, password_hash, role, created_at) \
                 VALUES ($1, $2, $3, $4, $5)",
                &[
                    (&user.id).into(),
                    (&user.email).into(),
                    hash.into(),
                    user.role.into(),
                    now.into(),
                ],
                || format!("a person with email {}", user.email),
            )?;
            Ok(user)
        })
        .await
    }

    /// Returns everyone who may sign in.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn users(&self) -> StoreResult<Vec<User>> {
        let sql = "SELECT id, email, role, created_at FROM person ORDER BY created_at, id";
        self.transact(move |tx| tx.rows(sql, &[], read)).await
    }
}

/// A person by their id.
///
/// # Errors
/// Fails if there is no such person.
pub(super) fn find(tx: &Tx<'_>, id: &str) -> StoreResult<User> {
    let sql = "SELECT id, email, role, created_at FROM person WHERE id = $1";
    tx.one(sql, &[id.into()], read)?.ok_or_else(|| StoreError::NotFound(format!("user {id}")))
}

fn read(row: &Row<'_>) -> StoreResult<User> {
    Ok(User { id: row.get(0)?, email: row.get(1)?, role: row.get(2)?, created_at: row.get(3)? })
}
