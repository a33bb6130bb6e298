//! The `claude` program as the engine of a conversation: a thin client for its stream of JSON.
//!
//! What the program says comes out as it was said: only the type and the subtype of a line are
//! read, to know whose it is. There is no policy here. Who may do what, when a turn begins and
//! what a person sees is decided by those who call.
//!
//! ```no_run
//! use ratchet_agent::claude::command::{ClaudeCommand, ClaudeFolders};
//! use ratchet_agent::claude::environment::{self, EnvNames};
//! use ratchet_agent::claude::lines::FromClaude;
//! use ratchet_agent::claude::message::UserMessage;
//! use ratchet_agent::claude::process_slots::ProcessSlots;
//! use ratchet_agent::claude::watchdog::{Supervision, SupervisorCommand};
//! use uuid::Uuid;
//!
//! # async fn talk() -> Result<(), ratchet_agent::claude::error::ClaudeError> {
//! let place = ClaudeFolders {
//!     workspace: "/srv/shop".into(),
//!     config: "/srv/chats/family-1".into(),
//!     temp: "/tmp/chat-1".into(),
//! };
//! let environment = environment::inherited(&EnvNames::default());
//! // The program runs `watchdog_main::supervise` when it is started with these arguments.
//! let supervisor = SupervisorCommand::this_program(["supervise"]);
//! let command = ClaudeCommand::new("claude", place, Supervision::By(supervisor))
//!     .with_environment(environment);
//! let (process, mut lines) = command.spawn(ProcessSlots::new(4).take().await)?;
//! process.initialize().await?;
//! process.send_user(&UserMessage::text(Uuid::new_v4(), "What is sold here?")).await?;
//! while let Some(said) = lines.next().await {
//!     match said {
//!         FromClaude::Line(line) if line.is("result") => break,
//!         FromClaude::Line(line) => assert!(line.raw.get().starts_with('{')),
//!         FromClaude::Request(request) => process.refuse(&request, "no user is connected").await?,
//!         FromClaude::Withdrawn { .. } | FromClaude::Lost { .. } | FromClaude::Ended(_) => {}
//!     }
//! }
//! process.end().await;
//! # Ok(())
//! # }
//! ```

/// Path and common settings of the `claude` program.
pub mod program;
/// Environment variables passed to the program.
pub mod environment;
/// Options of a run.
pub mod options;
/// The command line.
pub mod command;
/// Messages to the program.
pub mod message;
/// Lines of its output.
pub mod lines;
/// Requests of the program.
pub mod request;
/// Permission rules and updates.
pub mod permission;
/// Hooks before and after tool calls.
pub mod hook;
/// In-process MCP servers.
pub mod mcp;
/// The running program.
pub mod process;
/// Control requests to a running program.
pub mod control;
/// Pending control requests by id.
mod pending_requests;
/// Reads stdout and routes its lines.
mod stdout_reader;
/// Writes lines to stdin.
mod stdin_writer;
/// Supervises a process until it has ended.
mod supervisor;
/// Exit status and cause.
pub mod exit;
/// Which process it is, so that it is known again after a restart.
pub mod process_identity;
/// The processes that it starts, wherever they went.
mod process_tree;
/// Who ends it when this process is gone.
pub mod watchdog;
/// The process that ends it then.
pub mod watchdog_main;
/// Conversations of one message.
pub mod single_run;
/// How many run at once.
pub mod process_slots;
/// Why something did not work.
pub mod error;
