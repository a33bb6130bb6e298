use ratchet_core::record::session::Session;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::json::both;
use super::time::Time;
use super::trace::TraceView;

/// A session, as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    /// Its id.
    pub id: String,
    /// When its first trace began.
    pub created_at: Time,
    /// Which project it is in.
    pub project_id: String,
    /// Where it ran.
    pub environment: String,
}

impl SessionView {
    /// Shows a session.
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
    /// The session.
    #[serde(flatten)]
    pub session: SessionView,
    /// Its traces.
    #[serde(flatten)]
    pub content: SessionTraces,
}

/// The traces of a session, oldest first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SessionTraces {
    /// The traces.
    pub traces: Vec<TraceView>,
}

impl<'de> Deserialize<'de> for SessionWithTraces {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (session, content) = both(deserializer)?;
        Ok(Self { session, content })
    }
}
