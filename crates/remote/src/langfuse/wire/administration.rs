use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::json::Raw;
use super::time::Time;

/// A project to be made.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct NewProjectRequest {
    /// What people will call it; unique.
    pub name: String,
    /// Keys and values of its owner's own.
    pub metadata: Option<BTreeMap<String, Raw>>,
    /// Days to keep telemetry; 0 keeps it forever.
    pub retention: u32,
}

/// What is to change about a project.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ProjectChangeRequest {
    /// What people will call it; unique.
    pub name: String,
    /// Keys and values of its owner's own; stay as they are when left out.
    pub metadata: Option<BTreeMap<String, Raw>>,
    /// Days to keep telemetry, 0 for ever; stays as it is when left out.
    pub retention: Option<u32>,
}

/// A project was deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProjectDeleted {
    /// Whether it was.
    pub success: bool,
    /// The same in words.
    pub message: String,
}

/// The projects of the server.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct OrganizationProjects {
    /// The projects.
    pub projects: Vec<OrganizationProject>,
}

/// A project of the server.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrganizationProject {
    /// Its id.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Keys and values of its owner's own.
    pub metadata: Option<Raw>,
    /// Since when.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

/// Keys without their secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiKeys {
    /// The keys.
    pub api_keys: Vec<ApiKeyView>,
}

/// A key without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiKeyView {
    /// Its id.
    pub id: String,
    /// Since when.
    pub created_at: Time,
    /// Until when; keys of this server do not end by themselves.
    pub expires_at: Option<Time>,
    /// When it was last used; this server does not keep that.
    pub last_used_at: Option<Time>,
    /// What it is for.
    pub note: Option<String>,
    /// The half that is no secret.
    pub public_key: String,
    /// The end of the other half.
    pub display_secret_key: String,
}

/// A key to be made.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiKeyRequest {
    /// What it is for.
    pub note: Option<String>,
    /// The half that is no secret; a random one when left out.
    pub public_key: Option<String>,
    /// The secret half; a random one when left out. Plain only on its way in.
    pub secret_key: Option<String>,
    /// What it may do: owner, member, viewer or ingest-only; member when left out.
    pub role: Option<String>,
}

/// The secret stays out of logs.
impl fmt::Debug for ApiKeyRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiKeyRequest").field("note", &self.note).finish_non_exhaustive()
    }
}

/// A key with its secret, this once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiKeyCreated {
    /// Its id.
    pub id: String,
    /// Since when.
    pub created_at: Time,
    /// The half that is no secret.
    pub public_key: String,
    /// The secret half. Plain because this is the one answer that must show it.
    pub secret_key: String,
    /// The end of the secret half.
    pub display_secret_key: String,
    /// What it is for.
    pub note: Option<String>,
}

/// Who works somewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Memberships {
    /// The people.
    pub memberships: Vec<MembershipView>,
}

/// Someone who works somewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MembershipView {
    /// Who.
    pub user_id: String,
    /// What they may do there.
    pub role: MembershipRole,
    /// Where to write to them.
    pub email: String,
    /// What they are called; their email where nobody said.
    pub name: String,
}

/// What someone may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum MembershipRole {
    /// Everything.
    Owner,
    /// Everything but what only owners do. Not known to this server.
    Admin,
    /// Look, record and judge.
    Member,
    /// Look.
    Viewer,
}

/// What someone is to do somewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MembershipRequest {
    /// Who.
    pub user_id: String,
    /// What they may do there.
    pub role: MembershipRole,
}

/// Who is to work there no longer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MembershipEnd {
    /// Who.
    pub user_id: String,
}

/// Someone works there no longer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MembershipEnded {
    /// The same in words.
    pub message: String,
    /// Who.
    pub user_id: String,
}
