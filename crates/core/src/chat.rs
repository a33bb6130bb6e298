//! Chats with agents that Ratchet runs: states, events, prompts and their answers.
//!
//! Pure decisions without IO, so that two clients, an agent and a crash can be tested against each
//! other without any of them.

/// States of a chat and their transitions.
pub mod state;
/// Events of a chat, in order.
pub mod event;
/// Parses the agent's output into events.
pub mod reader;
/// Output of an agent that was killed before it stored it.
pub mod unpersisted;
/// Transcript lines of an agent without events, after the server was killed.
pub mod recovered;
/// Events as turns that people read.
pub mod transcript_view;
/// Redaction of streamed text.
pub mod stream_redaction;
/// Questions and permission prompts, and their answers.
pub mod permission_prompt;
/// Configuration layers: platform, user, workspace.
pub mod config_layer;
/// Folders in which an agent may work.
pub mod workspace;
pub mod attachment;
/// The system prompt.
pub mod system_prompt;
/// The MCP servers of an agent.
pub mod mcp_servers;
/// The skills that are copied into a workspace.
pub mod skills;
pub mod notification;
/// When a failed delivery is retried.
pub mod delivery_retry;
