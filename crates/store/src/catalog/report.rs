use ratchet_core::improve::backlog::ProposalContent;
use ratchet_core::payload::Json;
use ratchet_core::quality::suggestion::Suggestion;
use ratchet_core::record::redact::{LimitedRedactor, Redact, Redacted};
use ratchet_core::time::Timestamp;

use super::sql::{Row, Tx};
use super::{Catalog, StoredSuggestion, proposal};
use crate::StoreResult;
use crate::project::ProjectId;

/// Maximum number of listed reports: twenty years of weeks.
const MAX_REPORTS: u64 = 1_040;

/// A stored weekly report.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredReport {
    /// First day of the week.
    pub week: String,
    /// The report, a JSON object.
    pub document: Json,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A weekly report to save.
#[derive(Clone, Debug, PartialEq)]
pub struct NewReport {
    /// First day of the week.
    pub week: String,
    /// The report, a JSON object.
    pub document: Json,
    pub suggestions: Vec<Suggestion>,
}

/// Keys of a report whose values are ids, or words of ours.
const IDS: [&str; 5] = ["session", "sessions", "key", "week", "last_day"];

impl Redact for NewReport {
    fn redact(self, rules: &LimitedRedactor<'_>) -> Self {
        let clean = |one: Suggestion| {
            let (dimension, text) = (one.dimension.redact(rules), one.text.redact(rules));
            let (title, reason) = (one.title.redact(rules), one.reason.redact(rules));
            // The key is that of the text as it was, so that the same suggestion has it every week.
            Suggestion { dimension, title, text, reason, ..one }
        };
        let suggestions: Vec<_> = self.suggestions.into_iter().map(clean).collect();
        let document = serde_json::from_str(self.document.as_str()).unwrap_or_default();
        let mut document = rules.texts(document, &IDS);
        if let Some(listed) = document.get_mut("suggestions") {
            *listed = serde_json::to_value(&suggestions).unwrap_or_default();
        }
        Self { week: self.week, document: Json::from_value(&document), suggestions }
    }
}

/// Result of saving a report.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedReport {
    pub effect: ReportEffect,
    /// The tracked suggestions, in the order of the report.
    pub suggestions: Vec<StoredSuggestion>,
}

/// The effect of saving a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportEffect {
    /// The week had no report.
    Made,
    Changed,
    /// The week had the same report.
    Same,
}

impl Catalog {
    /// Saves the report of a week, redacted by the project's rules, and its suggestions. It replaces an
    /// earlier one.
    ///
    /// Idempotent. A suggestion that was made before keeps its status, whatever it is.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn save_report(
        &self,
        project: ProjectId,
        new: NewReport,
        now: Timestamp,
    ) -> StoreResult<SavedReport> {
        let new = self.redacted(&project, new).await?;
        self.transact(move |tx| {
            let effect = keep(tx, &project, &new, now)?;
            let new = new.get();
            let week = new.week.as_str();
            let found = new.suggestions.iter().map(ProposalContent::from);
            let tracked = found
                .map(|one| proposal::track(tx, &project, (&one, week), now))
                .collect::<StoreResult<Vec<_>>>()?;
            let suggestions = tracked.into_iter().filter_map(proposal::as_suggestion).collect();
            Ok(SavedReport { effect, suggestions })
        })
        .await
    }

    /// Returns the report of a week, if there is one.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn report(
        &self,
        project: ProjectId,
        week: String,
    ) -> StoreResult<Option<StoredReport>> {
        self.transact(move |tx| find(tx, &project, &week)).await
    }

    /// Returns the reports of a project, newest week first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn reports(&self, project: ProjectId) -> StoreResult<Vec<StoredReport>> {
        let sql =
            format!("SELECT {COLUMNS} FROM report WHERE project = $1 ORDER BY week DESC LIMIT $2");
        self.transact(move |tx| tx.rows(&sql, &[(&project).into(), MAX_REPORTS.into()], read)).await
    }
}

const COLUMNS: &str = "week, document, created_at, updated_at";

fn find(tx: &Tx<'_>, project: &ProjectId, week: &str) -> StoreResult<Option<StoredReport>> {
    let sql = format!("SELECT {COLUMNS} FROM report WHERE project = $1 AND week = $2");
    tx.one(&sql, &[project.into(), week.into()], read)
}

fn keep(
    tx: &Tx<'_>,
    project: &ProjectId,
    new: &Redacted<NewReport>,
    now: Timestamp,
) -> StoreResult<ReportEffect> {
    let new = new.get();
    let effect = match find(tx, project, &new.week)? {
        Some(known) if known.document == new.document => return Ok(ReportEffect::Same),
        Some(_) => ReportEffect::Changed,
        None => ReportEffect::Made,
    };
    tx.execute(
        "INSERT INTO report (project, week, document, created_at, updated_at) \
         VALUES ($1, $2, $3, $4, $4) \
         ON CONFLICT (project, week) DO UPDATE SET document = $3, updated_at = $4",
        &[project.into(), (&new.week).into(), (&new.document).into(), now.into()],
    )?;
    Ok(effect)
}

fn read(row: &Row<'_>) -> StoreResult<StoredReport> {
    Ok(StoredReport {
        week: row.get(0)?,
        document: row.get(1)?,
        created_at: row.get(2)?,
        updated_at: row.get(3)?,
    })
}
