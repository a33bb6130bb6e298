//! Telemetry: traces, observations, sessions and scores, how they are parsed, merged, redacted and priced.

/// Tokens and other units, by kind.
pub mod usage;
/// What was said about a field, when, and with what authority.
pub mod field;
/// Patches into records, in any order.
pub mod merge;
/// One agent run.
pub mod trace;
/// One step of a run.
pub mod observation;
/// A judgement on a run, a step or a session.
pub mod score;
/// Runs that belong together.
pub mod session;
/// Stamps that claim to be from after their receipt.
pub mod clock_skew;
/// How many tokens a text is.
pub mod tokens;
/// Recorded conversations, in whatever form.
pub mod message_formats;
/// A span as OpenTelemetry tells it, before anyone interprets it.
pub mod span;
/// A log record as OpenTelemetry tells it.
pub mod log;
/// What span attributes mean.
pub mod semantic_conventions;
/// What Claude Code tells of its work.
pub mod claude_code;
/// What model calls cost.
pub mod price;
/// Images, sounds and files beside the text.
pub mod media;
/// What is too long or too deep to keep as it came.
pub mod limit;
/// What must not be kept.
pub mod redact;
