//! Turns of chats with the targets of a server.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::experiments::ServerTargetsView;
use super::{RatchetClient, RatchetResult};

/// A message to a target.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetTurnRequest {
    /// Id of the chat; the first message of an id begins it.
    pub chat: String,
    pub text: String,
    /// Name of one of the target's environments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
}

/// A message to a target and what became of it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetTurnView {
    /// Id of the turn's trace.
    pub trace: String,
    /// Null after a fault.
    pub answer: Option<String>,
    /// Why there is no answer.
    pub fault: Option<String>,
    /// What the target was sent.
    pub sent: Value,
    /// RFC 3339.
    pub started_at: String,
    /// RFC 3339.
    pub ended_at: Option<String>,
    /// In US dollars; null if it is unknown.
    pub cost: Option<f64>,
}

impl RatchetClient {
    /// Returns the targets that a server can call by itself.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or refuses.
    pub async fn server_targets(&self, project: &str) -> RatchetResult<ServerTargetsView> {
        self.get(&["v1", "projects", project, "targets"]).await
    }

    /// Sends a message to a target of the server, and waits for the answer.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or refuses.
    pub async fn say_to_target(
        &self,
        (project, target): (&str, &str),
        request: &TargetTurnRequest,
    ) -> RatchetResult<TargetTurnView> {
        self.post(&["v1", "projects", project, "targets", target, "turns"], request).await
    }
}
