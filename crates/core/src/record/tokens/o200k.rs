//! The byte pair encoding `o200k_base`, for counting only.
//!
//! A text is split into pieces by a regular expression, and the bytes of each piece are merged, the
//! pair of the lowest rank first, until no pair is in the vocabulary. See ADR 62. The vocabulary is
//! OpenAI's, under the licence beside it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::LazyLock;

use regex::Regex;
use rustc_hash::FxHashMap;

/// All tokens in the order of their rank, each as one byte of length and its bytes.
static VOCABULARY: &[u8] = include_bytes!("o200k.bin");

/// The longest piece that is merged as a whole. Real text has shorter ones; a longer one is cut, at
/// the price of a token or two for each cut, so that memory and time stay linear in the text. A
/// multiple of 3 and 4 does not cut the characters of a run that has one width.
const MAX_PIECE_BYTES: usize = 3 * 1024;

/// The alternatives of the encoding's pattern, without `\s+(?!\S)`: see [`BytePairEncoding::next_piece`].
const PATTERN: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|\p{N}{1,3}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*",
    r"|\s*[\r\n]+",
    r"|\s+",
);

/// Built at the first count: a server that counts nothing does not pay for it.
static ENCODING: LazyLock<BytePairEncoding> = LazyLock::new(BytePairEncoding::new);

/// Returns the number of tokens of a text.
pub(super) fn count(text: &str) -> usize {
    let mut tokens = 0;
    let mut start = 0;
    while let Some(piece) = ENCODING.next_piece(text, start) {
        start += piece.len();
        tokens += piece
            .as_bytes()
            .chunks(MAX_PIECE_BYTES)
            .map(|bytes| ENCODING.count_piece(bytes))
            .sum::<usize>();
    }
    tokens
}

struct BytePairEncoding {
    ranks: FxHashMap<&'static [u8], u32>,
    longest: usize,
    pattern: Regex,
}

impl BytePairEncoding {
    #[expect(clippy::expect_used, reason = "the pattern is a constant, and a test counts with it")]
    fn new() -> Self {
        let mut ranks = FxHashMap::default();
        let mut longest = 0;
        let mut rest = VOCABULARY;
        for rank in 0.. {
            let Some((length, tokens)) = rest.split_first() else { break };
            let Some((token, others)) = tokens.split_at_checked(usize::from(*length)) else {
                break;
            };
            ranks.insert(token, rank);
            longest = longest.max(token.len());
            rest = others;
        }
        Self { ranks, longest, pattern: Regex::new(PATTERN).expect("a valid pattern") }
    }

    /// Returns the piece that begins at `start`; the pieces of a text cover all of it.
    ///
    /// The encoding's own pattern has `\s+(?!\S)|\s+` where ours has `\s+`: white space before a
    /// word leaves its last character to that word. Linear-time expressions have no look-ahead, so
    /// that character is taken off here. White space that another alternative matched ends with a
    /// line break.
    fn next_piece<'a>(&self, text: &'a str, start: usize) -> Option<&'a str> {
        let piece = self.pattern.find_at(text, start)?;
        let is_last = piece.end() == text.len();
        let mut chars = piece.as_str().chars();
        match chars.next_back() {
            Some('\r' | '\n') => {}
            Some(last) if last.is_whitespace() && !is_last && !chars.as_str().is_empty() => {
                return Some(chars.as_str());
            }
            _ => {}
        }
        Some(piece.as_str())
    }

    fn count_piece(&self, piece: &[u8]) -> usize {
        if self.rank(piece).is_some() {
            return 1;
        }
        Merge::new(self, piece).run()
    }

    fn rank(&self, bytes: &[u8]) -> Option<u32> {
        if bytes.len() > self.longest {
            return None;
        }
        self.ranks.get(bytes).copied()
    }
}

/// Two neighbours that may become one token: its rank, and where it starts and ends.
type MergeCandidate = Reverse<(u32, usize, usize)>;

/// The parts of a piece while they are merged. A part is known by where it starts.
struct Merge<'a> {
    encoding: &'a BytePairEncoding,
    piece: &'a [u8],
    /// Where each part ends; 0 for a byte that starts no part any more.
    ends: Vec<usize>,
    /// Where the part before each one starts.
    previous: Vec<usize>,
    candidates: BinaryHeap<MergeCandidate>,
}

impl<'a> Merge<'a> {
    fn new(encoding: &'a BytePairEncoding, piece: &'a [u8]) -> Self {
        let ends = (1..=piece.len()).collect();
        let previous = (0..piece.len()).map(|start| start.saturating_sub(1)).collect();
        let mut merge = Self { encoding, piece, ends, previous, candidates: BinaryHeap::new() };
        for start in 0..piece.len() {
            merge.propose(start);
        }
        merge
    }

    /// Merges the pair of the lowest rank, of equals the first, until there is none.
    fn run(mut self) -> usize {
        let mut parts = self.piece.len();
        while let Some(Reverse((_, start, end))) = self.candidates.pop() {
            let middle = self.ends[start];
            // One of the two was merged with another part since.
            let is_stale = middle == 0 || middle >= end || self.ends[middle] != end;
            if is_stale {
                continue;
            }
            self.ends[start] = end;
            self.ends[middle] = 0;
            if end < self.piece.len() {
                self.previous[end] = start;
            }
            parts -= 1;
            self.propose(start);
            if start > 0 {
                self.propose(self.previous[start]);
            }
        }
        parts
    }

    /// Adds the pair of the part at `start` and the next one, if it is a token.
    fn propose(&mut self, start: usize) {
        let Some(&end) = self.ends.get(self.ends[start]) else { return };
        if let Some(rank) = self.encoding.rank(&self.piece[start..end]) {
            self.candidates.push(Reverse((rank, start, end)));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What `tiktoken` and the crate `bpe-openai` count.
    const TEXTS: &[(&str, usize)] = &[
        ("", 0),
        ("hello world", 2),
        ("The quick brown fox jumps over the lazy dog.", 10),
        ("I'VE we're THEY'LL it's", 8),
        ("  two  spaces   three\n\n\tand a tab ", 11),
        ("end with spaces   ", 4),
        ("\r\n \r\n x", 3),
        ("fn main() { println!(\"{}\", 1_234_567.89); }", 16),
        ("https://example.com/a/b?c=1&d=%20#e", 16),
        ("Übergrößenträger naïve façade", 8),
        ("Привет, мир! Как дела?", 8),
        ("日本語のテキストを数えます。", 11),
        ("한국어 문장도 셉니다.", 9),
        ("नमस\u{94d}त\u{947} द\u{941}निया", 5),
        ("👩\u{200d}👩\u{200d}👧\u{200d}👦🎉 and 🇩🇪", 18),
        ("{\"role\": \"user\", \"content\": [{\"type\": \"text\"}]}", 16),
        ("aGVsbG8gd29ybGQgdGhpcyBpcyBiYXNlNjQ=", 22),
        ("supercalifragilisticexpialidocious antidisestablishmentarianism", 16),
        ("////----____====\n\n\n", 5),
        ("\u{a0}\u{2003} \u{3000}x", 5),
        ("١٢٣٤ ½ Ⅷ", 9),
    ];

    /// What `bpe-openai` counts for the texts of [`random_text`], in order.
    const RANDOM: &[usize] = &[
        26, 43, 8, 15, 54, 20, 37, 39, 17, 3, 19, 16, 42, 22, 25, 4, 8, 15, 29, 21, 47, 5, 34, 8,
        41, 1, 46, 2, 31, 51, 36, 6, 15, 35, 37, 5, 41, 13, 27, 50, 39, 34, 11, 41, 25, 24, 29, 11,
        3, 12, 45, 11, 47, 55, 32, 57, 42, 40, 43, 18, 24, 52, 57, 19, 19, 35, 28, 53, 23, 51, 9,
        14, 44, 9, 41, 51, 53, 27, 34, 13, 21, 40, 38, 43, 41, 41, 1, 19, 47, 15, 23, 31, 52, 29,
        45, 2, 36, 54, 42, 36, 52, 14, 23, 25, 9, 16, 40, 31, 9, 32, 54, 39, 29, 15, 41, 31, 7, 33,
        45, 48, 14, 34, 54, 40, 26, 10, 27, 30, 37, 36, 25, 36, 47, 27, 2, 48, 14, 22, 44, 46, 51,
        10, 45, 57, 18, 41, 45, 34, 32, 53, 4, 1, 25, 18, 11, 1, 28, 55, 22, 54, 2, 30, 37, 30, 33,
        48, 51, 43, 8, 26, 35, 18, 49, 39, 32, 29, 29, 23, 23, 10, 6, 36, 6, 16, 35, 20, 40, 1, 31,
        27, 24, 17, 19, 9, 16, 38, 42, 25, 13, 49, 48, 28, 14, 1, 22, 40, 35, 18, 2, 9, 35, 52, 54,
        3, 9, 41, 11, 26, 25, 12, 21, 38, 19, 44, 18, 14, 13, 52, 27, 3, 52, 32, 59, 11, 44, 16,
        27, 42, 12, 47, 44, 5, 53, 30, 37, 53, 31, 49, 2, 46, 24, 31, 25, 11, 10, 52,
    ];

    #[test]
    fn counts_are_those_of_the_reference_implementation() {
        for (text, expected) in TEXTS {
            assert_eq!(count(text), *expected, "{text:?}");
        }
        // A run of one width that is longer than a piece may be.
        assert_eq!(count(&"日".repeat(10_000)), 5_000);
        let mut state = 1;
        for expected in RANDOM {
            let text = random_text(&mut state);
            assert_eq!(count(&text), *expected, "{text:?}");
        }
    }

    /// A text of many scripts and kinds of white space. Its state is a linear congruential
    /// generator, so that the texts are the same everywhere.
    fn random_text(state: &mut u64) -> String {
        let alphabet: Vec<char> =
            "aabcdeEZ éßΩжǅʰ日本語한\u{301}\u{93e}0123٣½ \u{a0}\u{2003}\t\n\r'’,./-_🎉\u{200d}sS  "
                .chars()
                .collect();
        let mut next = |bound: usize| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(*state >> 33).unwrap() % bound
        };
        let length = next(60) + 1;
        (0..length).map(|_| alphabet[next(alphabet.len())]).collect()
    }

    /// The definition, in quadratic time.
    fn naive_count(piece: &[u8]) -> usize {
        let mut parts: Vec<&[u8]> = piece.chunks(1).collect();
        loop {
            let pairs = (1..parts.len()).filter_map(|right| {
                let joined = [parts[right - 1], parts[right]].concat();
                Some((ENCODING.rank(&joined)?, right))
            });
            let Some((_, right)) = pairs.min() else { return parts.len() };
            let end = parts[..=right].iter().map(|part| part.len()).sum::<usize>();
            let length = parts[right - 1].len() + parts[right].len();
            parts[right - 1] = &piece[end - length..end];
            parts.remove(right);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn pieces_cover_the_text(text in any::<String>()) {
            let mut pieces = String::new();
            while let Some(piece) = ENCODING.next_piece(&text, pieces.len()) {
                prop_assert!(!piece.is_empty());
                pieces.push_str(piece);
            }
            prop_assert_eq!(pieces, text);
        }

        #[test]
        fn pairs_are_merged_in_the_order_of_their_rank(piece in "[a-d]{1,80}|[ -~é日]{1,60}") {
            prop_assert_eq!(ENCODING.count_piece(piece.as_bytes()), naive_count(piece.as_bytes()));
        }
    }
}
