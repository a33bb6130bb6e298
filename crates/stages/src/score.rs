//! Judges turn sessions into scores.
//!
//! The same steps for every judge: select sessions, collect evidence, judge, aggregate the
//! chunks' verdicts, write scores. Paid verdicts are in the journal before they are
//! used, so that a run can end at any moment and another one resumes.

pub mod select_sessions;
pub mod evidence;
/// Judges.
pub mod judge;
pub mod judge_factory;
pub mod rubrics;
/// What other sessions of the same agent took.
mod peers;
/// P(success), fitted to labels.
pub mod success;
/// Overrides of the offline judge's signals.
pub mod signal_overrides;
pub mod previous_scores;
/// Scores of sessions on their first traces, for old servers.
pub mod attach;
pub mod write_scores;
/// Journal of model calls, verdicts and costs.
pub mod journal;
/// A part of many, the same part each time.
pub mod sample;
mod outcome;
/// Model calls of judges as traces of their own.
pub(crate) mod judge_calls;
/// Costs of judging.
mod cost;
/// One session, from its first look to its scores.
mod job;
/// Questions that can wait are cheaper.
mod batch;
mod estimate;
/// Verdicts of external judges.
pub mod external_verdicts;
/// Online evaluators: traces are judged as they arrive.
pub mod evaluators;

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use ratchet_agent::error::ModelError;
use ratchet_core::id::SessionId;
use ratchet_core::judge::rubric::Rubric;
use ratchet_core::time::Timestamp;
use ratchet_store::StoreError;
use ratchet_store::catalog::RunOutcome;

use crate::sink::{Sink, SinkError};
use crate::source::{Source, SourceError};
use attach::Attach;
use job::Job;
use journal::{Journal, RunJournal};
use judge::Judge;
use peers::PeerCache;
use select_sessions::SessionFilter;
use write_scores::ScoreConfigs;

pub use cost::JudgingCost;
pub use estimate::estimate;
pub use outcome::{Report, Scored, ScoringProgress, Skip};

/// How many traces a session must have got since it was scored to be scored again.
pub const NEW_TRACES: u64 = 3;

#[derive(Clone, Copy)]
pub struct ScoringContext<'a> {
    /// Where sessions and their scores are read.
    pub source: &'a Source,
    pub sink: &'a Sink,
    /// Journal of model calls, verdicts and costs.
    pub journal: &'a Journal,
    pub clock: &'a (dyn Fn() -> Timestamp + Sync),
    /// Whether to begin nothing more.
    pub is_stopping: &'a (dyn Fn() -> bool + Sync),
    /// Called whenever a session is finished or a model call was paid.
    pub watch: &'a (dyn Fn(&ScoringProgress) + Sync),
}

/// What is to be scored, and how.
#[derive(Clone, Debug)]
pub struct Request {
    /// Names the run; never used before.
    pub run: String,
    pub rubric: Rubric,
    pub judge: Judge,
    pub wanted: SessionFilter,
    /// Whether sessions that are scored are scored again.
    pub again: Rescore,
    pub keeping: WritePolicy,
    /// What scores are attached to.
    pub attach: Attach,
    /// Sessions under way at once.
    pub at_once: usize,
    /// Whether questions are handed in together, and how often one looks for answers then.
    pub batch: Option<Duration>,
}

/// Whether sessions that are scored are scored again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rescore {
    /// Only if they went on since.
    IfGrown,
    Always,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WritePolicy {
    Write,
    /// Calls judges, but writes no scores. Verdicts stay in the journal: a run with the
    /// same afterwards need not pay again.
    NoScores,
    /// The same, ignoring verdicts from before the run: it measures the judge's current verdicts.
    Anew,
    /// Dry run: nothing is written, and no paid model is called.
    Nothing,
}

/// Why a run could not go on.
#[derive(Debug, thiserror::Error)]
pub enum ScoreError {
    #[error("cannot read sessions: {0}")]
    Source(#[from] SourceError),
    #[error("cannot write scores: {0}")]
    Sink(#[from] SinkError),
    /// The journal cannot be written.
    #[error("cannot keep the journal: {0}")]
    Journal(#[from] StoreError),
    #[error(transparent)]
    Judge(ModelError),
    /// A requested session does not exist.
    #[error("session {0} is not there")]
    NoSession(SessionId),
}

/// Scores sessions and writes their scores.
///
/// Running it twice is harmless: what is scored is left alone.
///
/// # Errors
/// Fails if sessions cannot be read, or if scores or the journal cannot be written. A
/// session that cannot be judged does not end the run; the report names it.
pub async fn run(ctx: &ScoringContext<'_>, request: &Request) -> Result<Report, ScoreError> {
    let started_at = (ctx.clock)();
    let ledger = RunJournal::open(ctx, request, started_at).await?;
    let worked = work(ctx, request, &ledger).await;
    let outcome = match &worked {
        Ok(report) => report.outcome,
        Err(_) => RunOutcome::Failed,
    };
    ledger.close(outcome, (ctx.clock)()).await?;
    worked
}

async fn work(
    ctx: &ScoringContext<'_>,
    request: &Request,
    ledger: &RunJournal<'_>,
) -> Result<Report, ScoreError> {
    let found = select_sessions::find(ctx.source, &request.wanted).await?;
    let configs = match request.keeping {
        WritePolicy::Write if !found.is_empty() => {
            ScoreConfigs::settle(ctx.sink, &request.rubric, (ctx.clock)()).await?
        }
        WritePolicy::Write | WritePolicy::NoScores | WritePolicy::Anew | WritePolicy::Nothing => {
            ScoreConfigs::default()
        }
    };
    let peers = PeerCache::default();
    let job = Job { ctx, request, ledger, configs: &configs, peers: &peers };
    ledger.begin(found.len());
    if let Some(pause) = request.batch {
        batch::ask(&job, &found, pause).await?;
    }
    let mut outcomes = Vec::with_capacity(found.len());
    let mut running = stream::iter(found.into_iter().map(|session| job.session(session)))
        .buffer_unordered(request.at_once.max(1));
    while let Some(done) = running.next().await {
        let (session, outcome) = done?;
        ledger.count(&outcome);
        outcomes.push((session, outcome));
    }
    drop(running);
    let report = Report::new(outcomes, ledger.tally());
    Ok(Report { is_over_budget: ledger.is_over_budget(), ..report })
}
