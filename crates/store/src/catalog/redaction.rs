use ratchet_core::redact::{Redactor, Rule, RuleError, What};
use ratchet_core::time::Timestamp;
use uuid::Uuid;

use super::sql::{Row, Tx};
use super::{Catalog, project};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// A redaction rule as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptRule {
    /// Names the rule for people and for removing.
    pub id: String,
    /// What it does.
    pub rule: Rule,
    /// Since when.
    pub created_at: Timestamp,
}

const COLUMNS: &str = "id, kind, what, replacement, created_at";

impl Catalog {
    /// Returns the redaction rules of a project, oldest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn redaction_rules(&self, project: ProjectId) -> StoreResult<Vec<KeptRule>> {
        self.transact(move |tx| all(tx, &project)).await
    }

    /// Adds a redaction rule, for whatever is recorded from now on.
    ///
    /// # Errors
    /// Fails if the project does not exist; otherwise with what is wrong with the rule beside
    /// those there are.
    pub async fn add_redaction_rule(
        &self,
        project: ProjectId,
        rule: Rule,
        now: Timestamp,
    ) -> StoreResult<Result<KeptRule, RuleError>> {
        let owner = project.clone();
        let added = self.transact(move |tx| {
            if !tx.exists("SELECT 1 FROM project WHERE id = $1", &[(&project).into()])? {
                return Err(project::missing(&project));
            }
            let kept = KeptRule { id: Uuid::new_v4().to_string(), rule, created_at: now };
            let mut rules: Vec<_> = all(tx, &project)?.into_iter().map(|kept| kept.rule).collect();
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
            Ok(Ok(kept))
        });
        let added = added.await?;
        self.intakes.forget(&owner);
        Ok(added)
    }

    /// Removes a redaction rule. What was redacted stays so.
    ///
    /// # Errors
    /// Fails if the project has no such rule.
    pub async fn remove_redaction_rule(
        &self,
        project: ProjectId,
        id: String,
    ) -> StoreResult<KeptRule> {
        let owner = project.clone();
        let removed = self.transact(move |tx| {
            let which = "FROM redaction_rule WHERE project = $1 AND id = $2";
            let find = format!("SELECT {COLUMNS} {which}");
            let found = tx.one(&find, &[(&project).into(), (&id).into()], read)?;
            tx.execute(&format!("DELETE {which}"), &[(&project).into(), (&id).into()])?;
            found.ok_or_else(|| StoreError::NotFound(format!("redaction rule {id}")))
        });
        let removed = removed.await?;
        self.intakes.forget(&owner);
        Ok(removed)
    }
}

/// The redaction rules of a project, oldest first.
pub(super) fn all(tx: &Tx<'_>, project: &ProjectId) -> StoreResult<Vec<KeptRule>> {
    let sql =
        format!("SELECT {COLUMNS} FROM redaction_rule WHERE project = $1 ORDER BY created_at, id");
    tx.rows(&sql, &[project.into()], read)
}

fn read(row: &Row<'_>) -> StoreResult<KeptRule> {
    let (kind, text): (String, String) = (row.get(1)?, row.get(2)?);
    let what = What::parse(&kind, text).ok_or_else(|| {
        StoreError::BadQuery(format!("a redaction rule of the kind {kind}, which is none"))
    })?;
    let rule = Rule { what, replacement: row.get(3)? };
    Ok(KeptRule { id: row.get(0)?, rule, created_at: row.get(4)? })
}
