//! Tests against a real server on free ports, with the real store in a temporary folder.
#![expect(clippy::unwrap_used, reason = "a broken expectation must stop the test")]

/// The server under test, and clients for it.
mod harness;
/// Authentication, roles and rate limits.
mod access;
mod bodies;
/// Slow, silent and disconnected clients.
mod connections;
mod grpc;
mod logs;
mod operating;
/// The clock that a server remembers.
mod clock_mark;
mod jobs;
mod langfuse;
mod client;
/// Sources and sinks of the stages.
mod sources;
/// Reviews of a remote Langfuse.
mod remote_review;
/// Weekly reports by schedule.
mod scheduled_reports;
mod traces;
/// The agent system with known defects, recorded over HTTP.
mod planted_world;
mod contract;
/// The Model Context Protocol over HTTP, with the SDK's own client.
mod mcp;
/// Redaction rules.
mod redaction;
/// The same through several calls.
mod redaction_flows;
/// A server that runs agents.
mod agents;
mod chats;
/// Webhooks and browser push.
mod notifications;
/// SSE streams: limits, resumption and end.
mod streams;
/// Redaction of agents' output.
mod stream_redaction;
/// Many chats with many clients at once.
mod crowd;
/// Feedback from web pages, and on the product.
mod feedback;
/// Token counting for model calls without usage.
mod tokens;
/// Scores with a public key alone.
mod public_scores;
mod fuzz;
