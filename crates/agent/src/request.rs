use ratchet_core::record::tokens::Tokens;
use serde_json::Value;

/// Safety margin on our own token count, because tokenizers differ.
const HEADROOM_PERCENT: u64 = 15;
/// Token overhead of a turn, a tool or a system text.
const FRAME_TOKENS: u64 = 8;

/// A request to a model: system prompt, turns, tools and response format.
#[derive(Clone, Debug, PartialEq)]
pub struct LlmRequest {
    /// System prompt.
    pub system: Vec<CacheablePart>,
    /// The conversation, starting and ending with the user.
    pub turns: Vec<Turn>,
    pub tools: Vec<ToolSpec>,
    pub response_format: ResponseFormat,
    /// Omitted for models that do not support it.
    pub temperature: Option<f64>,
    pub max_tokens: u32,
}

/// A text that may end a prompt cache prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheablePart {
    pub text: String,
    pub caching: Caching,
}

/// Whether the prefix up to here should be cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caching {
    /// Further requests share this prefix.
    UpToHere,
    Unmarked,
}

/// A turn of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Turn {
    User(Vec<CacheablePart>),
    /// Text, tool calls or both.
    Model {
        /// May be empty.
        text: String,
        calls: Vec<ToolCall>,
    },
    /// Results of the preceding tool calls.
    Tools(Vec<ToolResult>),
}

/// The definition of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON Schema of the input.
    pub input: Value,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub input: Value,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    pub id: String,
    pub text: String,
    pub outcome: ToolOutcome,
}

/// Whether a tool call succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolOutcome {
    Fine,
    Failed,
}

/// The required format of a response.
#[derive(Clone, Debug, PartialEq)]
pub enum ResponseFormat {
    /// Text or tool calls.
    Text,
    /// A JSON object valid against this JSON Schema.
    Json(Value),
}

impl CacheablePart {
    /// Creates a part without a cache breakpoint.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), caching: Caching::Unmarked }
    }

    /// Creates a part that ends a cache prefix.
    pub fn cached(text: impl Into<String>) -> Self {
        Self { text: text.into(), caching: Caching::UpToHere }
    }

    pub(crate) fn ends_cache(&self) -> bool {
        self.caching == Caching::UpToHere
    }
}

impl LlmRequest {
    /// Creates a request with one user turn and the default output limit.
    ///
    /// ```
    /// use ratchet_agent::request::{LlmRequest, CacheablePart};
    ///
    /// let request = LlmRequest { system: vec![CacheablePart::cached("Be brief.")], ..LlmRequest::new("Why?") };
    /// assert_eq!(request.max_tokens, 4096);
    /// ```
    pub fn new(question: impl Into<String>) -> Self {
        Self {
            system: Vec::new(),
            turns: vec![Turn::User(vec![CacheablePart::new(question)])],
            tools: Vec::new(),
            response_format: ResponseFormat::Text,
            temperature: None,
            max_tokens: 4096,
        }
    }

    /// Counts the input with the local tokenizer, plus a safety margin.
    pub fn tokens(&self) -> Tokens {
        let mut sum = Tokens::approximate("");
        for text in self.texts() {
            sum = sum + Tokens::approximate(&text);
            sum.count += FRAME_TOKENS;
        }
        let headroom = sum.count.saturating_mul(HEADROOM_PERCENT).div_ceil(100);
        Tokens { count: sum.count.saturating_add(headroom), ..sum }
    }

    /// Counts the input like [`LlmRequest::tokens`]: first what may be written to the cache, which
    /// costs more, then the rest.
    pub(crate) fn tokens_by_caching(&self) -> (u64, u64) {
        let all = self.tokens().count;
        let parts = self.turns.iter().map(|turn| match turn {
            Turn::User(parts) => parts.as_slice(),
            Turn::Model { .. } | Turn::Tools(_) => &[],
        });
        // All that comes after the last breakpoint is billed as usual. Turns without parts are
        // counted as cached: they are few.
        let parts: Vec<&CacheablePart> = self.system.iter().chain(parts.flatten()).collect();
        let Some(last) = parts.iter().rposition(|part| part.ends_cache()) else { return (0, all) };
        let after = parts.get(last + 1..).unwrap_or_default();
        let after: u64 = after.iter().map(|part| Tokens::approximate(&part.text).count).sum();
        let plain = (after.saturating_mul(100 + HEADROOM_PERCENT) / 100).min(all);
        (all - plain, plain)
    }

    /// Returns the JSON Schema of the response, if there is one.
    pub(crate) fn schema(&self) -> Option<&Value> {
        match &self.response_format {
            ResponseFormat::Json(schema) => Some(schema),
            ResponseFormat::Text => None,
        }
    }

    fn texts(&self) -> impl Iterator<Item = std::borrow::Cow<'_, str>> {
        let system = self.system.iter().map(|part| part.text.as_str().into());
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
            Self::User(parts) => parts.iter().map(|part| part.text.as_str().into()).collect(),
            Self::Model { text, calls } => {
                let calls = calls.iter().map(|call| format!("{} {}", call.name, call.input).into());
                std::iter::once(text.as_str().into()).chain(calls).collect()
            }
            Self::Tools(results) => {
                results.iter().map(|result| result.text.as_str().into()).collect()
            }
        }
    }
}
