//! Chat agents that people talk to.

/// Files beneath a folder, and never outside of it.
pub mod beneath;
/// The folder an agent works in.
pub mod work_folder;
/// What every agent is given: words, servers of tools.
pub mod given;
/// Skills, brought where agents find them.
pub mod skill_sync;
