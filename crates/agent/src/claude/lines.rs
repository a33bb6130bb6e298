use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::exit::ClaudeEnd;
use super::request::CliRequest;

/// Something that came from a process.
#[derive(Clone, Debug)]
pub enum FromClaude {
    Line(CliLine),
    /// Something it asks, and waits for [`answer`](super::process::ClaudeProcess::answer).
    Request(CliRequest),
    /// It does not want to know any more what it asked. No answer is due.
    Withdrawn {
        id: String,
        raw: Arc<RawValue>,
    },
    /// It said something that is too long to be kept.
    Lost {
        bytes: u64,
    },
    /// It has ended; nothing comes after this.
    Ended(Arc<ClaudeEnd>),
}

/// A line, as it was said.
#[derive(Clone, Debug)]
pub struct CliLine {
    /// What it is called: `assistant`, `result`, or an unknown type.
    pub name: String,
    /// What it is called more closely, as `init` of `system`.
    pub subtype: Option<String>,
    /// All of it, byte by byte.
    pub raw: Arc<RawValue>,
}

impl CliLine {
    /// Reads what a line is, and nothing else of it; `None` when it is no JSON object with a type.
    ///
    /// ```
    /// use ratchet_agent::claude::lines::CliLine;
    ///
    /// let said = r#"{"zeta":1e3,"subtype":"new","type":"unheard_of"}"#;
    /// let line = CliLine::read(said.to_owned()).unwrap();
    /// assert!(line.is("unheard_of") && line.subtype.as_deref() == Some("new"));
    /// assert_eq!(line.raw.get(), said);
    /// assert!(CliLine::read("[]".to_owned()).is_none());
    /// ```
    pub fn read(text: String) -> Option<Self> {
        let Head { r#type, subtype } = serde_json::from_str(&text).ok()?;
        let raw = RawValue::from_string(text).ok()?;
        Some(Self { name: r#type, subtype, raw: raw.into() })
    }

    /// Whether it is called so.
    pub fn is(&self, name: &str) -> bool {
        self.name == name
    }

    /// Whether it is called so, and more closely so.
    pub fn is_a(&self, name: &str, subtype: &str) -> bool {
        self.name == name && self.subtype.as_deref() == Some(subtype)
    }
}

#[derive(Deserialize)]
struct Head {
    r#type: String,
    #[serde(default, deserialize_with = "text_or_nothing")]
    subtype: Option<String>,
}

/// A subtype that is no text does not make the line worthless.
fn text_or_nothing<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let value = serde_json::Value::deserialize(from)?;
    Ok(value.as_str().map(str::to_owned))
}

/// What comes from a process, in the order in which it was said.
///
/// It must be drained: a process blocks while its lines are not read, and answers nothing.
#[derive(Debug)]
pub struct ClaudeLines(pub(super) mpsc::Receiver<(FromClaude, OwnedSemaphorePermit)>);

impl ClaudeLines {
    /// The next thing; `None` after the end.
    pub async fn next(&mut self) -> Option<FromClaude> {
        let (said, _room) = self.0.recv().await?;
        Some(said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn odd_subtypes_and_deep_nests_pass() {
        let deep = format!("{{\"type\":\"x\",\"a\":{}{}}}", "[".repeat(9_000), "]".repeat(9_000));
        assert_eq!(CliLine::read(deep.clone()).unwrap().raw.get(), deep);
        let odd = r#"{"subtype":7,"type":"x"}"#.to_owned();
        assert_eq!(CliLine::read(odd).unwrap().subtype, None);
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_said(text in "\\{\"(type|a)\":(\"[a-z\"]{0,4}\"|[0-9]{1,3})[},\"a]{0,3}") {
            if let Some(line) = CliLine::read(text.clone()) {
                prop_assert_eq!(line.raw.get(), text);
            }
        }
    }
}
