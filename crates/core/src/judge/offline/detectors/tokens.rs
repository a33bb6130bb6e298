use std::hash::{DefaultHasher, Hash, Hasher};

/// The words of a text in lower case, each as a number.
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
