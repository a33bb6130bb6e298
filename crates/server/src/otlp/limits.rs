use std::cell::Cell;

use ratchet_core::record::limit::elide;
use ratchet_core::record::span::{SpanEvent, SpanLink};

use super::span_builder::Fault;
use crate::app::Limits;
use crate::body::over_budget;
use crate::body_budget::{BodyReservation, OverBudget};
use crate::error::ApiError;

/// Maximum nesting depth of values, whatever the settings: decoding is recursive, and the stack is
/// limited.
const MAX_DEPTH: usize = 256;
/// Bytes of a value besides its texts: a grown list has up to twice the capacity it uses, and one
/// with a single value has capacity for four.
const VALUE_BYTES: usize = 128;
/// Bytes of an event besides its texts and values: itself twice, and its list of attributes.
const EVENT_BYTES: usize = 2 * size_of::<SpanEvent>() + VALUE_BYTES;
/// The same for a link.
const LINK_BYTES: usize = 2 * size_of::<SpanLink>() + VALUE_BYTES;
/// Bytes taken from the memory budget at a time.
const STEP: usize = 8 * 1024;

/// Applies the limits of a request while it is decoded, and takes its memory from the budget: a
/// span of two bytes on the wire takes a thousand once it is decoded.
#[derive(Debug)]
pub(crate) struct Bounds<'a> {
    pub(crate) limits: &'a Limits,
    reservation: &'a BodyReservation,
    /// Bytes decoded but not yet taken from the budget.
    owed: Cell<usize>,
    values_left: usize,
    exceeded: Option<Exceeded>,
}

/// A limit that a request exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exceeded {
    Values,
    Memory(OverBudget),
}

impl<'a> Bounds<'a> {
    pub(crate) fn new(limits: &'a Limits, reservation: &'a BodyReservation) -> Self {
        Self { limits, reservation, owed: Cell::new(0), values_left: limits.values, exceeded: None }
    }

    /// A client's text, its middle elided if it is too long.
    pub(crate) fn text(&self, text: &str) -> String {
        let text = elide(text, self.limits.text_bytes).into_owned();
        self.count_decoded(text.len());
        text
    }

    /// Counts decoded bytes; they are taken from the budget with the next ones.
    pub(crate) fn count_decoded(&self, bytes: usize) {
        self.owed.set(self.owed.get().saturating_add(bytes));
    }

    /// Takes bytes from the budget before they are decoded.
    pub(crate) fn hold(&mut self, bytes: usize) -> Result<(), OverBudget> {
        self.count_decoded(bytes);
        if self.owed.get() < STEP {
            return Ok(());
        }
        let taken = self.reservation.grow(self.owed.take());
        self.exceeded = self.exceeded.or(taken.err().map(Exceeded::Memory));
        taken
    }

    pub(crate) fn event(&mut self) -> Result<(), Fault> {
        self.hold(EVENT_BYTES).map_err(Fault::OverBudget)
    }

    pub(crate) fn link(&mut self) -> Result<(), Fault> {
        self.hold(LINK_BYTES).map_err(Fault::OverBudget)
    }

    /// Counts a value at a depth: small messages must not become large structures.
    pub(crate) fn enter(&mut self, depth: usize) -> Result<(), Fault> {
        let deepest = self.limits.depth.min(MAX_DEPTH);
        if depth > deepest {
            return Err(Fault::TooDeep(deepest));
        }
        let Some(left) = self.values_left.checked_sub(1) else {
            self.exceeded = Some(Exceeded::Values);
            return Err(self.too_many_values());
        };
        self.values_left = left;
        self.hold(VALUE_BYTES).map_err(Fault::OverBudget)
    }

    /// The error that rejects the whole request, once it exceeds a limit.
    pub(crate) fn refusal(&self) -> Option<ApiError> {
        self.exceeded.map(|exceeded| match exceeded {
            Exceeded::Values => ApiError::TooLarge(self.too_many_values().to_string()),
            Exceeded::Memory(why) => over_budget(why),
        })
    }

    fn too_many_values(&self) -> Fault {
        Fault::TooManyValues(self.limits.values)
    }
}

/// A list with a limit, which counts dropped items.
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

#[cfg(test)]
mod tests {
    use ratchet_core::record::span::AttributeValue;

    use super::*;

    #[test]
    fn a_value_takes_no_more_than_is_counted() {
        assert!(VALUE_BYTES >= 2 * size_of::<(String, AttributeValue)>());
        assert!(VALUE_BYTES >= 4 * size_of::<AttributeValue>());
        // A single attribute takes a list with capacity for four.
        let pair = size_of::<(String, AttributeValue)>();
        assert!(EVENT_BYTES + VALUE_BYTES >= size_of::<SpanEvent>() + 4 * pair);
    }
}
