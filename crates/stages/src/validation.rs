//! Collects all validation errors of a request.

use std::ops::RangeInclusive;

use ratchet_core::issue::Issue;

/// How long a name may be.
pub const MAX_NAME_CHARS: usize = 500;
/// How long a description may be.
pub const MAX_DESCRIPTION_CHARS: usize = 5_000;

/// What is out of checks in a request. All of it is reported, not only the first.
#[derive(Debug, Default)]
pub struct Checks(Vec<Issue>);

impl Checks {
    /// A text of so many characters; blank is empty.
    pub fn text(&mut self, field: &str, text: &str, chars: RangeInclusive<usize>) {
        let is_blank = text.trim().is_empty() && *chars.start() > 0;
        if is_blank || !chars.contains(&text.chars().count()) {
            let (least, most) = chars.into_inner();
            self.report(Issue::at(field, format!("must have {least} to {most} characters")));
        }
    }

    /// A list of so many entries.
    pub fn len(&mut self, field: &str, len: usize, entries: RangeInclusive<usize>) {
        if !entries.contains(&len) {
            let (least, most) = entries.into_inner();
            self.report(Issue::at(field, format!("must have {least} to {most} entries")));
        }
    }

    pub fn must(&mut self, holds: bool, field: &str, message: &str) {
        if !holds {
            self.report(Issue::at(field, message));
        }
    }

    pub fn report(&mut self, issue: Issue) {
        self.0.push(issue);
    }

    /// Ends the check.
    ///
    /// # Errors
    /// Everything that was wrong.
    pub fn finish(self) -> Result<(), Vec<Issue>> {
        if self.0.is_empty() { Ok(()) } else { Err(self.0) }
    }
}
