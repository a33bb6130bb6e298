use ratchet_core::catalog::prompt::{
    LATEST, Node, PRODUCTION, Part, Pick, PromptBody, PromptKind, Reference,
};
use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;
use uuid::Uuid;

use super::{Prompt, find, put_together};
use crate::catalog::agent_version::refuse_if_promoted;
use crate::catalog::sql::{Tx, Value};
use crate::catalog::versioned::{PROMPTS, described};
use crate::catalog::{AuditAction, AuditObject, Catalog, redaction};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// A prompt version to create.
#[derive(Clone, Debug)]
pub struct NewPrompt {
    pub name: String,
    pub body: PromptBody,
    /// Free-form client configuration.
    pub config: Json,
    /// Labels that move to it; `latest` always does.
    pub labels: Vec<String>,
    /// New tags of the name; unchanged when `None`.
    pub tags: Option<Vec<String>>,
    pub commit_message: Option<String>,
    pub created_by: String,
}

impl Catalog {
    /// Creates the next version of a prompt.
    ///
    /// # Errors
    /// Fails if earlier versions are of the other kind, if a redaction rule matches it, or if a
    /// reference is missing, is not a text prompt, or is circular, or with a conflict if the label
    /// `production` moves only by promotion.
    pub async fn create_prompt(
        &self,
        project: ProjectId,
        new: NewPrompt,
        now: Timestamp,
    ) -> StoreResult<Prompt> {
        self.transact(move |tx| create_in(tx, &project, new, now)).await
    }
}

/// Creates the next version of a prompt in a transaction.
pub(in crate::catalog) fn create_in(
    tx: &Tx<'_>,
    project: &ProjectId,
    new: NewPrompt,
    now: Timestamp,
) -> StoreResult<Prompt> {
    check_rules(tx, project, &new)?;
    if new.labels.iter().any(|label| label == PRODUCTION) {
        refuse_if_promoted(tx, project, &new.name)?;
    }
    let version = next_version(tx, project, &new)?;
    let node = Node { id: Uuid::new_v4().to_string(), name: new.name.clone(), version };
    let part = Part { node, body: new.body.clone() };
    put_together(tx, project, &part)?;
    insert(tx, project, (&part.node, &new), now)?;
    if let Some(tags) = &new.tags {
        PROMPTS.set_tags(tx, (project, &new.name), tags, now)?;
    }
    for label in new.labels.iter().map(String::as_str).chain([LATEST]) {
        PROMPTS.move_label(tx, (project, &new.name), (label, version), now)?;
    }
    let audited = AuditAction::Made.on(AuditObject::Prompt, &new.name);
    tx.audit(project, now, &audited.became(described(version, &new.labels)))?;
    let reference = Reference { name: new.name, pick: Pick::Version(version) };
    find(tx, project, &reference)?
        .ok_or_else(|| StoreError::NotFound(format!("Prompt {reference}")))
}

fn check_rules(tx: &Tx<'_>, project: &ProjectId, new: &NewPrompt) -> StoreResult<()> {
    let body = Json::from_value(&new.body.to_json());
    let (name, tags) = (redaction::said(&new.name), new.tags.clone().unwrap_or_default());
    let tags = Json::from_value(&tags.into());
    let message = redaction::said(new.commit_message.as_deref().unwrap_or_default());
    let fields = [
        ("name", &name),
        ("prompt", &body),
        ("config", &new.config),
        ("tags", &tags),
        ("commitMessage", &message),
    ];
    redaction::must_pass(tx, project, &fields)
}

fn next_version(tx: &Tx<'_>, project: &ProjectId, new: &NewPrompt) -> StoreResult<u32> {
    let sql = "SELECT version, kind FROM prompt WHERE project = $1 AND name = $2 \
               ORDER BY version DESC LIMIT 1";
    let newest =
        tx.one(sql, &[project.into(), (&new.name).into()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let Some((version, kind)) = newest else { return Ok(1) };
    let (version, kind): (u32, PromptKind) = (version, kind);
    if kind != new.body.kind() {
        return Err(StoreError::BadQuery(format!(
            "type: earlier versions of prompt '{}' are of the type {}; create a prompt with \
             another name",
            new.name,
            kind.as_str()
        )));
    }
    Ok(version.saturating_add(1))
}

fn insert(
    tx: &Tx<'_>,
    project: &ProjectId,
    (node, new): (&Node, &NewPrompt),
    now: Timestamp,
) -> StoreResult<()> {
    let body = Json::from_value(&new.body.to_json());
    let kind = new.body.kind();
    let message = new.commit_message.as_deref();
    tx.insert(
        "INSERT INTO prompt (project, name, version, id, kind, body, config, commit_message, \
         created_by, created_at, updated_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        &[
            project.into(),
            (&node.name).into(),
            node.version.into(),
            (&node.id).into(),
            kind.into(),
            (&body).into(),
            (&new.config).into(),
            message.into(),
            (&new.created_by).into(),
            now.into(),
            now.into(),
        ],
        || format!("version {} of prompt {}", node.version, node.name),
    )?;
    for Reference { name, pick } in new.body.references() {
        let (version, label) = match pick {
            Pick::Version(version) => (Value::from(version), Value::Null),
            Pick::Label(label) => (Value::Null, Value::from(label)),
        };
        tx.execute(
            "INSERT INTO prompt_reference (project, name, version, child_name, child_version, \
             child_label) VALUES ($1, $2, $3, $4, $5, $6)",
            &[
                project.into(),
                (&node.name).into(),
                node.version.into(),
                name.into(),
                version,
                label,
            ],
        )?;
    }
    Ok(())
}
