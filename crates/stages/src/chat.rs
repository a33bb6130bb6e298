//! Chats with agents that Ratchet runs.

/// File access confined to a folder.
pub mod confined_path;
/// The folder in which an agent works.
pub mod work_folder;
/// System prompt and MCP servers of every agent, in layers.
pub mod prompt_layers;
/// Copies skills to where agents find them.
pub mod skill_sync;
/// Where agents may work, and what they are given there.
pub mod workspace_policy;
/// The service behind all chats, for any number of clients.
mod service;
/// Audit log entries of chats.
mod audit;
mod chat_actor;
/// State shared by the actor of a chat and its readers.
mod chat_handle;
/// Requests to the actor of a chat.
mod command;
/// Newest events of a chat, for its readers.
mod live_updates;
/// Events of a chat: stored ones first, then new ones.
mod event_feed;
/// The same as server-sent events.
pub mod event_stream;
/// Entry point of the API and the pages.
mod chats;
mod turn_recorder;
mod launch;
mod settings;
mod error;

pub use chats::{ChatMessageInput, Chats, ChatsError, NewChatRequest};
pub use error::ChatError;
pub use event_feed::EventFeed;
pub use launch::Launcher;
pub use live_updates::LiveEvent;
pub use service::{ChatClock, ChatService, NewMessage};
pub use settings::{
    BudgetChoice, ChatChange, ChatFolders, ChatLimits, ChatSettings, MAX_TITLE_CHARS, ModelChoice,
    NewChat,
};
