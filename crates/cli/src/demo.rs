//! One realistic week, made up from a seed and recorded over Ratchet's own interfaces.

mod seeded_random;
mod rhythm;
mod people;
mod words;
/// What a run consists of.
mod story;
/// Telling a story step by step.
mod scene;
mod stories;
/// What people think of it.
mod feedback;
/// What judges say of it.
mod judges;
/// What a team keeps beside it.
mod catalog;
mod week;
mod wire;
/// From OTLP to a server.
pub(crate) mod send;
pub(crate) mod closing_message;
#[cfg(test)]
mod tests;

use ratchet_core::time::Timestamp;
use serde_json::Value;

use catalog::Shelf;
use closing_message::Examples;
use judges::Verdict;
use people::Place;
use story::Run;
use wire::Export;

/// A week, ready to be sent.
#[derive(Debug)]
pub(crate) struct Traffic {
    /// The spans, as OTLP requests.
    pub(crate) exports: Vec<Export>,
    /// The thumbs, as bodies of `POST /api/public/scores`.
    pub(crate) scores: Vec<Value>,
    /// What judges said, as bodies of scores too.
    pub(crate) verdicts: Vec<Value>,
    /// Prompts, a dataset, a queue, remarks.
    pub(crate) shelf: Shelf,
    pub(crate) traces: usize,
    pub(crate) spans: usize,
    pub(crate) examples: Examples,
}

/// Makes a week up. The same seed and end give the same bytes.
pub(crate) fn imagine(seed: u64, end: Timestamp) -> Traffic {
    let week = week::imagine(seed, end);
    let tried = week.trials.iter().flatten().map(|trial| &trial.run);
    let exports = wire::exports(week.runs.iter().chain(tried.clone()));
    Traffic {
        scores: week.thumbs.iter().map(wire::score).collect(),
        verdicts: week.verdicts.iter().map(Verdict::body).collect(),
        shelf: catalog::fill(&week.runs, &week.trials),
        traces: week.runs.len() + tried.count(),
        spans: exports.iter().map(|export| export.spans).sum(),
        examples: examples(&week.runs),
        exports,
    }
}

fn examples(runs: &[Run]) -> Examples {
    let newest = |is_it: &dyn Fn(&&Run) -> bool| runs.iter().rev().find(is_it);
    let nested = newest(&|run| run.agent.name == people::RESEARCH.name && run.asked_by.is_none());
    let circles = newest(&|run| run.tags.contains(&"coding") && run.quality < 0.4);
    let bad = newest(&|run| run.release.is_bad && run.place == Place::Prod);
    Examples {
        trace: nested.map(|run| wire::hex(&run.id)).unwrap_or_default(),
        session: circles.map(|run| run.session.clone()).unwrap_or_default(),
        bad_version: bad.map_or("", |run| run.release.version),
    }
}
