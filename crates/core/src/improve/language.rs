use std::cmp::Reverse;

use super::terms::words;

/// Frequent words without content, by language. They show the language of a sentence, whatever it is
/// about.
const FUNCTION_WORDS: &[(&str, &str)] = &[
    (
        "en",
        "the and is are you your for with of to have has can it my what this that be not will by \
         from how do does when where which there we our at on was would should",
    ),
    (
        "de",
        "der die das und ist ich nicht ein eine einen einem für mit wo wie auch gibt den dem zu von \
         auf bis kann welcher welche gern im bei sie wir ihr sind mein meine wann noch aber oder",
    ),
    (
        "fr",
        "le la les des est une je vous pour avez quel quelle combien du avec sur dans ce qui et un ou \
         il nous votre mon ma pas plus sont au aux cette mais ne",
    ),
    (
        "es",
        "el los las una un que para por con tienen más cuál es mi muy está del como y se lo al su \
         cuando dónde pero hay son este esta no puedo",
    ),
    (
        "it",
        "il lo gli una un che per con è sono mio mia come di del della dove quando ma non questo \
         questa più nel alla ho avete posso",
    ),
    (
        "pt",
        "o os as uma um que para por com são meu minha como do da dos das onde quando mas não este \
         esta mais no na tem você posso",
    ),
    (
        "nl",
        "de het een en is ik niet voor met waar hoe ook zijn mijn van op tot kan welke bij wij wanneer \
         maar dit dat te heeft u",
    ),
];
/// Function words that tell a language at least.
const MIN_HITS: usize = 2;

/// Returns the language of a sentence; `None` where its function words do not tell.
///
/// ```
/// use ratchet_core::improve::language::language;
/// assert_eq!(language("Where can I pick up the parcel?"), Some("en"));
/// assert_eq!(language("Wo kann ich das Paket abholen?"), Some("de"));
/// assert_eq!(language("KC-1042"), None);
/// ```
pub fn language(sentence: &str) -> Option<&'static str> {
    let words: Vec<String> = words(sentence).collect();
    let mut hits: Vec<(usize, &'static str)> = FUNCTION_WORDS
        .iter()
        .map(|(language, known)| {
            let is_known = |word: &&String| known.split(' ').any(|one| one == word.as_str());
            (words.iter().filter(is_known).count(), *language)
        })
        .collect();
    hits.sort_unstable_by_key(|hit| Reverse(hit.0));
    let [(first, language), (second, _), ..] = hits.as_slice() else { return None };
    (*first >= MIN_HITS && first > second).then_some(*language)
}

/// Returns whether a sentence of the question is in a language in which the answer has none.
pub fn is_answered_in_another(question: &str, answer: &str) -> bool {
    let of = |text: &str| -> Vec<&'static str> {
        text.split(['.', '!', '?', '\n']).filter_map(language).collect()
    };
    let spoken = of(answer);
    !spoken.is_empty() && of(question).iter().any(|language| !spoken.contains(language))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_in_another_language_is_noticed_and_mixed_ones_are_not() {
        let english = "The kettle is a fine choice for you.";
        assert!(is_answered_in_another("Wo finde ich einen Kessel für Graz?", english));
        assert!(is_answered_in_another(
            "Hi! Quel grille-pain est pour vous le meilleur ?",
            english
        ));
        assert!(!is_answered_in_another("Which kettle is the best for my kitchen?", english));
        assert!(!is_answered_in_another("Kettle?", english));
        assert!(!is_answered_in_another("Wo finde ich einen Kessel?", "KC-12"));
        let both = "Gern, der Kessel ist hier. The kettle is here for you.";
        assert!(!is_answered_in_another("Wo finde ich einen Kessel für Graz?", both));
    }
}
