use crate::time::Timestamp;

/// Who speaks for a trace's field, weakest first.
///
/// Every span may know its trace's environment or user, the root span knows better, and an
/// explicit statement about the trace beats both, whatever order they arrive in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Authority {
    /// Worked out here, because nobody said it.
    Counted,
    /// Said in passing by a span inside the trace.
    Child,
    /// Said by the span the trace began with.
    Root,
    /// Said of the record itself.
    Stated,
}

/// Whether a record was being created or updated. At the same time, the update is the later word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WriteKind {
    /// A create event, or a whole span.
    Create,
    Update,
}

/// How much a statement weighs against another on the same field; the greater wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp {
    pub authority: Authority,
    /// When it happened at the client.
    pub at: Timestamp,
    pub act: WriteKind,
}

impl Stamp {
    /// The stamp of what was counted here: whatever anyone says, at any time, replaces it.
    pub const fn counted(at: Timestamp) -> Self {
        Self { authority: Authority::Counted, at, act: WriteKind::Update }
    }

    /// The stamp of a statement about the record itself.
    pub const fn stated(at: Timestamp, act: WriteKind) -> Self {
        Self { authority: Authority::Stated, at, act }
    }
}

/// A value and its stamp. No value is a tombstone: the client said "null".
///
/// The order is by stamp, then by value, so that the greater of two statements is the same
/// whichever comes first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StampedValue<T> {
    pub stamp: Stamp,
    /// `None` clears the field.
    pub value: Option<T>,
}

/// What has been said about one field: nothing yet, or the weightiest word so far.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Field<T>(Option<StampedValue<T>>);

impl<T> Field<T> {
    /// A field nobody has spoken of.
    pub const fn unsaid() -> Self {
        Self(None)
    }

    /// A field with a value.
    pub const fn said(value: T, stamp: Stamp) -> Self {
        Self(Some(StampedValue { stamp, value: Some(value) }))
    }

    /// A field that was cleared.
    pub const fn cleared(stamp: Stamp) -> Self {
        Self(Some(StampedValue { stamp, value: None }))
    }

    /// A field that is said if there is a value, and unsaid if not.
    pub fn if_some(value: Option<T>, stamp: Stamp) -> Self {
        value.map_or(Self::unsaid(), |value| Self::said(value, stamp))
    }

    /// The value, unless unsaid or cleared.
    pub fn value(&self) -> Option<&T> {
        self.0.as_ref().and_then(|said| said.value.as_ref())
    }

    /// The value, given away.
    pub fn into_value(self) -> Option<T> {
        self.0.and_then(|said| said.value)
    }

    /// The same with another value, said as before.
    #[must_use]
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Field<U> {
        let said = self
            .0
            .map(|StampedValue { stamp, value }| StampedValue { stamp, value: value.map(change) });
        Field(said)
    }

    /// The stamp, if anything was said.
    pub fn stamp(&self) -> Option<Stamp> {
        self.0.as_ref().map(|said| said.stamp)
    }

    /// The stamp, to be changed.
    pub fn stamp_mut(&mut self) -> Option<&mut Stamp> {
        self.0.as_mut().map(|said| &mut said.stamp)
    }

    /// The word itself.
    pub fn word(&self) -> Option<&StampedValue<T>> {
        self.0.as_ref()
    }

    /// A field from what was kept of it.
    pub const fn from_word(word: Option<StampedValue<T>>) -> Self {
        Self(word)
    }
}

impl<T: PartialEq> Field<T> {
    /// The same word, later than what is known: for whoever knows that it was said later, whatever
    /// the clocks say. What outranks it, or says the same, stays before it or as it is.
    #[must_use]
    pub fn after(self, known: &Self) -> Self {
        let Some(theirs) = &known.0 else { return self };
        let Some(ours) = self.0 else { return Self::unsaid() };
        let is_beaten = theirs.stamp >= ours.stamp
            && theirs.stamp.authority == ours.stamp.authority
            && theirs.value != ours.value;
        let at = if is_beaten { theirs.stamp.at.plus_nanos(1) } else { ours.stamp.at };
        Self(Some(StampedValue { stamp: Stamp { at, ..ours.stamp }, value: ours.value }))
    }

    /// Whether it says something else than what is kept, and is not believed for its time alone.
    pub fn is_outdated_by(&self, kept: &Self) -> bool {
        let (Some(ours), Some(theirs)) = (&self.0, &kept.0) else { return false };
        theirs.stamp.at > ours.stamp.at
            && theirs.stamp.authority == ours.stamp.authority
            && theirs.value != ours.value
    }
}

impl<T> Default for Field<T> {
    fn default() -> Self {
        Self::unsaid()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(at: i64, value: &'static str) -> Field<&'static str> {
        Field::said(value, Stamp::stated(Timestamp::from_nanos(at), WriteKind::Create))
    }

    #[test]
    fn what_is_said_later_wins_though_the_clock_was_set_back() {
        let known = said(9, "down");
        let later = said(2, "up").after(&known);
        assert_eq!(known.clone().max(later.clone()), later);
        assert_eq!(said(2, "down").after(&known), said(2, "down"), "said before");
        assert_eq!(said(10, "up").after(&known), said(10, "up"), "later anyway");
        assert_eq!(Field::unsaid().after(&known), Field::unsaid());
        let root = Stamp { authority: Authority::Root, ..known.stamp().unwrap() };
        let root = Field::said("up", root);
        assert_eq!(root.clone().after(&known), root, "of less authority");
    }

    #[test]
    fn only_another_word_is_outdated() {
        assert!(said(2, "up").is_outdated_by(&said(9, "down")));
        assert!(!said(2, "up").is_outdated_by(&said(9, "up")));
        assert!(!said(9, "up").is_outdated_by(&said(2, "down")));
        assert!(!said(2, "up").is_outdated_by(&Field::unsaid()));
    }
}
