//! The audit log: every change adds an entry, in its own transaction.

mod actor;
/// Verbs and nouns of audit entries.
mod action;

use ratchet_core::record::limit::elide;
use ratchet_core::time::Timestamp;

use super::Catalog;
use super::sql::{Conditions, Listing, Row, Tx, Value};
use crate::project::ProjectId;
use crate::query::Page;
use crate::{StoreError, StoreResult};

pub use action::{AuditAction, AuditObject};
pub use actor::Actor;

/// Maximum stored length of an old or new value.
const MAX_VALUE_BYTES: usize = 1_000;
/// Maximum number of actors in the filter menu.
const MAX_ACTORS: u64 = 200;

/// One entry of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Later entries have greater numbers.
    pub number: u64,
    /// `None` for changes of the whole server.
    pub project: Option<ProjectId>,
    pub at: Timestamp,
    pub actor: Actor,
    pub verb: AuditAction,
    pub noun: AuditObject,
    /// Id of the object, or its name if that identifies it.
    pub object: String,
    pub name: String,
    /// Short old value.
    pub was: Option<String>,
    /// Short new value.
    pub became: Option<String>,
}

/// A filter for audit entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditQuery {
    /// `None` for changes of the whole server.
    pub project: Option<ProjectId>,
    /// Kind and id of the actor.
    pub actor: Option<(String, String)>,
    pub noun: Option<AuditObject>,
    /// Id of the object.
    pub object: Option<String>,
    /// Inclusive.
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    /// Only entries older than this number.
    pub behind: Option<u64>,
    pub limit: u64,
}

impl AuditQuery {
    /// The newest entries of a project, or of the whole server.
    pub const fn newest(project: Option<ProjectId>, limit: u64) -> Self {
        let (actor, noun, object) = (None, None, None);
        let (from, to, behind) = (None, None, None);
        Self { project, actor, noun, object, from, to, behind, limit }
    }

    /// The newest entries about one object.
    pub fn about(project: ProjectId, noun: AuditObject, object: String, limit: u64) -> Self {
        let (noun, object) = (Some(noun), Some(object));
        Self { noun, object, ..Self::newest(Some(project), limit) }
    }

    /// Continues after a cursor.
    ///
    /// # Errors
    /// Fails if the cursor is malformed.
    pub fn behind(self, cursor: &str) -> StoreResult<Self> {
        let number = cursor.parse();
        let number = number.map_err(|_| StoreError::BadQuery("cursor: malformed".to_owned()))?;
        Ok(Self { behind: Some(number), ..self })
    }
}

#[derive(Clone, Debug)]
pub(super) struct AuditChange<'a> {
    verb: AuditAction,
    noun: AuditObject,
    object: &'a str,
    name: &'a str,
    was: Option<String>,
    became: Option<String>,
}

impl AuditAction {
    /// An entry about an object; the object's id is also its name, unless [`AuditChange::named`] sets one.
    pub(super) const fn on(self, noun: AuditObject, object: &str) -> AuditChange<'_> {
        AuditChange { verb: self, noun, object, name: object, was: None, became: None }
    }
}

impl<'a> AuditChange<'a> {
    /// Sets the object's display name.
    pub(super) fn named(self, name: &'a str) -> Self {
        Self { name, ..self }
    }

    /// Sets the short old value, without secrets.
    pub(super) fn was(self, was: impl Into<String>) -> Self {
        Self { was: Some(was.into()), ..self }
    }

    /// Sets the short new value, without secrets.
    pub(super) fn became(self, became: impl Into<String>) -> Self {
        Self { became: Some(became.into()), ..self }
    }
}

impl Tx<'_> {
    /// Adds an audit entry of a project, by the transaction's actor.
    pub(super) fn audit(
        &self,
        project: &ProjectId,
        now: Timestamp,
        audited: &AuditChange<'_>,
    ) -> StoreResult<()> {
        self.audit_at(project.as_str(), now, audited)
    }

    /// Adds an audit entry of the whole server.
    pub(super) fn audit_server(
        &self,
        now: Timestamp,
        audited: &AuditChange<'_>,
    ) -> StoreResult<()> {
        self.audit_at("", now, audited)
    }

    fn audit_at(
        &self,
        project: &str,
        now: Timestamp,
        audited: &AuditChange<'_>,
    ) -> StoreResult<()> {
        let short = |text: &str| Value::from(elide(text, MAX_VALUE_BYTES).as_ref());
        let actor = self.actor();
        self.execute(
            "INSERT INTO audit_entry (number, project, at, actor_kind, actor, actor_name, verb, \
             noun, object, name, was, became) \
             VALUES ((SELECT COALESCE(MAX(number), 0) + 1 FROM audit_entry), $1, $2, $3, $4, $5, \
             $6, $7, $8, $9, $10, $11)",
            &[
                project.into(),
                now.into(),
                actor.kind().into(),
                actor.id().into(),
                actor.name().into(),
                audited.verb.into(),
                audited.noun.into(),
                audited.object.into(),
                short(audited.name),
                audited.was.as_deref().map(short).into(),
                audited.became.as_deref().map(short).into(),
            ],
        )?;
        Ok(())
    }
}

const COLUMNS: &str =
    "number, project, at, actor_kind, actor, actor_name, verb, noun, object, name, was, became";

impl Catalog {
    /// Returns the catalog on behalf of an actor, who is recorded in the audit log for each change.
    #[must_use]
    pub fn by(&self, actor: Actor) -> Self {
        Self { actor: actor.into(), ..self.clone() }
    }

    /// Returns audit entries, newest first, and a cursor.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn audit(&self, query: AuditQuery) -> StoreResult<Page<AuditEntry>> {
        self.transact(move |tx| {
            let Conditions { sql, values } = conditions(&query);
            let from = format!("FROM audit_entry WHERE {sql}");
            let listing = Listing { columns: COLUMNS, from: &from, order: "number DESC" };
            tx.page_behind(listing, (values, query.limit), read, |entry| entry.number.to_string())
        })
        .await
    }

    /// Returns the actors with entries in a project, or on the whole server.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn audit_actors(&self, project: Option<ProjectId>) -> StoreResult<Vec<Actor>> {
        self.transact(move |tx| {
            let sql = "SELECT DISTINCT actor_kind, actor, actor_name FROM audit_entry \
                       WHERE project = $1 ORDER BY actor_kind, actor_name, actor LIMIT $2";
            let read =
                |row: &Row<'_>| Ok(Actor::read(&row.get::<String>(0)?, row.get(1)?, row.get(2)?));
            tx.rows(sql, &[of(project.as_ref()), MAX_ACTORS.into()], read)
        })
        .await
    }

    /// Adds an entry for new signal overrides of a project. They are a file, so the entry is written
    /// first: then nothing changes without one.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn note_signal_overrides(
        &self,
        project: ProjectId,
        version: u32,
        dimensions: String,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            let noun = AuditObject::SignalOverrides;
            let audited = AuditAction::Changed.on(noun, "").became(dimensions);
            tx.audit(&project, now, &audited.named(&format!("version {version}")))
        })
        .await
    }

    /// Adds an entry for a deletion of telemetry. Telemetry is in another database, so the entry is
    /// written first: then nothing is deleted without one.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn note_deletion(
        &self,
        project: ProjectId,
        noun: AuditObject,
        ids: Vec<String>,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            let [one] = ids.as_slice() else {
                let name = format!("{} of them", ids.len());
                let audited = AuditAction::Deleted.on(noun, "").named(&name).was(ids.join(", "));
                return tx.audit(&project, now, &audited);
            };
            tx.audit(&project, now, &AuditAction::Deleted.on(noun, one))
        })
        .await
    }
}

/// The column value of a project.
fn of(project: Option<&ProjectId>) -> Value {
    project.map_or("", ProjectId::as_str).into()
}

fn conditions(query: &AuditQuery) -> Conditions {
    let mut conditions = Conditions::new("project = $1", of(query.project.as_ref()));
    let (kind, actor) = query.actor.clone().unzip();
    conditions.add("actor_kind = $", kind);
    conditions.add("actor = $", actor);
    conditions.add("noun = $", query.noun);
    conditions.add("object = $", query.object.as_deref());
    conditions.add("at >= $", query.from);
    conditions.add("at < $", query.to);
    conditions.add("number < $", query.behind);
    conditions
}

fn read(row: &Row<'_>) -> StoreResult<AuditEntry> {
    let project: String = row.get(1)?;
    let kind: String = row.get(3)?;
    Ok(AuditEntry {
        number: row.get(0)?,
        project: ProjectId::parse(&project).ok(),
        at: row.get(2)?,
        actor: Actor::read(&kind, row.get(4)?, row.get(5)?),
        verb: row.get(6)?,
        noun: row.get(7)?,
        object: row.get(8)?,
        name: row.get(9)?,
        was: row.get(10)?,
        became: row.get(11)?,
    })
}
