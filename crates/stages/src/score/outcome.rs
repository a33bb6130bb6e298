use ratchet_core::counted::counted;
use ratchet_core::id::SessionId;
use ratchet_core::judge::verdict::{ChunkMarks, Verdict};
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{RunOutcome, RunTally};

use super::JudgingCost;
use super::judge::Judged;

/// Progress of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScoringProgress {
    /// Processed sessions.
    pub done: u64,
    pub of: u64,
    pub tally: RunTally,
}

/// A session that was scored.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    pub session: SessionId,
    /// Number of judged traces.
    pub traces: u64,
    /// Start of its last trace.
    pub last_at: Timestamp,
    pub judged: Judged,
    /// The weighted score; `None` if no dimension could be scored.
    pub overall: Option<f64>,
    /// Number of the verdict on the session, from 1.
    pub generation: u32,
}

impl Scored {
    /// The aggregated verdict.
    pub fn verdict(&self) -> &Verdict {
        &self.judged.whole.verdict
    }

    /// The scores of its chunks for a dimension.
    pub fn marks(&self, dimension: &str) -> Option<&ChunkMarks> {
        let mut pairs = self.verdict().dimensions.iter().zip(&self.judged.whole.marks);
        pairs.find(|(judgement, _)| judgement.dimension == dimension).map(|(_, marks)| marks)
    }

    pub fn chunks(&self) -> usize {
        self.judged.whole.marks.first().map_or(0, |marks| marks.verdicts.len())
    }
}

/// Reason for skipping a session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Skip {
    #[error(
        "too short: {} and {}; at least {} or {} needed",
        counted(has[0], "trace"), counted(has[1], "observation"),
        counted(wanted[0], "trace"), counted(wanted[1], "observation")
    )]
    TooShort {
        /// Traces and observations.
        has: [u64; 2],
        /// Enough of one of them.
        wanted: [u64; 2],
    },
    #[error("still active: its last trace started at {0}")]
    GoingOn(Timestamp),
    #[error("outside of the time range: its last trace started at {0}")]
    Later(Timestamp),
    #[error("already scored{}", grown(*.new_traces))]
    Scored {
        /// Traces recorded since.
        new_traces: u64,
    },
    /// An interrupted rescoring came as far as this session.
    #[error("already rescored, before the rescoring was interrupted")]
    Rescored,
    #[error("not in the sample")]
    NotSampled,
    #[error("another run is scoring it")]
    Taken,
    /// The run stopped before it was scored.
    #[error("the run stopped before it was scored; repeat the command to resume")]
    Stopped,
    /// The external judge has not submitted all verdicts.
    #[error("waiting for a verdict on chunk {next} of {of}")]
    Waiting { next: usize, of: usize },
    /// The judge could score no dimension.
    #[error("no dimension could be scored")]
    NothingSeen,
    /// A dry run calls no paid model.
    #[error("would be scored")]
    WouldBeJudged,
}

fn grown(new_traces: u64) -> String {
    match new_traces {
        0 => String::new(),
        some => format!(", with {} since", counted(some, "new trace")),
    }
}

/// Result of one session.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    Scored(Box<Scored>),
    Skipped(Skip),
    Failed(String),
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Scored sessions, in order of time.
    pub sessions: Vec<Scored>,
    /// Skipped sessions with the reason.
    pub skipped: Vec<(SessionId, Skip)>,
    /// Failed sessions with the error.
    pub failed: Vec<(SessionId, String)>,
    pub tally: RunTally,
    pub outcome: RunOutcome,
    /// Whether calls were not made because they could have exceeded the budget.
    pub is_over_budget: bool,
}

impl Report {
    /// The report of a run without sessions.
    pub(crate) fn empty() -> Self {
        Self::new(Vec::new(), RunTally::default())
    }

    /// What the run cost.
    pub fn cost(&self) -> JudgingCost {
        let RunTally { cost, approximate_cost, .. } = self.tally;
        JudgingCost { total: cost, approximate: approximate_cost }
    }

    /// Groups and sorts the results of sessions.
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
        Self { sessions, skipped, failed, tally, outcome, is_over_budget: false }
    }
}
