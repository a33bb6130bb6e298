use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

/// One reply of a script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// Text that the messages since the model's last answer must contain; any when empty.
    pub on: String,
    /// Thinking before the answer.
    pub thinking: String,
    /// The answer's text.
    pub text: String,
    /// A structured output, in the way the request asks for one.
    pub document: Option<Value>,
    pub calls: Vec<Call>,
    /// Reported token usage.
    pub tokens: Tokens,
    /// The failure instead, if any.
    pub failure: Option<Failure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// An HTTP status.
    Status(u16),
    /// An HTTP status with `Retry-After` in seconds.
    Later(u16, u32),
    /// Breaks off in the middle of the answer.
    Cut,
    /// Stops in the middle of the answer, and leaves the connection open.
    Stall,
    /// Accepts the request and never answers.
    Silence,
    /// Answers without end.
    Endless,
    /// Sends an invalid format.
    Malformed,
    /// A refusal as answer.
    Refusal,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub input: Value,
}

/// Token usage by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    pub input: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub output: u64,
    /// The part of the output spent on reasoning. Only in OpenAI's formats.
    pub reasoning: u64,
}

impl Reply {
    /// A text, for a hundred input and ten output tokens.
    pub fn text(text: &str) -> Self {
        let tokens = Tokens { input: 100, output: 10, ..Tokens::default() };
        Self { text: text.to_owned(), tokens, ..Self::default() }
    }

    /// A structured output, for the same usage.
    pub fn document(document: Value) -> Self {
        Self { document: Some(document), ..Self::text("") }
    }

    /// A tool call, for the same usage.
    pub fn call(name: &str, input: Value) -> Self {
        static CALLS: AtomicU64 = AtomicU64::new(1);
        let id = format!("toolu_{}", CALLS.fetch_add(1, Ordering::Relaxed));
        Self { calls: vec![Call { id, name: name.to_owned(), input }], ..Self::text("") }
    }

    pub fn failing(failure: Failure) -> Self {
        Self { failure: Some(failure), ..Self::default() }
    }

    /// A rejection with this message.
    pub fn rejecting(words: &str) -> Self {
        Self { text: words.to_owned(), ..Self::failing(Failure::Status(400)) }
    }

    /// Restricts the reply to requests that contain this text.
    #[must_use]
    pub fn on(self, words: &str) -> Self {
        Self { on: words.to_owned(), ..self }
    }

    /// Parses a reply of a script; missing fields are empty.
    pub fn from_json(value: &Value) -> Self {
        let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let calls = value["calls"].as_array().into_iter().flatten();
        let count = |name: &str| value["tokens"][name].as_u64().unwrap_or_default();
        Self {
            on: text("on"),
            thinking: text("thinking"),
            text: text("text"),
            document: value.get("document").cloned(),
            calls: calls.map(Call::from_json).collect(),
            tokens: Tokens {
                input: count("input"),
                cache_read: count("cacheRead"),
                cache_write: count("cacheWrite"),
                output: count("output"),
                reasoning: count("reasoning"),
            },
            failure: Failure::from_json(&value["failure"], &value["retryAfter"]),
        }
    }

    /// The answer in chunks for streaming.
    pub(super) fn pieces(&self) -> Vec<String> {
        let chars: Vec<char> = self.text.chars().collect();
        let piece = chars.len().div_ceil(8).max(1);
        chars.chunks(piece).map(String::from_iter).collect()
    }

    /// The structured output as requested: as a call of the tool of that name, or as text.
    pub(super) fn handed_in(mut self, tool: Option<&str>) -> Self {
        let Some(document) = self.document.take() else { return self };
        match tool {
            Some(name) => {
                let (id, name) = ("call_answer".to_owned(), name.to_owned());
                self.calls.push(Call { id, name, input: document });
            }
            None => self.text = document.to_string(),
        }
        self
    }
}

impl Failure {
    fn from_json(value: &Value, retry_after: &Value) -> Option<Self> {
        let later = retry_after.as_u64().and_then(|seconds| u32::try_from(seconds).ok());
        let status = value.as_u64().and_then(|status| u16::try_from(status).ok());
        match (status, later, value.as_str()) {
            (Some(status), Some(seconds), _) => Some(Self::Later(status, seconds)),
            (Some(status), None, _) => Some(Self::Status(status)),
            (None, _, Some("cut")) => Some(Self::Cut),
            (None, _, Some("stall")) => Some(Self::Stall),
            (None, _, Some("silence")) => Some(Self::Silence),
            (None, _, Some("endless")) => Some(Self::Endless),
            (None, _, Some("malformed")) => Some(Self::Malformed),
            (None, _, Some("refusal")) => Some(Self::Refusal),
            (None, ..) => None,
        }
    }
}

impl Call {
    fn from_json(value: &Value) -> Self {
        let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        Self { id: text("id"), name: text("name"), input: value["input"].clone() }
    }
}
