use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use crate::record::observation::Observation;
use crate::record::score::Score;
use crate::record::session::Session;
use crate::record::trace::Trace;

/// A trace id.
pub type TraceId = Id<Trace>;
/// An observation id, unique within its trace.
pub type ObservationId = Id<Observation>;
/// A score id.
pub type ScoreId = Id<Score>;
/// A session id.
pub type SessionId = Id<Session>;

/// The maximum length of an id, in bytes.
pub const MAX_ID_BYTES: usize = 800;

/// An id as a client chose it: 1 to 800 bytes, no carriage return.
///
/// OpenTelemetry ids (16 or 32 lowercase hex digits) are stored as 8 or 16 bytes, which halves
/// their size on disk and saves an allocation. The form is canonical: equal texts give equal ids.
pub struct Id<Of> {
    form: Form,
    of: PhantomData<fn() -> Of>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Form {
    Span([u8; 8]),
    Trace([u8; 16]),
    Text(Box<str>),
}

/// The storage form of an id: bytes for OpenTelemetry ids, text for all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredId<'a> {
    /// The 8 or 16 bytes of a hexadecimal id.
    Bytes(&'a [u8]),
    Text(&'a str),
}

/// Error of parsing an id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Ids have at least one character.
    #[error("an id must not be empty")]
    Empty,
    #[error("an id has at most {MAX_ID_BYTES} bytes, this one has {0}")]
    TooLong(usize),
    /// Carriage returns would break line-oriented exports.
    #[error("an id must not contain a carriage return")]
    CarriageReturn,
    /// OpenTelemetry ids are 8 or 16 bytes.
    #[error("an OpenTelemetry id has 8 or 16 bytes that are not all zero, this one has {0}")]
    NotOtel(usize),
}

impl<Of> Id<Of> {
    /// Parses an id sent by a client.
    ///
    /// # Errors
    /// Rejects empty or too long text and carriage returns.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        if text.is_empty() {
            return Err(IdError::Empty);
        }
        if text.len() > MAX_ID_BYTES {
            return Err(IdError::TooLong(text.len()));
        }
        if text.contains('\r') {
            return Err(IdError::CarriageReturn);
        }
        let form = match text.len() {
            16 => decode_hex(text).map(Form::Span),
            32 => decode_hex(text).map(Form::Trace),
            _ => None,
        };
        Ok(Self::from_form(form.unwrap_or_else(|| Form::Text(text.into()))))
    }

    /// Converts an OpenTelemetry id.
    ///
    /// # Errors
    /// Rejects other lengths, and the all-zero id that OpenTelemetry defines as invalid.
    pub fn from_otel(bytes: &[u8]) -> Result<Self, IdError> {
        let refused = IdError::NotOtel(bytes.len());
        if bytes.iter().all(|byte| *byte == 0) {
            return Err(refused);
        }
        if let Ok(span) = bytes.try_into() {
            return Ok(Self::from_form(Form::Span(span)));
        }
        bytes.try_into().map(|trace| Self::from_form(Form::Trace(trace))).map_err(|_| refused)
    }

    /// Restores an id from the bytes of [`Id::stored`]; `None` if the bytes are not canonical.
    pub fn from_stored(bytes: &[u8]) -> Option<Self> {
        if let Ok(span) = bytes.try_into() {
            return Some(Self::from_form(Form::Span(span)));
        }
        bytes.try_into().map(|trace| Self::from_form(Form::Trace(trace))).ok()
    }

    /// Returns the storage form.
    pub fn stored(&self) -> StoredId<'_> {
        match &self.form {
            Form::Span(bytes) => StoredId::Bytes(bytes),
            Form::Trace(bytes) => StoredId::Bytes(bytes),
            Form::Text(text) => StoredId::Text(text),
        }
    }

    /// Reuses the text as the id of another record type, such as the trace created for an orphan
    /// observation.
    pub fn cast<Other>(&self) -> Id<Other> {
        Id::from_form(self.form.clone())
    }

    fn from_form(form: Form) -> Self {
        Self { form, of: PhantomData }
    }
}

fn decode_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = hex_digit(pair[0])? << 4 | hex_digit(pair[1])?;
    }
    Some(bytes)
}

fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl<Of> fmt::Display for Id<Of> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.stored() {
            StoredId::Text(text) => f.write_str(text),
            StoredId::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
        }
    }
}

impl<Of> fmt::Debug for Id<Of> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

// Implemented by hand because a derive would require the same of the marker type.
impl<Of> Clone for Id<Of> {
    fn clone(&self) -> Self {
        Self::from_form(self.form.clone())
    }
}

impl<Of> PartialEq for Id<Of> {
    fn eq(&self, other: &Self) -> bool {
        self.form == other.form
    }
}

impl<Of> Eq for Id<Of> {}

impl<Of> PartialOrd for Id<Of> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<Of> Ord for Id<Of> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.form.cmp(&other.form)
    }
}

impl<Of> Hash for Id<Of> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.form.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_text_and_otel_bytes_are_the_same_id() {
        let text = TraceId::parse("0123456789abcdef0123456789abcdef").unwrap();
        let bytes = [1, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef];
        let bytes = TraceId::from_otel(&[bytes, bytes].concat()).unwrap();
        assert_eq!(text, bytes);
        assert_eq!(bytes.to_string(), "0123456789abcdef0123456789abcdef");
    }

    #[test]
    fn every_text_comes_back_as_it_was() {
        for text in ["a", "0123456789ABCDEF", "5f2b8a1c-0000-4000-8000-000000000000", "日本"] {
            assert_eq!(ObservationId::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn bad_ids_say_why() {
        assert_eq!(TraceId::parse(""), Err(IdError::Empty));
        assert_eq!(TraceId::parse("a\rb"), Err(IdError::CarriageReturn));
        assert_eq!(TraceId::parse(&"x".repeat(801)), Err(IdError::TooLong(801)));
        assert_eq!(TraceId::from_otel(&[0; 16]), Err(IdError::NotOtel(16)));
        assert_eq!(TraceId::from_otel(&[1; 7]), Err(IdError::NotOtel(7)));
    }
}
