//! HTTP and gRPC APIs: Langfuse's, OpenTelemetry's, and Ratchet's own.
//!
//! Contains neither SQL nor HTML. Modules are in reading order: [`router`] lists every route,
//! [`run`] serves them, and the rest is what handlers use.

/// Application state, settings and limits.
pub mod app;
pub mod router;
mod path_alias;
/// Encoding of names with slashes in paths.
mod path_encoding;
/// The OpenAPI description.
pub mod openapi;
/// Listeners, connections and background tasks.
pub mod run;
/// Token counting for model calls without usage.
mod token_counter;
/// The shutdown signal.
pub mod shutdown;
/// Error responses.
pub mod error;
/// Authentication and authorization.
pub mod auth;
/// The origin of a request, for links.
mod origin;
/// Rate limits.
pub mod rate_limit;
pub mod body;
pub mod metrics;
pub mod own_traces;
/// Liveness and readiness.
pub mod health;
pub mod otlp;
pub mod langfuse;
pub mod api;
pub mod mcp;
mod feedback;

mod connection;
mod connection_limiter;
mod middleware;
mod drain_body;
mod body_budget;
mod compression;
mod file_stream;
mod write_timeout;

pub use ratchet_stages::clock;
