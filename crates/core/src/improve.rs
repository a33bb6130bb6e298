//! Proposals: groups of failures, which component to change, and what that is worth (ADR 135).
//!
//! Trace text is data here: it is counted and compared, nothing else. No text of a trace becomes the
//! text of a change; only names that have the form of identifiers and single words do.

/// For whom something fails, and since when.
pub mod affected;
/// Failures of an agent's week by group.
pub mod agent_week;
/// Proposals from every source, and how far they are.
pub mod backlog;
/// Citations of code: files and lines that exist.
pub mod code;
/// Groups of similar texts.
pub mod cluster;
/// The component to change, from explicit features of failures.
pub mod diagnosis;
/// Texts as vectors: TF-IDF, reduced by a truncated SVD.
pub mod embedding;
/// What the failures of a group have in common.
pub mod features;
/// The language of sentences.
pub mod language;
/// Diagnosis learned from what people confirmed.
pub mod learned;
/// Events of a week.
pub mod events;
/// Insertions into files as unified diffs.
pub mod insertion;
/// Groups of failures with the same cause and topic.
pub mod group;
/// How often the judge disagrees with people.
mod judge_share;
/// Terms that distinguish a group of texts.
pub mod label;
/// Traces as proposals see them.
pub mod observed;
/// Phrases that tell what went wrong.
pub mod phrases;
/// Changes with evidence, impact and effort.
pub mod proposal;
/// Priorities as words.
pub mod priority;
/// The weekly document of proposals.
pub mod report;
/// What people and judges said of a trace.
pub mod signals;
/// Events computed from traffic.
pub mod traffic_events;
/// Proposals as tasks of issue trackers.
pub mod task;
/// Splits of failures by topic.
pub mod topic;
/// Patterns over weeks: the same keep their id.
pub mod tracking;
/// Checks of proposals that a model wrote.
pub mod draft;
/// Terms of texts.
pub mod terms;
/// What proposals were worth.
pub mod value;
/// Texts of changes and causes.
mod wording;
