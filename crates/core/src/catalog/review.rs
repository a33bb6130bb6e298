//! Reviews of queue items: settings of a queue, outcomes, and agreement between reviewers.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::judge::rubric;
use crate::quality::label;
use crate::record::score::{Score, ScoreSource};
use crate::stats::interval::{self, Estimate};

/// How long a reviewer holds an item without a sign of life.
pub const REVIEW_LEASE: Duration = Duration::from_secs(120);
/// How often a page renews its lease.
pub const REVIEW_HEARTBEAT: Duration = Duration::from_secs(30);
/// The longest instructions of a queue, in characters.
pub const MAX_INSTRUCTIONS: usize = 5_000;
/// The most people who review one item.
pub const MAX_REVIEWS: u32 = 5;
/// The longest comment or reason, in characters.
pub const MAX_COMMENT: usize = 2_000;
/// The longest time that one item can take; more means that the page was left open.
const MAX_SECONDS: u64 = 60 * 60;

/// The scores that a reviewer gives.
pub const CORRECTNESS: &str = "correctness";
/// How helpful an answer is: 0, 0.5 or 1.
pub const HELPFULNESS: &str = "helpfulness";
/// Whether a tool or a sub-agent was used correctly.
pub const TOOL_USAGE: &str = "tool-usage";
/// The score of the online judge.
pub const QUALITY: &str = "quality";
/// The metadata key of a correctness score with the reason why the judge was wrong.
pub const JUDGE_ERROR: &str = "judge_error";

/// How the items of a queue are reviewed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewSettings {
    /// What reviewers are to look at.
    pub instructions: String,
    /// People who review each item.
    pub reviews: u32,
    /// Whether the judge's verdict is hidden until the reviewer has answered.
    pub is_blind: bool,
    /// Name of the rubric that sessions are labelled by.
    pub rubric: String,
    /// Name of the dataset that labels of sessions go into.
    pub dataset: String,
}

impl Default for ReviewSettings {
    fn default() -> Self {
        Self {
            instructions: String::new(),
            reviews: 1,
            is_blind: true,
            rubric: rubric::DEFAULT.to_owned(),
            dataset: label::DATASET.to_owned(),
        }
    }
}

/// The outcome of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewOutcome {
    Answered,
    /// The item stays open for others.
    Skipped,
    /// An answer that its reviewer took back.
    Undone,
}

impl ReviewOutcome {
    pub const ALL: [Self; 3] = [Self::Answered, Self::Skipped, Self::Undone];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Skipped => "skipped",
            Self::Undone => "undone",
        }
    }

    /// Parses its name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == word)
    }
}

/// Returns whether a judge's score is superseded by a person's on the same record: one of the same
/// name, or, for the online judge's quality, correctness. Both stay visible; aggregates keep them
/// apart.
pub fn is_superseded(score: &Score, all: &[Score]) -> bool {
    let supersedes = |other: &Score| {
        let is_about_it =
            other.name == score.name || score.name == QUALITY && other.name == CORRECTNESS;
        other.source == ScoreSource::Annotation && other.target == score.target && is_about_it
    };
    score.source == ScoreSource::Eval && all.iter().any(supersedes)
}

/// Returns the time that an item took, unless the page was left open for longer than a person
/// looks at one item.
pub fn plausible_seconds(seconds: u64) -> Option<u64> {
    (1..=MAX_SECONDS).contains(&seconds).then_some(seconds)
}

/// Returns the share of items on which two reviewers agree: of each item the first two.
///
/// `answers` has item and answer, in the order in which they were given.
pub fn agreement<'a>(answers: impl IntoIterator<Item = (&'a str, bool)>) -> Option<Estimate> {
    let mut items: BTreeMap<&str, Vec<bool>> = BTreeMap::new();
    for (item, answer) in answers {
        items.entry(item).or_default().push(answer);
    }
    let pairs = items.values().filter_map(|answers| Some((answers.first()?, answers.get(1)?)));
    let (mut agreed, mut n) = (0, 0);
    for (one, other) in pairs {
        n += 1;
        agreed += u64::from(one == other);
    }
    interval::share(agreed, n)
}

/// Returns the median of some times in seconds.
pub fn median(mut seconds: Vec<u64>) -> Option<u64> {
    seconds.sort_unstable();
    seconds.get(seconds.len().checked_sub(1)? / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use crate::id::{ScoreId, TraceId};
    use crate::record::score::{ScoreTarget, ScoreValue};
    use crate::time::Timestamp;

    #[test]
    fn a_person_supersedes_the_judge_on_the_same_record_only() {
        let score = |id: &str, name: &str, source, trace: &str| Score {
            id: ScoreId::parse(id).unwrap(),
            target: ScoreTarget::Trace(TraceId::parse(trace).unwrap()),
            name: name.to_owned(),
            value: ScoreValue::Numeric(1.0),
            source,
            timestamp: Timestamp::default(),
            environment: Environment::default(),
            comment: None,
            author: None,
            config: None,
            queue: None,
            metadata: Vec::new(),
            created_at: Timestamp::default(),
            updated_at: Timestamp::default(),
        };
        let judged = score("a", QUALITY, ScoreSource::Eval, "t");
        let person = score("b", CORRECTNESS, ScoreSource::Annotation, "t");
        let elsewhere = score("c", CORRECTNESS, ScoreSource::Annotation, "u");
        let code = score("d", CORRECTNESS, ScoreSource::Api, "t");
        assert!(is_superseded(&judged, &[judged.clone(), person.clone()]));
        assert!(!is_superseded(&judged, &[elsewhere, code]));
        assert!(!is_superseded(&person, &[judged, person.clone()]));
    }

    #[test]
    fn agreement_counts_items_with_two_answers() {
        let answers =
            [("a", true), ("a", true), ("b", true), ("b", false), ("c", true), ("a", false)];
        let found = agreement(answers).unwrap();
        assert!((found.value - 0.5).abs() < 1e-12);
        assert_eq!(found.n, 2);
        assert!(agreement([("a", true)]).is_none());
    }

    #[test]
    fn a_page_that_was_left_open_says_nothing_about_time() {
        assert_eq!(plausible_seconds(0), None);
        assert_eq!(plausible_seconds(3_600), Some(3_600));
        assert_eq!(plausible_seconds(3_601), None);
        assert_eq!(median(vec![9, 1, 5]), Some(5));
        assert_eq!(median(Vec::new()), None);
    }
}
