use crate::error::ModelError;

/// The maximum size of an event, in bytes.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// A server-sent event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// Often empty.
    pub name: String,
    /// The data lines, joined.
    pub data: String,
}

/// An incremental SSE parser.
#[derive(Debug, Default)]
pub struct SseReader {
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    /// A following line feed belongs to the preceding carriage return.
    is_after_return: bool,
    is_begun: bool,
}

impl SseReader {
    /// Parses more bytes and returns the events they complete.
    ///
    /// # Errors
    /// Fails on an event above the size limit.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, ModelError> {
        let mut events = Vec::new();
        for byte in bytes {
            let ends_line = match byte {
                b'\n' if self.is_after_return => false,
                b'\n' | b'\r' => true,
                byte => {
                    self.line.push(*byte);
                    false
                }
            };
            self.is_after_return = *byte == b'\r';
            if ends_line {
                events.extend(self.end_line());
            }
        }
        if self.line.len() + self.event.data.len() > MAX_BYTES {
            return Err(ModelError::MalformedResponse(format!(
                "an event has more than {MAX_BYTES} bytes"
            )));
        }
        Ok(events)
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
        let line = if self.is_begun { line.as_str() } else { line.trim_start_matches('\u{feff}') };
        self.is_begun = true;
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
                self.has_data = true;
            }
            // Comments keep the connection alive; `id` and `retry` are not needed.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(parts: &[&[u8]]) -> Vec<SseEvent> {
        let mut reader = SseReader::default();
        parts.iter().flat_map(|part| reader.push(part).unwrap()).collect()
    }

    fn event(name: &str, data: &str) -> SseEvent {
        SseEvent { name: name.to_owned(), data: data.to_owned() }
    }

    #[test]
    fn every_line_break_counts() {
        let expected = vec![event("a", "1\n2"), event("", "3")];
        for end in ["\n", "\r\n", "\r"] {
            let text = ["\u{feff}event: a", "data: 1", "data:2", "", ": hi", "data: 3", "", ""];
            assert_eq!(read(&[text.join(end).as_bytes()]), expected, "{end:?}");
        }
    }

    #[test]
    fn an_event_that_broke_off_is_none() {
        assert_eq!(read(&[b"data: 1\n\ndata: 2\n"]), [event("", "1")]);
        assert_eq!(read(&[b"event: a\n\n"]), []);
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_events(
            lines in proptest::collection::vec("(data|event|id)?:? ?[a-zä:]{0,4}(\n|\r\n|\r|\n\n)", 0..12),
            cuts in proptest::collection::vec(0usize..80, 0..6),
        ) {
            let bytes = lines.concat().into_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let parts: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
            prop_assert_eq!(read(&parts), read(&[&bytes]));
        }

        #[test]
        fn no_bytes_break_it(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            read(&[&bytes]);
        }
    }
}
