use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::json::Raw;

/// The projects of a key: always one.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Projects {
    /// Projects.
    pub data: Vec<ProjectView>,
}

/// A project.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectView {
    /// Unique id.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Organization.
    pub organization: Organization,
    /// Custom metadata.
    pub metadata: BTreeMap<String, Raw>,
    /// Retention of telemetry in days; omitted when unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub retention_days: Option<u32>,
}

/// An organization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Organization {
    /// Unique id.
    pub id: String,
    /// Display name.
    pub name: String,
}
