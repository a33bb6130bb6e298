//! A real server on free ports, with the real store in a throw-away folder.
#![expect(clippy::unwrap_used, reason = "a broken expectation must stop the test")]

/// The server under test, and clients for it.
mod harness;
/// Who may call, and how often.
mod access;
mod bodies;
/// Clients that are slow, silent or gone.
mod connections;
mod grpc;
mod logs;
mod operating;
mod langfuse;
mod client;
/// Where stages read and write.
mod sources;
mod traces;
mod contract;
/// What must not be kept.
mod redaction;
/// A server that runs agents.
mod agents;
mod chats;
/// Who is told of news.
mod notifications;
/// Streams of events: who may have them, how they go on and how they end.
mod streams;
/// What must not be kept of what agents say.
mod hushed;
/// Many sessions with many clients at once.
mod crowd;
/// Thumbs from web pages, and what users say of the product.
mod feedback;
/// Tokens that nobody said.
mod tokens;
/// What a public key alone can do to scores.
mod public_scores;
mod fuzz;
