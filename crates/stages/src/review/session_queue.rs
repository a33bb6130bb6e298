//! Queues of sessions that people label by a rubric: the weekly sample, and sessions that a person
//! chose.

use ratchet_core::catalog::annotation::{ItemKind, ItemStatus};
use ratchet_core::catalog::review::ReviewSettings;
use ratchet_core::id::SessionId;
use ratchet_core::judge::rubric::{self, Rubric};
use ratchet_core::time::Timestamp;
use ratchet_store::StoreResult;
use ratchet_store::catalog::{NewQueue, NewQueueItem, QueueId, QueueItem};
use ratchet_store::query::PageNumber;

use crate::sink::LocalSink;

/// Pending items that are read at once.
const PAGE: u64 = 100;

/// Returns the name of the queue: that of the dataset its labels go into, and of the rubric where it
/// is not the default one.
pub fn name(dataset: &str, rubric: &str) -> String {
    match rubric {
        rubric::DEFAULT => dataset.to_owned(),
        rubric => format!("{dataset}-{rubric}"),
    }
}

/// Returns the queue of a dataset and a rubric, creating it if there is none.
///
/// # Errors
/// Fails if a redaction rule matches its name.
pub async fn ensure(
    local: &LocalSink,
    (dataset, rubric): (&str, &Rubric),
    now: Timestamp,
) -> StoreResult<QueueId> {
    let name = name(dataset, &rubric.name);
    let project = local.project.clone();
    if let Some(known) = local.catalog.queue_named(project.clone(), name.clone()).await? {
        return Ok(QueueId { project, queue: known.id });
    }
    let new = NewQueue {
        name,
        description: Some("Sessions to label by a rubric, a sample every week".to_owned()),
        score_configs: Vec::new(),
    };
    let queue = local.catalog.create_queue(project.clone(), new, now).await?.id;
    let of = QueueId { project, queue };
    let settings = ReviewSettings {
        rubric: rubric.name.clone(),
        dataset: dataset.to_owned(),
        ..ReviewSettings::default()
    };
    local.catalog.set_review_settings(of.clone(), settings, now).await?;
    Ok(of)
}

fn item(session: &SessionId) -> NewQueueItem {
    let (kind, object) = (ItemKind::Session, session.to_string());
    NewQueueItem { kind, object, status: ItemStatus::Pending }
}

/// Adds sessions to a queue that are not there yet. One that was labelled stays done.
///
/// # Errors
/// Fails if there is no such queue.
pub async fn fill(
    local: &LocalSink,
    queue: &QueueId,
    sessions: impl IntoIterator<Item = SessionId>,
    now: Timestamp,
) -> StoreResult<()> {
    let items = sessions.into_iter().map(|session| item(&session)).collect();
    local.catalog.ensure_queue_items(queue.clone(), items, now).await
}

/// Adds a session that a person chose, also one that was labelled before.
///
/// # Errors
/// Fails if there is no such queue.
pub async fn choose(
    local: &LocalSink,
    queue: &QueueId,
    session: &SessionId,
    now: Timestamp,
) -> StoreResult<QueueItem> {
    local.catalog.add_queue_item(queue.clone(), item(session), now).await
}

/// Completes the items of sessions that were labelled elsewhere, such as in a file.
///
/// # Errors
/// Fails only when the database does.
pub async fn complete(
    local: &LocalSink,
    (dataset, rubric): (&str, &Rubric),
    sessions: impl IntoIterator<Item = SessionId>,
    now: Timestamp,
) -> StoreResult<()> {
    let name = name(dataset, &rubric.name);
    let Some(queue) = local.catalog.queue_named(local.project.clone(), name).await? else {
        return Ok(());
    };
    let of = QueueId { project: local.project.clone(), queue: queue.id };
    let sessions = sessions.into_iter().map(|session| session.to_string()).collect();
    local.catalog.complete_queue_items(of, (ItemKind::Session, sessions), now).await
}

/// Returns the sessions that wait in a queue, oldest first.
///
/// # Errors
/// Fails if there is no such queue.
pub async fn waiting(local: &LocalSink, queue: &QueueId) -> StoreResult<Vec<QueueItem>> {
    let mut found = Vec::new();
    for page in 1.. {
        let at = PageNumber { page, limit: PAGE };
        let items = local.catalog.queue_items(queue.clone(), Some(ItemStatus::Pending), at).await?;
        let is_last = (items.rows.len() as u64) < PAGE;
        found.extend(items.rows);
        if is_last {
            break;
        }
    }
    found.retain(|item| item.kind == ItemKind::Session);
    found.reverse();
    Ok(found)
}
