//! The crate as its callers see it, against a scripted model over real HTTP.
#![expect(clippy::unwrap_used, reason = "a broken expectation must stop the test")]

/// What the tests share.
mod kit;
/// What holds for all who answer over HTTP.
mod providers;
/// What is Anthropic's own.
mod anthropic;
/// Questions that can wait.
mod batches;
/// What is OpenAI's own.
mod openai;
/// What is Bedrock's own.
mod bedrock;
/// The program on this machine.
mod claude;
/// Conversations with it.
mod talk;
/// What only a fake program does.
mod fake;
/// What the real one does.
mod real;
/// Many at once.
mod crowd;
/// Keys stay where they are.
mod secrets;
