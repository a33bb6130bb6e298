//! What tests share: builders, a model of the store, the behaviour every engine must show, and
//! the repository's own rules. Only `tests` folders and dev-dependencies may use it.
#![expect(
    clippy::unwrap_used,
    reason = "everything here runs inside tests, where a broken expectation must stop the test"
)]

/// Patches and batches that read like prose.
pub mod build;
/// OTLP requests, in protobuf and in JSON.
pub mod otlp;
pub mod folder;
/// Batches written straight to a store.
pub mod recording;
/// Questions with everything a test does not care about filled in.
pub mod ask;
/// All that can be read of a project.
pub mod reading;
/// A store that is easy to believe.
pub mod reference_store;
/// What every engine must do.
pub mod behaviour;
/// Chance that can be repeated.
pub mod seeded_random;
/// Long proofs in two lengths.
pub mod soak;
/// A small HTTP client that says exactly what it is told.
pub mod http;
/// A pace for clients that never waits.
pub mod no_backoff;
/// A proxy that says no where it is told to.
pub mod proxy;
/// TLS before a real server.
pub mod tls;
/// Real processes on free ports.
pub mod process;
pub mod pty;
/// Small disks that can be filled.
pub mod mount;
/// A model that says what it was told to say.
pub mod scripted;
/// The `claude` program, real and fake.
pub mod claude;
/// A provider that vouches for whomever it is told to.
pub mod provider;
/// A receiver of webhooks and pushes.
pub mod webhook_receiver;
pub mod fixtures;
pub mod fuzz;

#[cfg(test)]
mod tidy;

/// Tells the person who runs the tests something, though the test may pass.
pub fn say(words: &str) {
    use std::io::Write as _;
    // The harness swallows what passing tests print, but not what goes to the stream itself.
    std::io::stderr().write_all(format!("{words}\n").as_bytes()).unwrap();
}
