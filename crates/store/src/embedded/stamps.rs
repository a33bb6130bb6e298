//! Compact encoding of the stamps of a row's fields.
//!
//! Most rows are written once, by one span, so that all their fields share one stamp. Stamps are
//! stored as groups: a stamp, and a bit for each field it covers.

use ratchet_core::record::field::{Authority, Field, Stamp, StampedValue, WriteKind};
use ratchet_core::time::Timestamp;

/// The bit of one field of a row.
pub(super) type Bit = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group {
    stamp: Stamp,
    said: u32,
    cleared: u32,
}

/// The stamps of one row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamps {
    groups: Vec<Group>,
    /// Whether the client sent the start time; if not, the row has a substitute.
    pub(super) has_time: bool,
}

const GROUP_BYTES: usize = 17;

impl Stamps {
    pub(super) fn new(has_time: bool) -> Self {
        Self { groups: Vec::new(), has_time }
    }

    pub(super) fn note<T>(&mut self, bit: Bit, field: &Field<T>) {
        if let Some(word) = field.stamped() {
            self.note_stamp(bit, word.stamp, word.value.is_none());
        }
    }

    /// Sets the stamp of a field.
    pub(super) fn note_stamp(&mut self, bit: Bit, stamp: Stamp, is_cleared: bool) {
        let at = self.groups.iter().position(|group| group.stamp == stamp);
        let at = at.unwrap_or_else(|| {
            self.groups.push(Group { stamp, said: 0, cleared: 0 });
            self.groups.len() - 1
        });
        if let Some(group) = self.groups.get_mut(at) {
            group.said |= bit;
            group.cleared |= if is_cleared { bit } else { 0 };
        }
    }

    /// The stamp of a field, if it was set, and whether it was cleared.
    pub(super) fn of(&self, bit: Bit) -> Option<(Stamp, bool)> {
        let group = self.groups.iter().find(|group| group.said & bit != 0)?;
        Some((group.stamp, group.cleared & bit != 0))
    }

    /// Restores a field from its column and stamp.
    pub(super) fn field<T>(&self, bit: Bit, column: Option<T>) -> Field<T> {
        let word = self.of(bit).map(|(stamp, is_cleared)| StampedValue {
            stamp,
            value: if is_cleared { None } else { column },
        });
        Field::from_stamped(word)
    }

    /// Encodes the stamps.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(1 + self.groups.len() * GROUP_BYTES);
        bytes.push(u8::from(self.has_time));
        for group in &self.groups {
            bytes.push(flags(group));
            bytes.extend_from_slice(&group.stamp.at.nanos().to_le_bytes());
            bytes.extend_from_slice(&group.said.to_le_bytes());
            if group.cleared != 0 {
                bytes.extend_from_slice(&group.cleared.to_le_bytes());
            }
        }
        bytes
    }

    /// Decodes what [`Stamps::encode`] wrote; stops at the first invalid byte.
    pub(super) fn decode(bytes: &[u8]) -> Self {
        let Some((head, mut rest)) = bytes.split_first() else { return Self::default() };
        let mut stamps = Self { groups: Vec::new(), has_time: *head != 0 };
        while let Some((group, after)) = decode_group(rest) {
            stamps.groups.push(group);
            rest = after;
        }
        stamps
    }
}

/// The stored number of an authority, in two bits.
pub(super) const fn authority_number(authority: Authority) -> u8 {
    match authority {
        Authority::Child => 0,
        Authority::Root => 1,
        Authority::Stated => 2,
        Authority::Counted => 3,
    }
}

pub(super) const fn authority_of(number: u8) -> Authority {
    match number {
        0 => Authority::Child,
        1 => Authority::Root,
        3 => Authority::Counted,
        _ => Authority::Stated,
    }
}

fn flags(group: &Group) -> u8 {
    let authority = authority_number(group.stamp.authority);
    let act = match group.stamp.act {
        WriteKind::Create => 0,
        WriteKind::Update => 4,
    };
    authority | act | if group.cleared == 0 { 0 } else { 8 }
}

fn decode_group(bytes: &[u8]) -> Option<(Group, &[u8])> {
    let (flags, rest) = bytes.split_first()?;
    let (at, rest) = rest.split_first_chunk::<8>()?;
    let (said, rest) = rest.split_first_chunk::<4>()?;
    let (cleared, rest) = if flags & 8 == 0 { (&[0; 4], rest) } else { rest.split_first_chunk()? };
    let authority = authority_of(flags & 3);
    let act = if flags & 4 == 0 { WriteKind::Create } else { WriteKind::Update };
    let stamp = Stamp { authority, at: Timestamp::from_nanos(i64::from_le_bytes(*at)), act };
    let group =
        Group { stamp, said: u32::from_le_bytes(*said), cleared: u32::from_le_bytes(*cleared) };
    Some((group, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(at: i64) -> Stamp {
        Stamp::stated(Timestamp::from_nanos(at), WriteKind::Update)
    }

    #[test]
    fn fields_come_back_as_they_were() {
        let said = Field::new("a", stamp(1));
        let cleared = Field::<&str>::cleared(stamp(2));
        let mut stamps = Stamps::new(true);
        stamps.note(1, &said);
        stamps.note(2, &cleared);
        stamps.note(4, &Field::<&str>::unset());
        let stamps = Stamps::decode(&stamps.encode());
        assert!(stamps.has_time);
        assert_eq!(stamps.field(1, Some("a")), said);
        assert_eq!(stamps.field(2, Some("stale")), cleared);
        assert_eq!(stamps.field::<&str>(4, None), Field::unset());
    }

    #[test]
    fn one_span_takes_fourteen_bytes() {
        let mut stamps = Stamps::default();
        (0..17).for_each(|bit| stamps.note(1 << bit, &Field::new(bit, stamp(9))));
        assert_eq!(stamps.encode().len(), 14);
    }
}
