//! Thrift's compact protocol: numbered fields, small numbers in few bytes.

/// Types of fields and of list elements.
const TRUE: u8 = 1;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;
const STOP: u8 = 0;

/// A struct in the making. Its fields are written in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

impl Struct {
    pub(super) fn yes(mut self, field: u8) -> Self {
        self.begin(field, TRUE);
        self
    }

    /// A small whole number, or a word of a fixed set.
    pub(super) fn number(mut self, field: u8, value: i32) -> Self {
        self.begin(field, I32);
        zigzag(&mut self.bytes, i64::from(value));
        self
    }

    /// A whole number that may be large: a size or a place in the file.
    pub(super) fn long(mut self, field: u8, value: u64) -> Self {
        self.begin(field, I64);
        zigzag(&mut self.bytes, i64::try_from(value).unwrap_or(i64::MAX));
        self
    }

    pub(super) fn text(mut self, field: u8, text: &str) -> Self {
        self.begin(field, BINARY);
        binary(&mut self.bytes, text);
        self
    }

    pub(super) fn inner(mut self, field: u8, inner: Self) -> Self {
        self.begin(field, STRUCT);
        self.bytes.extend(inner.end());
        self
    }

    /// A list of small numbers.
    pub(super) fn numbers(mut self, field: u8, values: &[i32]) -> Self {
        self.begin_list(field, I32, values.len());
        values.iter().for_each(|value| zigzag(&mut self.bytes, i64::from(*value)));
        self
    }

    pub(super) fn texts(mut self, field: u8, texts: &[&str]) -> Self {
        self.begin_list(field, BINARY, texts.len());
        texts.iter().for_each(|text| binary(&mut self.bytes, text));
        self
    }

    pub(super) fn structs(mut self, field: u8, structs: Vec<Self>) -> Self {
        self.begin_list(field, STRUCT, structs.len());
        structs.into_iter().for_each(|inner| self.bytes.extend(inner.end()));
        self
    }

    /// The bytes of the whole.
    pub(super) fn end(mut self) -> Vec<u8> {
        self.bytes.push(STOP);
        self.bytes
    }

    /// All of our fields are near enough for the short form of a header.
    fn begin(&mut self, field: u8, kind: u8) {
        self.bytes.push((field.saturating_sub(self.last) << 4) | kind);
        self.last = field;
    }

    fn begin_list(&mut self, field: u8, kind: u8, len: usize) {
        self.begin(field, LIST);
        match u8::try_from(len) {
            Ok(len) if len < 15 => self.bytes.push((len << 4) | kind),
            _ => {
                self.bytes.push(0xf0 | kind);
                varint(&mut self.bytes, len as u64);
            }
        }
    }
}

/// A number in as many groups of seven bits as it takes.
pub(super) fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    loop {
        let low = u8::try_from(value & 0x7f).unwrap_or_default();
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return;
        }
        bytes.push(low | 0x80);
    }
}

fn zigzag(bytes: &mut Vec<u8>, value: i64) {
    varint(bytes, ((value << 1) ^ (value >> 63)).cast_unsigned());
}

fn binary(bytes: &mut Vec<u8>, text: &str) {
    varint(bytes, text.len() as u64);
    bytes.extend(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_struct_is_written_as_the_protocol_says() {
        let inner = Struct::default().yes(1);
        let whole = Struct::default()
            .number(1, -1)
            .long(3, 300)
            .text(4, "ab")
            .inner(10, inner)
            .numbers(11, &[0, 3])
            .texts(12, &["x"; 15]);
        let mut expected = vec![0x15, 1, 0x26, 0xd8, 0x04, 0x18, 2, b'a', b'b'];
        expected.extend([0x6c, 0x11, 0, 0x19, 0x25, 0, 6, 0x19, 0xf8, 15]);
        expected.extend([1, b'x'].repeat(15));
        expected.push(0);
        assert_eq!(whole.end(), expected);
    }
}
