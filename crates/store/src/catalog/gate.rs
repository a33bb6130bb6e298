use ratchet_core::gate::decision::Verdict;
use ratchet_core::improve::backlog::GateLink;
use ratchet_core::payload::Json;
use ratchet_core::time::Timestamp;
use uuid::Uuid;

use super::project_table::ProjectTable;
use super::proposal::links::gate_decided;
use super::sql::{FromColumn, Listing, Row, Tx, Value};
use super::{AuditAction, AuditObject, Catalog};
use crate::StoreResult;
use crate::project::ProjectId;
use crate::query::{Page, PageNumber};

/// A decision to store.
#[derive(Clone, Debug, PartialEq)]
pub struct NewGate {
    /// Id of the dataset.
    pub dataset: String,
    /// Id of the run.
    pub run: String,
    pub verdict: Verdict,
    pub accuracy: f64,
    /// The whole report, a JSON object.
    pub report: Json,
    /// Prompt versions that the run had: proposals that are tried with them move along.
    pub prompts: Vec<(String, u32)>,
}

/// A stored decision.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredGate {
    pub id: String,
    /// Id of the dataset.
    pub dataset: String,
    /// Id of the run.
    pub run: String,
    pub verdict: Verdict,
    pub accuracy: f64,
    /// The whole report, a JSON object.
    pub report: Json,
    pub created_at: Timestamp,
    /// When the run became what users get.
    pub promoted_at: Option<Timestamp>,
}

/// A filter for decisions. `None` matches any.
#[derive(Clone, Debug)]
pub struct GateQuery {
    pub project: ProjectId,
    /// Id of the dataset.
    pub dataset: Option<String>,
    /// Id of the run.
    pub run: Option<String>,
    pub page: PageNumber,
}

/// Promoted runs that are listed.
const MAX_PROMOTED: u64 = 1_000;

const COLUMNS: &str = "id, dataset, run, verdict, accuracy, report, created_at, promoted_at";
pub(super) const GATES: ProjectTable<StoredGate> =
    ProjectTable::new(("gate", "gate"), COLUMNS, read);

impl FromColumn for Verdict {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?)
    }
}

impl Catalog {
    /// Stores a decision.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn save_gate(
        &self,
        project: ProjectId,
        new: NewGate,
        now: Timestamp,
    ) -> StoreResult<StoredGate> {
        let prompts = new.prompts;
        let stored = StoredGate {
            id: Uuid::new_v4().to_string(),
            dataset: new.dataset,
            run: new.run,
            verdict: new.verdict,
            accuracy: new.accuracy,
            report: new.report,
            created_at: now,
            promoted_at: None,
        };
        self.transact(move |tx| {
            tx.execute(
                "INSERT INTO gate (project, id, dataset, run, verdict, accuracy, report, \
                 created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                &[
                    (&project).into(),
                    (&stored.id).into(),
                    (&stored.dataset).into(),
                    (&stored.run).into(),
                    stored.verdict.as_str().into(),
                    stored.accuracy.into(),
                    (&stored.report).into(),
                    now.into(),
                ],
            )?;
            let audited = AuditAction::Made.on(AuditObject::Gate, &stored.id);
            tx.audit(&project, now, &audited.became(stored.verdict.as_str()))?;
            let link = GateLink {
                gate: stored.id.clone(),
                dataset: stored.dataset.clone(),
                run: stored.run.clone(),
                verdict: stored.verdict,
            };
            gate_decided(tx, &project, (&prompts, &link), now)?;
            Ok(stored)
        })
        .await
    }

    /// Returns a decision.
    ///
    /// # Errors
    /// Fails if the project has no such decision.
    pub async fn gate(&self, project: ProjectId, id: String) -> StoreResult<StoredGate> {
        self.transact(move |tx| GATES.require(tx, &project, &id)).await
    }

    /// Returns decisions, newest first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn gates(&self, query: GateQuery) -> StoreResult<Page<StoredGate>> {
        let mut from = "FROM gate WHERE project = $1".to_owned();
        let mut values: Vec<Value> = vec![(&query.project).into()];
        for (column, value) in [("dataset", query.dataset), ("run", query.run)] {
            if let Some(value) = value {
                values.push(value.into());
                from += &format!(" AND {column} = ${}", values.len());
            }
        }
        self.transact(move |tx| {
            let listing = Listing { columns: COLUMNS, from: &from, order: "created_at DESC, id" };
            tx.page(listing, &values, query.page, read)
        })
        .await
    }

    /// Returns the decision on the run that users get: the newest promoted, before the first
    /// promotion the newest passed, other than that on the run `candidate`.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn production_gate(
        &self,
        project: ProjectId,
        dataset: String,
        candidate: Option<String>,
    ) -> StoreResult<Option<StoredGate>> {
        if let Some(newest) =
            self.promoted_gates(project.clone(), dataset.clone()).await?.into_iter().next()
        {
            return Ok(Some(newest));
        }
        let sql = format!(
            "SELECT {COLUMNS} FROM gate WHERE project = $1 AND dataset = $2 AND verdict = 'pass' \
             AND run <> $3 ORDER BY created_at DESC, id LIMIT 1"
        );
        let other = candidate.unwrap_or_default();
        self.transact(move |tx| {
            tx.one(&sql, &[(&project).into(), dataset.into(), other.into()], read)
        })
        .await
    }

    /// Returns the decisions on promoted runs of a dataset, newest first. Runs that were rolled back
    /// are not among them.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn promoted_gates(
        &self,
        project: ProjectId,
        dataset: String,
    ) -> StoreResult<Vec<StoredGate>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM gate WHERE project = $1 AND dataset = $2 \
             AND promoted_at IS NOT NULL ORDER BY promoted_at DESC, id LIMIT {MAX_PROMOTED}"
        );
        self.transact(move |tx| tx.rows(&sql, &[(&project).into(), dataset.into()], read)).await
    }

    /// Returns the decision on the promoted run with the highest accuracy.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn best_promoted_gate(
        &self,
        project: ProjectId,
        dataset: String,
    ) -> StoreResult<Option<StoredGate>> {
        let promoted = self.promoted_gates(project, dataset).await?;
        // The newest of equal ones.
        Ok(promoted.into_iter().rev().max_by(|one, other| one.accuracy.total_cmp(&other.accuracy)))
    }
}

/// Notes when the run of a decision became what users get, or that it is not any more.
pub(super) fn mark_promoted(
    tx: &Tx<'_>,
    project: &ProjectId,
    id: &str,
    at: Option<Timestamp>,
) -> StoreResult<()> {
    let sql = "UPDATE gate SET promoted_at = $3 WHERE project = $1 AND id = $2";
    tx.execute(sql, &[project.into(), id.into(), at.into()]).map(drop)
}

/// Notes that a run is evidence for an agent version. Returns the version that it is evidence for
/// already, if that is another one.
pub(super) fn claim_run(
    tx: &Tx<'_>,
    project: &ProjectId,
    (run, version): (&str, &str),
) -> StoreResult<Option<String>> {
    let sql = "SELECT version FROM run_version WHERE project = $1 AND run = $2";
    let known: Option<String> = tx.one(sql, &[project.into(), run.into()], |row| row.get(0))?;
    if known.is_none() {
        let sql = "INSERT INTO run_version (project, run, version) VALUES ($1, $2, $3)";
        tx.execute(sql, &[project.into(), run.into(), version.into()])?;
    }
    Ok(known.filter(|known| known != version))
}

fn read(row: &Row<'_>) -> StoreResult<StoredGate> {
    Ok(StoredGate {
        id: row.get(0)?,
        dataset: row.get(1)?,
        run: row.get(2)?,
        verdict: row.get(3)?,
        accuracy: row.get(4)?,
        report: row.get(5)?,
        created_at: row.get(6)?,
        promoted_at: row.get(7)?,
    })
}
