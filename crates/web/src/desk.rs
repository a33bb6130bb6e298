//! Files that people sent and that wait until they say what to do with them.
//!
//! They are kept in memory alone: what must not be kept has not been taken out of them yet.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use axum::body::Bytes;
use ratchet_core::time::Timestamp;
use ratchet_stages::collect::Format;
use ratchet_store::project::ProjectId;
use uuid::Uuid;

/// Bytes that a file may have.
pub(crate) const MAX_BYTES: usize = 10_000_000;
/// Files that wait at a time; one more takes the place of the oldest.
const MOST: usize = 4;
/// How long a file waits.
const WAITS: i64 = 30 * 60 * 1_000_000_000;

/// A file that waits.
#[derive(Clone, Debug)]
pub(crate) struct Upload {
    /// For whom; anyone where nobody signs in.
    pub(crate) person: Option<String>,
    /// In which project.
    pub(crate) project: ProjectId,
    /// For which dataset.
    pub(crate) dataset: String,
    /// What the file was called.
    pub(crate) file: String,
    /// How it is written.
    pub(crate) format: Format,
    /// What is in it.
    pub(crate) bytes: Bytes,
    /// Since when it waits.
    pub(crate) at: Timestamp,
}

/// The files that wait.
#[derive(Debug, Default)]
pub struct Desk(Mutex<VecDeque<(String, Upload)>>);

impl Desk {
    /// Puts a file there, and returns the word to get it with.
    pub(crate) fn put(&self, upload: Upload) -> String {
        let word = Uuid::new_v4().simple().to_string();
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|(_, known)| upload.at.since(known.at) < WAITS);
        while waiting.len() >= MOST {
            waiting.pop_front();
        }
        waiting.push_back((word.clone(), upload));
        word
    }

    /// The file of a word, if it still waits.
    pub(crate) fn get(&self, word: &str, now: Timestamp) -> Option<Upload> {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = waiting.iter().find(|(known, _)| known == word);
        found.map(|(_, upload)| upload.clone()).filter(|upload| now.since(upload.at) < WAITS)
    }

    /// Lets a file go.
    pub(crate) fn forget(&self, word: &str) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|(known, _)| known != word);
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
        let (desk, start) = (Desk::default(), Timestamp::default());
        let first = desk.put(upload(start));
        assert!(desk.get(&first, start.plus_nanos(WAITS - 1)).is_some());
        assert!(desk.get(&first, start.plus_nanos(WAITS)).is_none());
        let others: Vec<String> = (0..MOST).map(|_| desk.put(upload(start))).collect();
        assert!(desk.get(&first, start).is_none(), "the oldest made room");
        assert!(others.iter().all(|word| desk.get(word, start).is_some()));
        desk.forget(&others[0]);
        assert!(desk.get(&others[0], start).is_none());
    }
}
