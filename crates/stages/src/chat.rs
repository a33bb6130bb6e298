//! Chat agents that people talk to.

/// Files beneath a folder, and never outside of it.
pub mod confined_path;
/// The folder an agent works in.
pub mod work_folder;
/// What every agent is given: words, servers of tools.
pub mod prompt_layers;
/// Skills, brought where agents find them.
pub mod skill_sync;
/// On what ground agents stand here.
pub mod workspace_policy;
/// Sessions, for any number of clients at once.
mod service;
/// Who did what to a session.
mod audit;
mod chat_actor;
/// Where those who have to do with a session meet.
mod chat_handle;
/// What someone wants of a session.
mod command;
/// What a session tells those who look on.
mod live_updates;
/// The events of a session, kept ones first.
mod event_feed;
/// The same as a stream to one client.
pub mod event_stream;
/// What servers reach sessions by.
mod chats;
mod turn_recorder;
mod launch;
/// How a session is set up.
mod settings;
/// Why a session does not do what is wanted.
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
