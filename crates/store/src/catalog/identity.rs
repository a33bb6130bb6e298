use ratchet_core::catalog::account::Email;
use ratchet_core::time::Timestamp;

use super::sql::Tx;
use super::{AuditAction, AuditObject, Catalog, Role, User, administration, user};
use crate::StoreResult;
use crate::project::ProjectId;

/// A user's identity at an OIDC provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderIdentity {
    pub issuer: String,
    /// Stable id at the issuer.
    pub subject: String,
    /// Only if the issuer has verified it.
    pub email: Option<Email>,
    /// Display name.
    pub name: Option<String>,
}

/// Role of users who sign in for the first time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    pub role: Role,
    pub project: Option<ProjectId>,
}

impl Catalog {
    /// Returns the user of an identity: the one linked to it, else the one with the same verified
    /// email, else a new one if sign-up is allowed. The identity is linked from then on.
    ///
    /// # Errors
    /// Fails if new users are admitted to a project that does not exist.
    pub async fn resolve_identity(
        &self,
        identity: ProviderIdentity,
        admission: Option<Admission>,
        now: Timestamp,
    ) -> StoreResult<Option<User>> {
        self.transact(move |tx| {
            if let Some(known) = linked(tx, &identity)? {
                return user::find(tx, &known).map(Some);
            }
            let Some(email) = &identity.email else { return Ok(None) };
            let user = match (user::find_by_email(tx, email)?, admission) {
                (Some(user), _) => user,
                // A user who was removed is not created again on sign-in.
                (None, Some(admission)) if !is_barred(tx, &identity)? => {
                    admit(tx, &identity, email, &admission, now)?
                }
                (None, _) => return Ok(None),
            };
            link(tx, &identity, &user, now)?;
            Ok(Some(user))
        })
        .await
    }
}

fn linked(tx: &Tx<'_>, identity: &ProviderIdentity) -> StoreResult<Option<String>> {
    let sql = "SELECT person FROM identity WHERE issuer = $1 AND subject = $2";
    tx.one(sql, &[(&identity.issuer).into(), (&identity.subject).into()], |row| row.get(0))
}

fn is_barred(tx: &Tx<'_>, identity: &ProviderIdentity) -> StoreResult<bool> {
    let sql = "SELECT 1 FROM barred_identity WHERE issuer = $1 AND subject = $2";
    let found = tx.one(sql, &[(&identity.issuer).into(), (&identity.subject).into()], |row| {
        row.get::<i64>(0)
    })?;
    Ok(found.is_some())
}

/// Bars all identities of a user from signing in again and removes their links.
pub(super) fn bar(tx: &Tx<'_>, person: &str) -> StoreResult<()> {
    let sql = "INSERT INTO barred_identity (issuer, subject) \
               SELECT issuer, subject FROM identity WHERE person = $1 ON CONFLICT DO NOTHING";
    tx.execute(sql, &[person.into()])?;
    tx.execute("DELETE FROM identity WHERE person = $1", &[person.into()])?;
    Ok(())
}

fn link(tx: &Tx<'_>, identity: &ProviderIdentity, user: &User, now: Timestamp) -> StoreResult<()> {
    let sql = "INSERT INTO identity (issuer, subject, person, created_at) VALUES ($1, $2, $3, $4)";
    let (issuer, subject) = (&identity.issuer, &identity.subject);
    tx.execute(sql, &[issuer.into(), subject.into(), (&user.id).into(), now.into()])?;
    let audited = AuditAction::Changed.on(AuditObject::Person, &user.id).named(&user.email);
    tx.audit_server(now, &audited.became(format!("signs in through {issuer}")))
}

fn admit(
    tx: &Tx<'_>,
    identity: &ProviderIdentity,
    email: &Email,
    admission: &Admission,
    now: Timestamp,
) -> StoreResult<User> {
    let user = User::new(email, identity.name.clone(), admission.role, now);
    let user = user::insert(tx, user, user::NO_PASSWORD)?;
    if let Some(project) = &admission.project {
        administration::join(tx, (project, &user), admission.role, now)?;
    }
    Ok(user)
}
