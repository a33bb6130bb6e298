//! The one way to write scores: pages, thumbs and judges call [`write()`]; events of the ingestion
//! API are validated by the same [`ScoreDraft`] and are written with the rest of their batch.

use ratchet_core::record::score::ScorePatch;
use ratchet_core::record::score::draft::ScoreDraft;
use ratchet_core::record::score::rule::ScoreInvalid;
use ratchet_core::time::Timestamp;
use ratchet_store::StoreError;
use ratchet_store::catalog::Catalog;
use ratchet_store::project::ProjectId;
use ratchet_store::telemetry::{Batch, Telemetry};

use super::{TEXT_BYTES, commit, redacted};

/// Why scores were not written.
#[derive(Debug, thiserror::Error)]
pub enum ScoreWriteError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// One is invalid, and with it none was written.
    #[error("score {score} is refused: {why}")]
    Refused { score: String, why: ScoreInvalid },
}

/// Validates scores against the configs of their project, redacts them, and writes them: all or
/// none. A score that exists is changed.
///
/// Where two statements about a score disagree, the one that is written later wins, even if the
/// clock was set back in between.
///
/// # Errors
/// On any error nothing was written.
pub async fn write(
    (telemetry, catalog): (&Telemetry, &Catalog),
    project: ProjectId,
    drafts: Vec<ScoreDraft>,
    now: Timestamp,
) -> Result<(), ScoreWriteError> {
    write_with((telemetry, catalog), Batch::new(project, now), drafts).await
}

/// Writes scores as [`write()`] does, in one commit with other records of their project.
///
/// # Errors
/// On any error nothing was written.
pub async fn write_with(
    (telemetry, catalog): (&Telemetry, &Catalog),
    batch: Batch,
    drafts: Vec<ScoreDraft>,
) -> Result<(), ScoreWriteError> {
    let project = batch.project.clone();
    let settings = catalog.recording_settings(&project).await?;
    let validated = drafts.into_iter().map(|draft| {
        let score = draft.id.to_string();
        let refused = |why| ScoreWriteError::Refused { score, why };
        draft.validate(&settings.score_configs).map_err(refused)
    });
    let scores: Vec<ScorePatch> = validated.collect::<Result<_, _>>()?;
    let batch = Batch { scores, ..batch };
    let prepared = telemetry.prepare(redacted(batch, &settings, TEXT_BYTES)).in_order();
    Ok(commit(telemetry, catalog, prepared).await?)
}
