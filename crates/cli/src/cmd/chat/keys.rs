use std::collections::VecDeque;

use super::sanitize::{plain, safe};

/// Maximum length of an escape sequence.
const MAX_SEQUENCE: usize = 32;
/// Delimiters of pasted text.
const PASTE: (&[u8], &[u8]) = (b"\x1b[200~", b"\x1b[201~");

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Char(char),
    /// A letter with Ctrl.
    Ctrl(char),
    /// Pasted text.
    Paste(String),
    Enter,
    /// Enter with Alt or Shift, or Ctrl-J: a new line.
    NewLine,
    Escape,
    Backspace,
    Delete,
    Tab,
    Left,
    Right,
    Up,
    Down,
    WordLeft,
    WordRight,
    Home,
    End,
}

/// Parses bytes of a terminal into keys, however the bytes are split.
#[derive(Debug, Default)]
pub(crate) struct KeyReader {
    bytes: VecDeque<u8>,
    is_pasting: bool,
}

/// Result of parsing the start of the input.
enum Head {
    /// A key of so many bytes.
    Key(usize, Key),
    /// An ignored sequence of so many bytes.
    Noise(usize),
    /// Incomplete.
    Part,
}

impl KeyReader {
    /// Adds bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.bytes.extend(bytes);
        let mut keys = Vec::new();
        loop {
            if self.is_pasting && !self.end_paste(&mut keys) {
                return keys;
            }
            if self.bytes.is_empty() {
                return keys;
            }
            let bytes = self.bytes.make_contiguous();
            if bytes.starts_with(PASTE.0) {
                self.bytes.drain(..PASTE.0.len());
                self.is_pasting = true;
                continue;
            }
            match head(bytes) {
                Head::Part => return keys,
                Head::Noise(length) => drop(self.bytes.drain(..length)),
                Head::Key(length, key) => {
                    self.bytes.drain(..length);
                    keys.push(key);
                }
            }
        }
    }

    /// Whether the last key depends on what follows.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.is_pasting && !self.bytes.is_empty()
    }

    /// Ends an incomplete sequence.
    pub(crate) fn settle(&mut self) -> Vec<Key> {
        if !self.is_waiting() {
            return Vec::new();
        }
        let is_escape = self.bytes.len() == 1 && self.bytes.front() == Some(&0x1b);
        self.bytes.clear();
        if is_escape { vec![Key::Escape] } else { Vec::new() }
    }

    /// Returns pasted text once it is complete.
    fn end_paste(&mut self, keys: &mut Vec<Key>) -> bool {
        let bytes = self.bytes.make_contiguous();
        let Some(length) = bytes.windows(PASTE.1.len()).position(|part| part == PASTE.1) else {
            return false;
        };
        let pasted: Vec<u8> = self.bytes.drain(..length).collect();
        self.bytes.drain(..PASTE.1.len());
        self.is_pasting = false;
        let text = String::from_utf8_lossy(&pasted).replace("\r\n", "\n").replace('\r', "\n");
        keys.push(Key::Paste(plain(&text)));
        true
    }
}

fn head(bytes: &[u8]) -> Head {
    match bytes {
        [0x1b] | [] => Head::Part,
        [0x1b, b'[', rest @ ..] => control(rest),
        [0x1b, b'O'] => Head::Part,
        [0x1b, b'O', last, ..] => Head::Key(3, arrow(*last).unwrap_or(Key::Escape)),
        [0x1b, b'\r' | b'\n', ..] => Head::Key(2, Key::NewLine),
        [0x1b, b'b', ..] => Head::Key(2, Key::WordLeft),
        [0x1b, b'f', ..] => Head::Key(2, Key::WordRight),
        [0x1b, 0x7f, ..] => Head::Key(2, Key::Ctrl('w')),
        // Esc, followed by another key.
        [0x1b, ..] => Head::Key(1, Key::Escape),
        [b'\r', ..] => Head::Key(1, Key::Enter),
        [b'\n', ..] => Head::Key(1, Key::NewLine),
        [b'\t', ..] => Head::Key(1, Key::Tab),
        [0x7f | 0x08, ..] => Head::Key(1, Key::Backspace),
        [letter @ 0x01..=0x1a, ..] => Head::Key(1, Key::Ctrl(char::from(letter + b'a' - 1))),
        [0x00..=0x1f, ..] => Head::Noise(1),
        [first, ..] => character(*first, bytes),
    }
}

fn character(first: u8, bytes: &[u8]) -> Head {
    let length = match first {
        0x00..=0x7f => 1,
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Head::Noise(1),
    };
    let Some(bytes) = bytes.get(..length) else { return Head::Part };
    match std::str::from_utf8(bytes).ok().and_then(|text| text.chars().next()) {
        Some(c) => Head::Key(length, Key::Char(safe(c))),
        None => Head::Noise(1),
    }
}

/// Parses a CSI sequence: numbers, and a final letter.
fn control(rest: &[u8]) -> Head {
    let near = rest.get(..MAX_SEQUENCE).unwrap_or(rest);
    let Some(length) = near.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
        return if rest.len() < MAX_SEQUENCE { Head::Part } else { Head::Noise(MAX_SEQUENCE + 2) };
    };
    let (numbers, last) = (rest.get(..length).unwrap_or_default(), rest.get(length).copied());
    let numbers = std::str::from_utf8(numbers).unwrap_or_default();
    let key = match (numbers, last.unwrap_or_default()) {
        ("1;5" | "1;3", b'C') => Some(Key::WordRight),
        ("1;5" | "1;3", b'D') => Some(Key::WordLeft),
        ("13;2" | "13;3" | "13;5", b'u') | ("27;2;13" | "27;3;13" | "27;5;13", b'~') => {
            Some(Key::NewLine)
        }
        ("27" | "27;1", b'u') => Some(Key::Escape),
        ("1" | "7", b'~') => Some(Key::Home),
        ("4" | "8", b'~') => Some(Key::End),
        ("3", b'~') => Some(Key::Delete),
        ("", last) => arrow(last),
        _ => None,
    };
    let length = length + 3;
    key.map_or(Head::Noise(length), |key| Head::Key(length, key))
}

fn arrow(last: u8) -> Option<Key> {
    match last {
        b'A' => Some(Key::Up),
        b'B' => Some(Key::Down),
        b'C' => Some(Key::Right),
        b'D' => Some(Key::Left),
        b'H' => Some(Key::Home),
        b'F' => Some(Key::End),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        let mut reader = KeyReader::default();
        let mut keys = reader.push(bytes);
        keys.extend(reader.settle());
        keys
    }

    #[test]
    fn keys_are_known_by_what_terminals_send() {
        for (bytes, expected) in [
            (&b"a\r"[..], vec![Key::Char('a'), Key::Enter]),
            ("é日".as_bytes(), vec![Key::Char('é'), Key::Char('日')]),
            (b"\x1b", vec![Key::Escape]),
            (b"\x1b\x1b", vec![Key::Escape, Key::Escape]),
            (b"\x1bx", vec![Key::Escape, Key::Char('x')]),
            (
                b"\x1b[A\x1bOB\x1b[1;5C\x1bb",
                vec![Key::Up, Key::Down, Key::WordRight, Key::WordLeft],
            ),
            (b"\x1b[3~\x1b[H\x1b[4~", vec![Key::Delete, Key::Home, Key::End]),
            (b"\x1b\r\n\x1b[13;2u", vec![Key::NewLine; 3]),
            (b"\x03\x7f\t", vec![Key::Ctrl('c'), Key::Backspace, Key::Tab]),
            (
                b"\x1b[200~a\r\nb\x1b[C\x1b[201~\r",
                vec![Key::Paste("a\nb\u{fffd}[C".into()), Key::Enter],
            ),
            (b"\x1b[99;1;2R\xffz", vec![Key::Char('z')]),
        ] {
            assert_eq!(keys(bytes), expected, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn it_does_not_matter_how_bytes_were_cut(
            bytes in prop::collection::vec(prop_oneof![Just(0x1b), Just(b'['), Just(b'2'), Just(b'0'), Just(b'~'), any::<u8>()], 0..40),
            cut in any::<prop::sample::Index>(),
        ) {
            let cut = cut.index(bytes.len() + 1);
            let mut reader = KeyReader::default();
            let mut found = reader.push(&bytes[..cut]);
            found.extend(reader.push(&bytes[cut..]));
            found.extend(reader.settle());
            prop_assert_eq!(found, keys(&bytes));
        }
    }
}
