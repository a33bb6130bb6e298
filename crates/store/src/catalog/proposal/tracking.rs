use ratchet_core::improve::backlog::{
    ProposalContent, ProposalSource, ProposalState, ProposalStatus,
};
use ratchet_core::time::Timestamp;

use super::{COLUMNS, StoredProposal, json, read, update, with_steps};
use crate::StoreResult;
use crate::catalog::sql::Tx;
use crate::catalog::{AuditAction, AuditObject};
use crate::project::ProjectId;

/// Adds what was found in a week, or renews what is there.
pub(in crate::catalog) fn track(
    tx: &Tx<'_>,
    project: &ProjectId,
    (found, week): (&ProposalContent, &str),
    now: Timestamp,
) -> StoreResult<StoredProposal> {
    let newest = format!(
        "SELECT {COLUMNS} FROM proposal WHERE project = $1 AND proposal_key = $2 \
         ORDER BY last_week DESC, created_at DESC, id DESC LIMIT 1"
    );
    let known = tx.one(&newest, &[project.into(), (&found.key).into()], read)?;
    let Some(mut known) = known else {
        // Those of quality reports have ids with their first week, as their pages always had.
        let id = match found.source {
            ProposalSource::WeeklyReport => format!("{}-{week}", found.key),
            _ => found.key.clone(),
        };
        return insert(tx, project, (id, found), (week, now));
    };
    if is_back(tx, project, (&known, found, week))? {
        let sql = "SELECT COUNT(*) FROM proposal WHERE project = $1 AND proposal_key = $2";
        let count: Option<u64> =
            tx.one(sql, &[project.into(), (&found.key).into()], |row| row.get(0))?;
        let id = format!("{}-{}", found.key, count.unwrap_or_default() + 1);
        return insert(tx, project, (id, found), (week, now));
    }
    if week >= known.last_week.as_str() {
        let content = renewed(&known, found);
        if known.last_week != week || known.content != content {
            (known.content, known.last_week) = (content, week.to_owned());
            known.updated_at = now;
            update(tx, project, &known)?;
        }
    }
    with_steps(tx, project, known)
}

/// Whether failures that a promoted change was to end are there in a week that began after it.
fn is_back(
    tx: &Tx<'_>,
    project: &ProjectId,
    (known, found, week): (&StoredProposal, &ProposalContent, &str),
) -> StoreResult<bool> {
    let is_over = known.status.state == ProposalState::Promoted
        && found.source != ProposalSource::WeeklyReport;
    if !is_over {
        return Ok(false);
    }
    let sql =
        "SELECT MAX(at) FROM proposal_step WHERE project = $1 AND proposal = $2 AND state = $3";
    let promoted = ProposalState::Promoted.as_str();
    let values = [project.into(), (&known.id).into(), promoted.into()];
    let at: Option<Option<Timestamp>> = tx.one(sql, &values, |row| row.get(0))?;
    let day: String = at.flatten().unwrap_or_default().to_string().chars().take(10).collect();
    Ok(week > day.as_str())
}

/// What a later week knows. What somebody decided on stays as that person saw it.
fn renewed(known: &StoredProposal, found: &ProposalContent) -> ProposalContent {
    if !known.status.state.is_acted_on() {
        return found.clone();
    }
    let decided = known.content.clone();
    if known.status.state == ProposalState::Promoted {
        return decided;
    }
    ProposalContent {
        evidence: found.evidence.clone(),
        sessions: found.sessions.clone(),
        failures: found.failures,
        affected: found.affected.clone(),
        impact: found.impact,
        priority: found.priority,
        trend: found.trend,
        ..decided
    }
}

fn insert(
    tx: &Tx<'_>,
    project: &ProjectId,
    (id, content): (String, &ProposalContent),
    (week, now): (&str, Timestamp),
) -> StoreResult<StoredProposal> {
    let stored = StoredProposal {
        id,
        content: content.clone(),
        status: ProposalStatus::default(),
        first_week: week.to_owned(),
        last_week: week.to_owned(),
        steps: Vec::new(),
        created_at: now,
        updated_at: now,
    };
    tx.execute(
        "INSERT INTO proposal (project, id, proposal_key, source, agent, component, state, priority, \
         content, status, first_week, last_week, created_at, updated_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, $12, $12)",
        &[
            project.into(),
            (&stored.id).into(),
            (&content.key).into(),
            content.source.as_str().into(),
            content.agent.as_deref().unwrap_or_default().into(),
            content.component.as_str().into(),
            stored.status.state.as_str().into(),
            content.priority.into(),
            (&json(content)?).into(),
            (&json(&stored.status)?).into(),
            week.into(),
            now.into(),
        ],
    )?;
    let audited = AuditAction::Made.on(AuditObject::Proposal, &stored.id);
    tx.audit(project, now, &audited.named(&content.title))?;
    Ok(stored)
}
