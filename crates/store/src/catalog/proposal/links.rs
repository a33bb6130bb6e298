use ratchet_core::improve::backlog::{GateLink, ProposalAction};
use ratchet_core::record::redact::{Redacted, Redactor};
use ratchet_core::time::Timestamp;

use super::{COLUMNS, act, read};
use crate::StoreResult;
use crate::catalog::sql::Tx;
use crate::project::ProjectId;

/// An action that has ids only: there is nothing to redact.
pub(super) fn of_ids(action: ProposalAction) -> Redacted<ProposalAction> {
    Redactor::default().redact(action, usize::MAX)
}

/// Notes a gate's decision on proposals whose prompt version the run had.
pub(in crate::catalog) fn gate_decided(
    tx: &Tx<'_>,
    project: &ProjectId,
    (prompts, link): (&[(String, u32)], &GateLink),
    now: Timestamp,
) -> StoreResult<()> {
    for (name, version) in prompts {
        let (condition, value) = ("prompt_version = $3", *version);
        let action = || ProposalAction::Gate(link.clone());
        apply(tx, project, (name, condition, value), action, now)?;
    }
    Ok(())
}

/// Notes that the label `production` of a prompt moved, or was removed: proposals of the version are
/// promoted, those of later versions are not any more.
pub(in crate::catalog) fn production_moved(
    tx: &Tx<'_>,
    project: &ProjectId,
    (prompt, version, promotion): (&str, Option<u32>, Option<&str>),
    now: Timestamp,
) -> StoreResult<()> {
    let later = (prompt, "prompt_version > $3", version.unwrap_or_default());
    apply(tx, project, later, || ProposalAction::RolledBack, now)?;
    let Some(version) = version else { return Ok(()) };
    let promoted = || ProposalAction::Promoted { promotion: promotion.map(str::to_owned) };
    apply(tx, project, (prompt, "prompt_version = $3", version), promoted, now)
}

fn apply(
    tx: &Tx<'_>,
    project: &ProjectId,
    (prompt, condition, version): (&str, &str, u32),
    action: impl Fn() -> ProposalAction,
    now: Timestamp,
) -> StoreResult<()> {
    let sql = format!(
        "SELECT {COLUMNS} FROM proposal WHERE project = $1 AND prompt = $2 AND {condition}"
    );
    for stored in tx.rows(&sql, &[project.into(), prompt.into(), version.into()], read)? {
        // A proposal that has moved on refuses nothing and changes nothing.
        drop(act(tx, project, (stored, of_ids(action())), now)?);
    }
    Ok(())
}
