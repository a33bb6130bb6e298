use ratchet_core::catalog::review::ReviewOutcome;
use ratchet_core::record::redact::{LimitedRedactor, Redact};
use ratchet_core::time::Timestamp;

use crate::catalog::queue::QueueItem;

/// An item that a reviewer holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewLease {
    pub item: QueueItem,
    /// Identifies the lease among those of the item.
    pub number: u64,
    /// Earlier reviews of the item by the reviewer, those that were taken back included.
    pub attempt: u64,
}

/// What a person answered about an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Review {
    /// The same for an answer that is sent twice, which counts once.
    pub id: String,
    pub item: String,
    /// Id of the user, or a name where there are no users.
    pub reviewer: String,
    pub outcome: ReviewOutcome,
    pub is_correct: Option<bool>,
    /// Why the judge was wrong.
    pub judge_error: Option<String>,
    /// Whether it came after the lease was lost to another reviewer.
    pub is_late: bool,
    pub seconds: Option<u64>,
    /// Ids of the scores that it wrote.
    pub scores: Vec<String>,
    /// Ids of the dataset items that it wrote.
    pub dataset_items: Vec<String>,
    pub created_at: Timestamp,
}

/// A review to save.
#[derive(Clone, Debug)]
pub struct NewReview {
    pub id: String,
    pub item: String,
    pub reviewer: String,
    /// Whether the reviewer skipped the item.
    pub is_skipped: bool,
    pub is_correct: Option<bool>,
    pub judge_error: Option<String>,
    pub seconds: Option<u64>,
    pub scores: Vec<String>,
    pub dataset_items: Vec<String>,
}

impl Redact for NewReview {
    fn redact(self, rules: &LimitedRedactor<'_>) -> Self {
        Self { judge_error: self.judge_error.redact(rules), ..self }
    }
}

/// What became of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewEffect {
    /// The item has all its reviews.
    Completed,
    /// The item needs more reviews.
    Counted,
    /// Kept as a second review: another reviewer has or had the item.
    Late,
    /// It was saved before.
    Repeated,
}
