/// What nothing refers to any more.
pub(super) mod sweep;

use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::record::media::{MediaHash, MediaType};
use ratchet_core::time::Timestamp;

use super::Catalog;
use super::sql::{FromColumn, Row, Tx, Value};
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

pub use sweep::{MediaRef, TraceUse};

/// A piece of media as a project knows it. The bytes are elsewhere, under their hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// Names it within the project; made from its hash.
    pub id: String,
    /// What its bytes must hash to.
    pub hash: MediaHash,
    /// What it is said to be.
    pub content_type: MediaType,
    /// How many bytes it has.
    pub content_length: u64,
    /// When its bytes came in; `None` while they have not.
    pub stored_at: Option<Timestamp>,
    /// When the client says it sent them.
    pub uploaded_at: Option<Timestamp>,
    /// The status that the client says it was answered with.
    pub upload_status: Option<i64>,
}

/// A piece of media that is announced.
#[derive(Clone, Debug)]
pub struct NewMedia {
    /// What its bytes will hash to.
    pub hash: MediaHash,
    pub content_type: MediaType,
    /// How many bytes it will have.
    pub content_length: u64,
    pub used_in: MediaUse,
}

/// Where a piece of media is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaUse {
    pub owner: MediaOwner,
    /// Which field of that: input, output, metadata, `expectedOutput`.
    pub field: String,
}

/// What holds a piece of media.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MediaOwner {
    Trace(String),
    /// A step of a trace.
    Observation {
        trace: String,
        observation: String,
    },
    /// An item of a dataset, which may not be there yet.
    DatasetItem {
        dataset: String,
        item: String,
    },
}

/// How an upload went, as the client tells it.
#[derive(Clone, Debug)]
pub struct UploadReport {
    pub at: Timestamp,
    /// The status the client was answered with.
    pub status: i64,
    pub error: Option<String>,
    pub millis: Option<i64>,
}

const COLUMNS: &str = "id, sha256, content_type, content_length, stored_at, uploaded_at, \
                       upload_status";

impl Catalog {
    /// Notes a piece of media and where it is used. Announcing it again changes its type and
    /// keeps its bytes.
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
            note_use(tx, &project, (&id, &new.used_in), now)?;
            Ok(media)
        })
        .await
    }

    /// Returns a piece of media.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn media(&self, project: ProjectId, id: String) -> StoreResult<Option<Media>> {
        self.transact(move |tx| find(tx, &project, &id)).await
    }

    /// Returns those of some pieces of media whose bytes are there, by id.
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

    /// Notes that the bytes of a piece of media are on disk.
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

    /// Notes how an upload went, as the client tells it.
    ///
    /// # Errors
    /// Fails if the project has no such media.
    pub async fn media_uploaded(
        &self,
        project: ProjectId,
        id: String,
        report: UploadReport,
    ) -> StoreResult<()> {
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

/// Notes a use, or that it was heard of again.
fn note_use(
    tx: &Tx<'_>,
    project: &ProjectId,
    (id, used): (&str, &MediaUse),
    now: Timestamp,
) -> StoreResult<()> {
    let (owner, whole, part) = used.owner.columns();
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
            (&used.field).into(),
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
        // A type this binary does not know is served like any file.
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
