use std::borrow::Cow;

use super::Redactor;
use super::path::{Root, Trail};
use crate::payload::Json;
use crate::record::limit::elide;

/// Rules with a length limit: texts are redacted first and elided after, so that no match is split
/// by the elision.
#[derive(Clone, Copy, Debug)]
pub struct LimitedRedactor<'a> {
    pub(super) rules: &'a Redactor,
    /// The maximum length of a text; the middle of a longer one is elided.
    pub(super) text_bytes: usize,
}

impl Redactor {
    /// Returns the rules with a length limit.
    pub fn with_text_limit(&self, text_bytes: usize) -> LimitedRedactor<'_> {
        LimitedRedactor { rules: self, text_bytes }
    }

    /// Returns the rules without a length limit.
    pub fn uncut(&self) -> LimitedRedactor<'_> {
        self.with_text_limit(usize::MAX)
    }

    /// Returns whether no pattern matches in a document.
    pub fn passes(&self, json: &Json) -> bool {
        let clean = self.uncut().value(json.clone(), &Trail::default());
        clean.as_str() == json.as_str()
    }
}

impl LimitedRedactor<'_> {
    /// Redacts a text and elides it if it is too long.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let clean = self.rules.text(text);
        if clean.len() <= self.text_bytes {
            return clean;
        }
        let short = elide(&clean, self.text_bytes);
        // Text joined by the elision may match again.
        Cow::Owned(self.rules.text(&short).into_owned())
    }

    /// Redacts a text field of a record.
    pub fn plain<'t>(&self, text: &'t str, root: Root) -> Cow<'t, str> {
        match Trail::new(&self.rules.fields, root).end() {
            Some(replacement) => Cow::Owned(replacement.to_owned()),
            None => self.text(text),
        }
    }

    /// Redacts a JSON field of a record.
    #[must_use]
    pub fn json(&self, json: Json, root: Root) -> Json {
        self.value(json, &Trail::new(&self.rules.fields, root))
    }
}
