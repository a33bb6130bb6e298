use ratchet_core::job::{JobKind, JobPhase};
use ratchet_core::money::Money;
use ratchet_core::time::Timestamp;

use super::Catalog;
use super::job::{self, JobFailure, JobLease, LeaseStatus, NewJob};
use super::sql::{Row, Tx};
use crate::StoreResult;
use crate::project::ProjectId;

const HOUR_NANOS: i64 = 3_600_000_000_000;
const HOURS_A_DAY: i64 = 24;

/// What became of a request to enqueue an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnqueuedEvaluation {
    New,
    /// It waits already, and will see its target as it is when it runs.
    Waiting,
    /// It runs, and may have read its target before the last change.
    Running,
}

/// A version of an evaluator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluatorCall {
    pub project: ProjectId,
    /// The evaluator's id.
    pub evaluator: String,
    pub version: u32,
}

/// How an evaluation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvaluationEnd {
    /// It has a new verdict.
    Judged,
    /// It has the verdict on what is recorded already.
    Unchanged,
    /// It gets none: its evaluator is paused or at its cost cap, or nothing is to be judged.
    Skipped,
    Failed(JobFailure),
    /// Not an attempt: its target still changes, or its judge cannot be reached.
    Postponed(Timestamp),
}

/// An evaluation that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedEvaluation {
    pub lease: JobLease,
    pub of: EvaluatorCall,
    pub end: EvaluationEnd,
    /// What was reserved for the model call, and what it cost; unknown without a price.
    pub spent: Option<(Option<Money>, Option<Money>)>,
    /// From the last change of its target to now, in milliseconds.
    pub lag_ms: u64,
}

/// What an evaluator did in some time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EvaluatorActivity {
    /// The evaluator's id.
    pub evaluator: String,
    pub judged: u64,
    pub skipped: u64,
    /// Failed attempts.
    pub failed: u64,
    /// Model calls that were sent.
    pub calls: u64,
    /// Those without a known cost.
    pub unpriced: u64,
    pub cost: Money,
    /// What calls without an answer may have cost at most.
    pub reserved: Money,
    /// Sum over all judged.
    pub lag_ms: u64,
}

/// Jobs of an evaluator that are not finished, and its dead letters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitingEvaluations {
    pub waiting: u64,
    pub dead: u64,
    /// When the oldest of the waiting ones was enqueued.
    pub oldest: Option<Timestamp>,
}

impl Catalog {
    /// Enqueues evaluations of a project, in one transaction. A dead letter of the same id returns to
    /// the queue: its record has changed, or a person asks for it again.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn enqueue_evaluations(
        &self,
        project: ProjectId,
        jobs: Vec<NewJob>,
        now: Timestamp,
    ) -> StoreResult<Vec<EnqueuedEvaluation>> {
        self.transact(move |tx| jobs.iter().map(|new| enqueue(tx, &project, new, now)).collect())
            .await
    }

    /// Counts a model call that is about to be sent and reserves the most that it can cost. Returns
    /// false, and counts nothing, if the evaluator could exceed its cost cap of the day (UTC).
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn begin_evaluator_call(
        &self,
        of: EvaluatorCall,
        max_cost: Option<Money>,
        daily_cap: Option<Money>,
        now: Timestamp,
    ) -> StoreResult<bool> {
        self.transact(move |tx| {
            let needed = max_cost.unwrap_or(Money::ZERO);
            if let Some(cap) = daily_cap
                && spent_today(tx, &of, now)? + needed > cap
            {
                return Ok(false);
            }
            let unpriced = u64::from(max_cost.is_none());
            let change = EvaluatorActivity {
                calls: 1,
                unpriced,
                reserved: needed,
                ..EvaluatorActivity::default()
            };
            add(tx, &of, &change, now).map(|()| true)
        })
        .await
    }

    /// Counts records that an evaluator does not judge: it is paused, or they are too old.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn count_skipped_evaluations(
        &self,
        skipped: Vec<(EvaluatorCall, u64)>,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            skipped.iter().try_for_each(|(of, count)| {
                let change = EvaluatorActivity { skipped: *count, ..EvaluatorActivity::default() };
                add(tx, of, &change, now)
            })
        })
        .await
    }

    /// Replaces the reservation of a call by its cost, for a call that no job made.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn settle_evaluator_call(
        &self,
        of: EvaluatorCall,
        (reserved, cost): (Option<Money>, Option<Money>),
        now: Timestamp,
    ) -> StoreResult<()> {
        let change = EvaluatorActivity {
            reserved: Money::ZERO - reserved.unwrap_or(Money::ZERO),
            cost: cost.unwrap_or(Money::ZERO),
            ..EvaluatorActivity::default()
        };
        self.transact(move |tx| add(tx, &of, &change, now)).await
    }

    /// Ends evaluations and counts them, in one transaction. A verdict leaves no job behind; what
    /// failed is retried or becomes a dead letter.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn finish_evaluations(
        &self,
        finished: Vec<FinishedEvaluation>,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| finished.iter().try_for_each(|one| finish(tx, one, now))).await
    }

    /// Returns what the evaluators of a project did since a moment, to the hour.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn evaluator_activity(
        &self,
        project: ProjectId,
        since: Timestamp,
    ) -> StoreResult<Vec<EvaluatorActivity>> {
        let sql = "SELECT evaluator, SUM(judged), SUM(skipped), SUM(failed), SUM(calls), \
                   SUM(unpriced), SUM(cost), SUM(reserved), SUM(lag) FROM evaluator_hour \
                   WHERE project = $1 AND hour >= $2 GROUP BY evaluator ORDER BY evaluator";
        self.transact(move |tx| tx.rows(sql, &[(&project).into(), hour(since).into()], read)).await
    }

    /// Returns the jobs of an evaluator that are not finished.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn waiting_evaluations(
        &self,
        project: ProjectId,
        evaluator: String,
    ) -> StoreResult<WaitingEvaluations> {
        self.transact(move |tx| {
            // Ids begin with the evaluator's and a dot; the character after a dot is a slash.
            let sql = "SELECT COUNT(CASE WHEN phase <> 'dead' THEN 1 END), \
                       COUNT(CASE WHEN phase = 'dead' THEN 1 END), \
                       MIN(CASE WHEN phase <> 'dead' THEN enqueued_at END) FROM job \
                       WHERE project = $1 AND kind = $2 AND id >= $3 AND id < $4";
            let kind = JobKind::Evaluation.as_str();
            let (from, to) = (format!("{evaluator}."), format!("{evaluator}/"));
            let values = [(&project).into(), kind.into(), from.into(), to.into()];
            let found = tx.one(sql, &values, |row| {
                Ok(WaitingEvaluations {
                    waiting: row.get(0)?,
                    dead: row.get(1)?,
                    oldest: row.get(2)?,
                })
            })?;
            Ok(found.unwrap_or_default())
        })
        .await
    }
}

fn enqueue(
    tx: &Tx<'_>,
    project: &ProjectId,
    new: &NewJob,
    now: Timestamp,
) -> StoreResult<EnqueuedEvaluation> {
    if job::enqueue(tx, project, new, now)? {
        return Ok(EnqueuedEvaluation::New);
    }
    let Some(known) = job::one(tx, project, new.kind, &new.id)? else {
        return Ok(EnqueuedEvaluation::Waiting);
    };
    match known.state.phase {
        JobPhase::Leased { .. } => Ok(EnqueuedEvaluation::Running),
        // What failed for good may succeed on what is recorded now.
        JobPhase::Dead => job::revive(tx, &known, new, now).map(|()| EnqueuedEvaluation::New),
        JobPhase::Queued { .. } | JobPhase::Done => Ok(EnqueuedEvaluation::Waiting),
    }
}

fn finish(tx: &Tx<'_>, finished: &FinishedEvaluation, now: Timestamp) -> StoreResult<()> {
    let FinishedEvaluation { lease, of, end, spent, lag_ms } = finished;
    let mut change = EvaluatorActivity::default();
    let status = match end {
        EvaluationEnd::Judged => {
            change = EvaluatorActivity { judged: 1, lag_ms: *lag_ms, ..change };
            job::remove(tx, lease)?
        }
        EvaluationEnd::Unchanged => job::remove(tx, lease)?,
        EvaluationEnd::Skipped => {
            change.skipped = 1;
            job::remove(tx, lease)?
        }
        EvaluationEnd::Failed(failure) => {
            change.failed = 1;
            job::fail(tx, lease, failure.clone(), now)?
        }
        EvaluationEnd::Postponed(run_at) => job::release(tx, lease, *run_at, now)?,
    };
    // Another worker may have the job, but what was spent here was spent.
    if status == LeaseStatus::Lost {
        change = EvaluatorActivity::default();
    }
    if let Some((reserved, cost)) = spent {
        change.reserved = Money::ZERO - reserved.unwrap_or(Money::ZERO);
        change.cost = cost.unwrap_or(Money::ZERO);
    }
    add(tx, of, &change, now)
}

/// Adds to the sums of the current hour.
fn add(
    tx: &Tx<'_>,
    of: &EvaluatorCall,
    change: &EvaluatorActivity,
    now: Timestamp,
) -> StoreResult<()> {
    let sql = "INSERT INTO evaluator_hour AS h (project, evaluator, version, hour, judged, \
               skipped, failed, calls, unpriced, cost, reserved, lag) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
               ON CONFLICT (project, evaluator, version, hour) DO UPDATE SET \
               judged = h.judged + excluded.judged, skipped = h.skipped + excluded.skipped, \
               failed = h.failed + excluded.failed, calls = h.calls + excluded.calls, \
               unpriced = h.unpriced + excluded.unpriced, cost = h.cost + excluded.cost, \
               reserved = h.reserved + excluded.reserved, lag = h.lag + excluded.lag";
    let values = [
        (&of.project).into(),
        (&of.evaluator).into(),
        of.version.into(),
        hour(now).into(),
        change.judged.into(),
        change.skipped.into(),
        change.failed.into(),
        change.calls.into(),
        change.unpriced.into(),
        change.cost.pico().into(),
        change.reserved.pico().into(),
        change.lag_ms.into(),
    ];
    tx.execute(sql, &values).map(drop)
}

/// What an evaluator has spent and reserved since midnight, UTC.
fn spent_today(tx: &Tx<'_>, of: &EvaluatorCall, now: Timestamp) -> StoreResult<Money> {
    let sql = "SELECT SUM(cost + reserved) FROM evaluator_hour \
               WHERE project = $1 AND evaluator = $2 AND hour >= $3";
    let midnight = hour(now).div_euclid(HOURS_A_DAY) * HOURS_A_DAY;
    let values = [(&of.project).into(), (&of.evaluator).into(), midnight.into()];
    let sum: Option<Option<i64>> = tx.one(sql, &values, |row| row.get(0))?;
    Ok(Money::from_pico(sum.flatten().unwrap_or(0)))
}

const fn hour(at: Timestamp) -> i64 {
    at.nanos().div_euclid(HOUR_NANOS)
}

fn read(row: &Row<'_>) -> StoreResult<EvaluatorActivity> {
    Ok(EvaluatorActivity {
        evaluator: row.get(0)?,
        judged: row.get(1)?,
        skipped: row.get(2)?,
        failed: row.get(3)?,
        calls: row.get(4)?,
        unpriced: row.get(5)?,
        cost: Money::from_pico(row.get(6)?),
        // A reservation and its end may lie in different hours.
        reserved: Money::from_pico(row.get::<i64>(7)?.max(0)),
        lag_ms: row.get(8)?,
    })
}
