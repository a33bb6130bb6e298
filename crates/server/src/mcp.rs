//! The Model Context Protocol: one set of tools for `/api/public/mcp` and `ratchet mcp`.
//!
//! Most tools are operations of the REST API (`operation.rs`): arguments go into the path, the query
//! and the body of a request, and [`Api`] sends it to the router of this process or to another
//! server. Validation, roles, project boundaries and audit are therefore those of the route. The
//! others (`sessions.rs`) combine several reads, such as a session with its numbered traces.
//!
//! Trace text is hostile: it is returned as data, cut where it is long (`bounds.rs`).

/// Which tools a client may use, and how one is described.
mod tool;
/// Tools that are one operation of the REST API.
mod operation;
/// Every tool, by resource.
mod tools;
/// Tools that combine several reads: sessions, scores and reports.
mod sessions;
/// Tools of the feedback loop.
mod feedback;
/// Arguments of those tools.
mod session_arguments;
/// Limits on the size of answers.
mod bounds;
/// The REST API as tools call it.
mod api;
/// The protocol handler.
mod server;
/// `/api/public/mcp`.
mod http;

pub use api::{Api, ApiCall, ApiRouter, LocalApi, MAX_ANSWER_BYTES, ToolError, read_answer};
pub use feedback::FeedbackRecords;
pub(crate) use http::routes;
pub use server::McpServer;
pub use sessions::Records;
pub use tool::ToolGrants;
