//! Domain types and pure logic: no IO, no async, no clock, no randomness. Time and random numbers
//! are arguments.
//!
//! Modules are listed in reading order: basic types, then the parts of the product
//! (record → judge → quality → review → catalog → chat), then helpers for input from outside.

/// Timestamps with nanosecond precision.
pub mod time;
/// Time buckets, weeks and time zones.
pub mod calendar;
/// Cron expressions and their next run in a time zone.
pub mod cron;
/// Ids of traces, observations, sessions and scores, as clients send them.
pub mod id;
/// Environment names (`beta`, `prod`, …) and their normalisation.
pub mod environment;
/// Payloads: inputs and outputs as JSON or text, unparsed.
pub mod payload;
/// Exact amounts of money.
pub mod money;
/// Counts with their noun.
pub mod counted;
/// Human-readable byte counts.
pub mod size;
/// Statistics: confidence intervals, distributions, trends and inter-rater agreement.
pub mod stats;
/// Telemetry: traces, observations, sessions and scores, how they are parsed, merged, redacted and
/// priced.
pub mod record;
/// Judging a session: rubrics, evidence, prompts, verdicts, and the offline judge.
pub mod judge;
/// Quality over time: labels, calibration, the weekly report and suggestions.
pub mod quality;
/// Review: signal matrix, sampling, weekly metrics.
pub mod review;
/// Groups of failures of the same problem.
pub mod improve;
/// The gate: whether a change may go on, decided on runs over a dataset.
pub mod gate;
/// Promotion: how a version of an agent reaches production, and how it is taken back.
pub mod promotion;
/// Catalog documents: prompts, skills, datasets, evaluators, accounts and their validation.
pub mod catalog;
/// Experiments that Ratchet runs: targets, trials and their identifiers.
pub mod experiment;
/// Chats: conversations with agents that Ratchet runs.
pub mod chat;
/// JSON Schema validation of dataset items.
pub mod json_schema;
pub mod unique_keys;
/// Memory estimates for JSON before it is parsed.
pub mod json_size;
/// Validation issues of submitted documents.
pub mod issue;
/// CSV output that is safe to open in a spreadsheet.
pub mod csv;
/// Percent-encoding of parts of URLs.
pub mod url_encoding;
/// CIDR ranges of IP addresses.
pub mod network;
/// The client address that rate limits count by, behind trusted proxies.
pub mod client_address;
/// Cross-site checks of requests by browsers.
pub mod request_site;
/// SSRF policy: which user-entered addresses the server may call.
pub mod outbound;
/// Messages to people outside, by webhook, in Slack or in a browser.
pub mod message;
/// Strings that debug output and logs must not show.
pub mod secret;
/// Retry delays: exponential backoff with jitter and `Retry-After`.
pub mod backoff;
pub mod job;
/// A fair permit pool for scarce resources.
pub mod permit_pool;

/// Parsing of TOML documents that users store as files, with line numbers in errors.
mod document;

#[cfg(test)]
mod sessions;
#[cfg(test)]
mod arbitrary;
