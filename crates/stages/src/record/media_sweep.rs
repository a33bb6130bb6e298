//! Deletes media files that no record refers to.

use std::collections::BTreeSet;

use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::TraceUse;
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
/// Stops at the first step that fails.
pub async fn delete_unreferenced(store: &Store, now: Timestamp) -> StoreResult<u64> {
    let before = now.plus_nanos(-GRACE_NANOS);
    let mut seen = None;
    loop {
        let uses = store.catalog.trace_uses(seen.take(), before).await?;
        let Some(last) = uses.last().cloned() else { break };
        let gone = without_owner(store, uses).await?;
        store.catalog.delete_trace_media_refs(gone, before).await?;
        seen = Some(last);
    }
    store.catalog.delete_item_media_refs(before).await?;
    while store.catalog.delete_unreferenced_media().await? > 0 {}
    store.delete_orphan_media_files().await
}

/// Those of some uses whose trace is gone, and whose step is nowhere else.
async fn without_owner(store: &Store, uses: Vec<TraceUse>) -> StoreResult<Vec<TraceUse>> {
    let mut gone = Vec::new();
    // They are sorted by project.
    for of_project in uses.chunk_by(|one, next| one.project == next.project) {
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

/// Whether a step is there under another trace: it may have come before it was known where it
/// belongs.
async fn is_elsewhere(store: &Store, project: &ProjectId, step: &str) -> StoreResult<bool> {
    let Ok(id) = ObservationId::parse(step) else { return Ok(false) };
    Ok(store.telemetry.observation(project.clone(), id).await?.is_some())
}
