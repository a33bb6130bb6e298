//! Two believable weeks and the current one, generated from a seed, recorded over Ratchet's own
//! interfaces, scored and reported.

mod seeded_random;
mod timeline;
/// Models, agents and users.
mod agents;
mod words;
/// What people say of answers and sessions.
mod remarks;
/// The texts, from data files.
mod script;
/// What a trace consists of.
mod story;
/// Telling a trace step by step.
mod scene;
mod conversation;
mod coding;
mod traffic;
/// What was planted.
pub(crate) mod ledger;
/// Prompts, a dataset, a queue, comments.
mod catalog;
/// Weekly documents of agents, and the backlog.
pub(crate) mod feedback;
/// Gates on the runs of releases.
pub(crate) mod gates;
mod wire;
pub(crate) mod send;
/// Labels of people and a scripted judge.
mod review;
/// Weekly review: verdicts, draws and answers.
mod weekly_review;
pub(crate) mod scoring;
pub(crate) mod closing_message;
#[cfg(test)]
mod tests;

use serde_json::Value;

use catalog::Catalog;
use ledger::Ledger;
pub(crate) use timeline::Timeline;
use wire::Export;

/// Everything that is recorded, ready to be sent.
#[derive(Debug)]
pub(crate) struct DemoData {
    /// The spans, as OTLP requests.
    pub(crate) exports: Vec<Export>,
    /// The thumbs, as bodies of `POST /api/public/scores`.
    pub(crate) thumbs: Vec<Value>,
    pub(crate) catalog: Catalog,
    pub(crate) ledger: Ledger,
}

/// Generates the data. The same seed and timeline give the same bytes.
pub(crate) fn generate(seed: u64, timeline: &Timeline) -> DemoData {
    let traffic = traffic::generate(seed, timeline);
    DemoData {
        exports: wire::exports(traffic.all_runs()),
        thumbs: traffic.thumbs.iter().map(wire::score).collect(),
        catalog: catalog::of(&traffic),
        ledger: Ledger::new(seed, timeline, &traffic),
    }
}
