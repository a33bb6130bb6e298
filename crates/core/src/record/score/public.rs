//! Scores of callers with only a public key, such as visitors of a web page. Their ids have their
//! own namespace, so that they cannot overwrite other scores.

use sha2::{Digest, Sha256};

use super::ScoreTarget;
use crate::id::{IdError, ScoreId};

/// The id prefix of public scores.
const PREFIX: &str = "public-";
const DIGITS: usize = 32;

/// The identity of a public score. A later score with the same identity replaces the earlier one.
#[derive(Clone, Copy, Debug)]
pub struct PublicScore<'a> {
    pub project: &'a str,
    /// The scored record.
    pub target: &'a ScoreTarget,
    pub name: &'a str,
    /// Distinguishes clients: chosen by the client, preferably at random.
    pub token: &'a str,
}

impl PublicScore<'_> {
    /// Derives the score id. It cannot be chosen, or guessed without the token.
    ///
    /// # Errors
    /// Never in practice: the id is short.
    pub fn id(self) -> Result<ScoreId, IdError> {
        let (kind, target, step) = match self.target {
            ScoreTarget::Trace(trace) => ("trace", trace.to_string(), String::new()),
            ScoreTarget::Observation(trace, step) => {
                ("observation", trace.to_string(), step.to_string())
            }
            ScoreTarget::Session(session) => ("session", session.to_string(), String::new()),
            ScoreTarget::DatasetRun(run) => ("run", run.clone(), String::new()),
        };
        let mut hash = Sha256::new();
        for part in [self.project, kind, &target, &step, self.name, self.token] {
            // Length-prefixed, so that different parts never hash alike.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let digits = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        ScoreId::parse(&format!("{PREFIX}{digits:.DIGITS$}"))
    }
}

/// Returns whether an id is in the namespace of public scores.
pub fn is_public(id: &ScoreId) -> bool {
    let text = id.to_string();
    let digits = text.strip_prefix(PREFIX);
    digits.is_some_and(|digits| {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        digits.len() == DIGITS && digits.bytes().all(is_digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;

    fn trace(id: &str) -> ScoreTarget {
        ScoreTarget::Trace(Id::parse(id).unwrap())
    }

    #[test]
    fn every_part_makes_another_score_and_nothing_else_does() {
        let target = trace("t");
        let usual = PublicScore { project: "shop", target: &target, name: "thumb", token: "abc" };
        let id = usual.id().unwrap();
        assert_eq!(usual.id(), Ok(id.clone()));
        let observation =
            ScoreTarget::Observation(Id::parse("t").unwrap(), Id::parse("o").unwrap());
        let session = ScoreTarget::Session(Id::parse("t").unwrap());
        for other in [
            PublicScore { project: "shoe", ..usual },
            PublicScore { name: "thum", token: "babc", ..usual },
            PublicScore { token: "abd", ..usual },
            PublicScore { target: &trace("u"), ..usual },
            PublicScore { target: &observation, ..usual },
            PublicScore { target: &session, ..usual },
        ] {
            assert_ne!(other.id().unwrap(), id, "{other:?}");
        }
    }

    #[test]
    fn public_ids_are_known_by_their_form() {
        let target = trace("t");
        let score = PublicScore { project: "p", target: &target, name: "n", token: "" };
        assert!(is_public(&score.id().unwrap()));
        for other in ["public-", "public-1", "t-thumbs_feedback", &"a".repeat(39)] {
            assert!(!is_public(&Id::parse(other).unwrap()), "{other}");
        }
    }
}
