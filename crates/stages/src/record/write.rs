//! The one way to write telemetry: redact, prepare, note media references, commit.

use ratchet_core::record::clock_skew;
use ratchet_core::record::redact::Redacted;
use ratchet_store::StoreResult;
use ratchet_store::catalog::{Catalog, RecordingSettings};
use ratchet_store::telemetry::Prepared;
use ratchet_store::telemetry::{Batch, Telemetry};

/// Redacts a batch by the rules of its project, and moves stamps from after its receipt back to it.
///
/// If the project has rules, texts of more than `text_bytes` are elided after redaction. Without
/// rules texts stay as they are: readers have bounded them already.
pub fn redacted(
    mut batch: Batch,
    settings: &RecordingSettings,
    text_bytes: usize,
) -> Redacted<Batch> {
    let Batch { traces, observations, scores, received_at, .. } = &mut batch;
    clock_skew::clamp(&mut [traces, observations, scores], *received_at);
    settings.redactor.redact(batch, text_bytes)
}

/// Writes a prepared batch and returns once it is on disk. All of it is readable then.
///
/// # Errors
/// On any error nothing of the batch was stored.
pub async fn commit(
    telemetry: &Telemetry,
    catalog: &Catalog,
    prepared: Prepared,
) -> StoreResult<()> {
    let batch = catalog.note_media_refs(prepared).await?;
    telemetry.write_batch(batch).await
}

/// Redacts, prepares and writes a batch that is too small to be worth a blocking thread.
///
/// # Errors
/// On any error nothing of the batch was stored.
pub async fn write(
    telemetry: &Telemetry,
    catalog: &Catalog,
    batch: Batch,
    text_bytes: usize,
) -> StoreResult<()> {
    let settings = catalog.recording_settings(&batch.project).await?;
    let prepared = telemetry.prepare(redacted(batch, &settings, text_bytes));
    commit(telemetry, catalog, prepared).await
}
