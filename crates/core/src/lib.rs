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
pub mod receipt;
/// How sure a number is, and how values lie.
pub mod stats;
/// How many tokens a text is.
pub mod tokens;
/// Recorded conversations, in whatever form.
pub mod chat;
/// A long session in pieces that a judge can read.
pub mod chunk;
/// What good work looks like.
pub mod rubric;
/// What a judge gets to see.
pub mod evidence;
/// What happened in a session, each thing once.
pub mod moves;
/// What a judge says.
pub mod verdict;
/// How a session is put before a judge.
pub mod judging;
/// A judge that needs no model.
pub mod offline;
/// What a week of scored sessions says.
pub mod synthesis;
/// What could be changed so that the next is better.
pub mod suggestion;
/// Whether watching quality pays.
pub mod success;
/// What people say of sessions, to hold a judge against.
pub mod label;
/// How far a judge is to be trusted.
pub mod calibration;
/// What people are told of a week.
pub mod report;
/// What is added to the file of learnings.
pub mod learnings;
/// A span as OpenTelemetry tells it, before anyone interprets it.
pub mod span;
/// A log record as OpenTelemetry tells it.
pub mod log;
/// What span attributes mean.
pub mod convention;
/// What Claude Code tells of its work.
pub mod claude_code;
/// Chat agents that run under Ratchet.
pub mod major;
/// What model calls cost.
pub mod price;
/// What models are told: texts and chats that refer to one another.
pub mod prompt;
/// What agents are taught: folders of text files.
pub mod skill;
/// Images, sounds and files beside the text.
pub mod media;
/// How scores are made by machines.
pub mod evaluator;
/// How models are reached.
pub mod llm;
/// What people are asked to look at, and what they say.
pub mod annotation;
/// Cases to try an agent on.
pub mod dataset;
/// An agent tried on cases.
pub mod experiment;
/// What a JSON value must look like.
pub mod json_schema;
/// What is too long or too deep to keep as it came.
pub mod limit;
/// How large JSON becomes once it is parsed.
pub mod json_size;
/// Tables with commas.
pub mod csv;
/// What must not be kept.
pub mod redact;
/// Whose web pages may call.
pub mod origin;
/// Networks of addresses.
pub mod network;
/// The address that a client is counted by.
pub mod client_address;
/// Which addresses may be called that others have entered.
pub mod outbound;
/// What people may settle about a project.
pub mod settle;
/// Texts that must not be shown.
pub mod secret;
/// Who people are to a server: addresses and passwords.
pub mod account;
/// How long those who keep failing wait.
pub mod throttle;
/// Permits for what is scarce, shared fairly.
pub mod permit_pool;

/// Documents that people keep as files.
mod document;

/// Sessions for tests.
#[cfg(test)]
mod sessions;
/// Values for property tests.
#[cfg(test)]
mod arbitrary;
