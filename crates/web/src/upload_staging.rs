//! Uploaded files that wait for confirmation.
//!
//! They are held in memory only, because they are not redacted yet.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use ratchet_core::permit_pool::{NoPermit, Permit, PermitPool};
use ratchet_core::time::Timestamp;
use ratchet_stages::dataset_import::Format;
use ratchet_store::project::ProjectId;
use uuid::Uuid;

/// Maximum file size in bytes.
pub(crate) const MAX_BYTES: usize = 10_000_000;
/// Maximum number of staged files: total and per user.
const MAX_UPLOADS: (usize, usize) = (4, 2);
/// Expiry of staged files.
const LIFETIME: i64 = 30 * 60 * 1_000_000_000;

#[derive(Clone, Debug)]
pub(crate) struct Upload {
    /// Owner; `None` without authentication.
    pub(crate) person: Option<String>,
    pub(crate) project: ProjectId,
    pub(crate) dataset: String,
    /// File name.
    pub(crate) file: String,
    pub(crate) format: Format,
    pub(crate) bytes: Bytes,
    pub(crate) at: Timestamp,
}

#[derive(Debug)]
pub struct UploadStaging {
    places: PermitPool<String>,
    waiting: Mutex<VecDeque<StagedUpload>>,
}

#[derive(Debug)]
struct StagedUpload {
    token: String,
    upload: Upload,
    _place: Permit<String>,
}

impl Default for UploadStaging {
    fn default() -> Self {
        let (total, each) = MAX_UPLOADS;
        Self { places: PermitPool::new(total, each), waiting: Mutex::default() }
    }
}

impl UploadStaging {
    /// Stages a file and returns its token. When full, evicts the user's own oldest file, or the
    /// oldest of the user with the most files.
    pub(crate) fn put(&self, upload: Upload) -> String {
        let token = Uuid::new_v4().simple().to_string();
        let mut waiting = self.waiting();
        waiting.retain(|known| upload.at.since(known.upload.at) < LIFETIME);
        let place = loop {
            let full = match self.places.take(upload.person.clone()) {
                Ok(place) => break place,
                Err(full) => full,
            };
            let victim = match full {
                NoPermit::Each(_) => {
                    waiting.iter().position(|known| known.upload.person == upload.person)
                }
                NoPermit::Total(_) => self.oldest_of_most(&waiting),
            };
            // Every place that is taken is one of a file that waits.
            waiting.remove(victim.unwrap_or_default());
        };
        waiting.push_back(StagedUpload { token: token.clone(), upload, _place: place });
        token
    }

    fn oldest_of_most(&self, waiting: &VecDeque<StagedUpload>) -> Option<usize> {
        let has = |known: &StagedUpload| {
            known.upload.person.as_ref().map_or(0, |person| self.places.held_by(person))
        };
        let all = waiting.iter().enumerate();
        all.max_by_key(|(place, known)| (has(known), Reverse(*place))).map(|(place, _)| place)
    }

    /// Returns the file of a token, if it has not expired.
    pub(crate) fn get(&self, token: &str, now: Timestamp) -> Option<Upload> {
        let waiting = self.waiting();
        let found = waiting.iter().find(|known| known.token == token);
        found.map(|known| known.upload.clone()).filter(|upload| now.since(upload.at) < LIFETIME)
    }

    pub(crate) fn remove(&self, token: &str) {
        self.waiting().retain(|known| known.token != token);
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<StagedUpload>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upload(at: Timestamp) -> Upload {
        Upload {
            person: None,
            project: ProjectId::parse("p").unwrap(),
            dataset: "d".to_owned(),
            file: "f".to_owned(),
            format: Format::Csv,
            bytes: Bytes::new(),
            at,
        }
    }

    #[test]
    fn files_wait_for_a_while_and_not_too_many() {
        let (staging, start) = (UploadStaging::default(), Timestamp::default());
        let first = staging.put(upload(start));
        assert!(staging.get(&first, start.plus_nanos(LIFETIME - 1)).is_some());
        assert!(staging.get(&first, start.plus_nanos(LIFETIME)).is_none());
        let others: Vec<String> = (0..MAX_UPLOADS.0).map(|_| staging.put(upload(start))).collect();
        assert!(staging.get(&first, start).is_none(), "the oldest made room");
        assert!(others.iter().all(|token| staging.get(token, start).is_some()));
        staging.remove(&others[0]);
        assert!(staging.get(&others[0], start).is_none());
    }

    #[test]
    fn whoever_has_most_makes_room() {
        let (staging, start) = (UploadStaging::default(), Timestamp::default());
        let put = |who: &str| staging.put(Upload { person: Some(who.to_owned()), ..upload(start) });
        let waits = |token: &str| staging.get(token, start).is_some();
        let one = put("one");
        let many = [(); 3].map(|()| put("many"));
        assert_eq!(many.each_ref().map(|token| waits(token)), [false, true, true]);
        let (two, three) = (put("two"), put("three"));
        assert!([&one, &two, &three].into_iter().all(|token| waits(token)));
        assert_eq!([&many[1], &many[2]].map(|token| waits(token)), [false, true]);
    }
}
