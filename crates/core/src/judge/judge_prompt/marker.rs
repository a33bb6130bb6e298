use std::fmt;

use sha2::{Digest, Sha256};

use super::digits;

/// The number of hexadecimal digits in a marker.
const DIGITS: usize = 24;

/// A secret from which the markers around evidence are derived.
///
/// It must be unknown to those whose work is judged, or they could close the markers themselves.
/// The same seed gives the same session the same markers, so that prompt caching works across
/// requests.
#[derive(Clone)]
pub struct Seed([u8; 32]);

impl Seed {
    /// Derives a seed from an unguessable text.
    pub fn of(secret: &str) -> Self {
        let mut seed = [0; 32];
        seed.iter_mut().zip(Sha256::digest(secret).iter()).for_each(|(byte, from)| *byte = *from);
        Self(seed)
    }

    /// Creates a seed from unguessable bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The delimiter of evidence. Invariant: it does not occur in the evidence of its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Marker(String);

impl Marker {
    /// Derives a marker that occurs in none of the texts.
    pub(crate) fn apart_from(what: impl fmt::Display, seed: &Seed, texts: &[&str]) -> Self {
        let marker = |attempt: u64| {
            let mut hash = Sha256::new();
            hash.update(seed.0);
            hash.update(attempt.to_be_bytes());
            hash.update(what.to_string());
            digits(hash, DIGITS)
        };
        let is_apart = |marker: &String| texts.iter().all(|text| !text.contains(marker.as_str()));
        // Terminates, because a text contains a finite number of candidates.
        Self((0..).map(marker).find(is_apart).unwrap_or_default())
    }

    /// Returns the unique part.
    pub(crate) fn key(&self) -> &str {
        &self.0
    }

    pub(crate) fn opening(&self) -> String {
        format!("<evidence-{}>", self.0)
    }

    pub(crate) fn closing(&self) -> String {
        format!("</evidence-{}>", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::SessionId;

    #[test]
    fn a_marker_that_occurs_in_the_text_is_not_used() {
        let (session, seed) = (SessionId::parse("s-1").unwrap(), Seed::new([7; 32]));
        let first = Marker::apart_from(&session, &seed, &["quiet"]);
        assert_eq!(first, Marker::apart_from(&session, &seed, &["other"]));
        let second = Marker::apart_from(&session, &seed, &["quiet", &first.closing()]);
        assert_ne!(first, second);
        let both = first.closing() + &second.opening();
        let third = Marker::apart_from(&session, &seed, &[&both]);
        assert!(third != first && third != second);
    }

    #[test]
    fn sessions_and_seeds_have_markers_of_their_own() {
        let marker = |session: &str, seed: u8| {
            let session = SessionId::parse(session).unwrap();
            Marker::apart_from(&session, &Seed::new([seed; 32]), &[])
        };
        assert_ne!(marker("a", 1), marker("b", 1));
        assert_ne!(marker("a", 1), marker("a", 2));
    }
}
