//! The crate as its callers see it, against a scripted model over real HTTP.
#![expect(clippy::unwrap_used, reason = "a broken expectation must stop the test")]

mod anthropic;
mod kit;
