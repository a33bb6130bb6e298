use std::collections::BTreeMap;
use std::time::Duration;

use ratchet_core::counted::counted;
use ratchet_core::id::SessionId;
use ratchet_core::judge::rubric::Rubric;
use ratchet_core::money::Money;
use ratchet_core::quality::report::ReportScope;
use ratchet_remote::langfuse::client::TimeWindow;
use ratchet_store::catalog::RunOutcome;

use super::pipeline::PipelineError;
use crate::score::attach::Attach;
use crate::score::judge::Judge;
use crate::score::select_sessions::{MIN_OBSERVATIONS, SessionCriteria, SessionFilter};
use crate::score::{self, JudgingCost, Rescore, ScoringContext, Skip, WritePolicy};

/// Traces that a session must have.
pub(super) const MIN_TRACES: u64 = 3;
/// A session without activity for this long is complete, in nanoseconds.
const IDLE: i64 = 30 * 60 * 1_000_000_000;
/// Default number of sessions judged at a time.
pub const AT_ONCE: usize = 4;

/// How the sessions of a time range are scored.
#[derive(Debug)]
pub struct SessionScoring {
    /// Id of the scoring run; never used before.
    pub run: String,
    pub rubric: Rubric,
    /// The part of the project whose sessions are scored.
    pub scope: ReportScope,
    /// `None` to use existing scores.
    pub judge: Option<Judge>,
    /// Sessions judged at a time.
    pub at_once: usize,
    /// The polling interval of a provider's batch API; `None` for direct calls.
    pub batch: Option<Duration>,
    pub attach: Attach,
}

/// The result of scoring the sessions of a time range.
#[derive(Clone, Debug, Default)]
pub struct WeekScored {
    /// Sessions that were scored now.
    pub scored: usize,
    pub failed: usize,
    /// Sessions that are too short to be scored.
    pub short: usize,
    pub cost: JudgingCost,
    /// Whether the budget was exhausted before all sessions were scored.
    pub is_cut: bool,
    /// Sessions that have no score, and why.
    pub unscored: BTreeMap<SessionId, &'static str>,
}

impl WeekScored {
    /// A summary in one line.
    pub fn line(&self) -> String {
        let Self { scored, failed, short, cost, is_cut, unscored: _ } = self;
        let cost = if cost.total > Money::ZERO { format!(" for {cost}") } else { String::new() };
        let cut = if *is_cut { ", budget exhausted, the next run continues" } else { "" };
        let short = match short {
            0 => String::new(),
            short => format!(
                ", {short} shorter than {MIN_TRACES} traces and {MIN_OBSERVATIONS} observations"
            ),
        };
        format!("{} scored{cost}, {failed} failed{short}{cut}", counted(*scored, "session"))
    }
}

impl SessionScoring {
    /// Scores complete sessions that are new or have grown.
    ///
    /// # Errors
    /// Fails if sessions cannot be read or scores cannot be written, and if it was stopped.
    pub async fn run(
        &self,
        context: &ScoringContext<'_>,
        between: TimeWindow,
    ) -> Result<WeekScored, PipelineError> {
        let Some(judge) = self.judge.clone() else { return Ok(WeekScored::default()) };
        let request = score::Request {
            run: self.run.clone(),
            rubric: self.rubric.clone(),
            judge,
            wanted: SessionFilter::Active(SessionCriteria {
                between,
                min_traces: MIN_TRACES,
                min_observations: MIN_OBSERVATIONS,
                idle_nanos: IDLE,
                agent: self.scope.agent.clone(),
                release: self.scope.release.clone(),
                user: self.scope.user.clone(),
                environment: self.scope.environment.clone(),
                tag: self.scope.tag.clone(),
                sample: None,
            }),
            again: Rescore::IfGrown,
            keeping: WritePolicy::Write,
            attach: self.attach,
            at_once: self.at_once,
            batch: self.batch,
        };
        let report = score::run(context, &request).await?;
        let is_cut = report.outcome == RunOutcome::Stopped;
        if is_cut && (context.is_stopping)() {
            return Err(PipelineError::Stopped);
        }
        let (scored, failed) = (report.sessions.len(), report.failed.len());
        let short = report.skipped.iter().filter(|(_, why)| matches!(why, Skip::TooShort { .. }));
        let short = short.count();
        let unscored = unscored(&report);
        Ok(WeekScored { scored, failed, short, cost: report.cost(), is_cut, unscored })
    }
}

/// Why sessions were not scored, in words after their number: `2 sessions on which the judge failed`.
fn unscored(report: &score::Report) -> BTreeMap<SessionId, &'static str> {
    let why = |skip: &Skip| {
        Some(match skip {
            Skip::GoingOn(_) => "still active when the others were scored",
            Skip::Stopped => "beyond the budget",
            Skip::Taken => "that another run was scoring",
            Skip::Waiting { .. } => "that wait for a verdict",
            Skip::NothingSeen => "in which the judge found nothing to score",
            Skip::TooShort { .. }
            | Skip::Later(_)
            | Skip::Scored { .. }
            | Skip::Rescored
            | Skip::NotSampled
            | Skip::WouldBeJudged => return None,
        })
    };
    let skipped = report.skipped.iter();
    let skipped = skipped.filter_map(|(session, skip)| Some((session.clone(), why(skip)?)));
    let failed = report.failed.iter();
    skipped
        .chain(failed.map(|(session, _)| (session.clone(), "on which the judge failed")))
        .collect()
}
