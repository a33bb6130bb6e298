//! The product's words and every pure decision.
//!
//! Nothing here does IO, waits, reads a clock or rolls dice: time and chance come in as arguments.
//! Modules stand in reading order.

/// When something happened.
pub mod time;
/// Minutes, hours, days, weeks and months.
pub mod calendar;
/// When something runs again.
pub mod cron;
/// What things are called: ids as clients send them.
pub mod id;
/// Beta, prod, and the rest.
pub mod environment;
/// What went in and what came out, kept as bytes.
pub mod payload;
/// Exact money.
pub mod money;
/// Bytes in words.
pub mod size;
/// How sure a number is, and how values lie.
pub mod stats;
/// Telemetry: traces, observations, sessions and scores, how they are parsed, merged, redacted and priced.
pub mod record;
/// Judging a session: rubrics, evidence, prompts, verdicts, and the offline judge.
pub mod judge;
/// Quality over time: labels, calibration, the weekly report and suggestions.
pub mod quality;
/// Catalog documents: prompts, skills, datasets, evaluators, accounts and their validation.
pub mod catalog;
/// Chats: conversations with agents that Ratchet runs.
pub mod chat;
/// What a JSON value must look like.
pub mod json_schema;
/// How large JSON becomes once it is parsed.
pub mod json_size;
/// Tables with commas.
pub mod csv;
/// Networks of addresses.
pub mod network;
/// The address that a client is counted by.
pub mod client_address;
/// Which addresses may be called that others have entered.
pub mod outbound;
/// Texts that must not be shown.
pub mod secret;
/// Permits for what is scarce, shared fairly.
pub mod permit_pool;

/// Documents that people keep as files.
mod document;

#[cfg(test)]
mod sessions;
#[cfg(test)]
mod arbitrary;
