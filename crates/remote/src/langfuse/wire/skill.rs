use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::json::Raw;
use super::time::Time;

/// A request to create a skill version. Its name is in its `SKILL.md`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateSkill {
    /// Files.
    pub files: Vec<SkillFileInput>,
    /// Commit message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_message: Option<String>,
}

/// A file of a request: with its content, or with the hash of stored content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillFileInput {
    /// Path in the folder.
    pub path: String,
    /// Content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// SHA-256 of stored content, in base64, as listed by another version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256_hash: Option<String>,
}

/// An update of all versions of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UpdateSkill {
    /// New tags.
    pub tags: Vec<String>,
}

/// A request to set the labels of a skill version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UpdateSkillLabels {
    /// Labels, which are removed from other versions.
    pub labels: Vec<String>,
}

/// A version of a skill.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillView {
    /// Id of this version.
    pub id: String,
    /// Creation time.
    pub created_at: Time,
    /// Time of the last change of labels or tags.
    pub updated_at: Time,
    /// Project id.
    pub project_id: String,
    /// Creator.
    pub created_by: String,
    /// Name.
    pub name: String,
    /// What the skill does and when to use it.
    pub description: String,
    /// Front matter of its `SKILL.md`.
    pub frontmatter: Raw,
    /// Version number, from 1.
    pub version: u32,
    /// Tags of all versions.
    pub tags: Vec<String>,
    /// Labels of this version.
    pub labels: Vec<String>,
    /// Commit message.
    pub commit_message: Option<String>,
    /// Files.
    pub files: Vec<SkillFileView>,
}

/// A file of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillFileView {
    /// Id of the file in this version.
    pub id: String,
    /// Path in the folder.
    pub path: String,
    /// Id of the content.
    pub blob_id: String,
    /// SHA-256 of the content, in base64.
    pub sha256_hash: String,
    /// Content type, by file extension.
    pub content_type: String,
    /// Size in bytes.
    pub content_length: u64,
}

/// The contents of some files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SkillContents {
    /// In the order of the request.
    pub data: Vec<SkillContentView>,
}

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillContentView {
    /// SHA-256, in base64.
    pub sha256_hash: String,
    /// Text.
    pub content: String,
}

/// A page of skills.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SkillList {
    /// Skills.
    pub data: Vec<SkillMetaView>,
    /// Pagination.
    pub meta: SkillListMeta,
}

/// The position of a page of skills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillListMeta {
    /// Page number, from 1.
    pub page: u64,
    /// Page size.
    pub limit: u64,
    /// Total number of rows.
    pub total_items: u64,
    /// Total number of pages.
    pub total_pages: u64,
    /// Whether there is another page.
    pub has_next_page: bool,
}

/// A skill in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillMetaView {
    /// Name.
    pub name: String,
    /// Description of its newest version.
    pub description: String,
    /// Tags.
    pub tags: Vec<String>,
    /// Number of its newest version.
    pub latest_version: u32,
    /// Creation time of its newest version.
    pub latest_version_created_at: Time,
    /// Time of the newest version's last change.
    pub latest_version_last_updated_at: Time,
    /// The version with the label `production`, if there is one.
    pub production_version: Option<u32>,
}

/// The result of deleting a skill version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SkillDeleted {
    /// Always true; a missing version is a 404.
    pub deleted: bool,
}
