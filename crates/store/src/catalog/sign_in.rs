//! Throttling of sign-in attempts, and single-use tokens.

use std::time::Duration;

use ratchet_core::catalog::throttle::{Failures, ThrottlePolicy};
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;

use super::sql::Tx;
use super::{Catalog, credentials};
use crate::StoreResult;

/// Limit per account and client address.
const GUESSER_POLICY: ThrottlePolicy =
    ThrottlePolicy { free: 5, longest: Duration::from_secs(5 * 60) };
/// Limit per account over all addresses; high, because its owner must still get in.
const ACCOUNT_POLICY: ThrottlePolicy =
    ThrottlePolicy { free: 50, longest: Duration::from_secs(30) };
/// Limit per address; a whole office may share one.
const ADDRESS_POLICY: ThrottlePolicy =
    ThrottlePolicy { free: 20, longest: Duration::from_secs(15 * 60) };
/// Maximum number of tracked accounts and addresses; beyond it the oldest failures are dropped.
const MAX_TRACKED_KEYS: i64 = 20_000;

/// A key under which failed attempts are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThrottleKey {
    /// The email as typed, whether there is such an account or not.
    Account(String),
    /// The email from one address, so that other clients' failures do not lock the user out.
    Guesser {
        /// The email as typed.
        account: String,
        /// Client address.
        address: String,
    },
    /// Client address.
    Address(String),
}

/// Whether an attempt is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Allowed, and counted as failed until it is reported as successful.
    Now,
    /// Retry after this time.
    Wait(Duration),
}

impl ThrottleKey {
    /// The keys under which an attempt at an account is counted.
    pub fn at_account(email: &str, address: &str) -> Vec<Self> {
        let (account, address) = (email.to_owned(), address.to_owned());
        vec![
            Self::Guesser { account: account.clone(), address: address.clone() },
            Self::Account(account),
            Self::Address(address),
        ]
    }

    /// People type passwords into the wrong field, so only a hash of the input is stored.
    fn key(&self) -> String {
        match self {
            Self::Account(typed) => format!("account {}", hashed(typed)),
            Self::Guesser { account, address } => format!("guesser {address} {}", hashed(account)),
            Self::Address(address) => format!("address {address}"),
        }
    }

    fn pace(&self) -> ThrottlePolicy {
        match self {
            Self::Account(_) => ACCOUNT_POLICY,
            Self::Guesser { .. } => GUESSER_POLICY,
            Self::Address(_) => ADDRESS_POLICY,
        }
    }
}

impl Catalog {
    /// Checks the limits and counts the attempt as failed under each key: concurrent attempts get
    /// no more tries than sequential ones.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn begin_attempt(
        &self,
        suspects: Vec<ThrottleKey>,
        now: Timestamp,
    ) -> StoreResult<Turn> {
        self.transact(move |tx| {
            let known: Vec<Failures> =
                suspects.iter().map(|suspect| failures(tx, suspect)).collect::<StoreResult<_>>()?;
            let waits = suspects.iter().zip(&known);
            let longest = waits.filter_map(|(who, known)| known.wait(who.pace(), now)).max();
            if let Some(wait) = longest {
                return Ok(Turn::Wait(wait));
            }
            for (suspect, known) in suspects.iter().zip(known) {
                set(tx, suspect, known.and_one(now))?;
            }
            forget_old(tx, now)?;
            Ok(Turn::Now)
        })
        .await
    }

    /// Reverts the failure of an attempt: all failures of the account, but only this one of the
    /// address; otherwise the owner of one account could guess at others in between.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn attempt_succeeded(&self, suspects: Vec<ThrottleKey>) -> StoreResult<()> {
        self.transact(move |tx| {
            for suspect in &suspects {
                let known = failures(tx, suspect)?;
                match suspect {
                    ThrottleKey::Address(_) if known.count > 1 => {
                        set(tx, suspect, Failures { count: known.count - 1, ..known })?;
                    }
                    ThrottleKey::Account(_)
                    | ThrottleKey::Guesser { .. }
                    | ThrottleKey::Address(_) => {
                        let sql = "DELETE FROM sign_in_failure WHERE subject = $1";
                        tx.execute(sql, &[suspect.key().into()])?;
                    }
                }
            }
            Ok(())
        })
        .await
    }

    /// Consumes a single-use token; returns whether this was the first use.
    ///
    /// It is remembered until its expiry.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn spend(
        &self,
        token: &Secret,
        until: Timestamp,
        now: Timestamp,
    ) -> StoreResult<bool> {
        let hash = credentials::hash_token(token);
        self.transact(move |tx| {
            tx.execute("DELETE FROM spent WHERE until <= $1", &[now.into()])?;
            let sql = "INSERT INTO spent (token_hash, until) VALUES ($1, $2) \
                       ON CONFLICT (token_hash) DO NOTHING";
            Ok(tx.execute(sql, &[hash.into(), until.into()])? == 1)
        })
        .await
    }
}

fn hashed(typed: &str) -> String {
    credentials::hash_token(&Secret::new(typed.trim().to_lowercase()))
}

fn failures(tx: &Tx<'_>, suspect: &ThrottleKey) -> StoreResult<Failures> {
    let sql = "SELECT failures, last_at FROM sign_in_failure WHERE subject = $1";
    let found = tx.one(sql, &[suspect.key().into()], |row| {
        Ok(Failures { count: row.get(0)?, last: row.get(1)? })
    })?;
    Ok(found.unwrap_or_default())
}

fn set(tx: &Tx<'_>, suspect: &ThrottleKey, failures: Failures) -> StoreResult<()> {
    let sql = "INSERT INTO sign_in_failure (subject, failures, last_at) VALUES ($1, $2, $3) \
               ON CONFLICT (subject) DO UPDATE \
               SET failures = excluded.failures, last_at = excluded.last_at";
    tx.execute(sql, &[suspect.key().into(), failures.count.into(), failures.last.into()])?;
    Ok(())
}

fn forget_old(tx: &Tx<'_>, now: Timestamp) -> StoreResult<()> {
    let sql = "DELETE FROM sign_in_failure WHERE last_at <= $1";
    tx.execute(sql, &[Failures::history_start(now).into()])?;
    let sql = "DELETE FROM sign_in_failure WHERE subject IN (SELECT subject FROM sign_in_failure \
               ORDER BY last_at DESC, subject LIMIT 1000 OFFSET $1)";
    tx.execute(sql, &[MAX_TRACKED_KEYS.into()])?;
    Ok(())
}
