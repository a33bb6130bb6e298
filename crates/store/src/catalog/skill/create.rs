use ratchet_core::catalog::prompt::{LATEST, Pick};
use ratchet_core::payload::Json;
use ratchet_core::record::media::MediaHash;
use ratchet_core::time::Timestamp;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{Skill, must_find};
use crate::catalog::sql::Tx;
use crate::catalog::versioned::SKILLS;
use crate::catalog::{AuditAction, AuditObject, Catalog, redaction};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// A skill version to create.
#[derive(Clone, Debug)]
pub struct NewSkill {
    pub name: String,
    pub description: String,
    pub frontmatter: Json,
    pub files: Vec<NewSkillFile>,
    pub commit_message: Option<String>,
    pub created_by: String,
}

/// A file of a version to create.
#[derive(Clone, Debug)]
pub struct NewSkillFile {
    /// Path in the skill's folder.
    pub path: String,
    pub content: SkillContent,
}

/// The content of a file.
#[derive(Clone, Debug)]
pub enum SkillContent {
    Text(String),
    /// Content that another file of the project already has.
    Known(MediaHash),
}

impl Catalog {
    /// Creates the next version of a skill.
    ///
    /// # Errors
    /// Fails if the content of a hash is unknown in the project, or if a redaction rule matches a
    /// content.
    pub async fn create_skill(
        &self,
        project: ProjectId,
        new: NewSkill,
        now: Timestamp,
    ) -> StoreResult<Skill> {
        self.transact(move |tx| {
            check_rules(tx, &project, &new)?;
            let which = (&project, new.name.as_str());
            let newest = SKILLS.versions(tx, which)?.last().copied().unwrap_or(0);
            let version = newest.saturating_add(1);
            let id = Uuid::new_v4().to_string();
            insert(tx, &project, (&id, version, &new), now)?;
            for file in &new.files {
                insert_file(tx, &project, &id, file)?;
            }
            SKILLS.move_label(tx, which, (LATEST, version), now)?;
            let audited =
                AuditAction::Made.on(AuditObject::Skill, &new.name).became(format!("v{version}"));
            tx.audit(&project, now, &audited)?;
            must_find(tx, which, &Pick::Version(version))
        })
        .await
    }
}

fn check_rules(tx: &Tx<'_>, project: &ProjectId, new: &NewSkill) -> StoreResult<()> {
    let texts = new.files.iter().flat_map(|file| {
        let content = match &file.content {
            SkillContent::Text(text) => text.as_str(),
            // It was checked when it was first stored.
            SkillContent::Known(_) => "",
        };
        [redaction::said(&file.path), redaction::said(content)]
    });
    let texts: Vec<Json> = texts.collect();
    let message = redaction::said(new.commit_message.as_deref().unwrap_or_default());
    let mut fields = vec![("commitMessage", &message)];
    fields.extend(texts.iter().map(|text| ("files", text)));
    redaction::must_pass(tx, project, &fields)
}

fn insert(
    tx: &Tx<'_>,
    project: &ProjectId,
    (id, version, new): (&str, u32, &NewSkill),
    now: Timestamp,
) -> StoreResult<()> {
    let searched = format!("{}\n{}", new.name, new.description).to_lowercase();
    tx.insert(
        "INSERT INTO skill (project, name, version, id, description, frontmatter, searched, \
         commit_message, created_by, created_at, updated_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)",
        &[
            project.into(),
            (&new.name).into(),
            version.into(),
            id.into(),
            (&new.description).into(),
            (&new.frontmatter).into(),
            searched.into(),
            new.commit_message.as_deref().into(),
            (&new.created_by).into(),
            now.into(),
        ],
        || format!("version {version} of skill {}", new.name),
    )
}

fn insert_file(
    tx: &Tx<'_>,
    project: &ProjectId,
    skill: &str,
    file: &NewSkillFile,
) -> StoreResult<()> {
    let hash = match &file.content {
        SkillContent::Text(text) => keep(tx, project, text)?,
        SkillContent::Known(hash) => {
            let sql = "SELECT 1 FROM skill_content WHERE project = $1 AND sha256 = $2";
            if !tx.exists(sql, &[project.into(), hash.to_base64().into()])? {
                return Err(StoreError::BadQuery(format!(
                    "files: {} refers to the SHA-256 {}, which no skill of this project holds; \
                     send its content",
                    file.path,
                    hash.to_base64()
                )));
            }
            *hash
        }
    };
    tx.execute(
        "INSERT INTO skill_file (project, skill, path, id, sha256) VALUES ($1, $2, $3, $4, $5)",
        &[
            project.into(),
            skill.into(),
            (&file.path).into(),
            Uuid::new_v4().to_string().into(),
            hash.to_base64().into(),
        ],
    )?;
    Ok(())
}

/// Stores a text under its hash.
fn keep(tx: &Tx<'_>, project: &ProjectId, text: &str) -> StoreResult<MediaHash> {
    let hash = MediaHash::new(Sha256::digest(text).into());
    tx.execute(
        "INSERT INTO skill_content (project, sha256, content_length, content) \
         VALUES ($1, $2, $3, $4) ON CONFLICT (project, sha256) DO NOTHING",
        &[project.into(), hash.to_base64().into(), (text.len() as u64).into(), text.into()],
    )?;
    Ok(hash)
}
