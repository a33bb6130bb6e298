//! Scores that users of an agent give. Clients send them like the scores of code, so they are known by
//! their names, or by coming from a visitor of a web page.

use super::Score;
use super::public::is_public;

/// Parts of the names that such scores usually have.
const PARTS: [&str; 5] = ["thumb", "csat", "user_feedback", "user_rating", "user_satisfaction"];

/// Returns whether scores of a name are usually given by users: `thumbs_feedback`, `user-feedback`.
pub fn is_user_feedback(name: &str) -> bool {
    let name = name.to_lowercase().replace(['-', ' ', '.'], "_");
    name == "feedback" || PARTS.iter().any(|part| name.contains(part))
}

/// Returns whether a score itself says that a person gave it: its author, the queue in which it was
/// given, or the page of the visitor.
pub fn names_a_person(score: &Score) -> bool {
    score.author.is_some() || score.queue.is_some() || is_public(&score.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feedback_is_known_by_its_usual_names() {
        for name in ["thumbs_feedback", "user-feedback", "User Feedback", "CSAT", "feedback"] {
            assert!(is_user_feedback(name), "{name}");
        }
        for name in ["quality", "feedback_length", "likelihood", "rating_model"] {
            assert!(!is_user_feedback(name), "{name}");
        }
    }
}
