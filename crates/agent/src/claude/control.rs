use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::error::ClaudeError;
use super::options::PermissionMode;
use super::process::ClaudeProcess;

/// What happens to the files that were changed since a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rewind {
    /// Only reports what would change.
    DryRun,
    /// Restores them as they were before it.
    Apply,
}

/// What a rewind does, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RewindReport {
    /// Whether it can be done.
    pub can_rewind: bool,
    /// Which files change; only reported by [`Rewind::DryRun`].
    pub files_changed: Vec<String>,
    pub insertions: u64,
    pub deletions: u64,
}

/// What becomes of messages that wait when a turn is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queued {
    Keep,
    Cancel,
}

impl ClaudeProcess {
    /// Breaks off the turn that runs. A result follows, and the chat continues. Returns the ids of
    /// messages that still wait.
    ///
    /// # Errors
    /// As [`control`](ClaudeProcess::control).
    pub async fn interrupt(&self, queued: Queued) -> Result<Vec<String>, ClaudeError> {
        let body = match queued {
            Queued::Keep => json!({}),
            Queued::Cancel => json!({"cancel_queued": true}),
        };
        let answer = self.control("interrupt", &body).await?;
        let waiting = answer["still_queued"].as_array().into_iter().flatten();
        Ok(waiting.filter_map(Value::as_str).map(str::to_owned).collect())
    }

    /// Has another model answer from now on; the program's own choice when `None`. It tries a name
    /// that it does not know by itself with a question of its own, which costs a token or two.
    ///
    /// # Errors
    /// As [`control`](ClaudeProcess::control).
    pub async fn set_model(&self, model: Option<&str>) -> Result<(), ClaudeError> {
        self.control("set_model", &json!({"model": model})).await.map(drop)
    }

    /// Changes what may be done without asking.
    ///
    /// # Errors
    /// As [`control`](ClaudeProcess::control); a switch to [`PermissionMode::Bypass`] is refused
    /// unless it was made possible at the start.
    pub async fn set_permission_mode(&self, mode: PermissionMode) -> Result<(), ClaudeError> {
        self.control("set_permission_mode", &json!({"mode": mode.as_str()})).await.map(drop)
    }

    /// Brings files back to what they were before a message of ours.
    ///
    /// # Errors
    /// As [`control`](ClaudeProcess::control); it refuses a message that it does not know.
    pub async fn rewind_files(
        &self,
        message: Uuid,
        rewind: Rewind,
    ) -> Result<RewindReport, ClaudeError> {
        let is_dry = rewind == Rewind::DryRun;
        let body = json!({"user_message_id": message.to_string(), "dry_run": is_dry});
        let answer = self.control("rewind_files", &body).await?;
        Ok(RewindReport::deserialize(&answer)?)
    }

    /// Takes back a message that still waits; says whether it was in time.
    ///
    /// # Errors
    /// As [`control`](ClaudeProcess::control).
    pub async fn cancel_message(&self, message: Uuid) -> Result<bool, ClaudeError> {
        let body = json!({"message_uuid": message.to_string()});
        let answer = self.control("cancel_async_message", &body).await?;
        Ok(answer["cancelled"].as_bool().unwrap_or(false))
    }

    /// How the servers of tools are, as the program says it.
    ///
    /// # Errors
    /// As [`control`](ClaudeProcess::control).
    pub async fn mcp_status(&self) -> Result<Value, ClaudeError> {
        self.control("mcp_status", &json!({})).await
    }

    /// How much of what the model can read is used, as the program says it.
    ///
    /// # Errors
    /// As [`control`](ClaudeProcess::control).
    pub async fn context_usage(&self) -> Result<Value, ClaudeError> {
        self.control("get_context_usage", &json!({"detail": "summary"})).await
    }
}
