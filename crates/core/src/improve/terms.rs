use std::collections::BTreeMap;

/// Terms of a text that are read at most.
const MAX_TERMS: usize = 400;
/// Frequent English words without a topic.
const STOP_WORDS: &[&str] = &[
    "the", "and", "for", "are", "was", "were", "with", "you", "your", "that", "this", "have",
    "has", "had", "can", "could", "would", "should", "will", "what", "when", "where", "which",
    "who", "how", "why", "from", "they", "them", "their", "its", "but", "not", "our", "out", "all",
    "any", "about", "there", "here", "please", "does", "did", "into", "over", "than", "then",
    "just", "also", "been", "being", "more", "some", "such", "only", "own", "same", "too", "very",
    "hello", "hey", "thanks", "thank", "want", "need", "like", "get", "got", "let", "one", "may",
    "might", "still",
];

/// Splits a text into lowercase stems of words, without stop words, numbers and ids.
///
/// ```
/// use ratchet_core::improve::terms::terms;
/// assert_eq!(terms("What are the returns of order A-1042?"), ["return", "order"]);
/// ```
pub fn terms(text: &str) -> Vec<String> {
    let lower = words(text).filter(|word| word.chars().count() > 2);
    let is_term = |word: &String| {
        !word.chars().any(|c| c.is_ascii_digit()) && !STOP_WORDS.contains(&word.as_str())
    };
    lower.filter(is_term).map(|word| stem(&word)).take(MAX_TERMS).collect()
}

/// Splits a text into lowercase words.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// Removes the endings of plurals, participles and gerunds.
fn stem(word: &str) -> String {
    let endings = [("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", "")];
    for (ending, instead) in endings {
        let Some(base) = word.strip_suffix(ending) else { continue };
        if base.chars().count() >= 4 && !(ending == "s" && base.ends_with('s')) {
            return format!("{base}{instead}");
        }
    }
    word.to_owned()
}

/// Counts the terms of a text.
pub fn counts(terms: &[String]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for term in terms {
        *counts.entry(term.as_str()).or_default() += 1;
    }
    counts
}
