use ratchet_core::money::Money;
use ratchet_core::time::Timestamp;

use super::{ScoringClaim, release};
use crate::StoreResult;
use crate::catalog::Catalog;
use crate::catalog::sql::{Row, Tx};
use crate::project::ProjectId;

/// A judge's paid verdict on one chunk of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaidVerdict {
    /// Hash of the whole prompt and the judge's name.
    pub prompt: String,
    pub session: String,
    pub rubric: String,
    pub judge: String,
    /// The raw answer: a verdict in JSON.
    pub answer: String,
    /// Cost, including failed attempts.
    pub cost: Money,
    /// The part of the cost that is approximate, because the provider did not report usage.
    pub approximate_cost: Money,
    pub created_at: Timestamp,
}

const COLUMNS: &str = "prompt, session, rubric, judge, answer, cost, approximate_cost, created_at";

impl Catalog {
    /// Records the start of a judge call. Returns true if a run that ended without an answer made
    /// the same call: then it may be paid for twice.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn begin_scoring_call(
        &self,
        project: ProjectId,
        (prompt, run): (String, String),
        now: Timestamp,
    ) -> StoreResult<bool> {
        self.transact(move |tx| {
            // A run that has an answer corrected makes the same call again, and paid for both.
            let asked = "SELECT 1 FROM scoring_call \
                         WHERE project = $1 AND prompt = $2 AND run <> $3";
            let values = [(&project).into(), (&prompt).into(), (&run).into()];
            let is_repeated = tx.exists(asked, &values)?;
            tx.execute(
                "INSERT INTO scoring_call (project, prompt, run, started_at) \
                 VALUES ($1, $2, $3, $4) ON CONFLICT (project, prompt) DO UPDATE \
                 SET run = excluded.run, started_at = excluded.started_at",
                &[(&project).into(), (&prompt).into(), (&run).into(), now.into()],
            )?;
            Ok(is_repeated)
        })
        .await
    }

    /// Records that a judge call failed and cost nothing.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn end_scoring_call(&self, project: ProjectId, prompt: String) -> StoreResult<()> {
        self.transact(move |tx| end(tx, &project, &prompt)).await
    }

    /// Saves a verdict, replacing an earlier one for the same prompt.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn save_verdict(&self, project: ProjectId, paid: PaidVerdict) -> StoreResult<()> {
        self.transact(move |tx| {
            let sql = format!(
                "INSERT INTO scoring_verdict ({COLUMNS}, project) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
                 ON CONFLICT (project, prompt) DO UPDATE SET answer = excluded.answer, \
                 cost = excluded.cost, approximate_cost = excluded.approximate_cost, \
                 created_at = excluded.created_at"
            );
            let values = [
                (&paid.prompt).into(),
                (&paid.session).into(),
                (&paid.rubric).into(),
                (&paid.judge).into(),
                (&paid.answer).into(),
                paid.cost.pico().into(),
                paid.approximate_cost.pico().into(),
                paid.created_at.into(),
                (&project).into(),
            ];
            tx.execute(&sql, &values)?;
            end(tx, &project, &paid.prompt)
        })
        .await
    }

    /// Returns the verdict for a prompt, if there is one.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn verdict_of(
        &self,
        project: ProjectId,
        prompt: String,
    ) -> StoreResult<Option<PaidVerdict>> {
        let sql =
            format!("SELECT {COLUMNS} FROM scoring_verdict WHERE project = $1 AND prompt = $2");
        self.transact(move |tx| tx.one(&sql, &[(&project).into(), (&prompt).into()], read)).await
    }

    /// Records that a session is scored: deletes its verdicts, which are stored as scores now, and
    /// releases its lease.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn finish_session(&self, project: ProjectId, claim: ScoringClaim) -> StoreResult<()> {
        self.transact(move |tx| {
            let sql = "DELETE FROM scoring_verdict \
                       WHERE project = $1 AND session = $2 AND rubric = $3";
            let of_session = [(&project).into(), (&claim.session).into(), (&claim.rubric).into()];
            tx.execute(sql, &of_session)?;
            release(tx, &project, &claim)
        })
        .await
    }
}

fn end(tx: &Tx<'_>, project: &ProjectId, prompt: &str) -> StoreResult<()> {
    let sql = "DELETE FROM scoring_call WHERE project = $1 AND prompt = $2";
    tx.execute(sql, &[project.into(), prompt.into()]).map(drop)
}

fn read(row: &Row<'_>) -> StoreResult<PaidVerdict> {
    Ok(PaidVerdict {
        prompt: row.get(0)?,
        session: row.get(1)?,
        rubric: row.get(2)?,
        judge: row.get(3)?,
        answer: row.get(4)?,
        cost: Money::from_pico(row.get(5)?),
        approximate_cost: Money::from_pico(row.get(6)?),
        created_at: row.get(7)?,
    })
}
