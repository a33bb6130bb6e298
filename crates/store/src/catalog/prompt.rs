mod create;
mod list;
mod delete;
/// Tags, and labels that go.
mod tags;

use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::catalog::prompt::{
    ComposeError, Composed, Graph, MAX_DEPTH, MAX_PARTS, Node, PRODUCTION, Part, Parts, Pick,
    PromptBody, PromptKind, Reference, compose,
};
use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;

use super::agent_version::refuse_if_promoted;
use super::proposal::links::production_moved;
use super::sql::{FromColumn, Listing, Row, Tx, Value};
use super::versioned::{PROMPTS, moved};
use super::{AuditAction, AuditObject, Catalog};
use crate::project::ProjectId;
use crate::query::{Page, PageNumber};
use crate::{StoreError, StoreResult};

pub use create::NewPrompt;
pub(super) use create::create_in;
pub use list::{PromptQuery, PromptSummary};

/// One version of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    pub id: String,
    /// Slashes separate folders.
    pub name: String,
    /// From 1.
    pub version: u32,
    pub body: PromptBody,
    /// Free-form client configuration.
    pub config: Json,
    /// The labels of this version, `latest` last.
    pub labels: Vec<String>,
    /// Shared by all versions of the name.
    pub tags: Vec<String>,
    pub commit_message: Option<String>,
    pub created_by: String,
    pub created_at: Timestamp,
    /// When labels or tags last changed.
    pub updated_at: Timestamp,
}

/// Whether to resolve the prompt references in a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptReferences {
    Raw,
    /// With all references resolved.
    Composed,
}

impl FromColumn for PromptKind {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}

impl FromColumn for PromptBody {
    fn from_column(value: Value) -> Option<Self> {
        let json: serde_json::Value = serde_json::from_str(&String::from_column(value)?).ok()?;
        let kind = if json.is_array() { PromptKind::Chat } else { PromptKind::Text };
        Self::read(kind, json).ok()
    }
}

impl From<PromptKind> for Value {
    fn from(kind: PromptKind) -> Self {
        kind.as_str().into()
    }
}

/// The columns that [`read`] expects, in order.
const COLUMNS: &str =
    "id, name, version, body, config, commit_message, created_by, created_at, updated_at";

impl Catalog {
    /// Returns one version of a prompt, and the prompts that it was composed from.
    ///
    /// # Errors
    /// Fails if references cannot be resolved: a referenced label may have moved to a version that
    /// refers back.
    pub async fn prompt(
        &self,
        project: ProjectId,
        name: String,
        pick: Pick,
        wanted: PromptReferences,
    ) -> StoreResult<Option<(Prompt, Option<Graph>)>> {
        let reference = Reference { name, pick };
        self.transact(move |tx| {
            let Some(mut prompt) = find(tx, &project, &reference)? else { return Ok(None) };
            if wanted == PromptReferences::Raw {
                return Ok(Some((prompt, None)));
            }
            let composed = put_together(tx, &project, &part(&prompt))?;
            prompt.body = composed.body;
            Ok(Some((prompt, composed.graph)))
        })
        .await
    }

    /// Returns the versions of a prompt, newest first, with references unresolved.
    ///
    /// # Errors
    /// Fails only when the database does; a name without versions is not known.
    pub async fn prompt_versions(
        &self,
        project: ProjectId,
        name: String,
        page: PageNumber,
    ) -> StoreResult<Page<Prompt>> {
        let listing = Listing {
            columns: COLUMNS,
            from: "FROM prompt WHERE project = $1 AND name = $2",
            order: "version DESC",
        };
        self.transact(move |tx| {
            let key = [(&project).into(), (&name).into()];
            let mut page = tx.page(listing, &key, page, read)?;
            let which = (&project, name.as_str());
            let tags = PROMPTS.tags(tx, which)?;
            let mut labels = PROMPTS.all_labels(tx, which)?;
            for prompt in &mut page.rows {
                prompt.labels = labels.remove(&prompt.version).unwrap_or_default();
                prompt.tags.clone_from(&tags);
            }
            Ok(page)
        })
        .await
    }

    /// Moves labels to a version.
    ///
    /// # Errors
    /// Fails if there is no such version, or with a conflict if `production` moves only by
    /// promotion.
    pub async fn move_prompt_labels(
        &self,
        project: ProjectId,
        which: (String, u32),
        labels: Vec<String>,
        now: Timestamp,
    ) -> StoreResult<Prompt> {
        let (name, version) = which;
        self.transact(move |tx| {
            let reference = Reference { name, pick: Pick::Version(version) };
            let missing = || StoreError::NotFound(format!("Prompt {reference}"));
            find(tx, &project, &reference)?.ok_or_else(missing)?;
            let which = (&project, reference.name.as_str());
            if labels.iter().any(|label| label == PRODUCTION) {
                refuse_if_promoted(tx, &project, which.1)?;
            }
            for label in &labels {
                let before = PROMPTS.labelled(tx, which, label)?;
                PROMPTS.move_label(tx, which, (label, version), now)?;
                let audited = AuditAction::Labelled.on(AuditObject::Prompt, which.1);
                tx.audit(&project, now, &moved(audited, label, before, version))?;
                if label == PRODUCTION {
                    production_moved(tx, &project, (which.1, Some(version), None), now)?;
                }
            }
            find(tx, &project, &reference)?.ok_or_else(missing)
        })
        .await
    }

    /// Returns name and number of the prompt version with an id.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn prompt_version_of(
        &self,
        project: ProjectId,
        id: String,
    ) -> StoreResult<Option<(String, u32)>> {
        self.transact(move |tx| {
            let sql = "SELECT name, version FROM prompt WHERE project = $1 AND id = $2";
            tx.one(sql, &[(&project).into(), (&id).into()], |row| Ok((row.get(0)?, row.get(1)?)))
        })
        .await
    }

    /// Returns the ids of existing prompt versions by name and version.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn prompt_ids(
        &self,
        project: ProjectId,
        which: Vec<(String, u32)>,
    ) -> StoreResult<BTreeMap<(String, u32), String>> {
        if which.is_empty() {
            return Ok(BTreeMap::new());
        }
        self.transact(move |tx| {
            let sql = "SELECT id FROM prompt WHERE project = $1 AND name = $2 AND version = $3";
            let mut ids = BTreeMap::new();
            for (name, version) in which {
                let id =
                    tx.one(sql, &[(&project).into(), (&name).into(), version.into()], |row| {
                        row.get(0)
                    })?;
                ids.extend(id.map(|id| ((name, version), id)));
            }
            Ok(ids)
        })
        .await
    }
}

/// Finds the version of a reference.
fn find(tx: &Tx<'_>, project: &ProjectId, reference: &Reference) -> StoreResult<Option<Prompt>> {
    let (picked, pick) = PROMPTS.picked(&reference.pick);
    let sql = format!("SELECT {COLUMNS} FROM prompt WHERE project = $1 AND name = $2 AND {picked}");
    let found = tx.one(&sql, &[project.into(), (&reference.name).into(), pick], read)?;
    let Some(mut prompt) = found else { return Ok(None) };
    let which = (project, prompt.name.as_str());
    (prompt.labels, prompt.tags) =
        (PROMPTS.labels(tx, which, prompt.version)?, PROMPTS.tags(tx, which)?);
    Ok(Some(prompt))
}

/// Reads a version without its labels and tags.
fn read(row: &Row<'_>) -> StoreResult<Prompt> {
    Ok(Prompt {
        id: row.get(0)?,
        name: row.get(1)?,
        version: row.get(2)?,
        body: row.get(3)?,
        config: row.get(4)?,
        labels: Vec::new(),
        tags: Vec::new(),
        commit_message: row.get(5)?,
        created_by: row.get(6)?,
        created_at: row.get(7)?,
        updated_at: row.get(8)?,
    })
}

fn part(prompt: &Prompt) -> Part {
    let (id, name) = (prompt.id.clone(), prompt.name.clone());
    Part { node: Node { id, name, version: prompt.version }, body: prompt.body.clone() }
}

/// Resolves the references of a version, stored or new.
fn put_together(tx: &Tx<'_>, project: &ProjectId, root: &Part) -> StoreResult<Composed> {
    let mut parts = Parts::new();
    let mut wanted = root.body.references();
    for _ in 1..MAX_DEPTH {
        let mut next = BTreeSet::new();
        for reference in wanted {
            if parts.contains_key(&reference) {
                continue;
            }
            if parts.len() >= MAX_PARTS {
                return Err(refused(&ComposeError::TooMany));
            }
            if let Some(found) = find(tx, project, &reference)? {
                next.extend(found.body.references());
                parts.insert(reference, part(&found));
            }
        }
        wanted = next;
    }
    compose(root, &parts).map_err(|why| refused(&why))
}

fn refused(why: &ComposeError) -> StoreError {
    StoreError::BadQuery(why.to_string())
}
