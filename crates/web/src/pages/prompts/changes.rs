//! Change history of a prompt, and when.

use maud::{Markup, html};
use ratchet_core::record::limit::elide;
use ratchet_store::catalog::{Actor, AuditAction, AuditEntry, AuditObject, AuditQuery};

use crate::components::{badge, figure};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

/// Changes that are shown; the audit log has them all.
const CHANGES: u64 = 50;
/// Bytes of a name that are shown.
const NAME: usize = 80;

/// The newest changes of a prompt.
pub(super) async fn changes(web: &Web, ctx: &RequestContext, name: &str) -> PageResult<Markup> {
    let query = AuditQuery::about(ctx.project_id(), AuditObject::Prompt, name.to_owned(), CHANGES);
    let found = web.store.catalog.audit(query).await?;
    Ok(html! {
        h2 { "Change history" }
        @if found.rows.is_empty() {
            p.muted { "No changes recorded: this prompt is older than the audit log." }
        } @else {
            ol.changes {
                @for entry in &found.rows {
                    li {
                        (by(&entry.actor)) " " (action(entry)) " "
                        span.muted { (figure::ago(entry.at, &ctx.time)) }
                    }
                }
            }
            @if found.cursor.is_some() {
                p.muted { "Newest " (CHANGES) " changes; see Settings → Audit log for all." }
            }
        }
    })
}

/// The actor; people are highlighted.
fn by(actor: &Actor) -> Markup {
    html! {
        @match actor {
            Actor::Person { .. } => { strong.human { bdi { (elide(actor.name(), NAME)) } } },
            Actor::Key { .. } => { "key " code { (elide(actor.name(), NAME)) } },
            Actor::Anyone | Actor::CommandLine | Actor::Server => { strong { (actor.name()) } },
        }
    }
}

/// Description of a change.
fn action(entry: &AuditEntry) -> Markup {
    let label = entry.became.as_deref().and_then(|became| became.rsplit_once(" at "));
    let before = entry.was.as_deref().and_then(|was| was.rsplit_once(" at "));
    html! {
        @match (entry.verb, label, before) {
            (AuditAction::Labelled, Some((label, to)), Some((_, from))) if from != to => {
                "moved " (badge::tag(label)) " from " strong { (from) } " to " strong { (to) }
            },
            (AuditAction::Labelled, Some((label, to)), Some(_)) => {
                "set " (badge::tag(label)) " to " strong { (to) } " again"
            },
            (AuditAction::Labelled, Some((label, to)), None) => {
                "set " (badge::tag(label)) " to " strong { (to) }
            },
            (AuditAction::Labelled, None, Some((label, from))) => {
                "removed " (badge::tag(label)) " from " strong { (from) }
            },
            (AuditAction::Made, _, _) => { "created " bdi { (shown(entry.became.as_deref())) } },
            (AuditAction::Deleted, _, _) => { "deleted " bdi { (shown(entry.was.as_deref())) } },
            (verb, _, _) => {
                (verb.as_str()) " it"
                @if let Some(was) = &entry.was { " from " bdi { (shown(Some(was))) } }
                @if let Some(became) = &entry.became { " to " bdi { (shown(Some(became))) } }
            },
        }
    }
}

fn shown(text: Option<&str>) -> String {
    elide(text.unwrap_or("it"), 200).into_owned()
}
