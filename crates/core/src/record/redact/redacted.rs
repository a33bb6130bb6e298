use super::{LimitedRedactor, Redactor};

/// Records that went through a redactor. Only redactors make one, so that a write path which takes
/// nothing else cannot be reached without them.
#[derive(Clone, Debug, PartialEq)]
pub struct Redacted<T>(T);

/// Records whose texts a redactor can replace.
pub trait Redact: Sized {
    /// Returns the same records without what the rules find.
    #[must_use]
    fn redact(self, rules: &LimitedRedactor<'_>) -> Self;
}

impl<T: Redact> Redact for Vec<T> {
    fn redact(self, rules: &LimitedRedactor<'_>) -> Self {
        self.into_iter().map(|record| record.redact(rules)).collect()
    }
}

impl<T> Redacted<T> {
    /// Wraps what a redactor returns.
    pub(crate) const fn new(records: T) -> Self {
        Self(records)
    }

    /// Returns the records.
    pub fn into_inner(self) -> T {
        self.0
    }

    /// Returns the records, to be read.
    pub const fn get(&self) -> &T {
        &self.0
    }
}

impl<T> Redacted<Vec<T>> {
    /// Returns the records one by one, each redacted.
    pub fn each(self) -> impl Iterator<Item = Redacted<T>> {
        self.0.into_iter().map(Redacted)
    }
}

impl Redactor {
    /// Takes out of records what the rules find, then elides texts of more than `text_bytes`.
    ///
    /// Without rules nothing is touched, copied or elided: readers have bounded texts already.
    pub fn redact<T: Redact>(&self, records: T, text_bytes: usize) -> Redacted<T> {
        if self.is_empty() {
            return Redacted(records);
        }
        Redacted(records.redact(&self.with_text_limit(text_bytes)))
    }
}
