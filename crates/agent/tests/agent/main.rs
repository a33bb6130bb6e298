//! The crate's public API against a scripted model over real HTTP.
#![expect(clippy::unwrap_used, reason = "a broken expectation must stop the test")]

mod kit;
/// Behaviour shared by all HTTP providers.
mod providers;
mod anthropic;
mod batches;
mod openai;
mod bedrock;
/// The local `claude` program.
mod claude;
mod talk;
/// Chats with a scripted `claude` program.
mod fake;
/// Chats with the real `claude` program.
mod real;
mod crowd;
/// API keys are redacted from logs and errors.
mod secrets;
