//! References to media, and garbage collection of media without any.
//!
//! A reference counts while its owner exists, and for a grace period after it was last recorded:
//! media arrive before, during and after what references them. Every slice is one transaction that
//! checks again, so that a reference that arrives meanwhile is never missed.

use ratchet_core::record::media::MediaHash;
use ratchet_core::time::Timestamp;

use super::{MediaOwner, record_reference};
use crate::StoreResult;
use crate::catalog::sql::{Row, Tx};
use crate::catalog::{Catalog, ReferenceLocation};
use crate::project::ProjectId;

/// Rows per transaction.
const SLICE: u64 = 500;

/// A media id found in recorded content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentReference {
    /// May not be the id of any media.
    pub media: String,
    pub location: ReferenceLocation,
}

/// A reference to media from a trace or observation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TraceReference {
    pub project: ProjectId,
    pub trace: String,
    /// Empty if the trace itself references it.
    pub observation: String,
}

impl Catalog {
    /// Records references to a project's media. Unknown ids are ignored.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub(crate) async fn record_media_refs(
        &self,
        project: ProjectId,
        references: Vec<ContentReference>,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| record_references(tx, &project, &references, now)).await
    }

    /// Returns the next traces and observations with media references older than a moment, after a
    /// given one.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn trace_references(
        &self,
        after: Option<TraceReference>,
        before: Timestamp,
    ) -> StoreResult<Vec<TraceReference>> {
        self.transact(move |tx| {
            let after =
                after.map(|after| (after.project.to_string(), after.trace, after.observation));
            let (project, trace, observation) = after.unwrap_or_default();
            let sql = "SELECT DISTINCT project, whole, part FROM media_use \
                       WHERE owner = 'trace' AND noted_at < $1 AND (project > $2 OR (project = $2 \
                       AND (whole > $3 OR (whole = $3 AND part > $4)))) \
                       ORDER BY project, whole, part LIMIT $5";
            let values =
                [before.into(), project.into(), trace.into(), observation.into(), SLICE.into()];
            tx.rows(sql, &values, |row| {
                Ok(TraceReference {
                    project: row.get(0)?,
                    trace: row.get(1)?,
                    observation: row.get(2)?,
                })
            })
        })
        .await
    }

    /// Returns the traces that reference a media file, themselves or in an observation.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn traces_of_media(
        &self,
        project: ProjectId,
        media: String,
    ) -> StoreResult<Vec<String>> {
        let sql = "SELECT DISTINCT whole FROM media_use WHERE project = $1 AND media = $2 \
                   AND owner = 'trace' ORDER BY whole LIMIT $3";
        self.transact(move |tx| {
            let key = [(&project).into(), (&media).into(), SLICE.into()];
            tx.rows(sql, &key, |row| row.get(0))
        })
        .await
    }

    /// Removes media references of traces and observations, except those recorded since a moment.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn delete_trace_media_refs(
        &self,
        references: Vec<TraceReference>,
        before: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            let sql = "DELETE FROM media_use WHERE owner = 'trace' AND project = $1 \
                       AND whole = $2 AND part = $3 AND noted_at < $4";
            for gone in &references {
                let (trace, observation) = (&gone.trace, &gone.observation);
                let values =
                    [(&gone.project).into(), trace.into(), observation.into(), before.into()];
                tx.execute(sql, &values)?;
            }
            Ok(())
        })
        .await
    }

    /// Removes media references of dataset items that were deleted, or never created, before a
    /// moment.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn delete_item_media_refs(&self, before: Timestamp) -> StoreResult<()> {
        self.transact(move |tx| {
            let sql = "DELETE FROM media_use WHERE owner = 'dataset' AND noted_at < $1 \
                       AND NOT EXISTS (SELECT 1 FROM dataset_item i \
                       WHERE i.project = media_use.project AND i.id = media_use.part \
                       AND (i.valid_to IS NULL OR i.valid_to >= $1))";
            tx.execute(sql, &[before.into()]).map(drop)
        })
        .await
    }

    /// Removes one slice of unreferenced media and returns its size. The bytes stay.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn delete_unreferenced_media(&self) -> StoreResult<u64> {
        self.transact(move |tx| {
            let sql = "SELECT m.project, m.id FROM media m WHERE NOT EXISTS (SELECT 1 \
                       FROM media_use u WHERE u.project = m.project AND u.media = m.id) LIMIT $1";
            let unused: Vec<(ProjectId, String)> =
                tx.rows(sql, &[SLICE.into()], |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?)))?;
            for (project, id) in &unused {
                let sql = "DELETE FROM media WHERE project = $1 AND id = $2";
                tx.execute(sql, &[project.into(), id.into()])?;
            }
            Ok(unused.len() as u64)
        })
        .await
    }

    /// Calls back for each hash that no project knows. No client can announce one of them
    /// meanwhile.
    ///
    /// # Errors
    /// Fails when the database or the callback does.
    pub(crate) async fn for_each_orphan_file(
        &self,
        hashes: Vec<MediaHash>,
        call: impl Fn(MediaHash) -> StoreResult<()> + Send + 'static,
    ) -> StoreResult<u64> {
        self.transact(move |tx| {
            let mut unknown = 0;
            for hash in hashes {
                let sql = "SELECT 1 FROM media WHERE sha256 = $1";
                if !tx.exists(sql, &[hash.to_base64().into()])? {
                    call(hash)?;
                    unknown += 1;
                }
            }
            Ok(unknown)
        })
        .await
    }
}

/// Like [`Catalog::record_media_refs`], within a transaction.
pub(in crate::catalog) fn record_references(
    tx: &Tx<'_>,
    project: &ProjectId,
    references: &[ContentReference],
    now: Timestamp,
) -> StoreResult<()> {
    for ContentReference { media, location } in references {
        let sql = "SELECT 1 FROM media WHERE project = $1 AND id = $2";
        if tx.exists(sql, &[project.into(), media.into()])? {
            record_reference(tx, project, (media, location), now)?;
        }
    }
    Ok(())
}

impl MediaOwner {
    /// The kind of owner, and the ids of the whole and of the part.
    pub(super) fn columns(&self) -> (&'static str, &str, &str) {
        match self {
            Self::Trace(trace) => ("trace", trace, ""),
            Self::Observation { trace, observation } => ("trace", trace, observation),
            Self::DatasetItem { dataset, item } => ("dataset", dataset, item),
        }
    }
}
