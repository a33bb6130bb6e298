//! Shared test code: builders, a reference store, the behaviour suite of store engines, and the
//! repository's own rules. Only `tests` folders and dev-dependencies may use it.
#![expect(
    clippy::unwrap_used,
    reason = "everything here runs inside tests, where a broken expectation must stop the test"
)]

/// Builders for patches and batches.
pub mod build;
/// OTLP requests, in protobuf and in JSON.
pub mod otlp;
pub mod folder;
/// Batches written straight to a store.
pub mod recording;
/// Queries with defaults.
pub mod ask;
/// All readable data of a project.
pub mod reading;
/// A simple reference implementation of the store.
pub mod reference_store;
/// The behaviour suite of store engines.
pub mod behaviour;
/// A seeded random number generator.
pub mod seeded_random;
/// An agent system with known defects.
pub mod planted_world;
/// Short and full lengths of long tests.
pub mod soak;
pub mod wait;
/// A minimal HTTP client.
pub mod http;
/// A backoff for clients that never waits.
pub mod no_backoff;
/// A proxy with scripted errors.
pub mod proxy;
/// TLS in front of a real server.
pub mod tls;
/// Real processes on free ports.
pub mod process;
pub mod pty;
/// Small file systems that can be filled.
pub mod mount;
/// A scripted model server.
pub mod scripted;
/// The `claude` program, real and fake.
pub mod claude;
/// A scripted OIDC provider.
pub mod provider;
/// A receiver of webhooks and push messages.
pub mod webhook_receiver;
pub mod mail_server;
pub mod fixtures;
pub mod fuzz;

#[cfg(test)]
mod tidy;

/// Prints a message to the person who runs the tests, even if the test passes.
pub fn say(words: &str) {
    use std::io::Write as _;
    // The harness captures what passing tests print, but not direct writes to the stream.
    std::io::stderr().write_all(format!("{words}\n").as_bytes()).unwrap();
}
