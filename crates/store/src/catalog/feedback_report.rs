use ratchet_core::improve::backlog::ProposalContent;
use ratchet_core::improve::report::FeedbackReport;
use ratchet_core::payload::Json;
use ratchet_core::record::redact::{LimitedRedactor, Redact};
use ratchet_core::time::Timestamp;

use super::sql::{Conditions, Row, Tx};
use super::{AuditAction, AuditObject, Catalog, StoredProposal, proposal};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// Maximum number of listed documents: ten agents over two years.
const MAX_REPORTS: u64 = 1_040;
/// A stored weekly document of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredFeedback {
    pub agent: String,
    /// First day of the week.
    pub week: String,
    pub report: FeedbackReport,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// `None` while it is provisional.
    pub published_at: Option<Timestamp>,
}

/// A weekly document to save, of one agent.
#[derive(Clone, Debug, PartialEq)]
pub struct NewFeedback {
    pub agent: String,
    pub report: FeedbackReport,
    /// Found otherwise than by the groups of failures of the report, such as by an agent.
    pub proposals: Vec<ProposalContent>,
}

/// The effect of saving a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedbackEffect {
    Made,
    Changed,
    /// It was the same.
    Same,
    /// The week is published: its document stays as it is, its proposals too.
    Published,
}

/// Result of saving a document.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedFeedback {
    pub effect: FeedbackEffect,
    /// Its proposals as the backlog has them.
    pub proposals: Vec<StoredProposal>,
}

impl Redact for NewFeedback {
    fn redact(self, rules: &LimitedRedactor<'_>) -> Self {
        let (report, proposals) = (self.report.redact(rules), self.proposals.redact(rules));
        Self { report, proposals, ..self }
    }
}

const COLUMNS: &str = "agent, week, document, created_at, updated_at, published_at";

impl Catalog {
    /// Saves an agent's week, redacted by the project's rules, and adds its proposals to the backlog. It
    /// replaces an earlier document until that is published.
    ///
    /// Idempotent.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn save_feedback_report(
        &self,
        project: ProjectId,
        new: NewFeedback,
        now: Timestamp,
    ) -> StoreResult<SavedFeedback> {
        let new = self.redacted(&project, new).await?;
        self.transact(move |tx| {
            let new = new.get();
            let effect = keep(tx, &project, new, now)?;
            if effect == FeedbackEffect::Published {
                return Ok(SavedFeedback { effect, proposals: Vec::new() });
            }
            let found = new.report.proposals.iter().cloned().map(ProposalContent::from);
            let found = found.chain(new.proposals.iter().cloned());
            let proposals = found
                .map(|one| proposal::track(tx, &project, (&one, &new.report.week), now))
                .collect::<StoreResult<_>>()?;
            Ok(SavedFeedback { effect, proposals })
        })
        .await
    }

    /// Publishes an agent's week: from now on its document stays as it is. Idempotent.
    ///
    /// # Errors
    /// Fails if there is no such document.
    pub async fn publish_feedback_report(
        &self,
        project: ProjectId,
        (agent, week): (String, String),
        now: Timestamp,
    ) -> StoreResult<StoredFeedback> {
        self.transact(move |tx| {
            let missing = || StoreError::NotFound(format!("feedback report of {agent} for {week}"));
            let known = find(tx, &project, (&agent, &week))?.ok_or_else(missing)?;
            if known.published_at.is_some() {
                return Ok(known);
            }
            let sql = "UPDATE feedback_report SET published_at = $4 \
                       WHERE project = $1 AND agent = $2 AND week = $3";
            let which = [(&project).into(), (&agent).into(), (&week).into(), now.into()];
            tx.execute(sql, &which)?;
            let object = format!("{agent}/{week}");
            let audited = AuditAction::Changed.on(AuditObject::FeedbackReport, &object);
            tx.audit(&project, now, &audited.became("published"))?;
            Ok(StoredFeedback { published_at: Some(now), ..known })
        })
        .await
    }

    /// Returns an agent's week, if it is stored.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn feedback_report(
        &self,
        project: ProjectId,
        (agent, week): (String, String),
    ) -> StoreResult<Option<StoredFeedback>> {
        self.transact(move |tx| find(tx, &project, (&agent, &week))).await
    }

    /// Returns stored weeks, the newest first, of one agent if it is named.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn feedback_reports(
        &self,
        project: ProjectId,
        agent: Option<String>,
    ) -> StoreResult<Vec<StoredFeedback>> {
        let mut conditions = Conditions::new("project = $1", &project);
        conditions.add("agent = $", agent);
        let sql = format!(
            "SELECT {COLUMNS} FROM feedback_report WHERE {} ORDER BY week DESC, agent LIMIT {MAX_REPORTS}",
            conditions.sql
        );
        self.transact(move |tx| tx.rows(&sql, &conditions.values, read)).await
    }
}

fn find(
    tx: &Tx<'_>,
    project: &ProjectId,
    (agent, week): (&str, &str),
) -> StoreResult<Option<StoredFeedback>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM feedback_report WHERE project = $1 AND agent = $2 AND week = $3"
    );
    tx.one(&sql, &[project.into(), agent.into(), week.into()], read)
}

fn keep(
    tx: &Tx<'_>,
    project: &ProjectId,
    new: &NewFeedback,
    now: Timestamp,
) -> StoreResult<FeedbackEffect> {
    let NewFeedback { agent, report, .. } = new;
    let effect = match find(tx, project, (agent, &report.week))? {
        Some(known) if known.published_at.is_some() => return Ok(FeedbackEffect::Published),
        Some(known) if known.report == *report => return Ok(FeedbackEffect::Same),
        Some(_) => FeedbackEffect::Changed,
        None => FeedbackEffect::Made,
    };
    let document = serde_json::to_value(report).map_err(StoreError::database)?;
    tx.execute(
        "INSERT INTO feedback_report (project, agent, week, document, created_at, updated_at) \
         VALUES ($1, $2, $3, $4, $5, $5) \
         ON CONFLICT (project, agent, week) DO UPDATE SET document = $4, updated_at = $5",
        &[
            project.into(),
            agent.into(),
            (&report.week).into(),
            (&Json::from_value(&document)).into(),
            now.into(),
        ],
    )?;
    Ok(effect)
}

fn read(row: &Row<'_>) -> StoreResult<StoredFeedback> {
    let document: Json = row.get(2)?;
    Ok(StoredFeedback {
        agent: row.get(0)?,
        week: row.get(1)?,
        report: serde_json::from_str(document.as_str()).map_err(StoreError::database)?,
        created_at: row.get(3)?,
        updated_at: row.get(4)?,
        published_at: row.get(5)?,
    })
}
