//! Everything that talks to a model: one interface, whoever answers.
//!
//! It knows nothing of SQL or of HTTP routes. Clients for HTTP and keys are handed in.

/// What is asked.
pub mod request;
/// What comes back.
pub mod response;
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
/// Questions that can wait: handed in together, answered within a day, for half the price.
pub mod batch;
/// How many questions are asked at once.
pub mod pool;
/// Who judges, by name.
pub mod judge;
/// Models as the environment names them.
pub mod environment;

/// Conversations with an agent that acts: the `claude` program.
pub mod claude;

mod http;
/// Streams of events over HTTP.
pub mod sse;
/// What single models do not take.
mod capabilities;
