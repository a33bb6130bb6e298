//! Texts of a given length that compress about as well as agents' texts.

use std::fmt::Write as _;

/// Ordinary words, the most common first.
const WORDS: &str = include_str!("words.txt");

/// A seeded random number generator.
#[derive(Clone, Debug)]
pub(crate) struct SeededRng(u64);

impl SeededRng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits (splitmix64).
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below a bound.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).unwrap_or(1);
        usize::try_from(self.roll() % bound).unwrap_or(0)
    }
}

#[derive(Debug)]
pub(crate) struct Writer {
    words: Vec<&'static str>,
    rng: SeededRng,
}

impl Writer {
    /// A writer with a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self { words: WORDS.split_whitespace().collect(), rng: SeededRng::new(seed) }
    }

    /// About that many bytes of sentences.
    pub(crate) fn prose(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 16);
        let mut words_left = 0;
        while text.len() < bytes {
            if words_left == 0 {
                words_left = 6 + self.rng.below(14);
                text.push_str(if text.is_empty() { "" } else { ". " });
            } else {
                text.push(' ');
            }
            self.word(&mut text);
            words_left -= 1;
        }
        text
    }

    /// A text of which that many percent repeat an earlier one, as in conversations.
    pub(crate) fn echo(&mut self, of: &str, percent: usize, bytes: usize) -> String {
        let mut text = self.prose(bytes - bytes * percent.min(100) / 100);
        let quoted = bytes.saturating_sub(text.len());
        let words: Vec<&str> = of.split(' ').collect();
        let from = self.rng.below(words.len());
        let mut taken = words.iter().cycle().skip(from);
        let limit = text.len() + quoted;
        while text.len() < limit
            && let Some(word) = taken.next()
        {
            text.push(' ');
            text.push_str(word);
        }
        text
    }

    /// Common words often, rare ones sometimes, and now and then a number or a name.
    fn word(&mut self, text: &mut String) {
        match self.rng.below(100) {
            0..4 => {
                let number = self.rng.below(100_000);
                // Writing into a string cannot fail.
                let _written = write!(text, "{number}");
            }
            4..8 => text.extend((0..4 + self.rng.below(6)).map(|_| self.letter())),
            _ => {
                // The product of two random numbers favours the front of the list.
                let reach = 1 + self.rng.below(self.words.len());
                let nth = self.rng.below(reach);
                text.push_str(self.words.get(nth).unwrap_or(&"and"));
            }
        }
    }

    fn letter(&mut self) -> char {
        const LETTERS: &[u8] = b"etaoinshrdlucmfwypvbgk";
        LETTERS.get(self.rng.below(LETTERS.len())).map_or('e', |letter| char::from(*letter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_the_length_asked_for() {
        let mut writer = Writer::new(1);
        let question = writer.prose(200);
        let answer = writer.echo(&question, 30, 900);
        assert!((200..220).contains(&question.len()));
        assert!((880..930).contains(&answer.len()), "{}", answer.len());
    }

    #[test]
    fn a_seed_decides_the_text() {
        assert_eq!(Writer::new(1).prose(100), Writer::new(1).prose(100));
        assert_ne!(Writer::new(1).prose(100), Writer::new(2).prose(100));
    }
}
