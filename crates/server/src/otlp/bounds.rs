use ratchet_core::limit::elide;

use super::draft::Fault;
use crate::app::Limits;
use crate::error::ApiError;

/// Reading recurses into values, so no setting may lift the bound beyond what the stack holds.
const DEEPEST: usize = 256;

/// Keeps a request within its limits while it is being read.
#[derive(Debug)]
pub(crate) struct Bounds<'a> {
    pub(crate) limits: &'a Limits,
    values_left: usize,
    is_exceeded: bool,
}

impl<'a> Bounds<'a> {
    pub(crate) fn new(limits: &'a Limits) -> Self {
        Self { limits, values_left: limits.values, is_exceeded: false }
    }

    /// A text of the client's, its middle elided if it is too long.
    pub(crate) fn text(&self, text: &str) -> String {
        elide(text, self.limits.text_bytes).into_owned()
    }

    /// Counts a value at a depth: small messages must not become large structures.
    pub(crate) fn enter(&mut self, depth: usize) -> Result<(), Fault> {
        let deepest = self.limits.depth.min(DEEPEST);
        if depth > deepest {
            return Err(Fault::TooDeep(deepest));
        }
        let Some(left) = self.values_left.checked_sub(1) else {
            self.is_exceeded = true;
            return Err(self.too_many_values());
        };
        self.values_left = left;
        Ok(())
    }

    /// The reason to refuse the whole request, once it holds more values than it may.
    pub(crate) fn refusal(&self) -> Option<ApiError> {
        self.is_exceeded.then(|| ApiError::TooLarge(self.too_many_values().to_string()))
    }

    fn too_many_values(&self) -> Fault {
        Fault::TooManyValues(self.limits.values)
    }
}

/// A list that keeps its first items and counts the rest.
#[derive(Debug)]
pub(crate) struct Capped<T> {
    pub(crate) kept: Vec<T>,
    pub(crate) dropped: i64,
}

impl<T> Default for Capped<T> {
    fn default() -> Self {
        Self { kept: Vec::new(), dropped: 0 }
    }
}

impl<T> Capped<T> {
    /// Whether one more fits; counts it as dropped if not.
    pub(crate) fn has_room(&mut self, limit: usize) -> bool {
        let fits = self.kept.len() < limit;
        self.dropped += i64::from(!fits);
        fits
    }
}
