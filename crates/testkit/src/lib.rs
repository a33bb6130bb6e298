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
/// Throw-away data folders.
pub mod folder;
/// Real processes on free ports.
pub mod process;

#[cfg(test)]
mod tidy;
