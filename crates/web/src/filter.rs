//! The filter language of lists: `level:error cost>0.10 name:refund* -tag:test "free text"`.
//!
//! What is typed and what is clicked are the same text, and it stands in the address. A word that
//! makes no sense is named and left out: the list still shows.

/// The words one can ask by.
pub(crate) mod field;
/// A text, piece by piece.
mod reader;
mod semantics;
mod print;
/// Terms as questions to the store.
mod conditions;
/// Terms that are kept with charts.
pub(crate) mod saved;
#[cfg(test)]
mod tests;

use std::ops::Range;

use ratchet_store::query::Compare;

pub(crate) use field::{Flag, NumberField, On, WordField};

/// Bytes of a filter that are read; nobody types more.
const MAX_BYTES: usize = 4_000;
const MAX_TERMS: usize = 50;

/// What a list is narrowed to: all of its terms must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Filter {
    /// In the order they were typed.
    pub(crate) terms: Vec<Term>,
}

/// One thing that must hold, or must not.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Term {
    /// Whether it must not hold.
    pub(crate) negated: bool,
    pub(crate) what: What,
}

/// What a term asks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    /// A text anywhere in what was recorded.
    Text(String),
    /// A word that a field is, or is like.
    Word(WordField, Pattern),
    /// A number that a field compares to.
    Number(NumberField, Compare, f64),
    /// A score by its name.
    Score(String, Verdict),
    Is(Flag),
}

/// What a word must be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// Whatever: there must be one.
    Any,
    /// One of these.
    Exactly(Vec<String>),
    /// `refund*`
    StartsWith(String),
    /// `*refund`
    EndsWith(String),
    /// `*refund*`, in any case.
    Contains(String),
}

/// What a score must be like.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// A number that compares so.
    Number(Compare, f64),
    /// Yes or no.
    Truth(bool),
    Label(String),
}

/// A part of the text that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Where it stands, in bytes.
    pub(crate) span: Range<usize>,
    /// What is wrong, naming the word and what is allowed.
    pub(crate) message: String,
}

/// What was read: what makes sense, and what does not.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Parsed {
    pub(crate) filter: Filter,
    /// What does not, in order.
    pub(crate) problems: Vec<Problem>,
}

impl Filter {
    /// Reads a filter for one of the lists. Whatever the text, there is an answer.
    pub(crate) fn parse(on: On, text: &str) -> Parsed {
        let mut parsed = Parsed::default();
        let end = text.floor_char_boundary(MAX_BYTES);
        if end < text.len() {
            let message =
                format!("the filter is longer than {MAX_BYTES} bytes; the rest is ignored");
            parsed.problems.push(Problem { span: end..text.len(), message });
        }
        for piece in reader::pieces(text.get(..end).unwrap_or_default()) {
            if parsed.filter.terms.len() >= MAX_TERMS {
                let message = format!("a filter takes at most {MAX_TERMS} terms");
                parsed.problems.push(Problem { span: piece.span, message });
                break;
            }
            match semantics::of(on, &piece) {
                Ok(term) => parsed.filter.terms.push(term),
                Err(message) => parsed.problems.push(Problem { span: piece.span, message }),
            }
        }
        parsed
    }

    /// The same filter with one more term; without it if it is there.
    pub(crate) fn toggled(&self, term: &Term) -> Self {
        let mut terms: Vec<Term> =
            self.terms.iter().filter(|known| *known != term).cloned().collect();
        if terms.len() == self.terms.len() {
            terms.push(term.clone());
        }
        Self { terms }
    }

    /// The same filter without the term at a place.
    pub(crate) fn without(&self, place: usize) -> Self {
        let kept = self.terms.iter().enumerate().filter(|(index, _)| *index != place);
        Self { terms: kept.map(|(_, term)| term.clone()).collect() }
    }

    /// Whether a term is among them.
    pub(crate) fn has(&self, term: &Term) -> bool {
        self.terms.contains(term)
    }
}

impl Term {
    /// A field that is exactly a word.
    pub(crate) fn word(field: WordField, word: &str) -> Self {
        let pattern = Pattern::Exactly(vec![word.to_owned()]);
        Self { negated: false, what: What::Word(field, pattern) }
    }

    /// A field that compares to a number.
    pub(crate) fn number(field: NumberField, how: Compare, number: f64) -> Self {
        Self { negated: false, what: What::Number(field, how, number) }
    }

    /// A score with a verdict.
    pub(crate) fn score(name: &str, verdict: Verdict) -> Self {
        Self { negated: false, what: What::Score(name.to_owned(), verdict) }
    }
}
