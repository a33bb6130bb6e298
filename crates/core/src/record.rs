//! Telemetry: traces, observations, sessions and scores, how they are parsed, merged, redacted and
//! priced.
//!
//! Reading order: records and how patches merge into them; the input formats that become patches;
//! what is derived from them; what is cut or redacted before they are stored.

/// Fields with provenance: a value with the authority and time of its source.
pub mod field;
/// The fields of each record: names, types, where users meet them.
pub mod field_table;
/// Order-independent, idempotent merging of patches into records.
pub mod merge;
/// Traces: one agent run each.
pub mod trace;
/// Observations: the spans, generations and events of a trace.
pub mod observation;
/// Sessions: traces that belong together.
pub mod session;
/// Scores on a trace, an observation or a session.
pub mod score;
/// Who called whom: the runs of agents in traces that belong together.
pub mod agent_runs;
/// Token and unit counts by usage type.
pub mod usage;

/// OpenTelemetry spans, decoded but not interpreted.
pub mod span;
/// OpenTelemetry log records, decoded but not interpreted.
pub mod log;
/// Semantic conventions: the mapping from span attributes to trace and observation fields.
pub mod semantic_conventions;
/// Chat message formats of providers and frameworks, read from recorded inputs and outputs.
pub mod message_formats;
/// Titles of sessions.
pub mod title;
/// Claude Code's telemetry events and transcript files, converted to patches.
pub mod claude_code;

/// Token counting for texts whose usage was not reported.
pub mod tokens;
/// Model prices and the cost of a generation.
pub mod price;
/// Correction of timestamps that are later than their receipt.
pub mod clock_skew;
/// References to images, audio and files in payloads.
pub mod media;
/// Length and depth limits of recorded values.
pub mod limit;
/// Redaction of secrets and personal data before storage.
pub mod redact;
