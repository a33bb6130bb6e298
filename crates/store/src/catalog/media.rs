/// Garbage collection of unreferenced media.
pub(super) mod references;

use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::record::media::{MediaHash, MediaType};
use ratchet_core::record::redact::{LimitedRedactor, Redact};
use ratchet_core::time::Timestamp;

use super::Catalog;
use super::sql::{FromColumn, Row, Tx, Value};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

pub use references::{ContentReference, TraceReference};

/// Metadata of a media file in a project. The bytes are stored separately, by hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// Derived from the hash.
    pub id: String,
    pub hash: MediaHash,
    /// As declared by the client.
    pub content_type: MediaType,
    pub content_length: u64,
    /// When the bytes were stored; `None` until then.
    pub stored_at: Option<Timestamp>,
    /// When the client reports to have sent them.
    pub uploaded_at: Option<Timestamp>,
    /// HTTP status of the upload as reported by the client.
    pub upload_status: Option<i64>,
}

/// A media file that a client announced.
#[derive(Clone, Debug)]
pub struct NewMedia {
    /// Expected hash of the bytes.
    pub hash: MediaHash,
    pub content_type: MediaType,
    pub content_length: u64,
    pub location: ReferenceLocation,
}

/// Where a reference to media is: in a trace, observation or dataset item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferenceLocation {
    pub owner: MediaOwner,
    /// The field: input, output, metadata or `expectedOutput`.
    pub field: String,
}

/// The object that references media.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MediaOwner {
    Trace(String),
    Observation {
        trace: String,
        observation: String,
    },
    /// A dataset item, which may not exist yet.
    DatasetItem {
        dataset: String,
        item: String,
    },
}

/// The client's report on an upload.
#[derive(Clone, Debug)]
pub struct UploadReport {
    pub at: Timestamp,
    /// HTTP status that the client received.
    pub status: i64,
    pub error: Option<String>,
    pub millis: Option<i64>,
}

impl Redact for UploadReport {
    fn redact(self, rules: &LimitedRedactor<'_>) -> Self {
        Self { error: self.error.redact(rules), ..self }
    }
}

const COLUMNS: &str = "id, sha256, content_type, content_length, stored_at, uploaded_at, \
                       upload_status";

impl Catalog {
    /// Registers a media file and a reference to it. Announcing it again changes its type and
    /// retains its bytes.
    ///
    /// # Errors
    /// Fails if another piece of media has the same id.
    pub async fn announce_media(
        &self,
        project: ProjectId,
        new: NewMedia,
        now: Timestamp,
    ) -> StoreResult<Media> {
        self.transact(move |tx| {
            let id = new.hash.media_id();
            tx.execute(
                "INSERT INTO media (project, id, sha256, content_type, content_length, created_at) \
                 VALUES ($1, $2, $3, $4, $5, $6) \
                 ON CONFLICT (project, id) DO UPDATE SET content_type = excluded.content_type \
                 WHERE media.sha256 = excluded.sha256",
                &[
                    (&project).into(),
                    (&id).into(),
                    new.hash.to_base64().into(),
                    new.content_type.name().into(),
                    new.content_length.into(),
                    now.into(),
                ],
            )?;
            let media = find(tx, &project, &id)?.ok_or_else(|| missing(&id))?;
            let is_same = media.hash == new.hash && media.content_length == new.content_length;
            if !is_same {
                return Err(StoreError::Exists(format!("media {id} with other content")));
            }
            record_reference(tx, &project, (&id, &new.location), now)?;
            Ok(media)
        })
        .await
    }

    /// Returns the metadata of a media file.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn media(&self, project: ProjectId, id: String) -> StoreResult<Option<Media>> {
        self.transact(move |tx| find(tx, &project, &id)).await
    }

    /// Returns those of the given media whose bytes are stored, by id.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn stored_media(
        &self,
        project: ProjectId,
        ids: BTreeSet<String>,
    ) -> StoreResult<BTreeMap<String, Media>> {
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        self.transact(move |tx| {
            let mut found = BTreeMap::new();
            for id in ids {
                let media = find(tx, &project, &id)?.filter(|media| media.stored_at.is_some());
                found.extend(media.map(|media| (id, media)));
            }
            Ok(found)
        })
        .await
    }

    /// Records that the bytes of a media file are on disk.
    ///
    /// # Errors
    /// Fails if the project has no such media.
    pub async fn media_stored(
        &self,
        project: ProjectId,
        id: String,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.transact(move |tx| {
            let sql = "UPDATE media SET stored_at = $1 WHERE project = $2 AND id = $3";
            match tx.execute(sql, &[now.into(), (&project).into(), (&id).into()])? {
                0 => Err(missing(&id)),
                _ => Ok(()),
            }
        })
        .await
    }

    /// Records the client's report on an upload, redacted by the project's rules.
    ///
    /// # Errors
    /// Fails if the project has no such media.
    pub async fn media_uploaded(
        &self,
        project: ProjectId,
        id: String,
        report: UploadReport,
    ) -> StoreResult<()> {
        let report = self.redacted(&project, report).await?.into_inner();
        self.transact(move |tx| {
            let changed = tx.execute(
                "UPDATE media SET uploaded_at = $1, upload_status = $2, upload_error = $3, \
                 upload_millis = $4 WHERE project = $5 AND id = $6",
                &[
                    report.at.into(),
                    report.status.into(),
                    report.error.into(),
                    report.millis.into(),
                    (&project).into(),
                    (&id).into(),
                ],
            )?;
            if changed == 0 { Err(missing(&id)) } else { Ok(()) }
        })
        .await
    }
}

fn find(tx: &Tx<'_>, project: &ProjectId, id: &str) -> StoreResult<Option<Media>> {
    let sql = format!("SELECT {COLUMNS} FROM media WHERE project = $1 AND id = $2");
    tx.one(&sql, &[project.into(), id.into()], read)
}

/// Records a reference, or refreshes its time.
fn record_reference(
    tx: &Tx<'_>,
    project: &ProjectId,
    (id, location): (&str, &ReferenceLocation),
    now: Timestamp,
) -> StoreResult<()> {
    let (owner, whole, part) = location.owner.columns();
    tx.execute(
        "INSERT INTO media_use (project, media, owner, whole, part, field, noted_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) \
         ON CONFLICT (project, owner, whole, part, field, media) DO UPDATE \
         SET noted_at = excluded.noted_at",
        &[
            project.into(),
            id.into(),
            owner.into(),
            whole.into(),
            part.into(),
            (&location.field).into(),
            now.into(),
        ],
    )?;
    Ok(())
}

fn missing(id: &str) -> StoreError {
    StoreError::NotFound(format!("media {id}"))
}

impl FromColumn for MediaHash {
    fn from_column(value: Value) -> Option<Self> {
        Self::parse(&String::from_column(value)?).ok()
    }
}

impl FromColumn for MediaType {
    fn from_column(value: Value) -> Option<Self> {
        // A type unknown to this binary is served as a generic file.
        Some(Self::parse(&String::from_column(value)?).unwrap_or(Self::OTHER))
    }
}

fn read(row: &Row<'_>) -> StoreResult<Media> {
    Ok(Media {
        id: row.get(0)?,
        hash: row.get(1)?,
        content_type: row.get(2)?,
        content_length: row.get(3)?,
        stored_at: row.get(4)?,
        uploaded_at: row.get(5)?,
        upload_status: row.get(6)?,
    })
}
