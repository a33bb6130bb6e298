//! TOML documents that users store as files; errors include line numbers.

use serde::de::DeserializeOwned;

/// Parse error of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// 1-based.
    pub(crate) line: usize,
    pub(crate) problem: String,
}

/// Nesting limit: real files open far fewer braces at once.
const MAX_OPEN_BRACES: usize = 64;

/// Parses a document, or returns the line of the first error.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Malformed> {
    check_braces(text)?;
    toml::from_str(text).map_err(|error| Malformed {
        line: line_at(text, error.span().map_or(0, |span| span.start)),
        problem: error.message().to_owned(),
    })
}

/// Returns the 1-based line of a byte offset.
pub(crate) fn line_at(text: &str, byte: usize) -> usize {
    text.bytes().take(byte).filter(|c| *c == b'\n').count() + 1
}

/// Rejects deeply nested braces: the TOML parser recurses without a limit and would overflow the
/// stack.
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
