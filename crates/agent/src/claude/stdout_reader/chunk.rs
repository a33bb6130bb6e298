use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// The longest line, in bytes. Lines hold whole files and pictures, so it is long.
pub(super) const MAX_LINE: usize = 64 * 1024 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Chunk {
    /// A line, without its end.
    Line(Vec<u8>),
    /// A line that is longer than we keep; it is skipped to its end.
    TooLong { bytes: u64 },
    /// Nothing more, or nothing more that can be read.
    End,
}

/// Reads the next line. The last one may lack its end.
pub(super) async fn next(from: &mut (impl AsyncBufRead + Unpin)) -> Chunk {
    next_within(from, MAX_LINE).await
}

async fn next_within(from: &mut (impl AsyncBufRead + Unpin), most: usize) -> Chunk {
    let (mut line, mut bytes) = (Vec::new(), 0_u64);
    loop {
        let buffer = match from.fill_buf().await {
            Ok(buffer) if !buffer.is_empty() => buffer,
            Ok(_) | Err(_) if bytes == 0 => return Chunk::End,
            Ok(_) | Err(_) => break,
        };
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let piece = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or_default();
        bytes += piece.len() as u64;
        if line.len() + piece.len() <= most {
            line.extend_from_slice(piece);
        } else {
            // What is over is only counted from here on.
            line = Vec::new();
        }
        let taken = end.map_or(buffer.len(), |end| end + 1);
        from.consume(taken);
        if end.is_some() {
            break;
        }
    }
    match bytes > most as u64 {
        true => Chunk::TooLong { bytes },
        false => Chunk::Line(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tokio::io::BufReader;

    async fn all(text: &[u8], buffer: usize, most: usize) -> Vec<Chunk> {
        let mut from = BufReader::with_capacity(buffer, text);
        let mut chunks = Vec::new();
        loop {
            match next_within(&mut from, most).await {
                Chunk::End => return chunks,
                chunk => chunks.push(chunk),
            }
        }
    }

    proptest! {
        #[test]
        fn lines_come_as_they_were_said(
            lines in prop::collection::vec("[a-z]{0,12}", 0..8),
            buffer in 1_usize..20,
        ) {
            let text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let chunks = runtime.block_on(all(text.as_bytes(), buffer, 8));
            let expected: Vec<Chunk> = lines
                .iter()
                .map(|line| match line.len() {
                    0..=8 => Chunk::Line(line.as_bytes().to_vec()),
                    bytes => Chunk::TooLong { bytes: bytes as u64 },
                })
                .collect();
            prop_assert_eq!(chunks, expected);
        }
    }

    #[tokio::test]
    async fn the_last_line_may_lack_its_end() {
        let expected = vec![Chunk::Line(b"a".to_vec()), Chunk::Line(b"b".to_vec())];
        assert_eq!(all(b"a\nb", 64, 8).await, expected);
    }
}
