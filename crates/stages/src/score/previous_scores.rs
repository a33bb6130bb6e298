use ratchet_core::id::SessionId;
use ratchet_core::payload::Json;
pub use ratchet_core::quality::synthesis::SUPERSEDED_BY;
use ratchet_core::record::score::{Score, ScoreSource};
use ratchet_core::time::Timestamp;

use super::attach::{self, Attach};
use super::{NEW_TRACES, Skip};
use crate::source::{Source, SourceResult};

/// The metadata of a score: by which rubric.
pub const RUBRIC: &str = "rubric";
/// The metadata of a score: the first verdict on the session, the second …
pub const GENERATION: &str = "generation";
/// The metadata of a score: how many traces were judged.
pub const TRACES: &str = "traces";
/// The metadata of a score: who gave it.
pub const JUDGE: &str = "judge";
/// The metadata of a score: what the rubric asked.
pub const FINGERPRINT: &str = "fingerprint";
/// The metadata of a score: when it was written.
pub const SCORED_AT: &str = "scored_at";

/// Existing scores of a session by one rubric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PreviousScores {
    /// Scores of all generations.
    pub scores: Vec<Score>,
}

impl PreviousScores {
    /// Reads what a session got so far.
    ///
    /// # Errors
    /// Fails if the source cannot be read.
    pub async fn read(
        source: &Source,
        session: &SessionId,
        (rubric, attach): (&str, Attach),
    ) -> SourceResult<Self> {
        let mut scores = match attach {
            Attach::Session => source.scores_of_session(session).await?,
            Attach::FirstTrace => attach::scores_about(source, session).await?,
        };
        scores.retain(|score| {
            score.source == ScoreSource::Eval
                && text(score, RUBRIC).as_deref() == Some(rubric)
                && generation(score).is_some()
        });
        Ok(Self { scores })
    }

    /// The newest verdict on the session; `None` if there is none.
    pub fn generation(&self) -> Option<u32> {
        self.scores.iter().filter_map(generation).max()
    }

    /// The generation of a verdict that is to be given.
    pub fn next_generation(&self) -> u32 {
        self.generation().map_or(1, |newest| newest.saturating_add(1))
    }

    /// The scores of the newest verdict.
    pub fn newest(&self) -> impl Iterator<Item = &Score> {
        let newest = self.generation();
        self.scores.iter().filter(move |score| generation(score) == newest)
    }

    /// Scores that a newer verdict took the place of, and that do not say so yet.
    pub fn outdated(&self, newest: u32) -> impl Iterator<Item = &Score> {
        self.scores.iter().filter(move |score| {
            generation(score).is_some_and(|its| its < newest)
                && value(score, SUPERSEDED_BY).is_none()
        })
    }

    /// Whether a judge has scored the session by a rubric since some time.
    pub fn is_scored_since(&self, since: Timestamp, judge: &str, fingerprint: &str) -> bool {
        self.newest().any(|score| {
            let scored_at = text(score, SCORED_AT).and_then(|at| Timestamp::parse(&at).ok());
            scored_at.is_some_and(|at| at >= since)
                && text(score, JUDGE).as_deref() == Some(judge)
                && text(score, FINGERPRINT).as_deref() == Some(fingerprint)
        })
    }

    /// Whether a session of so many traces is to be scored, or why not.
    ///
    /// # Errors
    /// Why not.
    pub fn is_grown(&self, traces: u64) -> Result<(), Skip> {
        let Some(judged) = self.newest().filter_map(|score| count(score, TRACES)).max() else {
            return if self.scores.is_empty() {
                Ok(())
            } else {
                Err(Skip::Scored { new_traces: 0 })
            };
        };
        let new_traces = traces.saturating_sub(judged);
        if new_traces < NEW_TRACES { Err(Skip::Scored { new_traces }) } else { Ok(()) }
    }
}

/// Which verdict on its session a score belongs to; `None` if no judge of ours gave it.
pub fn generation(score: &Score) -> Option<u32> {
    count(score, GENERATION)?.try_into().ok()
}

/// A metadata value of a score.
pub fn value<'a>(score: &'a Score, key: &str) -> Option<&'a Json> {
    score.metadata.iter().find(|(name, _)| name == key).map(|(_, value)| value)
}

fn count(score: &Score, key: &str) -> Option<u64> {
    // Some servers keep numbers of metadata as texts.
    value(score, key)?.as_str().trim_matches('"').parse().ok()
}

pub(super) fn text(score: &Score, key: &str) -> Option<String> {
    serde_json::from_str(value(score, key)?.as_str()).ok()
}
