use std::fmt;

const OPEN: &str = "@@@langfusePrompt:";
const CLOSE: &str = "@@@";

/// Another prompt that a text asks to have put in its place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    pub name: String,
    pub pick: Pick,
}

/// Which version of a prompt is meant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pick {
    /// This one.
    Version(u32),
    /// The one that has this label now.
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

/// A stretch of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// To be kept as it is.
    Plain(&'a str),
    Refers(Reference),
}

impl Reference {
    /// Reads what stands between the marks: `name=X|label=Y` or `name=X|version=N`.
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

/// Writes the mark that asks for the other prompt.
#[cfg(test)]
pub(super) fn mark(reference: &Reference) -> String {
    let pick = match &reference.pick {
        Pick::Version(version) => format!("version={version}"),
        Pick::Label(label) => format!("label={label}"),
    };
    format!("{OPEN}name={}|{pick}{CLOSE}", reference.name)
}

/// Splits a text at its references. The pieces put together again are the text; marks that make
/// no sense are plain text.
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

/// Where the next mark begins and ends, and what is inside.
fn next_mark(text: &str, from: usize) -> Option<(usize, usize, &str)> {
    let start = from + text.get(from..)?.find(OPEN)?;
    let inside = start + OPEN.len();
    let len = text.get(inside..)?.find(CLOSE)?;
    Some((start, inside + len + CLOSE.len(), text.get(inside..inside + len)?))
}
