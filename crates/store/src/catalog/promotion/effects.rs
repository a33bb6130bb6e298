use ratchet_core::chat::notification::NotificationKind;
use ratchet_core::job::JobKind;
use ratchet_core::message::Message;
use ratchet_core::promotion::state::{Action, Before, Effect, PromotionState};
use ratchet_core::promotion::watch::WatchResult;
use ratchet_core::record::redact::Redactor;
use serde_json::json;

use super::{PRODUCTION, PromotionCall, StoredPromotion, act};
use crate::StoreResult;
use crate::catalog::agent_version::{
    Serving, StoredAgentVersion, VERSIONS, locked_by, serve, serving,
};
use crate::catalog::job::{self, NewJob};
use crate::catalog::notice::{NewNotice, post_to_subscribers};
use crate::catalog::proposal::links::production_moved;
use crate::catalog::sql::Tx;
use crate::catalog::versioned::{PROMPTS, moved};
use crate::catalog::{AuditAction, AuditObject, gate};

/// Attempts of a deployment.
const MAX_ATTEMPTS: u32 = 4;

/// Changes what an action changes besides the promotion.
pub(super) fn carry_out(
    tx: &Tx<'_>,
    call: &PromotionCall,
    (stored, version): (&StoredPromotion, &StoredAgentVersion),
    effects: Vec<Effect>,
) -> StoreResult<()> {
    for effect in effects {
        match effect {
            Effect::Deploy { attempt } => enqueue(tx, call, stored, (attempt, Some(version)))?,
            Effect::GoLive => go_live(tx, call, (stored, version))?,
            Effect::Restore => restore(tx, call, (stored, version))?,
            Effect::DeployBefore { attempt } => deploy_before(tx, call, stored, attempt)?,
            Effect::Notify => notify(tx, call, stored)?,
        }
    }
    Ok(())
}

fn go_live(
    tx: &Tx<'_>,
    call: &PromotionCall,
    (stored, version): (&StoredPromotion, &StoredAgentVersion),
) -> StoreResult<()> {
    let promotion = &stored.promotion;
    for (prompt, number) in &version.version.prompts {
        label(tx, call, prompt, Some(*number))?;
        let moved = (prompt.as_str(), Some(*number), Some(stored.id.as_str()));
        production_moved(tx, &call.project, moved, call.now)?;
    }
    let now_serving = Serving {
        environment: promotion.environment.clone(),
        version: Some(promotion.version.clone()),
        promotion: Some(stored.id.clone()),
        since: call.now,
    };
    serve(tx, (&call.project, &promotion.agent), &now_serving)?;
    if let Some(found) = &promotion.evidence.gate {
        gate::mark_promoted(tx, &call.project, &found.gate, Some(call.now))?;
    }
    let before = promotion.before.as_ref().and_then(|before| before.promotion.clone());
    let Some(earlier) = before.filter(|earlier| *earlier != stored.id) else { return Ok(()) };
    let by_promotion = stored.id.clone();
    let action = Action::Supersede { by_promotion };
    // It has ids only: there is nothing to redact.
    let redacted = Redactor::default().redact(action.clone(), usize::MAX);
    let call = PromotionCall { id: earlier, action, ..call.clone() };
    // One that is not live any more refuses nothing and changes nothing.
    act(tx, &call, redacted).map(drop)
}

fn restore(
    tx: &Tx<'_>,
    call: &PromotionCall,
    (stored, version): (&StoredPromotion, &StoredAgentVersion),
) -> StoreResult<()> {
    let promotion = &stored.promotion;
    let before = promotion.before.clone().unwrap_or_default();
    for (prompt, number) in &before.labels {
        // Another agent has promoted the prompt since: its label is not this one's to move.
        let others = locked_by(tx, &call.project, prompt)?;
        let is_others = others.iter().any(|agent| *agent != promotion.agent);
        let current = PROMPTS.labelled(tx, (&call.project, prompt), PRODUCTION)?;
        if is_others && current != version.version.prompts.get(prompt).copied() {
            continue;
        }
        // A version that was deleted meanwhile cannot come back.
        let known = PROMPTS.versions(tx, (&call.project, prompt))?;
        if number.is_none_or(|number| known.contains(&number)) {
            label(tx, call, prompt, *number)?;
            production_moved(tx, &call.project, (prompt, *number, None), call.now)?;
        }
    }
    let Before { version, promotion: earlier, .. } = before;
    let environment = promotion.environment.clone();
    let now_serving = Serving { environment, version, promotion: earlier, since: call.now };
    serve(tx, (&call.project, &promotion.agent), &now_serving)?;
    if let Some(found) = &promotion.evidence.gate {
        gate::mark_promoted(tx, &call.project, &found.gate, None)?;
    }
    Ok(())
}

/// Moves the label, or removes it where it was not set before.
fn label(tx: &Tx<'_>, call: &PromotionCall, prompt: &str, version: Option<u32>) -> StoreResult<()> {
    let which = (&call.project, prompt);
    let before = PROMPTS.labelled(tx, which, PRODUCTION)?;
    let audited = AuditAction::Labelled.on(AuditObject::Prompt, prompt);
    match version {
        Some(version) => {
            PROMPTS.move_label(tx, which, (PRODUCTION, version), call.now)?;
            tx.audit(&call.project, call.now, &moved(audited, PRODUCTION, before, version))
        }
        None => {
            PROMPTS.remove_label(tx, which, PRODUCTION)?;
            tx.audit(&call.project, call.now, &audited.became("production removed"))
        }
    }
}

fn deploy_before(
    tx: &Tx<'_>,
    call: &PromotionCall,
    stored: &StoredPromotion,
    attempt: u32,
) -> StoreResult<()> {
    let promotion = &stored.promotion;
    let current = serving(tx, (&call.project, &promotion.agent), &promotion.environment)?;
    let before = match &promotion.before {
        Some(before) => before.version.clone(),
        // Rolled back while it was deployed: what serves has not changed.
        None => current.and_then(|serving| serving.version),
    };
    let version = match &before {
        Some(version) => VERSIONS.find(tx, &call.project, version)?,
        None => None,
    };
    enqueue(tx, call, stored, (attempt, version.as_ref()))
}

/// Enqueues a deployment. Deployments of an agent run one at a time, in order. Without a version
/// there is nothing to deploy, because what served before was not recorded.
fn enqueue(
    tx: &Tx<'_>,
    call: &PromotionCall,
    stored: &StoredPromotion,
    (attempt, version): (u32, Option<&StoredAgentVersion>),
) -> StoreResult<()> {
    let Some(version) = version else { return Ok(()) };
    let promotion = &stored.promotion;
    let key = format!("{}-{attempt}", stored.id);
    let payload = json!({
        "idempotencyKey": key,
        "promotion": stored.id,
        "attempt": attempt,
        "agent": promotion.agent,
        "environment": promotion.environment,
        "version": version.id,
        "content": version.version,
        "isRollback": promotion.state != PromotionState::Deploying,
    });
    let new = NewJob {
        kind: JobKind::Deployment,
        id: key,
        group: Some(format!("{}/{}", promotion.agent, promotion.environment)),
        payload: payload.to_string(),
        priority: 0,
        run_at: call.now,
        max_attempts: MAX_ATTEMPTS,
        is_held: false,
    };
    job::enqueue(tx, &call.project, &new, call.now).map(drop)
}

fn notify(tx: &Tx<'_>, call: &PromotionCall, stored: &StoredPromotion) -> StoreResult<()> {
    let promotion = &stored.promotion;
    let kind = NotificationKind::Promotion;
    let state = promotion.state.as_str();
    let path = format!("/project/{}/promotions/{}", call.project, stored.id);
    let url = format!("{}{path}", call.server);
    let title = format!("Promotion of {}: {state}", promotion.agent);
    let watched = promotion.watch.as_ref().map(WatchResult::sentence);
    let outcome = promotion.outcome.as_ref().map(|outcome| outcome.text.clone());
    let text = outcome.or(watched).unwrap_or_else(|| format!("version {}", promotion.version));
    let data = json!({
        "project": call.project.as_str(),
        "title": title,
        "text": text,
        "agent": promotion.agent,
        "version": promotion.version,
        "state": state,
        "path": path,
        "url": url,
    });
    let message = Message {
        event: kind.as_str().to_owned(),
        title,
        text,
        sections: Vec::new(),
        link: Some(url),
        data,
    };
    let id = format!("promotion-{}-{state}-{}", stored.id, call.now.nanos());
    let message = message.payload(call.now).to_string();
    let new = NewNotice { id, kind, session: None, is_minor: false, message };
    post_to_subscribers(tx, &call.project, &new, call.now)
}
