use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::json::Raw;

/// The projects a key opens: always one.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Projects {
    /// The projects.
    pub data: Vec<ProjectView>,
}

/// A project.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectView {
    /// Its id.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Who owns it.
    pub organization: Organization,
    /// Keys and values of its owner's own.
    pub metadata: BTreeMap<String, Raw>,
    /// Days to keep telemetry; left out when it is kept forever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub retention_days: Option<u32>,
}

/// An owner of projects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Organization {
    /// Its id.
    pub id: String,
    /// What people call it.
    pub name: String,
}
