use std::time::Duration;

use ratchet_core::record::limit::elide;
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use uuid::Uuid;

use super::sql::{Row, Tx};
use super::{AuditAction, AuditObject, Catalog, Role, User, credentials, user};
use crate::secrets::random_token;
use crate::{StoreError, StoreResult};

/// Time after which an unused login expires.
pub const LOGIN_IDLE: Duration = Duration::from_secs(7 * 24 * 3_600);
/// Time after which a login expires, even if it is used.
pub const LOGIN_LIFETIME: Duration = Duration::from_secs(30 * 24 * 3_600);

/// Maximum number of browsers in which a person is signed in; the oldest login is ended.
const MAX_LOGINS_PER_PERSON: i64 = 50;
/// Minimum interval between two updates of `seen_at`: most requests should write nothing.
const SEEN_INTERVAL: Duration = Duration::from_secs(5 * 60);
const MAX_CLIENT_BYTES: usize = 300;

/// A signed-in browser. Of its token only a hash is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// Id for lists and revocation; not the token.
    pub id: String,
    pub person: String,
    /// The browser's user agent.
    pub client: String,
    pub created_at: Timestamp,
    /// Time of last use, accurate to a few minutes.
    pub seen_at: Timestamp,
}

/// A signed-in user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginUser {
    pub login: Login,
    pub user: User,
}

const COLUMNS: &str = "id, person, client, created_at, seen_at";

impl Catalog {
    /// Starts a login. The token is only available in this result.
    ///
    /// # Errors
    /// Fails if there is no such user.
    pub async fn create_login(
        &self,
        person: String,
        client: String,
        now: Timestamp,
    ) -> StoreResult<(Login, Secret)> {
        let token = random_token()?;
        let hash = credentials::hash_token(&token);
        let client = elide(&client, MAX_CLIENT_BYTES).into_owned();
        let id = Uuid::new_v4().to_string();
        let login = Login { id, person, client, created_at: now, seen_at: now };
        self.transact(move |tx| {
            let user = user::find(tx, &login.person)?;
            tx.execute(
                "DELETE FROM web_session WHERE created_at <= $1 OR seen_at <= $2",
                &[before(now, LOGIN_LIFETIME).into(), before(now, LOGIN_IDLE).into()],
            )?;
            evict_oldest(tx, &login.person)?;
            tx.execute(
                "INSERT INTO web_session (id, person, token_hash, client, created_at, seen_at) \
                 VALUES ($1, $2, $3, $4, $5, $5)",
                &[
                    (&login.id).into(),
                    (&login.person).into(),
                    hash.into(),
                    (&login.client).into(),
                    now.into(),
                ],
            )?;
            let audited =
                AuditAction::SignedIn.on(AuditObject::Person, &user.id).named(&user.email);
            tx.audit_server(now, &audited.became(&login.client))?;
            Ok((login, token))
        })
        .await
    }

    /// Returns the user whom a token signs in; `None` if the token is unknown, revoked or expired,
    /// or if the user may read nothing.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn signed_in(
        &self,
        token: &Secret,
        now: Timestamp,
    ) -> StoreResult<Option<LoginUser>> {
        let hash = credentials::hash_token(token);
        self.transact(move |tx| {
            let sql = format!(
                "SELECT {COLUMNS} FROM web_session \
                 WHERE token_hash = $1 AND created_at > $2 AND seen_at > $3"
            );
            let lives = [before(now, LOGIN_LIFETIME).into(), before(now, LOGIN_IDLE).into()];
            let [born_after, seen_after] = lives;
            let found = tx.one(&sql, &[hash.into(), born_after, seen_after], read)?;
            let Some(login) = found else { return Ok(None) };
            let user = user::find(tx, &login.person)?;
            if now.since(login.seen_at) >= nanos(SEEN_INTERVAL) {
                let sql = "UPDATE web_session SET seen_at = $1 WHERE id = $2";
                tx.execute(sql, &[now.into(), (&login.id).into()])?;
            }
            Ok((user.role != Role::IngestOnly).then_some(LoginUser { login, user }))
        })
        .await
    }

    /// Returns a user's logins, newest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn logins_of(&self, person: String, now: Timestamp) -> StoreResult<Vec<Login>> {
        self.transact(move |tx| {
            let sql = format!(
                "SELECT {COLUMNS} FROM web_session WHERE person = $1 AND created_at > $2 \
                 AND seen_at > $3 ORDER BY created_at DESC, id"
            );
            let lives = [before(now, LOGIN_LIFETIME).into(), before(now, LOGIN_IDLE).into()];
            let [born_after, seen_after] = lives;
            tx.rows(&sql, &[person.into(), born_after, seen_after], read)
        })
        .await
    }

    /// Ends one of a user's logins.
    ///
    /// # Errors
    /// Fails if the user has no such login.
    pub async fn end_login(&self, person: String, login: String) -> StoreResult<()> {
        self.transact(move |tx| {
            let sql = "DELETE FROM web_session WHERE person = $1 AND id = $2";
            match tx.execute(sql, &[(&person).into(), (&login).into()])? {
                0 => Err(StoreError::NotFound(format!("login {login}"))),
                _ => Ok(()),
            }
        })
        .await
    }

    /// Ends all of a user's logins but one, and returns their number.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn end_other_logins(&self, person: String, kept: String) -> StoreResult<u64> {
        self.transact(move |tx| end_all_but(tx, &person, &kept)).await
    }
}

/// Ends all logins of a user but the one of this id, which need not exist.
pub(super) fn end_all_but(tx: &Tx<'_>, person: &str, kept: &str) -> StoreResult<u64> {
    let sql = "DELETE FROM web_session WHERE person = $1 AND id <> $2";
    tx.execute(sql, &[person.into(), kept.into()])
}

fn evict_oldest(tx: &Tx<'_>, person: &str) -> StoreResult<()> {
    let sql = "DELETE FROM web_session WHERE id IN (SELECT id FROM web_session \
               WHERE person = $1 ORDER BY created_at DESC, id LIMIT 1000 OFFSET $2)";
    tx.execute(sql, &[person.into(), (MAX_LOGINS_PER_PERSON - 1).into()]).map(drop)
}

fn before(now: Timestamp, by: Duration) -> Timestamp {
    now.plus_nanos(-nanos(by))
}

fn nanos(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

fn read(row: &Row<'_>) -> StoreResult<Login> {
    Ok(Login {
        id: row.get(0)?,
        person: row.get(1)?,
        client: row.get(2)?,
        created_at: row.get(3)?,
        seen_at: row.get(4)?,
    })
}
