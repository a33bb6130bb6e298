use ratchet_core::record::tokens::Tokens;
use serde_json::Value;

/// How much more than our own count a model may make of a text: tokenizers differ.
const HEADROOM_PERCENT: u64 = 15;
/// What a turn, a tool or a system text takes beyond its words.
const FRAME_TOKENS: u64 = 8;

/// A question to a model: what it is told, what it may do, and what the answer must look like.
#[derive(Clone, Debug, PartialEq)]
pub struct LlmRequest {
    /// What it is told to be and do.
    pub system: Vec<CacheablePart>,
    /// What was said so far, beginning and ending with the user.
    pub turns: Vec<Turn>,
    /// The tools it may call.
    pub tools: Vec<ToolSpec>,
    /// What the answer must look like.
    pub form: ResponseFormat,
    /// How freely it chooses its words; left out for models that do not take it.
    pub temperature: Option<f64>,
    /// The most tokens the answer may have.
    pub max_tokens: u32,
}

/// A text that may be the end of what a provider keeps in its cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheablePart {
    pub text: String,
    /// Whether all up to here is worth keeping for the next question.
    pub caching: Caching,
}

/// Whether a provider should keep all up to a passage for the next question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caching {
    /// More questions begin with the same words.
    UpToHere,
    Unmarked,
}

/// One side's turn to speak.
#[derive(Clone, Debug, PartialEq)]
pub enum Turn {
    User(Vec<CacheablePart>),
    /// The model said something, called tools, or both.
    Model {
        /// What it said; nothing when empty.
        text: String,
        calls: Vec<ToolCall>,
    },
    /// What the tools gave that the model called.
    Tools(Vec<ToolResult>),
}

/// A tool that a model may call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// The JSON Schema of its input.
    pub input: Value,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub input: Value,
}

/// What a tool gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    pub id: String,
    pub text: String,
    pub outcome: ToolOutcome,
}

/// How a call of a tool went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolOutcome {
    Fine,
    /// Not well.
    Failed,
}

/// What an answer must look like.
#[derive(Clone, Debug, PartialEq)]
pub enum ResponseFormat {
    /// Words, or calls of tools.
    Text,
    /// A JSON document that fits this JSON Schema, which must be of an object.
    Json(Value),
}

impl CacheablePart {
    /// A text with no mark.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), caching: Caching::Unmarked }
    }

    /// A text that ends what should be kept.
    pub fn cached(text: impl Into<String>) -> Self {
        Self { text: text.into(), caching: Caching::UpToHere }
    }

    pub(crate) fn ends_cache(&self) -> bool {
        self.caching == Caching::UpToHere
    }
}

impl LlmRequest {
    /// A plain question with room for a short answer.
    ///
    /// ```
    /// use ratchet_agent::request::{LlmRequest, CacheablePart};
    ///
    /// let ask = LlmRequest { system: vec![CacheablePart::cached("Be brief.")], ..LlmRequest::new("Why?") };
    /// assert_eq!(ask.max_tokens, 4096);
    /// ```
    pub fn new(question: impl Into<String>) -> Self {
        Self {
            system: Vec::new(),
            turns: vec![Turn::User(vec![CacheablePart::new(question)])],
            tools: Vec::new(),
            form: ResponseFormat::Text,
            temperature: None,
            max_tokens: 4096,
        }
    }

    /// Counts what goes in with the tokenizer we have, and some more to be safe.
    pub fn tokens(&self) -> Tokens {
        let mut sum = Tokens::approximate("");
        for text in self.texts() {
            sum = sum + Tokens::approximate(&text);
            sum.count += FRAME_TOKENS;
        }
        let headroom = sum.count.saturating_mul(HEADROOM_PERCENT).div_ceil(100);
        Tokens { count: sum.count.saturating_add(headroom), ..sum }
    }

    /// Whether anything of it is worth keeping in a cache.
    pub(crate) fn marks_cache(&self) -> bool {
        let said = self.turns.iter().flat_map(|turn| match turn {
            Turn::User(passages) => passages.as_slice(),
            Turn::Model { .. } | Turn::Tools(_) => &[],
        });
        self.system.iter().chain(said).any(CacheablePart::ends_cache)
    }

    /// The JSON Schema of the answer, if it has one.
    pub(crate) fn schema(&self) -> Option<&Value> {
        match &self.form {
            ResponseFormat::Json(schema) => Some(schema),
            ResponseFormat::Text => None,
        }
    }

    fn texts(&self) -> impl Iterator<Item = std::borrow::Cow<'_, str>> {
        let system = self.system.iter().map(|passage| passage.text.as_str().into());
        let turns = self.turns.iter().flat_map(Turn::texts);
        let tools = self
            .tools
            .iter()
            .map(|tool| format!("{} {} {}", tool.name, tool.description, tool.input).into());
        let schema = self.schema().map(|schema| schema.to_string().into());
        system.chain(turns).chain(tools).chain(schema)
    }
}

impl Turn {
    fn texts(&self) -> Vec<std::borrow::Cow<'_, str>> {
        match self {
            Self::User(passages) => passages.iter().map(|part| part.text.as_str().into()).collect(),
            Self::Model { text, calls } => {
                let calls = calls.iter().map(|call| format!("{} {}", call.name, call.input).into());
                std::iter::once(text.as_str().into()).chain(calls).collect()
            }
            Self::Tools(results) => {
                results.iter().map(|given| given.text.as_str().into()).collect()
            }
        }
    }
}
