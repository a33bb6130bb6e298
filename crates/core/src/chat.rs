//! Chat agents that run under Ratchet: what a session may do next, what its events mean, and how
//! a person's answer reaches the agent.
//!
//! All of it is decided here and acted on elsewhere, so that two clients, an agent and a crash can
//! be played against each other without any of them.

/// What a session is doing, and what may happen to it next.
pub mod state;
/// What clients are told, in order.
pub mod event;
/// From the agent's lines to events.
pub mod reader;
/// What the agent said and had not kept when it was killed.
pub mod unpersisted;
/// What the agent kept and nobody was told when the server was killed.
pub mod recovered;
/// Events as a conversation that people read.
pub mod transcript_view;
/// What a session tells where rules say what must not be kept.
pub mod stream_redaction;
/// What the agent asks of a person, and the answers.
pub mod permission_prompt;
/// Whose word it is: the platform's, the user's or the workspace's.
pub mod config_layer;
/// Where an agent may work.
pub mod workspace;
/// What people hand to an agent.
pub mod attachment;
/// What an agent is told before the conversation begins.
pub mod system_prompt;
/// Which tool servers an agent gets.
pub mod mcp_servers;
/// Which skills are put into a workspace.
pub mod skills;
/// What people are told who are not looking.
pub mod notification;
/// Whether what could not be delivered is tried again.
pub mod delivery_retry;
