use ratchet_core::payload::Json;
use ratchet_core::record::redact::{RedactionPattern, Redactor, Rule, RuleError};
use ratchet_core::time::Timestamp;
use uuid::Uuid;

use super::project_table::ProjectTable;
use super::sql::{Row, Tx};
use super::{AuditAction, AuditObject, Catalog, project};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// A stored redaction rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRule {
    pub id: String,
    pub rule: Rule,
    pub created_at: Timestamp,
}

const COLUMNS: &str = "id, kind, what, replacement, created_at";

const RULES: ProjectTable<StoredRule> =
    ProjectTable::new(("redaction_rule", "redaction rule"), COLUMNS, read)
        .in_order("created_at, id");

impl Catalog {
    /// Returns the redaction rules of a project, oldest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn redaction_rules(&self, project: ProjectId) -> StoreResult<Vec<StoredRule>> {
        self.transact(move |tx| RULES.all(tx, &project)).await
    }

    /// Adds a redaction rule, for telemetry recorded from now on.
    ///
    /// # Errors
    /// Fails if the project does not exist, or if the rule is invalid together with the existing
    /// ones.
    pub async fn add_redaction_rule(
        &self,
        project: ProjectId,
        rule: Rule,
        now: Timestamp,
    ) -> StoreResult<Result<StoredRule, RuleError>> {
        let owner = project.clone();
        let added = self.transact(move |tx| {
            if !tx.exists("SELECT 1 FROM project WHERE id = $1", &[(&project).into()])? {
                return Err(project::missing(&project));
            }
            let kept = StoredRule { id: Uuid::new_v4().to_string(), rule, created_at: now };
            let mut rules: Vec<_> =
                RULES.all(tx, &project)?.into_iter().map(|kept| kept.rule).collect();
            rules.push(kept.rule.clone());
            if let Err(why) = Redactor::new(&rules) {
                return Ok(Err(why));
            }
            let (what, replacement) = (&kept.rule.what, &kept.rule.replacement);
            tx.insert(
                &format!(
                    "INSERT INTO redaction_rule ({COLUMNS}, project) \
                     VALUES ($1, $2, $3, $4, $5, $6)"
                ),
                &[
                    (&kept.id).into(),
                    what.kind().into(),
                    what.text().into(),
                    replacement.into(),
                    now.into(),
                    (&project).into(),
                ],
                || format!("the redaction rule {}", kept.id),
            )?;
            let audited =
                AuditAction::Added.on(AuditObject::RedactionRule, &kept.id).named(what.kind());
            tx.audit(&project, now, &audited.became(described(&kept.rule)))?;
            Ok(Ok(kept))
        });
        let added = added.await?;
        self.recording_settings.invalidate(&owner);
        Ok(added)
    }

    /// Deletes a redaction rule. Redacted content stays redacted.
    ///
    /// # Errors
    /// Fails if the project has no such rule.
    pub async fn remove_redaction_rule(
        &self,
        project: ProjectId,
        id: String,
        now: Timestamp,
    ) -> StoreResult<StoredRule> {
        let owner = project.clone();
        let removed = self.transact(move |tx| {
            let found = RULES.delete(tx, &project, &id)?;
            let audited = AuditAction::Removed
                .on(AuditObject::RedactionRule, &id)
                .named(found.rule.what.kind());
            tx.audit(&project, now, &audited.was(described(&found.rule)))?;
            Ok(found)
        });
        let removed = removed.await?;
        self.recording_settings.invalidate(&owner);
        Ok(removed)
    }
}

/// The compiled rules of a project, and the secrets that are known in every project.
///
/// # Errors
/// Fails if a stored rule is no longer valid. Then nothing is recorded, rather than store content
/// that must be redacted.
pub(super) fn redactor(tx: &Tx<'_>, project: &ProjectId) -> StoreResult<Redactor> {
    let rules: Vec<Rule> = RULES.all(tx, project)?.into_iter().map(|kept| kept.rule).collect();
    let rules = Redactor::new(&rules).map(|rules| rules.with_secrets(tx.known_secrets()));
    rules.map_err(|why| {
        StoreError::Unsettled(format!(
            "a redaction rule of this project cannot be used ({why}); an owner must remove it with \
             `ratchet redaction remove`"
        ))
    })
}

/// Rejects fields that a pattern of the project's rules matches, or that hold a secret of the server.
///
/// For content that is used verbatim, such as a prompt: redacted, it would silently do something
/// else.
pub(super) fn must_pass(
    tx: &Tx<'_>,
    project: &ProjectId,
    fields: &[(&str, &Json)],
) -> StoreResult<()> {
    let rules = redactor(tx, project)?;
    let secrets = Redactor::default().with_secrets(tx.known_secrets());
    match fields.iter().find(|(_, json)| !rules.passes(json)) {
        None => Ok(()),
        Some((field, json)) if !secrets.passes(json) => Err(StoreError::BadQuery(format!(
            "{field}: holds a secret of the server's environment; take it out"
        ))),
        Some((field, _)) => Err(StoreError::BadQuery(format!(
            "{field}: holds what a redaction rule of this project looks for; take it out, or have \
             an owner change the rule"
        ))),
    }
}

/// Wraps a text as a field for [`must_pass`].
pub(super) fn said(text: &str) -> Json {
    Json::from_value(&text.into())
}

fn described(rule: &Rule) -> String {
    format!("{} → {}", rule.what.text(), rule.replacement)
}

fn read(row: &Row<'_>) -> StoreResult<StoredRule> {
    let (kind, text): (String, String) = (row.get(1)?, row.get(2)?);
    let what = RedactionPattern::parse(&kind, text).ok_or_else(|| {
        StoreError::Unsettled(format!("a redaction rule of the unknown kind {kind}"))
    })?;
    let rule = Rule { what, replacement: row.get(3)? };
    Ok(StoredRule { id: row.get(0)?, rule, created_at: row.get(4)? })
}
