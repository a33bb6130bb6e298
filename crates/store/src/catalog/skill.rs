mod create;
mod list;

use ratchet_core::catalog::prompt::{LATEST, Pick};
use ratchet_core::payload::Json;
use ratchet_core::record::media::MediaHash;
use ratchet_core::time::Timestamp;

use super::sql::{Row, Tx};
use super::versioned::{SKILLS, VersionedName, described};
use super::{AuditAction, AuditObject, Catalog, redaction};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

pub use create::{NewSkill, NewSkillFile, SkillContent};
pub use list::{SkillQuery, SkillSummary};

/// One version of a skill.
#[derive(Clone, Debug, PartialEq)]
pub struct Skill {
    pub id: String,
    pub name: String,
    /// From 1.
    pub version: u32,
    pub description: String,
    pub frontmatter: Json,
    /// The labels of this version, `latest` last.
    pub labels: Vec<String>,
    /// Shared by all versions of the name.
    pub tags: Vec<String>,
    pub commit_message: Option<String>,
    pub created_by: String,
    pub created_at: Timestamp,
    /// When labels or tags last changed.
    pub updated_at: Timestamp,
    /// Ordered by path, without content.
    pub files: Vec<SkillFile>,
}

/// A file of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillFile {
    /// Unique to this version.
    pub id: String,
    /// Path in the skill's folder.
    pub path: String,
    pub hash: MediaHash,
    pub content_length: u64,
}

/// The columns that [`read`] expects, in order.
const COLUMNS: &str = "id, name, version, description, frontmatter, commit_message, created_by, \
                       created_at, updated_at";

impl Catalog {
    /// Returns one version of a skill.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn skill(
        &self,
        project: ProjectId,
        name: String,
        pick: Pick,
    ) -> StoreResult<Option<Skill>> {
        self.transact(move |tx| find(tx, (&project, &name), &pick)).await
    }

    /// Returns the contents of files by hash, in the order given.
    ///
    /// # Errors
    /// Fails if a hash is not in the project.
    pub async fn skill_contents(
        &self,
        project: ProjectId,
        hashes: Vec<MediaHash>,
    ) -> StoreResult<Vec<(MediaHash, String)>> {
        self.transact(move |tx| {
            let sql = "SELECT content FROM skill_content WHERE project = $1 AND sha256 = $2";
            let one = |hash: MediaHash| {
                let values = [(&project).into(), hash.to_base64().into()];
                let content = tx.one(sql, &values, |row| row.get(0))?;
                content.map(|content| (hash, content)).ok_or_else(|| no_content(hash))
            };
            hashes.into_iter().map(one).collect()
        })
        .await
    }

    /// Sets the tags of a skill and returns its newest version.
    ///
    /// # Errors
    /// Fails if there is no such skill, or if a redaction rule matches a tag.
    pub async fn set_skill_tags(
        &self,
        project: ProjectId,
        name: String,
        tags: Vec<String>,
        now: Timestamp,
    ) -> StoreResult<Skill> {
        self.transact(move |tx| {
            let which = (&project, name.as_str());
            let newest = Pick::Label(LATEST.to_owned());
            must_find(tx, which, &newest)?;
            let said = Json::from_value(&tags.clone().into());
            redaction::must_pass(tx, &project, &[("tags", &said)])?;
            SKILLS.set_tags(tx, which, &tags, now)?;
            let audited = AuditAction::Changed.on(AuditObject::Skill, &name);
            tx.audit(&project, now, &audited.became(format!("tags: {}", tags.join(", "))))?;
            must_find(tx, which, &newest)
        })
        .await
    }

    /// Sets the labels of a version, besides `latest`; labels move from other versions.
    ///
    /// # Errors
    /// Fails if there is no such version, or if `latest` would leave the newest one.
    pub async fn move_skill_labels(
        &self,
        project: ProjectId,
        (name, version): (String, u32),
        labels: Vec<String>,
        now: Timestamp,
    ) -> StoreResult<Skill> {
        self.transact(move |tx| {
            let (which, pick) = ((&project, name.as_str()), Pick::Version(version));
            let skill = must_find(tx, which, &pick)?;
            let is_newest = skill.labels.iter().any(|label| label == LATEST);
            if !is_newest && labels.iter().any(|label| label == LATEST) {
                let why = "labels: latest always points to the newest version and cannot be moved";
                return Err(StoreError::BadQuery(why.to_owned()));
            }
            for label in skill.labels.iter().filter(|label| *label != LATEST) {
                let sql = "DELETE FROM skill_label \
                           WHERE project = $1 AND name = $2 AND label = $3";
                tx.execute(sql, &[(&project).into(), (&name).into(), label.into()])?;
            }
            for label in labels.iter().filter(|label| *label != LATEST) {
                SKILLS.move_label(tx, which, (label, version), now)?;
            }
            let sql = "UPDATE skill SET updated_at = $4 \
                       WHERE project = $1 AND name = $2 AND version = $3";
            let values = [(&project).into(), (&name).into(), version.into(), now.into()];
            tx.execute(sql, &values)?;
            let audited = AuditAction::Labelled.on(AuditObject::Skill, &name);
            let audited = audited.was(described(version, &skill.labels));
            tx.audit(&project, now, &audited.became(described(version, &labels)))?;
            must_find(tx, which, &pick)
        })
        .await
    }

    /// Deletes a version and the contents that only its files had. If it is the newest, `latest`
    /// moves to the newest that remains.
    ///
    /// # Errors
    /// Fails if there is no such version.
    pub async fn delete_skill(
        &self,
        project: ProjectId,
        (name, version): (String, u32),
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            let which = (&project, name.as_str());
            let skill = must_find(tx, which, &Pick::Version(version))?;
            let sql = "DELETE FROM skill_file WHERE project = $1 AND skill = $2";
            tx.execute(sql, &[(&project).into(), (&skill.id).into()])?;
            for file in &skill.files {
                let sql = "DELETE FROM skill_content WHERE project = $1 AND sha256 = $2 \
                           AND NOT EXISTS (SELECT 1 FROM skill_file f \
                           WHERE f.project = $1 AND f.sha256 = $2)";
                tx.execute(sql, &[(&project).into(), file.hash.to_base64().into()])?;
            }
            for table in ["skill_label", "skill"] {
                let sql = format!(
                    "DELETE FROM {table} WHERE project = $1 AND name = $2 AND version = $3"
                );
                tx.execute(&sql, &[(&project).into(), (&name).into(), version.into()])?;
            }
            SKILLS.after_deletion(tx, which, now)?;
            let audited =
                AuditAction::Deleted.on(AuditObject::Skill, &name).was(format!("v{version}"));
            tx.audit(&project, now, &audited)
        })
        .await
    }
}

fn find(tx: &Tx<'_>, which: VersionedName<'_>, pick: &Pick) -> StoreResult<Option<Skill>> {
    let (project, name) = which;
    let (picked, pick) = SKILLS.picked(pick);
    let sql = format!("SELECT {COLUMNS} FROM skill WHERE project = $1 AND name = $2 AND {picked}");
    let found = tx.one(&sql, &[project.into(), name.into(), pick], read)?;
    let Some(mut skill) = found else { return Ok(None) };
    skill.labels = SKILLS.labels(tx, which, skill.version)?;
    skill.tags = SKILLS.tags(tx, which)?;
    let sql = "SELECT f.id, f.path, f.sha256, c.content_length FROM skill_file f \
               JOIN skill_content c ON c.project = f.project AND c.sha256 = f.sha256 \
               WHERE f.project = $1 AND f.skill = $2 ORDER BY f.path";
    skill.files = tx.rows(sql, &[project.into(), (&skill.id).into()], |row| {
        Ok(SkillFile {
            id: row.get(0)?,
            path: row.get(1)?,
            hash: row.get(2)?,
            content_length: row.get(3)?,
        })
    })?;
    Ok(Some(skill))
}

fn must_find(tx: &Tx<'_>, which: VersionedName<'_>, pick: &Pick) -> StoreResult<Skill> {
    let (_, name) = which;
    find(tx, which, pick)?.ok_or_else(|| {
        StoreError::NotFound(match pick {
            Pick::Version(version) => format!("Skill {name} with version {version}"),
            Pick::Label(_) => format!("Skill {name}"),
        })
    })
}

fn no_content(hash: MediaHash) -> StoreError {
    StoreError::NotFound(format!("Skill file with the SHA-256 {}", hash.to_base64()))
}

/// Reads a version without its labels, tags and files.
fn read(row: &Row<'_>) -> StoreResult<Skill> {
    Ok(Skill {
        id: row.get(0)?,
        name: row.get(1)?,
        version: row.get(2)?,
        description: row.get(3)?,
        frontmatter: row.get(4)?,
        labels: Vec::new(),
        tags: Vec::new(),
        commit_message: row.get(5)?,
        created_by: row.get(6)?,
        created_at: row.get(7)?,
        updated_at: row.get(8)?,
        files: Vec::new(),
    })
}
