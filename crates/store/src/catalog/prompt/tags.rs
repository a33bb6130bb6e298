//! Tags of prompts, and labels that are removed.

use ratchet_core::catalog::prompt::{LATEST, PRODUCTION};
use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;

use crate::catalog::agent_version::refuse_if_promoted;
use crate::catalog::versioned::PROMPTS;
use crate::catalog::{AuditAction, AuditObject, Catalog, redaction};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

impl Catalog {
    /// Sets the tags of a prompt, which all its versions share.
    ///
    /// # Errors
    /// Fails if there is no such prompt, or if a redaction rule matches a tag.
    pub async fn set_prompt_tags(
        &self,
        project: ProjectId,
        name: String,
        tags: Vec<String>,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            let which = (&project, name.as_str());
            if PROMPTS.versions(tx, which)?.is_empty() {
                return Err(StoreError::NotFound(format!("Prompt {name}")));
            }
            let sent = Json::from_value(&tags.clone().into());
            redaction::must_pass(tx, &project, &[("tags", &sent)])?;
            let before = PROMPTS.tags(tx, which)?;
            PROMPTS.set_tags(tx, which, &tags, now)?;
            let after = PROMPTS.tags(tx, which)?;
            if before == after {
                return Ok(());
            }
            let audited = AuditAction::Changed.on(AuditObject::Prompt, &name);
            tx.audit(&project, now, &audited.was(listed(&before)).became(listed(&after)))
        })
        .await
    }

    /// Takes a label away from a prompt: clients that fetch it get none from now on.
    ///
    /// # Errors
    /// Fails if the prompt has no such label, if it is `latest`, or with a conflict if `production`
    /// moves only by promotion.
    pub async fn remove_prompt_label(
        &self,
        project: ProjectId,
        name: String,
        label: String,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            let which = (&project, name.as_str());
            if label == LATEST {
                let why = "label: latest always points to the newest version";
                return Err(StoreError::BadQuery(why.to_owned()));
            }
            let version = PROMPTS.labelled(tx, which, &label)?;
            let missing = || StoreError::NotFound(format!("label {label} of prompt {name}"));
            let version = version.ok_or_else(missing)?;
            if label == PRODUCTION {
                refuse_if_promoted(tx, &project, &name)?;
            }
            PROMPTS.remove_label(tx, which, &label)?;
            let audited = AuditAction::Labelled.on(AuditObject::Prompt, &name);
            tx.audit(&project, now, &audited.was(format!("{label} at v{version}")))
        })
        .await
    }
}

/// Tags for the audit log.
fn listed(tags: &[String]) -> String {
    if tags.is_empty() { "no tags".to_owned() } else { format!("tags {}", tags.join(", ")) }
}
