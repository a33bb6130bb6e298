use ratchet_core::chat::state::ChatStateName;
use ratchet_stages::chat::ChatSettings;
use ratchet_store::catalog::Chat;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A chat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatView {
    /// Id of the chat, and of the session that records it.
    pub id: String,
    pub title: Option<String>,
    /// Folder in which the agent works.
    pub workspace: String,
    /// `starting`, `idle`, `running`, `waiting`, `parked`, `failed` or `closed`.
    pub state: String,
    /// Reason of the state: an error, or `waiting for a slot (8 of 8)`.
    pub why: Option<String>,
    /// Trace id of the running turn.
    pub turn: Option<String>,
    /// Number of turns that have ended.
    pub turns: u64,
    /// Cost of these turns in US dollars, as the agent reports it.
    pub cost: f64,
    /// Whether `cost` is a lower bound, because calls were interrupted or retried.
    pub at_least: bool,
    /// Budget of the chat in US dollars.
    pub max_budget: Option<f64>,
    /// Amount that counts against the budget, in US dollars: `cost`, and what its parent had spent
    /// when it was forked.
    pub spent: f64,
    /// Whether trust in the workspace was withdrawn.
    pub distrusted: bool,
    /// Id of the chat that it was forked from.
    pub parent: Option<String>,
    /// Sequence number of the last event.
    pub last_event: u64,
    /// Creation time, RFC 3339.
    pub created_at: String,
    /// Time of the last change, RFC 3339.
    pub updated_at: String,
    /// Remarks on how the chat was set up; only in the response to its creation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl ChatView {
    /// Combines a chat with the sequence number of its last event.
    pub fn new(chat: Chat, last_event: u64) -> Self {
        let settings = ChatSettings::read(&chat.settings).unwrap_or_default();
        let spent = chat.status.spent().dollars();
        let status = chat.status;
        Self {
            id: chat.id.to_string(),
            title: chat.title,
            workspace: chat.workspace,
            state: ChatStateName::as_str(status.state).to_owned(),
            why: status.why,
            turn: status.turn.map(|turn| turn.to_string()),
            turns: status.turns,
            cost: status.cost.dollars(),
            at_least: status.is_at_least,
            max_budget: settings.max_budget,
            spent,
            distrusted: settings.distrusts_workspace,
            parent: chat.origin.parent.map(|parent| parent.to_string()),
            last_event,
            created_at: chat.created_at.to_string(),
            updated_at: chat.updated_at.to_string(),
            notes: Vec::new(),
        }
    }
}

/// A page of chats, last changed first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatsView {
    #[serde(alias = "sessions")]
    pub chats: Vec<ChatView>,
    /// Number of chats on all pages.
    pub total: u64,
}

/// The same as `/api/v1/sessions` returned it.
#[derive(Serialize)]
pub(super) struct OldChatsView {
    sessions: Vec<ChatView>,
    total: u64,
}

impl From<ChatsView> for OldChatsView {
    fn from(list: ChatsView) -> Self {
        Self { sessions: list.chats, total: list.total }
    }
}

/// A message that was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SentView {
    /// Id of the message, for `rewind` and `fork`.
    pub message: String,
    /// Trace id of the turn that it started.
    pub turn: String,
}

/// What restoring files changed, or would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RewindView {
    /// Whether the files can be restored.
    pub can_rewind: bool,
    /// Paths of the files that differ.
    pub files_changed: Vec<String>,
    /// Number of lines added by the restore.
    pub insertions: u64,
    /// Number of lines removed by the restore.
    pub deletions: u64,
}
