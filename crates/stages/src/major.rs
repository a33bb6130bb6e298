//! Chat agents that people talk to.

/// Files beneath a folder, and never outside of it.
pub mod beneath;
/// The folder an agent works in.
pub mod work_folder;
/// What every agent is given: words, servers of tools.
pub mod given;
/// Skills, brought where agents find them.
pub mod skill_sync;
/// On what ground agents stand here.
pub mod ground;
/// Sessions, for any number of clients at once.
mod service;
/// Who did what to a session.
mod noted;
/// Whoever runs a session.
mod host;
/// Where those who have to do with a session meet.
mod room;
/// What someone wants of a session.
mod wish;
/// What a session tells those who look on.
mod live;
/// The events of a session, kept ones first.
mod feed;
/// The same as a stream to one client.
pub mod relay;
/// What servers reach sessions by.
mod chats;
/// Turns become traces.
mod book;
/// How processes are started.
mod launch;
/// How a session is set up.
mod setting;
/// Why a session does not do what is wanted.
mod refusal;

pub use chats::{ChatBeginning, Chats, ChatsError, Utterance};
pub use feed::Feed;
pub use launch::Launcher;
pub use live::LiveEvent;
pub use refusal::MajorError;
pub use service::{Major, MajorClock, NewMessage};
pub use setting::{
    BudgetChoice, ChatChange, ChatSetting, MAX_TITLE_CHARS, MajorLimits, MajorPlaces, ModelChoice,
    NewChat,
};
