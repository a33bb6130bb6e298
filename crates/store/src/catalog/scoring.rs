//! The journal of scoring: which runs there were, who is at which session, and what judges said
//! of sessions that are not scored yet. What was paid for is here before anything is made of it.

/// What judges said, and what they are being asked.
mod verdicts;
/// Requests that are answered later.
mod batch;

use ratchet_core::money::Money;
use ratchet_core::time::Timestamp;

use super::Catalog;
use super::sql::{FromColumn, Listing, Row, Tx, Value};
use crate::StoreResult;
use crate::project::ProjectId;
use crate::query::{Page, PageNumber};

pub use batch::ScoringBatch;
pub use verdicts::PaidVerdict;

/// A run that scored sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoringRun {
    pub id: String,
    pub rubric: String,
    pub judge: String,
    pub started_at: Timestamp,
    /// Until when.
    pub ended_at: Option<Timestamp>,
    /// How it ended, or that it has not.
    pub outcome: RunOutcome,
    pub tally: RunTally,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOutcome {
    /// It has not.
    Running,
    /// It did all it had to do.
    Done,
    /// It stopped before the end, to be taken up by another one.
    Stopped,
    /// Something stood in its way.
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

    /// Reads the word.
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

/// What came of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunTally {
    pub scored: u64,
    pub skipped: u64,
    /// Sessions that could not be scored.
    pub failed: u64,
    /// Calls of a model that were answered.
    pub calls: u64,
    /// Calls that a lost run may have paid for already.
    pub repeated: u64,
    pub cost: Money,
}

/// Who wants to be at a session, and until when nobody else may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoringClaim {
    pub session: String,
    pub rubric: String,
    pub run: String,
    /// Until when, unless it is renewed.
    pub expires_at: Timestamp,
}

const COLUMNS: &str = "id, rubric, judge, started_at, ended_at, outcome, scored, skipped, failed, \
                       calls, repeated, cost";

impl Catalog {
    /// Writes down that a run began, or how it stands. One that has ended is at no session.
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

    /// Returns the runs that have not ended, as far as anyone wrote down.
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

    /// Writes down that the process of a run is gone, and frees the sessions it was at.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn lose_scoring_run(
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

    /// Takes a session for a run, or keeps it; false if another run has it.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn claim_session(
        &self,
        project: ProjectId,
        claim: ScoringClaim,
        now: Timestamp,
    ) -> StoreResult<bool> {
        self.transact(move |tx| {
            let taken = tx.execute(
                "INSERT INTO scoring_claim (project, session, rubric, run, expires_at) \
                 VALUES ($1, $2, $3, $4, $5) \
                 ON CONFLICT (project, session, rubric) DO UPDATE \
                 SET run = excluded.run, expires_at = excluded.expires_at \
                 WHERE scoring_claim.run = excluded.run OR scoring_claim.expires_at <= $6",
                &[
                    (&project).into(),
                    (&claim.session).into(),
                    (&claim.rubric).into(),
                    (&claim.run).into(),
                    claim.expires_at.into(),
                    now.into(),
                ],
            )?;
            Ok(taken > 0)
        })
        .await
    }

    /// Lets a session go.
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

/// Frees all sessions that a run was at.
fn leave(tx: &Tx<'_>, project: &ProjectId, run: &str) -> StoreResult<()> {
    let sql = "DELETE FROM scoring_claim WHERE project = $1 AND run = $2";
    tx.execute(sql, &[project.into(), run.into()]).map(drop)
}

fn release(tx: &Tx<'_>, project: &ProjectId, claim: &ScoringClaim) -> StoreResult<()> {
    let sql = "DELETE FROM scoring_claim \
               WHERE project = $1 AND session = $2 AND rubric = $3 AND run = $4";
    let values =
        [project.into(), (&claim.session).into(), (&claim.rubric).into(), (&claim.run).into()];
    tx.execute(sql, &values).map(drop)
}

fn write(tx: &Tx<'_>, project: &ProjectId, run: &ScoringRun) -> StoreResult<()> {
    let sql = format!(
        "INSERT INTO scoring_run ({COLUMNS}, project) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) \
         ON CONFLICT (project, id) DO UPDATE SET ended_at = excluded.ended_at, \
         outcome = excluded.outcome, scored = excluded.scored, skipped = excluded.skipped, \
         failed = excluded.failed, calls = excluded.calls, repeated = excluded.repeated, \
         cost = excluded.cost"
    );
    let RunTally { scored, skipped, failed, calls, repeated, cost } = run.tally;
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
        },
    })
}
