use ratchet_core::chat::state::ChatStateName;
use ratchet_stages::chat::ChatSettings;
use ratchet_store::catalog::Chat;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A session with an agent, as clients see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatView {
    /// Its id, which is that of the recorded session too.
    pub id: String,
    /// What people call it.
    pub title: Option<String>,
    /// The folder that it works in.
    pub workspace: String,
    /// `starting`, `idle`, `running`, `waiting`, `parked`, `failed` or `closed`.
    pub state: String,
    /// Why, where that needs saying: what went wrong, or `waiting for a slot (8 of 8)`.
    pub why: Option<String>,
    /// The turn under way: the id of its trace.
    pub turn: Option<String>,
    /// Turns that have ended.
    pub turns: u64,
    /// What they cost, in US dollars, as the agent reckons.
    pub cost: f64,
    /// Whether they may have cost more: calls were interrupted, or tried again.
    pub at_least: bool,
    /// What the conversation may spend, in US dollars.
    pub max_budget: Option<f64>,
    /// What counts against that, in US dollars: what it cost, and what had been spent when it was
    /// forked.
    pub spent: f64,
    /// Whether its workspace was trusted and is no more.
    pub distrusted: bool,
    /// The session that it was forked from.
    pub parent: Option<String>,
    /// The place of its last event in their order.
    pub last_event: u64,
    /// Since when, RFC 3339.
    pub created_at: String,
    /// When it last changed, RFC 3339.
    pub updated_at: String,
    /// What is worth knowing of how it was begun: only in the answer to that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl ChatView {
    /// A session, and the place of its last event.
    pub fn new(chat: Chat, last_event: u64) -> Self {
        let setting = ChatSettings::read(&chat.setting).unwrap_or_default();
        let spent = chat.standing.spent().dollars();
        let standing = chat.standing;
        Self {
            id: chat.id.to_string(),
            title: chat.title,
            workspace: chat.workspace,
            state: ChatStateName::as_str(standing.state).to_owned(),
            why: standing.why,
            turn: standing.turn.map(|turn| turn.to_string()),
            turns: standing.turns,
            cost: standing.cost.dollars(),
            at_least: standing.is_at_least,
            max_budget: setting.max_budget,
            spent,
            distrusted: setting.distrusts_workspace,
            parent: chat.origin.parent.map(|parent| parent.to_string()),
            last_event,
            created_at: chat.created_at.to_string(),
            updated_at: chat.updated_at.to_string(),
            notes: Vec::new(),
        }
    }
}

/// Some sessions, those that changed last first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatsView {
    /// The sessions.
    pub sessions: Vec<ChatView>,
    /// How many there are.
    pub total: u64,
}

/// What a message began, as clients see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SentView {
    /// The message's id, by which files can be put back as they were before it.
    pub message: String,
    /// The turn that it began: the id of its trace.
    pub turn: String,
}

/// What putting files back did or would do, as clients see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RewindView {
    /// Whether it can be done.
    pub can_rewind: bool,
    /// The files that differ.
    pub files_changed: Vec<String>,
    /// Lines that come back.
    pub insertions: u64,
    /// Lines that go.
    pub deletions: u64,
}
