//! Who changed what, and when. Every change leaves an entry, in its own transaction.

mod actor;
/// What was done, and to what.
mod words;

use ratchet_core::record::limit::elide;
use ratchet_core::time::Timestamp;

use super::Catalog;
use super::sql::{Conditions, Row, Tx, Value};
use crate::project::ProjectId;
use crate::query::Page;
use crate::{StoreError, StoreResult};

pub use actor::Actor;
pub use words::{Noun, Verb};

/// How much is kept of what something was or became.
const SHOWN_BYTES: usize = 1_000;
/// How many actors are listed; a menu of more would help nobody.
const MOST_ACTORS: u64 = 200;

/// Something that was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Later entries have greater numbers.
    pub number: u64,
    /// In which project; on the whole server when `None`.
    pub project: Option<ProjectId>,
    pub at: Timestamp,
    pub actor: Actor,
    pub verb: Verb,
    /// To what kind of thing.
    pub noun: Noun,
    /// Which one: its id, or its name if that is what names it.
    pub object: String,
    pub name: String,
    /// What it was, in short.
    pub was: Option<String>,
    /// What it became, in short.
    pub became: Option<String>,
}

/// Which entries are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditQuery {
    /// Of which project; those of the whole server when `None`.
    pub project: Option<ProjectId>,
    /// Of actors with this kind and id.
    pub actor: Option<(String, String)>,
    /// About this kind of thing.
    pub noun: Option<Noun>,
    /// About this one of those.
    pub object: Option<String>,
    /// Not before.
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    /// Behind the entry of this number.
    pub behind: Option<u64>,
    /// Entries at most.
    pub limit: u64,
}

impl AuditQuery {
    /// The newest entries of a project, or of the whole server.
    pub const fn newest(project: Option<ProjectId>, limit: u64) -> Self {
        let (actor, noun, object) = (None, None, None);
        let (from, to, behind) = (None, None, None);
        Self { project, actor, noun, object, from, to, behind, limit }
    }

    /// The newest entries about one thing: who changed what.
    pub fn about(project: ProjectId, noun: Noun, object: String, limit: u64) -> Self {
        let (noun, object) = (Some(noun), Some(object));
        Self { noun, object, ..Self::newest(Some(project), limit) }
    }

    /// The same behind where the last answer stopped.
    ///
    /// # Errors
    /// Fails if the cursor is not one of ours.
    pub fn behind(self, cursor: &str) -> StoreResult<Self> {
        let number = cursor.parse();
        let number =
            number.map_err(|_| StoreError::BadQuery("cursor: not one of ours".to_owned()))?;
        Ok(Self { behind: Some(number), ..self })
    }
}

#[derive(Clone, Debug)]
pub(super) struct Deed<'a> {
    verb: Verb,
    noun: Noun,
    object: &'a str,
    name: &'a str,
    was: Option<String>,
    became: Option<String>,
}

impl Verb {
    /// Something that was done to a thing; its name is what names it, until another is given.
    pub(super) const fn what(self, noun: Noun, object: &str) -> Deed<'_> {
        Deed { verb: self, noun, object, name: object, was: None, became: None }
    }
}

impl<'a> Deed<'a> {
    /// The same with what people call the thing.
    pub(super) fn named(self, name: &'a str) -> Self {
        Self { name, ..self }
    }

    /// The same with what the thing was, in short and without secrets.
    pub(super) fn was(self, was: impl Into<String>) -> Self {
        Self { was: Some(was.into()), ..self }
    }

    /// The same with what the thing became, in short and without secrets.
    pub(super) fn became(self, became: impl Into<String>) -> Self {
        Self { became: Some(became.into()), ..self }
    }
}

impl Tx<'_> {
    /// Notes that something was done, by whoever holds the catalog, in a project.
    pub(super) fn note(
        &self,
        project: &ProjectId,
        now: Timestamp,
        deed: &Deed<'_>,
    ) -> StoreResult<()> {
        self.note_at(project.as_str(), now, deed)
    }

    /// The same for what concerns the whole server.
    pub(super) fn note_for_all(&self, now: Timestamp, deed: &Deed<'_>) -> StoreResult<()> {
        self.note_at("", now, deed)
    }

    fn note_at(&self, project: &str, now: Timestamp, deed: &Deed<'_>) -> StoreResult<()> {
        let short = |text: &str| Value::from(elide(text, SHOWN_BYTES).as_ref());
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
                deed.verb.into(),
                deed.noun.into(),
                deed.object.into(),
                short(deed.name),
                deed.was.as_deref().map(short).into(),
                deed.became.as_deref().map(short).into(),
            ],
        )?;
        Ok(())
    }
}

const COLUMNS: &str =
    "number, project, at, actor_kind, actor, actor_name, verb, noun, object, name, was, became";

impl Catalog {
    /// Returns the same catalog in the hands of an actor: what is changed with it is noted as
    /// theirs.
    #[must_use]
    pub fn by(&self, actor: Actor) -> Self {
        Self { actor: actor.into(), ..self.clone() }
    }

    /// Returns what was done, newest first, and where to go on.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn audit(&self, query: AuditQuery) -> StoreResult<Page<AuditEntry>> {
        self.transact(move |tx| {
            let Conditions { sql, mut values } = conditions(&query);
            // One more than asked for tells whether it goes on.
            values.push(query.limit.saturating_add(1).into());
            let last = values.len();
            let sql = format!(
                "SELECT {COLUMNS} FROM audit_entry WHERE {sql} ORDER BY number DESC LIMIT ${last}"
            );
            let mut rows = tx.rows(&sql, &values, read)?;
            let goes_on = rows.len() as u64 > query.limit;
            rows.truncate(usize::try_from(query.limit).unwrap_or(usize::MAX));
            let cursor = rows.last().filter(|_| goes_on).map(|entry| entry.number.to_string());
            Ok(Page { rows, total: None, cursor })
        })
        .await
    }

    /// Returns who did anything in a project, or to the whole server.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn audit_actors(&self, project: Option<ProjectId>) -> StoreResult<Vec<Actor>> {
        self.transact(move |tx| {
            let sql = "SELECT DISTINCT actor_kind, actor, actor_name FROM audit_entry \
                       WHERE project = $1 ORDER BY actor_kind, actor_name, actor LIMIT $2";
            let read =
                |row: &Row<'_>| Ok(Actor::read(&row.get::<String>(0)?, row.get(1)?, row.get(2)?));
            tx.rows(sql, &[of(project.as_ref()), MOST_ACTORS.into()], read)
        })
        .await
    }

    /// Notes that telemetry is about to be deleted. It is kept elsewhere, so the note comes first:
    /// then nothing goes without one.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn note_deletion(
        &self,
        project: ProjectId,
        noun: Noun,
        ids: Vec<String>,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            let [one] = ids.as_slice() else {
                let name = format!("{} of them", ids.len());
                let deed = Verb::Deleted.what(noun, "").named(&name).was(ids.join(", "));
                return tx.note(&project, now, &deed);
            };
            tx.note(&project, now, &Verb::Deleted.what(noun, one))
        })
        .await
    }
}

/// The column of a project.
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
