//! Scores of callers who hold a public key alone: anyone who can read a web page. Their ids are in
//! a namespace of their own, so that nothing they send merges into anybody else's scores.

use sha2::{Digest, Sha256};

use super::ScoreTarget;
use crate::id::{IdError, ScoreId};

/// What the id of every public score begins with.
const PREFIX: &str = "public-";
const DIGITS: usize = 32;

/// What a public score is about. Two that agree in all of it are one score: the later replaces the
/// earlier.
#[derive(Clone, Copy, Debug)]
pub struct PublicScore<'a> {
    /// The project it belongs to.
    pub project: &'a str,
    /// The record that is judged.
    pub target: &'a ScoreTarget,
    /// The name of the score.
    pub name: &'a str,
    /// What tells one client from another: chosen by the client, best at random.
    pub token: &'a str,
}

impl PublicScore<'_> {
    /// Derives the id of the score. Nobody can choose it, or guess it without the token.
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
            // With its length, so that no two lists of parts read alike.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let digits = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        ScoreId::parse(&format!("{PREFIX}{digits:.DIGITS$}"))
    }
}

/// Whether an id is in the namespace of public scores.
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
