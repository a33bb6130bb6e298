use ratchet_core::record::session::Session;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::json::both;
use super::time::Time;
use super::trace::TraceView;

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    /// Unique id.
    pub id: String,
    /// Start of its first trace.
    pub created_at: Time,
    /// Project id.
    pub project_id: String,
    /// Environment.
    pub environment: String,
}

impl SessionView {
    /// Converts a session.
    pub fn new(session: &Session, project: &str) -> Self {
        Self {
            id: session.id.to_string(),
            created_at: session.created_at.into(),
            project_id: project.to_owned(),
            environment: session.environment.to_string(),
        }
    }
}

/// A session with all its traces.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SessionWithTraces {
    /// Session.
    #[serde(flatten)]
    pub session: SessionView,
    /// Traces.
    #[serde(flatten)]
    pub content: SessionTraces,
}

/// The traces of a session, oldest first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SessionTraces {
    /// Traces.
    pub traces: Vec<TraceView>,
}

impl<'de> Deserialize<'de> for SessionWithTraces {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (session, content) = both(deserializer)?;
        Ok(Self { session, content })
    }
}
