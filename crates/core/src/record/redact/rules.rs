use std::borrow::Cow;

use super::Redactor;
use super::path::{Root, Trail};
use crate::payload::Json;
use crate::record::limit::elide;

/// Rules at work on what comes in: what they find goes, and only then is what is too long cut, so
/// that no cut goes through something that they would have found.
#[derive(Clone, Copy, Debug)]
pub struct ProjectRedactor<'a> {
    pub(super) rules: &'a Redactor,
    /// Bytes of one text; the middle of a longer one is elided.
    pub(super) text_bytes: usize,
}

impl Redactor {
    /// These rules at work, on texts that may have so many bytes.
    pub fn cleaner(&self, text_bytes: usize) -> ProjectRedactor<'_> {
        ProjectRedactor { rules: self, text_bytes }
    }

    /// These rules at work, on what is kept however long it is.
    pub fn uncut(&self) -> ProjectRedactor<'_> {
        self.cleaner(usize::MAX)
    }

    /// Whether no pattern finds anything in a document.
    pub fn passes(&self, json: &Json) -> bool {
        let clean = self.uncut().value(json.clone(), &Trail::default());
        clean.as_str() == json.as_str()
    }
}

impl ProjectRedactor<'_> {
    /// A text without what the patterns find, elided if it is too long.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let clean = self.rules.text(text);
        if clean.len() <= self.text_bytes {
            return clean;
        }
        let short = elide(&clean, self.text_bytes);
        // What the cut has brought together may be found in turn.
        Cow::Owned(self.rules.text(&short).into_owned())
    }

    /// A text field of a record without what the rules find.
    pub fn plain<'t>(&self, text: &'t str, root: Root) -> Cow<'t, str> {
        match Trail::new(&self.rules.fields, root).end() {
            Some(replacement) => Cow::Owned(replacement.to_owned()),
            None => self.text(text),
        }
    }

    /// A JSON document in a field of a record without what the rules find.
    #[must_use]
    pub fn json(&self, json: Json, root: Root) -> Json {
        self.value(json, &Trail::new(&self.rules.fields, root))
    }
}
