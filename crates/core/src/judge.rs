//! Judging a session: rubrics, evidence, prompts, verdicts, and the offline judge.

/// A long session in pieces that a judge can read.
pub mod chunk;
/// What good work looks like.
pub mod rubric;
/// What a judge gets to see.
pub mod evidence;
/// What happened in a session, each thing once.
pub mod session_timeline;
/// What a judge says.
pub mod verdict;
/// How a session is put before a judge.
pub mod judge_prompt;
/// A judge that needs no model.
pub mod offline;
