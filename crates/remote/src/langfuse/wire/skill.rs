use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::json::Raw;
use super::time::Time;

/// A version of a skill, as sent. What it is called stands in its `SKILL.md`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateSkill {
    /// All its files.
    pub files: Vec<SkillFileInput>,
    /// Why this version is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_message: Option<String>,
}

/// A file as sent: with what it holds, or with the hash of what another file holds already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillFileInput {
    /// Where it stands in the folder.
    pub path: String,
    /// What it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The SHA-256 of what it holds, in base64, as a version of some skill lists it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256_hash: Option<String>,
}

/// What is to change about all versions of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UpdateSkill {
    /// Its tags from now on.
    pub tags: Vec<String>,
}

/// The labels that a version is to have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UpdateSkillLabels {
    /// The labels; they leave the versions where they stood.
    pub labels: Vec<String>,
}

/// A version of a skill.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillView {
    /// Names this version alone.
    pub id: String,
    /// When it was made.
    pub created_at: Time,
    /// When its labels or tags last changed.
    pub updated_at: Time,
    /// In which project.
    pub project_id: String,
    /// Who made it.
    pub created_by: String,
    /// What it is called.
    pub name: String,
    /// What it does and when it is of use.
    pub description: String,
    /// All that the head of its `SKILL.md` says.
    pub frontmatter: Raw,
    /// Which version, from 1.
    pub version: u32,
    /// The tags of all versions.
    pub tags: Vec<String>,
    /// The labels at this version.
    pub labels: Vec<String>,
    /// Why this version was made.
    pub commit_message: Option<String>,
    /// Its files.
    pub files: Vec<SkillFileView>,
}

/// A file of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillFileView {
    /// Names the file in this version alone.
    pub id: String,
    /// Where it stands in the folder.
    pub path: String,
    /// Names what it holds.
    pub blob_id: String,
    /// The SHA-256 of what it holds, in base64.
    pub sha256_hash: String,
    /// What it is, by its name.
    pub content_type: String,
    /// How many bytes it has.
    pub content_length: u64,
}

/// What some files hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SkillContents {
    /// In the order of the question.
    pub data: Vec<SkillContentView>,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillContentView {
    /// Its SHA-256, in base64.
    pub sha256_hash: String,
    /// The text.
    pub content: String,
}

/// One page of skills.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SkillList {
    /// The skills.
    pub data: Vec<SkillMetaView>,
    /// Where we are.
    pub meta: SkillListMeta,
}

/// Where a page of skills stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillListMeta {
    /// The page's number, from 1.
    pub page: u64,
    /// Rows on a page.
    pub limit: u64,
    /// Rows in all.
    pub total_items: u64,
    /// Pages in all.
    pub total_pages: u64,
    /// Whether there is another page.
    pub has_next_page: bool,
}

/// A skill in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillMetaView {
    /// What it is called.
    pub name: String,
    /// What its newest version does.
    pub description: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// The number of its newest version.
    pub latest_version: u32,
    /// When that was made.
    pub latest_version_created_at: Time,
    /// When that last changed.
    pub latest_version_last_updated_at: Time,
    /// The version with the label `production`, if there is one.
    pub production_version: Option<u32>,
}

/// Whether a version is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SkillDeleted {
    /// Always true; what is not there is answered with 404.
    pub deleted: bool,
}
