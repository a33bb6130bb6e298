//! One person has one score per score config and record: a later value replaces the earlier one.

use ratchet_core::record::score::{Score, ScoreSource};

/// Returns what a person said of a record by a score config, the newest first. Without an author, on
/// a server where nobody signs in, those without one are theirs, except answers in queues: there,
/// browsers count as people.
pub fn of<'a>(
    scores: &'a [Score],
    author: Option<&str>,
    config: &str,
) -> impl Iterator<Item = &'a Score> {
    let is_own = |score: &&Score| {
        score.source == ScoreSource::Annotation
            && score.author.as_deref() == author
            && score.config.as_deref() == Some(config)
            && (author.is_some() || score.queue.is_none())
    };
    let mut own: Vec<&Score> = scores.iter().filter(is_own).collect();
    own.sort_by_key(|score| std::cmp::Reverse(score.updated_at));
    own.into_iter()
}
