use std::hash::{DefaultHasher, Hash, Hasher};

/// Returns the hashes of a text's lower-case tokens.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = u64> {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(|word| {
        let mut hasher = DefaultHasher::new();
        for letter in word.chars().flat_map(char::to_lowercase) {
            letter.hash(&mut hasher);
        }
        hasher.finish()
    })
}
