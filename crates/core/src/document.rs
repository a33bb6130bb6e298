//! Documents that people keep as TOML files, and where in them a fault stands.

use serde::de::DeserializeOwned;

/// Why a text is not a document of the right shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// The line, from 1.
    pub(crate) line: usize,
    pub(crate) problem: String,
}

/// More braces than this are never open at once in a file that makes sense.
const MAX_OPEN_BRACES: usize = 64;

/// Reads a document, or says on which line it is not one.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Malformed> {
    check_braces(text)?;
    toml::from_str(text).map_err(|error| Malformed {
        line: line_at(text, error.span().map_or(0, |span| span.start)),
        problem: error.message().to_owned(),
    })
}

/// The line that a byte of the text is on, from 1.
pub(crate) fn line_at(text: &str, byte: usize) -> usize {
    text.bytes().take(byte).filter(|c| *c == b'\n').count() + 1
}

/// Refuses a file that opens brace after brace: the parser takes each for a table inside the last,
/// without a bound, until its stack is full.
fn check_braces(text: &str) -> Result<(), Malformed> {
    let mut open = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => open += 1,
            '}' => open = open.saturating_sub(1),
            _ => {}
        }
        if open > MAX_OPEN_BRACES {
            let problem = format!("{open} braces are open; is a closing one missing?");
            return Err(Malformed { line: line_at(text, at), problem });
        }
    }
    Ok(())
}
