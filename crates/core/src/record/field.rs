use crate::time::Timestamp;

/// The authority of a source for a field, weakest first.
///
/// Any span may know its trace's environment or user, the root span knows better, and an explicit
/// update of the trace beats both, in whatever order they arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Authority {
    /// Computed by Ratchet, because no client sent it.
    Counted,
    /// Implied by a span inside the trace.
    Child,
    /// Implied by the trace's root span.
    Root,
    /// Stated about the record itself.
    Stated,
}

/// Whether a record was created or updated. At the same time, the update wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WriteKind {
    /// A create event, or a complete span.
    Create,
    Update,
}

/// The precedence of a value over others of the same field; the greater wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp {
    pub authority: Authority,
    /// Client time.
    pub at: Timestamp,
    pub act: WriteKind,
}

impl Stamp {
    /// Returns the stamp of a computed value: any value of a client replaces it.
    pub const fn counted(at: Timestamp) -> Self {
        Self { authority: Authority::Counted, at, act: WriteKind::Update }
    }

    /// Returns the stamp of a value stated about the record itself.
    pub const fn stated(at: Timestamp, act: WriteKind) -> Self {
        Self { authority: Authority::Stated, at, act }
    }
}

/// A value and its stamp. `None` is a tombstone: the client sent null.
///
/// Ordered by stamp, then by value, so that merging does not depend on the order of arrival.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StampedValue<T> {
    pub stamp: Stamp,
    /// `None` clears the field.
    pub value: Option<T>,
}

/// A field of a patch or record: unset, or the value with the greatest stamp so far.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Field<T>(Option<StampedValue<T>>);

impl<T> Field<T> {
    /// Returns an unset field.
    pub const fn unset() -> Self {
        Self(None)
    }

    /// Returns a field with a value.
    pub const fn new(value: T, stamp: Stamp) -> Self {
        Self(Some(StampedValue { stamp, value: Some(value) }))
    }

    /// Returns a cleared field (tombstone).
    pub const fn cleared(stamp: Stamp) -> Self {
        Self(Some(StampedValue { stamp, value: None }))
    }

    /// Returns a field with a value, or unset for `None`.
    pub fn if_some(value: Option<T>, stamp: Stamp) -> Self {
        value.map_or(Self::unset(), |value| Self::new(value, stamp))
    }

    /// Returns the value, unless unset or cleared.
    pub fn value(&self) -> Option<&T> {
        self.0.as_ref().and_then(|stamped| stamped.value.as_ref())
    }

    /// Consumes the field and returns its value.
    pub fn into_value(self) -> Option<T> {
        self.0.and_then(|stamped| stamped.value)
    }

    /// Maps the value and keeps the stamp.
    #[must_use]
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Field<U> {
        let stamped = self
            .0
            .map(|StampedValue { stamp, value }| StampedValue { stamp, value: value.map(change) });
        Field(stamped)
    }

    /// Returns the stamp, unless unset.
    pub fn stamp(&self) -> Option<Stamp> {
        self.0.as_ref().map(|stamped| stamped.stamp)
    }

    /// Returns the stamp for changes.
    pub fn stamp_mut(&mut self) -> Option<&mut Stamp> {
        self.0.as_mut().map(|stamped| &mut stamped.stamp)
    }

    /// Returns value and stamp.
    pub fn stamped(&self) -> Option<&StampedValue<T>> {
        self.0.as_ref()
    }

    /// Restores a field from storage.
    pub const fn from_stamped(stamped: Option<StampedValue<T>>) -> Self {
        Self(stamped)
    }
}

impl<T: PartialEq> Field<T> {
    /// Moves the stamp after that of a known value, for callers that know the true order regardless
    /// of clocks. An equal value, or one outranked by authority, is unchanged.
    #[must_use]
    pub fn after(self, known: &Self) -> Self {
        let Some(theirs) = &known.0 else { return self };
        let Some(ours) = self.0 else { return Self::unset() };
        let is_beaten = theirs.stamp >= ours.stamp
            && theirs.stamp.authority == ours.stamp.authority
            && theirs.value != ours.value;
        let at = if is_beaten { theirs.stamp.at.plus_nanos(1) } else { ours.stamp.at };
        Self(Some(StampedValue { stamp: Stamp { at, ..ours.stamp }, value: ours.value }))
    }

    /// Returns whether it differs from the stored value and loses only because of its time.
    pub fn is_outdated_by(&self, stored: &Self) -> bool {
        let (Some(ours), Some(theirs)) = (&self.0, &stored.0) else { return false };
        theirs.stamp.at > ours.stamp.at
            && theirs.stamp.authority == ours.stamp.authority
            && theirs.value != ours.value
    }
}

impl<T> Default for Field<T> {
    fn default() -> Self {
        Self::unset()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamped(at: i64, value: &'static str) -> Field<&'static str> {
        Field::new(value, Stamp::stated(Timestamp::from_nanos(at), WriteKind::Create))
    }

    #[test]
    fn what_is_said_later_wins_though_the_clock_was_set_back() {
        let known = stamped(9, "down");
        let later = stamped(2, "up").after(&known);
        assert_eq!(known.clone().max(later.clone()), later);
        assert_eq!(stamped(2, "down").after(&known), stamped(2, "down"), "said before");
        assert_eq!(stamped(10, "up").after(&known), stamped(10, "up"), "later anyway");
        assert_eq!(Field::unset().after(&known), Field::unset());
        let root = Stamp { authority: Authority::Root, ..known.stamp().unwrap() };
        let root = Field::new("up", root);
        assert_eq!(root.clone().after(&known), root, "of less authority");
    }

    #[test]
    fn only_a_different_value_is_outdated() {
        assert!(stamped(2, "up").is_outdated_by(&stamped(9, "down")));
        assert!(!stamped(2, "up").is_outdated_by(&stamped(9, "up")));
        assert!(!stamped(9, "up").is_outdated_by(&stamped(2, "down")));
        assert!(!stamped(2, "up").is_outdated_by(&Field::unset()));
    }
}
