use std::str::Utf8Error;

/// A protobuf decoding error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WireError {
    #[error("it ends in the middle of a field")]
    Truncated,
    #[error("it has a number of more than 64 bits")]
    LongVarint,
    #[error("it has a field of the unknown wire type {0}")]
    WireType(u64),
    #[error("it has a field with the number {0}")]
    FieldNumber(u64),
    #[error("field {0} has the wrong wire type")]
    Mismatch(u32),
    #[error("field {0} is not UTF-8")]
    NotUtf8(u32),
}

/// The fields of a message, in order, without copying.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a>(&'a [u8]);

/// One field of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'a> {
    pub(crate) number: u32,
    value: Value<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Value<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32,
}

impl<'a> Fields<'a> {
    pub(crate) fn of(message: &'a [u8]) -> Self {
        Self(message)
    }

    /// The next field; `None` at the end of the message.
    pub(crate) fn next(&mut self) -> Result<Option<Field<'a>>, WireError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let number = u32::try_from(key >> 3).map_err(|_| WireError::FieldNumber(key >> 3))?;
        if number == 0 {
            return Err(WireError::FieldNumber(0));
        }
        let value = match key & 7 {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                let len = usize::try_from(self.varint()?).map_err(|_| WireError::Truncated)?;
                Value::Bytes(self.take(len)?)
            }
            5 => {
                self.take(4)?;
                Value::Fixed32
            }
            // Groups (3 and 4) were removed from protobuf long before OTLP.
            other => return Err(WireError::WireType(other)),
        };
        Ok(Some(Field { number, value }))
    }

    fn varint(&mut self) -> Result<u64, WireError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or(WireError::Truncated)?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                return Ok(value);
            }
        }
        Err(WireError::LongVarint)
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], WireError> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(WireError::Truncated)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        self.take(N)?.try_into().map_err(|_| WireError::Truncated)
    }
}

impl<'a> Field<'a> {
    pub(crate) fn bytes(&self) -> Result<&'a [u8], WireError> {
        match self.value {
            Value::Bytes(bytes) => Ok(bytes),
            Value::Varint(_) | Value::Fixed64(_) | Value::Fixed32 => Err(self.mismatch()),
        }
    }

    pub(crate) fn message(&self) -> Result<Fields<'a>, WireError> {
        self.bytes().map(Fields::of)
    }

    pub(crate) fn text(&self) -> Result<&'a str, WireError> {
        let not_utf8 = |_: Utf8Error| WireError::NotUtf8(self.number);
        std::str::from_utf8(self.bytes()?).map_err(not_utf8)
    }

    pub(crate) fn varint(&self) -> Result<u64, WireError> {
        match self.value {
            Value::Varint(number) => Ok(number),
            Value::Bytes(_) | Value::Fixed64(_) | Value::Fixed32 => Err(self.mismatch()),
        }
    }

    pub(crate) fn fixed64(&self) -> Result<u64, WireError> {
        match self.value {
            Value::Fixed64(number) => Ok(number),
            Value::Bytes(_) | Value::Varint(_) | Value::Fixed32 => Err(self.mismatch()),
        }
    }

    fn mismatch(&self) -> WireError {
        WireError::Mismatch(self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: Result<&[u32], WireError>) {
        let mut fields = Fields::of(bytes);
        let mut numbers = Vec::new();
        let outcome = loop {
            match fields.next() {
                Ok(Some(field)) => numbers.push(field.number),
                Ok(None) => break Ok(numbers.as_slice()),
                Err(error) => break Err(error),
            }
        };
        assert_eq!(outcome, expected);
    }

    #[test]
    fn fields_come_one_by_one() {
        check(&[], Ok(&[]));
        check(&[0x08, 0x01, 0x12, 0x01, b'a', 0x1d, 0, 0, 0, 0], Ok(&[1, 2, 3]));
        check(&[0x31, 0, 0, 0, 0, 0, 0, 0, 0], Ok(&[6]));
    }

    #[test]
    fn broken_messages_say_why() {
        check(&[0x0a, 0x05, b'a'], Err(WireError::Truncated));
        check(
            &[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
            Err(WireError::Truncated),
        );
        check(&[0x08], Err(WireError::Truncated));
        check(&[0x1d, 0, 0], Err(WireError::Truncated));
        check(
            &[0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255],
            Err(WireError::LongVarint),
        );
        check(&[0x0b], Err(WireError::WireType(3)));
        check(&[0x00, 0x00], Err(WireError::FieldNumber(0)));
    }
}
