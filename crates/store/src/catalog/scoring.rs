//! The scoring journal: runs, session leases, and verdicts of sessions that are not scored yet. A
//! paid verdict is stored here before it is used.

/// Paid verdicts and calls in progress.
mod verdicts;
/// Batch requests to model providers.
mod batch;

use std::time::Duration;

use ratchet_core::job::JobKind;
use ratchet_core::money::Money;
use ratchet_core::time::Timestamp;

use super::Catalog;
use super::job::{self, LeaseStatus, NewJob};
use super::sql::{FromColumn, Listing, Row, Tx, Value};
use crate::StoreResult;
use crate::project::ProjectId;
use crate::query::{Page, PageNumber};

pub use batch::ScoringBatch;
pub use verdicts::PaidVerdict;

/// A scoring run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoringRun {
    pub id: String,
    pub rubric: String,
    pub judge: String,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub outcome: RunOutcome,
    pub tally: RunTally,
    /// When the rescoring began that the run is part of; `None` if it is no rescoring.
    pub rescore_since: Option<Timestamp>,
}

/// State of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOutcome {
    Running,
    Done,
    /// Stopped early; another run can resume it.
    Stopped,
    Failed,
    Lost,
}

impl RunOutcome {
    pub const ALL: [Self; 5] = [Self::Running, Self::Done, Self::Stopped, Self::Failed, Self::Lost];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
            Self::Lost => "lost",
        }
    }

    /// Parses its name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == word)
    }
}

impl From<RunOutcome> for Value {
    fn from(outcome: RunOutcome) -> Self {
        outcome.as_str().into()
    }
}

impl FromColumn for RunOutcome {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}

/// Counters of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunTally {
    pub scored: u64,
    pub skipped: u64,
    pub failed: u64,
    /// Answered model calls.
    pub calls: u64,
    /// Calls that a lost run may have paid for already.
    pub repeated: u64,
    pub cost: Money,
    /// The part of the cost that is approximate, because the provider did not report usage.
    pub approximate_cost: Money,
}

/// A lease on a session for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoringClaim {
    pub session: String,
    pub rubric: String,
    pub run: String,
}

impl ScoringClaim {
    fn id(&self) -> String {
        // Rubric names have no slash.
        format!("{}/{}", self.rubric, self.session)
    }
}

/// The kind of job that a claim is the lease of.
const KIND: JobKind = JobKind::ScoreSession;

const COLUMNS: &str = "id, rubric, judge, started_at, ended_at, outcome, scored, skipped, failed, \
                       calls, repeated, cost, approximate_cost, rescore_since";

impl Catalog {
    /// Upserts a run. A finished run releases its sessions.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn save_scoring_run(&self, project: ProjectId, run: ScoringRun) -> StoreResult<()> {
        self.transact(move |tx| {
            write(tx, &project, &run)?;
            if run.ended_at.is_some() { leave(tx, &project, &run.id) } else { Ok(()) }
        })
        .await
    }

    /// Returns a page of the runs, newest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn scoring_runs(
        &self,
        project: ProjectId,
        page: PageNumber,
    ) -> StoreResult<Page<ScoringRun>> {
        let listing = Listing {
            columns: COLUMNS,
            from: "FROM scoring_run WHERE project = $1",
            order: "started_at DESC, id",
        };
        self.transact(move |tx| tx.page(listing, &[(&project).into()], page, read)).await
    }

    /// Returns the runs that are not recorded as finished.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn open_scoring_runs(&self, project: ProjectId) -> StoreResult<Vec<ScoringRun>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM scoring_run WHERE project = $1 AND outcome = $2 \
             ORDER BY started_at, id"
        );
        let running = RunOutcome::Running;
        self.transact(move |tx| tx.rows(&sql, &[(&project).into(), running.into()], read)).await
    }

    /// Returns the last run that rescored sessions by a rubric with a judge.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn last_rescoring(
        &self,
        project: ProjectId,
        (rubric, judge): (String, String),
    ) -> StoreResult<Option<ScoringRun>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM scoring_run WHERE project = $1 AND rubric = $2 AND judge = $3 \
             AND rescore_since IS NOT NULL ORDER BY started_at DESC, id LIMIT 1"
        );
        self.transact(move |tx| {
            tx.one(&sql, &[(&project).into(), (&rubric).into(), (&judge).into()], read)
        })
        .await
    }

    /// Marks a run as lost, because its process is dead, and releases its sessions.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn mark_run_lost(
        &self,
        project: ProjectId,
        id: String,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            tx.execute(
                "UPDATE scoring_run SET outcome = $1, ended_at = $2 \
                 WHERE project = $3 AND id = $4 AND outcome = $5",
                &[
                    RunOutcome::Lost.into(),
                    now.into(),
                    (&project).into(),
                    (&id).into(),
                    RunOutcome::Running.into(),
                ],
            )?;
            leave(tx, &project, &id)
        })
        .await
    }

    /// Acquires or renews the lease of a session for a run; false if another run holds it.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn claim_session(
        &self,
        project: ProjectId,
        (claim, lease): (ScoringClaim, Duration),
        now: Timestamp,
    ) -> StoreResult<bool> {
        self.transact(move |tx| {
            let id = claim.id();
            let known = job::one(tx, &project, KIND, &id)?;
            let ours = known.filter(|job| job.owner.as_ref() == Some(&claim.run));
            if let Some(ours) = ours {
                let status = job::renew(tx, &ours.lease(), lease, now)?;
                return Ok(status == LeaseStatus::Held);
            }
            let new = NewJob {
                kind: KIND,
                id,
                group: None,
                payload: "{}".to_owned(),
                priority: 0,
                run_at: now,
                // People start these runs: there is no end to their attempts.
                max_attempts: u32::MAX,
                is_held: false,
            };
            let claimed = job::claim_one(tx, &project, &new, (&claim.run, lease), now)?;
            Ok(claimed.is_some())
        })
        .await
    }

    /// Releases the lease of a session.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn release_session(
        &self,
        project: ProjectId,
        claim: ScoringClaim,
    ) -> StoreResult<()> {
        self.transact(move |tx| release(tx, &project, &claim)).await
    }
}

/// Releases all sessions of a run.
fn leave(tx: &Tx<'_>, project: &ProjectId, run: &str) -> StoreResult<()> {
    job::forget(tx, (project, KIND, run), None)
}

fn release(tx: &Tx<'_>, project: &ProjectId, claim: &ScoringClaim) -> StoreResult<()> {
    job::forget(tx, (project, KIND, &claim.run), Some(&claim.id()))
}

fn write(tx: &Tx<'_>, project: &ProjectId, run: &ScoringRun) -> StoreResult<()> {
    let sql = format!(
        "INSERT INTO scoring_run ({COLUMNS}, project) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) \
         ON CONFLICT (project, id) DO UPDATE SET ended_at = excluded.ended_at, \
         outcome = excluded.outcome, scored = excluded.scored, skipped = excluded.skipped, \
         failed = excluded.failed, calls = excluded.calls, repeated = excluded.repeated, \
         cost = excluded.cost, approximate_cost = excluded.approximate_cost"
    );
    let RunTally { scored, skipped, failed, calls, repeated, cost, approximate_cost } = run.tally;
    let values = [
        (&run.id).into(),
        (&run.rubric).into(),
        (&run.judge).into(),
        run.started_at.into(),
        run.ended_at.into(),
        run.outcome.into(),
        scored.into(),
        skipped.into(),
        failed.into(),
        calls.into(),
        repeated.into(),
        cost.pico().into(),
        approximate_cost.pico().into(),
        run.rescore_since.into(),
        project.into(),
    ];
    tx.execute(&sql, &values).map(drop)
}

fn read(row: &Row<'_>) -> StoreResult<ScoringRun> {
    Ok(ScoringRun {
        id: row.get(0)?,
        rubric: row.get(1)?,
        judge: row.get(2)?,
        started_at: row.get(3)?,
        ended_at: row.get(4)?,
        outcome: row.get(5)?,
        tally: RunTally {
            scored: row.get(6)?,
            skipped: row.get(7)?,
            failed: row.get(8)?,
            calls: row.get(9)?,
            repeated: row.get(10)?,
            cost: Money::from_pico(row.get(11)?),
            approximate_cost: Money::from_pico(row.get(12)?),
        },
        rescore_since: row.get(13)?,
    })
}
