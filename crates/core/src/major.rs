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
/// What the agent asks of a person, and the answers.
pub mod asked;
