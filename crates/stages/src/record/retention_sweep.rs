//! The retention sweep: deletes expired records, records of deleted projects, and unreferenced
//! media, in slices, while recording goes on.

use ratchet_core::time::Timestamp;
use ratchet_store::catalog::Catalog;
use ratchet_store::project::ProjectId;
use ratchet_store::{Store, StoreError, StoreResult};

use super::clock::{self, ClockHold};
use super::{media_sweep, retention};

/// How long a deleted project is remembered: longer than any request takes.
const REMEMBERED_NANOS: i64 = 24 * 3_600 * 1_000_000_000;

/// Numbers of deleted records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Traces that were older than their projects keep.
    pub traces: u64,
    /// Records of projects that were deleted.
    pub abandoned: u64,
    /// Public scores whose trace or session has not come.
    pub scores: u64,
    /// Files of media that nothing refers to.
    pub media: u64,
    /// Why nothing was taken away by its age.
    pub held: Option<ClockHold>,
}

/// Deletes records of deleted projects, records past their retention, public scores whose target
/// never came, and unreferenced media. Nothing is deleted by its age while the clock is not trusted.
///
/// Stopping half-way is harmless: the next sweep goes on.
///
/// # Errors
/// Stops at the first step that fails. When too much waits to be written, it only ends early:
/// recording comes first.
pub async fn sweep(store: &Store, now: Timestamp) -> StoreResult<SweepReport> {
    let mut swept = SweepReport::default();
    match delete_into(&mut swept, store, now).await {
        Ok(()) | Err(StoreError::QueueFull) => Ok(swept),
        Err(error) => Err(error),
    }
}

async fn delete_into(swept: &mut SweepReport, store: &Store, now: Timestamp) -> StoreResult<()> {
    abandon_deleted(store, now).await?;
    loop {
        match store.telemetry.delete_abandoned().await? {
            0 => break,
            records => swept.abandoned = swept.abandoned.saturating_add(records),
        }
    }
    swept.held = clock::check(store, now).await?;
    if swept.held.is_some() {
        return Ok(());
    }
    for (project, oldest) in retention::oldest_kept(store, now).await? {
        loop {
            match store.telemetry.delete_before(project.clone(), oldest).await? {
                0 => break,
                traces => swept.traces = swept.traces.saturating_add(traces),
            }
        }
    }
    loop {
        match store.telemetry.delete_waiting_scores(now).await? {
            0 => break,
            scores => swept.scores = swept.scores.saturating_add(scores),
        }
    }
    swept.media = media_sweep::delete_unreferenced(store, now).await?;
    Ok(())
}

/// Deletes a project. Its records are unreachable at once, and are deleted in slices by
/// the next sweeps, so that other writes are not blocked; a restarted server resumes.
///
/// # Errors
/// Fails if there is no such project.
pub async fn delete_project(
    store: &Store,
    by: &Catalog,
    project: ProjectId,
    now: Timestamp,
) -> StoreResult<()> {
    by.delete_project(project.clone(), now).await?;
    store.telemetry.abandon(project).await
}

/// Abandons what was recorded for projects after they were deleted: a crash may have come between
/// the two steps, or a request that was under way finished afterwards.
async fn abandon_deleted(store: &Store, now: Timestamp) -> StoreResult<()> {
    for (project, _) in store.catalog.deleted_projects().await? {
        store.telemetry.abandon(project).await?;
    }
    store.catalog.forget_deleted_projects(now.plus_nanos(-REMEMBERED_NANOS)).await
}
