//! The crate as its callers see it, against a scripted model over real HTTP.
#![expect(clippy::unwrap_used, reason = "a broken expectation must stop the test")]

mod kit;
/// What holds for all who answer over HTTP.
mod providers;
mod anthropic;
mod batches;
mod openai;
mod bedrock;
/// The program on this machine.
mod claude;
mod talk;
/// What only a fake program does.
mod fake;
/// What the real one does.
mod real;
mod crowd;
/// Keys stay where they are.
mod secrets;
