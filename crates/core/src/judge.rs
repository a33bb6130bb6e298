//! Judging a session: rubrics, evidence, prompts, verdicts, and the offline judge.

/// Rubrics: the dimensions to score and the description of each score level.
pub mod rubric;
/// Evidence: the parts of a session that a judge sees and may cite.
pub mod evidence;
/// Chunking of a long session to fit the context window of a judge.
pub mod chunk;
/// Notations of agent families: results of calls, and messages that no user wrote.
pub mod notations;
/// Session timeline: the messages and tool calls of a session, deduplicated and in order.
pub mod session_timeline;
/// Judge prompts: instructions and untrusted trace text between unguessable markers.
pub mod judge_prompt;
/// Verdicts: parsing and validation of a judge's answer, and aggregation over chunks.
pub mod verdict;
/// Online evaluators: their prompts, answers and offline verdicts.
pub mod evaluator;
/// Code evaluators: deterministic comparison of an answer with what was expected, no model.
pub mod code_evaluator;
/// The offline judge: rule-based detectors, no model.
pub mod offline;
