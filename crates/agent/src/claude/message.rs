use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use uuid::Uuid;

use super::error::ClaudeError;
use super::permission::PermissionUpdate;
use super::request::CliRequest;

/// Something a user says.
#[derive(Clone, Debug, PartialEq)]
pub struct UserMessage {
    /// Our id for it, by which files can be had back as they were before.
    pub uuid: Uuid,
    pub content: MessageContent,
    /// When it counts, if the agent is busy.
    pub priority: Option<Priority>,
    /// Whether an answer is wanted.
    pub answer: ResponseExpected,
}

/// What is said.
#[derive(Clone, Debug, PartialEq)]
pub enum MessageContent {
    Text(String),
    /// Words, pictures and documents, as the Messages API has them.
    Blocks(Vec<Value>),
}

/// When a message counts, if the agent is busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    Now,
    /// As soon as a tool is done.
    Next,
    /// When the turn is over.
    Later,
}

/// Whether an answer is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseExpected {
    Answer,
    /// It is only to be known from now on.
    Nothing,
}

impl UserMessage {
    /// Words that want an answer.
    pub fn text(uuid: Uuid, text: impl Into<String>) -> Self {
        Self::new(uuid, MessageContent::Text(text.into()))
    }

    /// Words, pictures and documents that want an answer.
    pub fn blocks(uuid: Uuid, blocks: Vec<Value>) -> Self {
        Self::new(uuid, MessageContent::Blocks(blocks))
    }

    fn new(uuid: Uuid, content: MessageContent) -> Self {
        Self { uuid, content, priority: None, answer: ResponseExpected::Answer }
    }

    /// The same, to be read later.
    #[must_use]
    pub fn with_priority(self, priority: Priority) -> Self {
        Self { priority: Some(priority), ..self }
    }

    /// The same, only to be known.
    #[must_use]
    pub fn without_answer(self) -> Self {
        Self { answer: ResponseExpected::Nothing, ..self }
    }

    pub(super) fn document(&self) -> Value {
        let content = match &self.content {
            MessageContent::Text(text) => json!(text),
            MessageContent::Blocks(blocks) => json!(blocks),
        };
        let mut said = json!({
            "type": "user",
            "message": {"role": "user", "content": content},
            "parent_tool_use_id": null,
            "session_id": "",
            "uuid": self.uuid.to_string(),
        });
        if let Some(priority) = self.priority {
            said["priority"] = json!(priority.as_str());
        }
        if self.answer == ResponseExpected::Nothing {
            said["shouldQuery"] = json!(false);
        }
        said
    }
}

impl Priority {
    /// The program's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Now => "now",
            Self::Next => "next",
            Self::Later => "later",
        }
    }
}

/// What we answer to a request of the program.
#[derive(Clone, Debug)]
pub enum Reply {
    /// It goes on with this, as the kind of request takes it.
    Success(Box<RawValue>),
    /// It cannot be done, and why.
    Error(String),
}

impl Reply {
    /// A document of any form.
    ///
    /// # Errors
    /// Fails if it cannot be written as JSON.
    pub fn of(document: &impl Serialize) -> Result<Self, ClaudeError> {
        Ok(Self::Success(serde_json::value::to_raw_value(document)?))
    }

    /// A tool may run, with this input; `updates` is what is remembered of it.
    ///
    /// # Errors
    /// Fails if it cannot be written as JSON.
    pub fn allow(input: &RawValue, updates: &[PermissionUpdate]) -> Result<Self, ClaudeError> {
        Self::of(&Allowed { behavior: "allow", updated_input: input, updated_permissions: updates })
    }

    /// Denies the tool call; the model gets the reason and continues.
    ///
    /// # Errors
    /// Fails if it cannot be written as JSON.
    pub fn deny(why: &str) -> Result<Self, ClaudeError> {
        Self::of(&json!({"behavior": "deny", "message": why}))
    }

    /// A tool may not run, and the turn is over.
    ///
    /// # Errors
    /// Fails if it cannot be written as JSON.
    pub fn deny_and_stop(why: &str) -> Result<Self, ClaudeError> {
        Self::of(&json!({"behavior": "deny", "message": why, "interrupt": true}))
    }

    /// What a server of tools answered.
    ///
    /// # Errors
    /// Fails if it cannot be written as JSON.
    pub fn mcp(response: &Value) -> Result<Self, ClaudeError> {
        Self::of(&json!({"mcp_response": response}))
    }

    /// What a person filled in for a server of tools.
    ///
    /// # Errors
    /// Fails if it cannot be written as JSON.
    pub fn accept(content: &Value) -> Result<Self, ClaudeError> {
        Self::of(&json!({"action": "accept", "content": content}))
    }

    /// A person will not fill in what a server of tools wants to know.
    ///
    /// # Errors
    /// Fails if it cannot be written as JSON.
    pub fn decline() -> Result<Self, ClaudeError> {
        Self::of(&json!({"action": "decline"}))
    }

    /// We do not know what is asked.
    pub fn unknown(request: &CliRequest) -> Self {
        Self::Error(format!("this client does not answer {}", request.ask.subtype()))
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Allowed<'a> {
    behavior: &'static str,
    updated_input: &'a RawValue,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    updated_permissions: &'a [PermissionUpdate],
}
