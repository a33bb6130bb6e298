//! The filter language of lists: `level:error cost>0.10 name:refund* -tag:test "free text"`.
//!
//! Typed and clicked filters are the same text, which is stored in the URL. An invalid term is
//! reported and ignored, so that the list is still shown.

/// Filter fields.
pub(crate) mod field;
/// The tokenizer.
mod reader;
mod semantics;
mod print;
/// Conversion of terms to store conditions.
mod conditions;
/// Conversion of terms to stored widget filters and back.
pub(crate) mod saved;
#[cfg(test)]
mod tests;

use std::ops::Range;

use ratchet_store::query::Compare;

pub(crate) use field::ListKind;
pub(crate) use ratchet_core::record::field_table::RecordField;

/// Maximum length of a filter, in bytes.
const MAX_BYTES: usize = 4_000;
const MAX_TERMS: usize = 50;

/// A parsed filter; all terms must match.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Filter {
    /// In the order they were typed.
    pub(crate) terms: Vec<Term>,
}

/// One condition, possibly negated.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Term {
    /// Whether it must not hold.
    pub(crate) negated: bool,
    pub(crate) what: TermCondition,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TermCondition {
    /// Text search in names, inputs, outputs and metadata.
    Text(String),
    /// A text field and its pattern.
    Word(RecordField, Pattern),
    /// A numeric comparison.
    Number(RecordField, Compare, f64),
    /// A score by its name.
    Score(String, ScoreCondition),
    Is(RecordField),
}

/// A text pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// Any value.
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

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ScoreCondition {
    /// A number that compares so.
    Number(Compare, f64),
    /// Yes or no.
    Truth(bool),
    Label(String),
}

/// An invalid part of the filter text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Byte range in the filter text.
    pub(crate) span: Range<usize>,
    /// Error message with the term and the allowed values.
    pub(crate) message: String,
}

/// The result of parsing: the valid terms and the problems.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Parsed {
    pub(crate) filter: Filter,
    /// What does not, in order.
    pub(crate) problems: Vec<Problem>,
}

impl Filter {
    /// Parses a filter for one of the lists; never fails.
    pub(crate) fn parse(on: ListKind, text: &str) -> Parsed {
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

    pub(crate) fn toggled(&self, term: &Term) -> Self {
        let mut terms: Vec<Term> =
            self.terms.iter().filter(|known| *known != term).cloned().collect();
        if terms.len() == self.terms.len() {
            terms.push(term.clone());
        }
        Self { terms }
    }

    /// Removes the term at an index.
    pub(crate) fn without(&self, position: usize) -> Self {
        let kept = self.terms.iter().enumerate().filter(|(index, _)| *index != position);
        Self { terms: kept.map(|(_, term)| term.clone()).collect() }
    }

    /// Whether a term is among them.
    pub(crate) fn has(&self, term: &Term) -> bool {
        self.terms.contains(term)
    }
}

impl Term {
    /// A field that is exactly a word.
    pub(crate) fn word(field: RecordField, word: &str) -> Self {
        let pattern = Pattern::Exactly(vec![word.to_owned()]);
        Self { negated: false, what: TermCondition::Word(field, pattern) }
    }

    /// A field that compares to a number.
    pub(crate) fn number(field: RecordField, how: Compare, number: f64) -> Self {
        Self { negated: false, what: TermCondition::Number(field, how, number) }
    }

    pub(crate) fn score(name: &str, verdict: ScoreCondition) -> Self {
        Self { negated: false, what: TermCondition::Score(name.to_owned(), verdict) }
    }
}
