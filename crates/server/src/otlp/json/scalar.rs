use std::fmt;

use ratchet_core::record::span::AttributeValue;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};

use super::shape::{Fields, Object};
use crate::otlp::limits::Bounds;
use crate::otlp::span_builder::{Fault, StatusCode};

/// A text, elided if it is too long; null is empty.
///
/// Read as bytes: JavaScript can cut texts in the middle of a surrogate pair, which must not reject
/// the span.
pub(crate) struct Text<'a, 'l>(pub(crate) &'a Bounds<'l>);

impl<'de> DeserializeSeed<'de> for Text<'_, '_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, text: D) -> Result<String, D::Error> {
        text.deserialize_bytes(self)
    }
}

impl Visitor<'_> for Text<'_, '_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_bytes<E: Error>(self, text: &[u8]) -> Result<String, E> {
        Ok(self.0.text(&String::from_utf8_lossy(text)))
    }

    fn visit_unit<E: Error>(self) -> Result<String, E> {
        Ok(String::new())
    }
}

/// A hexadecimal id, with its constructor; null is none.
pub(crate) struct Hex<Id>(pub(crate) &'static str, pub(crate) fn(&[u8]) -> Result<Id, Fault>);

/// Maximum length of an id.
const MAX_ID_BYTES: usize = 32;

impl<'de, Id> DeserializeSeed<'de> for Hex<Id> {
    type Value = Result<Id, Fault>;

    fn deserialize<D: Deserializer<'de>>(self, id: D) -> Result<Result<Id, Fault>, D::Error> {
        id.deserialize_any(self)
    }
}

impl<Id> Visitor<'_> for Hex<Id> {
    type Value = Result<Id, Fault>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} as a hexadecimal string", self.0)
    }

    fn visit_str<E: Error>(self, hex: &str) -> Result<Result<Id, Fault>, E> {
        let mut bytes = [0; MAX_ID_BYTES];
        Ok(decode_hex(hex, &mut bytes).ok_or(Fault::NotHex(self.0)).and_then(self.1))
    }

    fn visit_unit<E: Error>(self) -> Result<Result<Id, Fault>, E> {
        Ok((self.1)(&[]))
    }
}

fn decode_hex<'a>(hex: &str, bytes: &'a mut [u8; MAX_ID_BYTES]) -> Option<&'a [u8]> {
    let (pairs, odd) = hex.as_bytes().as_chunks::<2>();
    if !odd.is_empty() {
        return None;
    }
    let into = bytes.get_mut(..pairs.len())?;
    for (byte, [high, low]) in into.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(into)
}

fn digit(hex: u8) -> Option<u8> {
    char::from(hex).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// A 64-bit number in any notation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Int(i64),
    Large(u64),
    Double(f64),
}

/// Parses a number: a JSON number, a decimal string, or JavaScript's `{low, high}`; null is zero.
pub(crate) struct NumberSeed(pub(crate) &'static str);

impl<'de> DeserializeSeed<'de> for NumberSeed {
    type Value = Number;

    fn deserialize<D: Deserializer<'de>>(self, number: D) -> Result<Number, D::Error> {
        number.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NumberSeed {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} as a number or a string", self.0)
    }

    fn visit_unit<E: Error>(self) -> Result<Number, E> {
        Ok(Number::Int(0))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Number, E> {
        Ok(Number::Int(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Number, E> {
        Ok(i64::try_from(number).map_or(Number::Large(number), Number::Int))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Number, E> {
        Ok(Number::Double(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
        let text = text.trim();
        let whole = text.parse().map(Number::Int).or_else(|_| text.parse().map(Number::Large));
        whole
            .or_else(|_| text.parse().map(Number::Double))
            .map_err(|_| E::custom(format_args!("{} is a string that is not a number", self.0)))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Number, A::Error> {
        let mut long = Long::default();
        Object(&mut long).visit_map(map)?;
        let [low, high] = [long.low, long.high].map(|half| half & 0xffff_ffff);
        Ok(Number::Int((high << 32) | low))
    }
}

/// The two halves of a 64-bit number, as JavaScript libraries write them; each may be signed.
#[derive(Default)]
struct Long {
    low: i64,
    high: i64,
}

impl<'de> Fields<'de> for Long {
    fn field<D: Deserializer<'de>>(&mut self, name: &str, value: D) -> Result<(), D::Error> {
        use serde::Deserialize;
        match name {
            "low" => self.low = i64::deserialize(value)?,
            "high" => self.high = i64::deserialize(value)?,
            _ => super::shape::skip(value)?,
        }
        Ok(())
    }
}

impl From<Number> for AttributeValue {
    fn from(number: Number) -> Self {
        match number {
            Number::Int(number) => Self::Int(number),
            // It fits into no integer type; its digits are better than a rounded value.
            Number::Large(number) => Self::Text(number.to_string()),
            Number::Double(number) => Self::Double(number),
        }
    }
}

/// Unix time in nanoseconds.
pub(crate) struct Nanos(pub(crate) &'static str);

/// The first integer beyond a signed 64-bit number.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

impl<'de> DeserializeSeed<'de> for Nanos {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, number: D) -> Result<u64, D::Error> {
        let refused = || D::Error::custom(format_args!("{} is not a time", self.0));
        match NumberSeed(self.0).deserialize(number)? {
            Number::Int(number) => u64::try_from(number).map_err(|_| refused()),
            Number::Large(number) => Ok(number),
            Number::Double(number) if (0.0..TWO_TO_63).contains(&number) => Ok(truncated(number)),
            Number::Double(_) => Err(refused()),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the caller has checked the range"
)]
fn truncated(number: f64) -> u64 {
    number as u64
}

/// A status code as a number or as its name.
pub(crate) struct StatusSeed;

impl<'de> DeserializeSeed<'de> for StatusSeed {
    type Value = StatusCode;

    fn deserialize<D: Deserializer<'de>>(self, code: D) -> Result<StatusCode, D::Error> {
        code.deserialize_any(self)
    }
}

impl Visitor<'_> for StatusSeed {
    type Value = StatusCode;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("status.code as a number or a name")
    }

    fn visit_unit<E: Error>(self) -> Result<StatusCode, E> {
        Ok(StatusCode::Unset)
    }

    fn visit_u64<E: Error>(self, code: u64) -> Result<StatusCode, E> {
        Ok(StatusCode::from_number(code))
    }

    fn visit_i64<E: Error>(self, _negative: i64) -> Result<StatusCode, E> {
        Ok(StatusCode::Unset)
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<StatusCode, E> {
        Ok(match name.trim_start_matches("STATUS_CODE_") {
            "OK" | "1" => StatusCode::Ok,
            "ERROR" | "2" => StatusCode::Error,
            _ => StatusCode::Unset,
        })
    }
}
