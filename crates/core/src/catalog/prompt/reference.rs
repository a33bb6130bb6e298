use std::fmt;

const OPEN: &str = "@@@langfusePrompt:";
const CLOSE: &str = "@@@";

/// A reference to another prompt, to be replaced by its text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    pub name: String,
    pub pick: Pick,
}

/// The version that a reference selects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pick {
    Version(u32),
    /// The version that currently has this label.
    Label(String),
}

/// Prints `greeting - label production`.
impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pick {
            Pick::Version(version) => write!(f, "{} - version {version}", self.name),
            Pick::Label(label) => write!(f, "{} - label {label}", self.name),
        }
    }
}

/// A segment of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Plain(&'a str),
    Refers(Reference),
}

impl Reference {
    /// Parses the content of a reference tag: `name=X|label=Y` or `name=X|version=N`.
    fn parse(inner: &str) -> Option<Self> {
        let (name, pick) = inner.split_once('|')?;
        let name = name.strip_prefix("name=").filter(|name| !name.is_empty())?;
        let (key, value) = pick.split_once('=')?;
        let pick = match key {
            "version" => Pick::Version(value.parse().ok().filter(|version| *version > 0)?),
            "label" if !value.is_empty() && !value.contains('|') => Pick::Label(value.to_owned()),
            _ => return None,
        };
        Some(Self { name: name.to_owned(), pick })
    }
}

/// Formats a reference tag.
#[cfg(test)]
pub(super) fn mark(reference: &Reference) -> String {
    let pick = match &reference.pick {
        Pick::Version(version) => format!("version={version}"),
        Pick::Label(label) => format!("label={label}"),
    };
    format!("{OPEN}name={}|{pick}{CLOSE}", reference.name)
}

/// Splits a text at its reference tags. Concatenated, the segments are the text again; malformed
/// tags are plain text.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut plain_from = 0;
    let mut at = 0;
    while let Some((start, end, inner)) = next_mark(text, at) {
        if let Some(reference) = Reference::parse(inner) {
            pieces.extend(text.get(plain_from..start).filter(|s| !s.is_empty()).map(Piece::Plain));
            pieces.push(Piece::Refers(reference));
            plain_from = end;
        }
        at = end;
    }
    pieces.extend(text.get(plain_from..).filter(|s| !s.is_empty()).map(Piece::Plain));
    pieces
}

/// Returns start, end and content of the next tag.
fn next_mark(text: &str, from: usize) -> Option<(usize, usize, &str)> {
    let start = from + text.get(from..)?.find(OPEN)?;
    let inside = start + OPEN.len();
    let len = text.get(inside..)?.find(CLOSE)?;
    Some((start, inside + len + CLOSE.len(), text.get(inside..inside + len)?))
}
