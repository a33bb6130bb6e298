use ratchet_core::id::SessionId;
use ratchet_core::judge::verdict::{ChunkMarks, Verdict};
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{RunOutcome, RunTally};

use super::judge::Judged;

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScoringProgress {
    /// Sessions that were looked at.
    pub done: u64,
    pub of: u64,
    pub tally: RunTally,
}

/// A session that was scored.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    pub session: SessionId,
    /// How many traces were judged.
    pub traces: u64,
    /// When its last trace began.
    pub last_at: Timestamp,
    /// What was said of it.
    pub judged: Judged,
    /// The marks by their weights; `None` if nothing was to be seen.
    pub overall: Option<f64>,
    /// The first verdict on the session, the second …
    pub generation: u32,
}

impl Scored {
    /// What was said of it.
    pub fn verdict(&self) -> &Verdict {
        &self.judged.whole.verdict
    }

    /// What its chunks said of a dimension.
    pub fn marks(&self, dimension: &str) -> Option<&ChunkMarks> {
        let mut pairs = self.verdict().dimensions.iter().zip(&self.judged.whole.marks);
        pairs.find(|(judgement, _)| judgement.dimension == dimension).map(|(_, marks)| marks)
    }

    /// In how many chunks it was judged.
    pub fn chunks(&self) -> usize {
        self.judged.whole.marks.first().map_or(0, |marks| marks.findings.len())
    }
}

/// Why a session was left alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Skip {
    /// There is not enough to see.
    #[error(
        "shorter than {} traces and {} observations: it has {} and {}",
        wanted[0], wanted[1], has[0], has[1]
    )]
    TooShort {
        /// Traces and observations.
        has: [u64; 2],
        /// As many of the one or the other.
        wanted: [u64; 2],
    },
    #[error("it is still going on: its last trace began at {0}")]
    GoingOn(Timestamp),
    /// It belongs to a later time.
    #[error("it went on after the time asked for: its last trace began at {0}")]
    Later(Timestamp),
    #[error("it is scored already{}", grown(*.new_traces))]
    Scored {
        /// So many traces came since.
        new_traces: u64,
    },
    /// It is not in the sample.
    #[error("it is not in the sample")]
    NotSampled,
    /// Another run is at it.
    #[error("another run is at it")]
    Taken,
    /// The run ended before its turn came.
    #[error("the run stopped before its turn; the same command goes on")]
    Stopped,
    /// Whoever judges has not said all yet.
    #[error("it waits for a verdict on chunk {next} of {of}")]
    Waiting {
        /// This one is next.
        next: usize,
        of: usize,
    },
    /// Whoever judged it could say nothing of it.
    #[error("nothing in it can be judged")]
    NothingSeen,
    /// Money would have to be spent, and nothing is to be kept.
    #[error("it would be judged")]
    WouldBeJudged,
}

fn traces(count: u64) -> &'static str {
    if count == 1 { "trace" } else { "traces" }
}

fn grown(new_traces: u64) -> String {
    match new_traces {
        0 => String::new(),
        some => format!(", with {some} new {} since", traces(some)),
    }
}

/// What became of one session.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    Scored(Box<Scored>),
    Skipped(Skip),
    Failed(String),
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The sessions that were scored, in order of time.
    pub sessions: Vec<Scored>,
    /// Those that were left alone, and why.
    pub skipped: Vec<(SessionId, Skip)>,
    /// Those that could not be scored, and why.
    pub failed: Vec<(SessionId, String)>,
    pub tally: RunTally,
    pub outcome: RunOutcome,
}

impl Report {
    /// What came of a run that had nothing to do.
    pub(crate) fn empty() -> Self {
        Self::new(Vec::new(), RunTally::default())
    }

    /// Sorts what became of sessions.
    pub(super) fn new(outcomes: Vec<(SessionId, Outcome)>, tally: RunTally) -> Self {
        let (mut sessions, mut skipped, mut failed) = (Vec::new(), Vec::new(), Vec::new());
        for (session, outcome) in outcomes {
            match outcome {
                Outcome::Scored(scored) => sessions.push(*scored),
                Outcome::Skipped(why) => skipped.push((session, why)),
                Outcome::Failed(why) => failed.push((session, why)),
            }
        }
        sessions.sort_by(|one, other| {
            (one.last_at, &one.session).cmp(&(other.last_at, &other.session))
        });
        skipped.sort_by(|(one, _), (other, _)| one.cmp(other));
        failed.sort();
        let is_cut = skipped.iter().any(|(_, why)| *why == Skip::Stopped);
        let outcome = if is_cut { RunOutcome::Stopped } else { RunOutcome::Done };
        Self { sessions, skipped, failed, tally, outcome }
    }
}
