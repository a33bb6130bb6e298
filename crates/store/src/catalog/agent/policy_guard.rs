use ratchet_core::promotion::policy::Responsible;

use super::{Agent, AgentSettings};
use crate::catalog::administration::role_in;
use crate::catalog::promotion::signer;
use crate::catalog::sql::Tx;
use crate::catalog::{Actor, Role};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// Fails if the change would let somebody past the promotion policy of an agent: where promotion is
/// required, its policy and its owner are changed only by an owner of the project or by an approver.
/// Without new settings the agent is to be deleted.
pub(super) fn must_be_approver(
    tx: &Tx<'_>,
    project: &ProjectId,
    agent: &Agent,
    next: Option<&AgentSettings>,
) -> StoreResult<()> {
    let now = &agent.settings;
    let is_same =
        next.is_some_and(|next| (&next.promotion, &next.owner) == (&now.promotion, &now.owner));
    if !now.promotion.is_required || is_same || is_owner(tx, project)? {
        return Ok(());
    }
    let responsible = Responsible { owner: now.owner.clone(), policy: now.promotion.clone() };
    if responsible.names(&signer(tx.actor())) {
        return Ok(());
    }
    Err(StoreError::Denied(format!(
        "agent {}: promotion is required, so that only an owner of the project or one of its \
         approvers may change its policy or its owner, or delete it",
        agent.name
    )))
}

/// Whether the caller owns the project, by membership or by the role of the key.
fn is_owner(tx: &Tx<'_>, project: &ProjectId) -> StoreResult<bool> {
    let role: Option<Role> = match tx.actor() {
        Actor::Anyone | Actor::CommandLine | Actor::Server => Some(Role::Owner),
        Actor::Key { id, .. } => {
            let sql = "SELECT role FROM api_key WHERE project = $1 AND id = $2";
            tx.one(sql, &[project.into(), id.into()], |row| row.get(0))?
        }
        Actor::Person { id, .. } => {
            let sql = "SELECT role FROM person WHERE id = $1";
            let on_server: Option<Role> = tx.one(sql, &[id.into()], |row| row.get(0))?;
            match on_server {
                Some(Role::Owner) => on_server,
                _ => role_in(tx, project, id)?,
            }
        }
    };
    Ok(role == Some(Role::Owner))
}
