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
const PLACES: (usize, usize) = (4, 2);
/// Expiry of staged files.
const WAITS: i64 = 30 * 60 * 1_000_000_000;

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
    word: String,
    upload: Upload,
    _place: Permit<String>,
}

impl Default for UploadStaging {
    fn default() -> Self {
        let (total, each) = PLACES;
        Self { places: PermitPool::new(total, each), waiting: Mutex::default() }
    }
}

impl UploadStaging {
    /// Stages a file and returns its token. When full, evicts the user's own oldest file, or the
    /// oldest of the user with the most files.
    pub(crate) fn put(&self, upload: Upload) -> String {
        let word = Uuid::new_v4().simple().to_string();
        let mut waiting = self.waiting();
        waiting.retain(|known| upload.at.since(known.upload.at) < WAITS);
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
        waiting.push_back(StagedUpload { word: word.clone(), upload, _place: place });
        word
    }

    fn oldest_of_most(&self, waiting: &VecDeque<StagedUpload>) -> Option<usize> {
        let has = |known: &StagedUpload| {
            known.upload.person.as_ref().map_or(0, |person| self.places.held_by(person))
        };
        let all = waiting.iter().enumerate();
        all.max_by_key(|(place, known)| (has(known), Reverse(*place))).map(|(place, _)| place)
    }

    /// Returns the file of a token, if it has not expired.
    pub(crate) fn get(&self, word: &str, now: Timestamp) -> Option<Upload> {
        let waiting = self.waiting();
        let found = waiting.iter().find(|known| known.word == word);
        found.map(|known| known.upload.clone()).filter(|upload| now.since(upload.at) < WAITS)
    }

    pub(crate) fn forget(&self, word: &str) {
        self.waiting().retain(|known| known.word != word);
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
        let (desk, start) = (UploadStaging::default(), Timestamp::default());
        let first = desk.put(upload(start));
        assert!(desk.get(&first, start.plus_nanos(WAITS - 1)).is_some());
        assert!(desk.get(&first, start.plus_nanos(WAITS)).is_none());
        let others: Vec<String> = (0..PLACES.0).map(|_| desk.put(upload(start))).collect();
        assert!(desk.get(&first, start).is_none(), "the oldest made room");
        assert!(others.iter().all(|word| desk.get(word, start).is_some()));
        desk.forget(&others[0]);
        assert!(desk.get(&others[0], start).is_none());
    }

    #[test]
    fn whoever_has_most_makes_room() {
        let (desk, start) = (UploadStaging::default(), Timestamp::default());
        let put = |who: &str| desk.put(Upload { person: Some(who.to_owned()), ..upload(start) });
        let waits = |word: &str| desk.get(word, start).is_some();
        let one = put("one");
        let many = [(); 3].map(|()| put("many"));
        assert_eq!(many.each_ref().map(|word| waits(word)), [false, true, true]);
        let (two, three) = (put("two"), put("three"));
        assert!([&one, &two, &three].into_iter().all(|word| waits(word)));
        assert_eq!([&many[1], &many[2]].map(|word| waits(word)), [false, true]);
    }
}
