use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::json::Raw;
use super::time::Time;

/// A request to create a project.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct NewProjectRequest {
    /// Display name; unique.
    pub name: String,
    /// Custom metadata.
    pub metadata: Option<BTreeMap<String, Raw>>,
    /// Retention of telemetry in days; 0 is forever.
    pub retention: u32,
}

/// An update of a project.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ProjectChangeRequest {
    /// Display name; unique.
    pub name: String,
    /// Custom metadata; unchanged when omitted.
    pub metadata: Option<BTreeMap<String, Raw>>,
    /// Retention of telemetry in days, 0 is forever; unchanged when omitted.
    pub retention: Option<u32>,
}

/// The result of deleting a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProjectDeleted {
    /// Whether it succeeded.
    pub success: bool,
    /// Message text.
    pub message: String,
}

/// The projects of the server.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct OrganizationProjects {
    /// Projects.
    pub projects: Vec<OrganizationProject>,
}

/// A project of the server.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrganizationProject {
    /// Unique id.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Custom metadata.
    pub metadata: Option<Raw>,
    /// Creation time.
    pub created_at: Time,
    /// Time of the last change.
    pub updated_at: Time,
}

/// API keys without their secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiKeys {
    /// API keys.
    pub api_keys: Vec<ApiKeyView>,
}

/// An API key without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiKeyView {
    /// Unique id.
    pub id: String,
    /// Creation time.
    pub created_at: Time,
    /// Expiry; keys of this server do not expire.
    pub expires_at: Option<Time>,
    /// Time of last use; not recorded by this server.
    pub last_used_at: Option<Time>,
    /// Description.
    pub note: Option<String>,
    /// Public key.
    pub public_key: String,
    /// The last characters of the secret key.
    pub display_secret_key: String,
}

/// A request to create an API key.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiKeyRequest {
    /// Description.
    pub note: Option<String>,
    /// Public key; random when omitted.
    pub public_key: Option<String>,
    /// Secret key; random when omitted. Stored as a hash.
    pub secret_key: Option<String>,
    /// Role: owner, member, viewer, reviewer or ingest-only; member when omitted.
    pub role: Option<String>,
    /// The user whose queues a key with the role reviewer sees, by email address or id.
    pub person: Option<String>,
}

/// Hides the secret from logs.
impl fmt::Debug for ApiKeyRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiKeyRequest").field("note", &self.note).finish_non_exhaustive()
    }
}

/// A created API key with its secret, which is shown only here.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiKeyCreated {
    /// Unique id.
    pub id: String,
    /// Creation time.
    pub created_at: Time,
    /// Public key.
    pub public_key: String,
    /// Secret key. Plain text, because this response is the only one that shows it.
    pub secret_key: String,
    /// The last characters of the secret key.
    pub display_secret_key: String,
    /// Description.
    pub note: Option<String>,
}

/// Members of a project or organization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Memberships {
    /// Members.
    pub memberships: Vec<MembershipView>,
}

/// A member with a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MembershipView {
    /// User id.
    pub user_id: String,
    /// Role.
    pub role: MembershipRole,
    /// Email address.
    pub email: String,
    /// Display name; the email address when there is none.
    pub name: String,
}

/// A member's role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum MembershipRole {
    /// Everything.
    Owner,
    /// Everything but owner tasks. Not supported by this server.
    Admin,
    /// Read, record and annotate.
    Member,
    /// Read only.
    Viewer,
}

/// A request to add a member or change a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MembershipRequest {
    /// User id.
    pub user_id: String,
    /// Role.
    pub role: MembershipRole,
}

/// A request to remove a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MembershipEnd {
    /// User id.
    pub user_id: String,
}

/// The result of removing a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MembershipEnded {
    /// Message text.
    pub message: String,
    /// User id.
    pub user_id: String,
}
