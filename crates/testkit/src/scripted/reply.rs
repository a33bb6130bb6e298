use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

/// One reply of a script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// What must have been said since the model last spoke; anything when empty.
    pub on: String,
    /// What the model thinks aloud before it answers; nothing when empty.
    pub thinking: String,
    /// What it answers; nothing when empty.
    pub text: String,
    /// A document that it hands in, in whatever way the request asks for one.
    pub document: Option<Value>,
    pub calls: Vec<Call>,
    /// What it says it used.
    pub tokens: Tokens,
    /// How it fails instead, if it does.
    pub failure: Option<Failure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// With a status of HTTP.
    Status(u16),
    /// With a status, and the seconds that it wants to be left alone.
    Later(u16, u32),
    /// It breaks off in the middle of the answer.
    Cut,
    /// It breaks off in the middle of the answer, and leaves the line open.
    Stall,
    /// It takes the question and never answers.
    Silence,
    /// What it says is not what its format allows.
    Malformed,
    /// It answers, but that it will not.
    Refusal,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub input: Value,
}

/// Tokens, each kind apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    pub input: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub output: u64,
    /// Of the ones out, spent on reasoning. Only OpenAI's formats say so.
    pub reasoning: u64,
}

impl Reply {
    /// Words, for a hundred tokens in and ten out.
    pub fn text(text: &str) -> Self {
        let tokens = Tokens { input: 100, output: 10, ..Tokens::default() };
        Self { text: text.to_owned(), tokens, ..Self::default() }
    }

    /// A document, handed in as the request asks, for the same.
    pub fn document(document: Value) -> Self {
        Self { document: Some(document), ..Self::text("") }
    }

    /// A call of a tool, for the same.
    pub fn call(name: &str, input: Value) -> Self {
        static CALLS: AtomicU64 = AtomicU64::new(1);
        let id = format!("toolu_{}", CALLS.fetch_add(1, Ordering::Relaxed));
        Self { calls: vec![Call { id, name: name.to_owned(), input }], ..Self::text("") }
    }

    pub fn failing(failure: Failure) -> Self {
        Self { failure: Some(failure), ..Self::default() }
    }

    /// A rejection in these words.
    pub fn rejecting(words: &str) -> Self {
        Self { text: words.to_owned(), ..Self::failing(Failure::Status(400)) }
    }

    /// The same, only to a question that says this.
    #[must_use]
    pub fn on(self, words: &str) -> Self {
        Self { on: words.to_owned(), ..self }
    }

    /// Reads a reply as scripts write it down; what is left out is empty.
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

    /// What it answers, in the pieces in which it is streamed.
    pub(super) fn pieces(&self) -> Vec<String> {
        let chars: Vec<char> = self.text.chars().collect();
        let piece = chars.len().div_ceil(8).max(1);
        chars.chunks(piece).map(String::from_iter).collect()
    }

    /// The document in the form that a request asks for: as a call of the tool of that name, or as
    /// words.
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
