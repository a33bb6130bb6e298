use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::rc::Rc;

use csv::Position;

/// A table reader that knows the line number of each row.
///
/// The line numbers of `csv` are wrong after `\r\n`: it takes the second character for the beginning
/// of the next row.
#[derive(Debug)]
pub struct LineNumberedReader<R> {
    inner: R,
    ends: LineEnds,
}

/// Offsets of line ends that were read, but not yet consumed.
#[derive(Clone, Debug, Default)]
pub struct LineEnds(Rc<RefCell<SeenEnds>>);

#[derive(Debug, Default)]
struct SeenEnds {
    /// How many bytes were read.
    read: u64,
    /// Line ends before the last requested offset.
    passed: u64,
    /// Later line ends, and whether they begin a line.
    ahead: VecDeque<(u64, bool)>,
}

impl<R: Read> LineNumberedReader<R> {
    pub fn new(inner: R) -> Self {
        Self { inner, ends: LineEnds::default() }
    }

    /// Tells where lines end, also while another one reads.
    pub fn ends(&self) -> LineEnds {
        self.ends.clone()
    }
}

impl<R: Read> Read for LineNumberedReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.ends.0.borrow_mut().note(into.get(..read).unwrap_or_default());
        Ok(read)
    }
}

impl SeenEnds {
    fn note(&mut self, bytes: &[u8]) {
        let is_end = |(_, byte): &(u64, &u8)| matches!(byte, b'\n' | b'\r');
        let ends = (self.read..).zip(bytes).filter(is_end);
        self.ahead.extend(ends.map(|(at, byte)| (at, *byte == b'\n')));
        self.read += bytes.len() as u64;
    }
}

impl LineEnds {
    /// The line, from 1, on which a row begins. Rows must be requested in order.
    pub fn line_of(&self, position: &Position) -> u64 {
        let mut ends = self.0.borrow_mut();
        let mut begins = position.byte();
        while let Some((at, ends_line)) = ends.ahead.front().copied() {
            if at > begins {
                break;
            }
            // What is between two rows belongs to neither.
            if at == begins {
                begins += 1;
            }
            ends.ahead.pop_front();
            ends.passed += u64::from(ends_line);
        }
        ends.passed + 1
    }
}

#[cfg(test)]
mod tests {
    use csv::{ReaderBuilder, StringRecord};

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[u64]) {
        let table = LineNumberedReader::new(text.as_bytes());
        let ends = table.ends();
        // So small that every row is read in parts.
        let mut reader = ReaderBuilder::new().buffer_capacity(3).from_reader(table);
        let mut record = StringRecord::new();
        let mut lines = Vec::new();
        while reader.read_record(&mut record).unwrap() {
            lines.push(ends.line_of(record.position().unwrap()));
        }
        assert_eq!(lines, expected, "{text:?}");
    }

    #[test]
    fn rows_stand_where_an_editor_shows_them() {
        check("a,b\n1,2\n3,4\n", &[2, 3]);
        check("a,b\r\n1,2\r\n3,4\r\n", &[2, 3]);
        check("a,b\r\n\r\n1,\"x\r\ny\"\r\n\r\n\r\n3,4", &[3, 7]);
        check("a,b\n\n\n1,\"x\n\ny\"\n3,4", &[4, 7]);
    }
}
