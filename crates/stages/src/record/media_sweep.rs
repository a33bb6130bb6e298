//! Deletes media files that no record refers to.

use std::collections::BTreeSet;

use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::TraceReference;
use ratchet_store::project::ProjectId;
use ratchet_store::{Store, StoreResult};

/// Grace period of media after their last known reference: they arrive before, with and
/// after what refers to them, and clients hold what they could not send.
pub const GRACE_NANOS: i64 = 24 * 3_600 * 1_000_000_000;

/// Removes media whose traces, observations and dataset items are deleted; returns the number of files.
///
/// Stopping half-way is harmless: the next sweep goes on.
///
/// # Errors
/// Stops at the first error.
pub async fn delete_unreferenced(store: &Store, now: Timestamp) -> StoreResult<u64> {
    let before = now.plus_nanos(-GRACE_NANOS);
    let mut seen = None;
    loop {
        let references = store.catalog.trace_references(seen.take(), before).await?;
        let Some(last) = references.last().cloned() else { break };
        let gone = without_owner(store, references).await?;
        store.catalog.delete_trace_media_refs(gone, before).await?;
        seen = Some(last);
    }
    store.catalog.delete_item_media_refs(before).await?;
    while store.catalog.delete_unreferenced_media().await? > 0 {}
    store.delete_orphan_media_files().await
}

/// Those references whose trace is gone, and whose observation is in no other trace.
async fn without_owner(
    store: &Store,
    references: Vec<TraceReference>,
) -> StoreResult<Vec<TraceReference>> {
    let mut gone = Vec::new();
    // They are sorted by project.
    for of_project in references.chunk_by(|one, next| one.project == next.project) {
        let Some(project) = of_project.first().map(|one| one.project.clone()) else { continue };
        let ids = of_project.iter().filter_map(|one| TraceId::parse(&one.trace).ok()).collect();
        let there = store.telemetry.find_traces(project.clone(), ids).await?;
        let there: BTreeSet<String> = there.iter().map(|trace| trace.id.to_string()).collect();
        for one in of_project.iter().filter(|one| !there.contains(&one.trace)) {
            if !is_elsewhere(store, &project, &one.observation).await? {
                gone.push(one.clone());
            }
        }
    }
    Ok(gone)
}

/// Whether an observation is in another trace: it may have come before its trace was known.
async fn is_elsewhere(store: &Store, project: &ProjectId, observation: &str) -> StoreResult<bool> {
    let Ok(id) = ObservationId::parse(observation) else { return Ok(false) };
    Ok(store.telemetry.observation(project.clone(), id).await?.is_some())
}
