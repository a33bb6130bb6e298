//! Every API: Langfuse's, OpenTelemetry's over HTTP and gRPC, and Ratchet's own.
//!
//! Knows neither SQL nor HTML. Modules stand in reading order: [`router`] shows every route,
//! [`run`] serves them, and the rest is what handlers are made of.

/// What every handler can reach, and the limits it keeps to.
pub mod app;
/// The one place that reads the system clock.
pub mod clock;
pub mod router;
mod path_alias;
/// Names in paths that hold slashes.
mod path_encoding;
/// The description of every route.
pub mod openapi;
/// Listeners, connections and background work, until told to stop.
pub mod run;
/// Counts tokens of what came without usage.
mod token_counter;
/// How to tell a server to stop.
pub mod shutdown;
/// Errors as clients see them.
pub mod error;
/// Who is calling and what they may do.
pub mod auth;
/// Where clients reach the server.
mod origin;
/// How often a key may call.
pub mod rate_limit;
pub mod body;
/// Work that takes real CPU time.
pub mod cpu_pool;
pub mod metrics;
pub mod own_traces;
/// Whether the server is alive and ready.
pub mod health;
pub mod otlp;
pub mod langfuse;
pub mod api;
mod feedback;

mod connection;
mod connection_limiter;
mod middleware;
mod drain_body;
mod body_budget;
mod compression;
mod file_stream;
mod write_timeout;
