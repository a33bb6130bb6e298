//! Everything that talks to a model: one interface, whoever answers.
//!
//! It knows nothing of SQL or of HTTP routes. Clients for HTTP and keys are handed in.

/// What is asked.
pub mod ask;
/// What comes back.
pub mod answer;
/// What may be spent.
pub mod budget;
/// Why there is no answer, and what to do about it.
pub mod error;
/// How often to ask again, and when.
pub mod retry;
/// How models are reached.
pub mod access;
/// Who answers, one file per provider.
pub mod provider;
/// The one interface.
pub mod model;
/// Who judges, by name.
pub mod judge;

/// Requests over HTTP.
mod http;
/// Streams of events over HTTP.
mod sse;
/// What single models do not take.
mod manner;
