use std::collections::BTreeMap;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ratchet_agent::claude::options::PermissionMode;
use ratchet_core::chat::attachment::{Attachment, MAX_ATTACHMENTS};
use ratchet_core::chat::config_layer::Trust;
use ratchet_core::chat::permission_prompt::{Decision, PermissionScope};
use ratchet_core::chat::system_prompt::{PastMessage, Speaker};
use ratchet_core::money::Money;
use ratchet_core::payload::Json as JsonText;
use ratchet_remote::langfuse::wire::json::Raw;
use ratchet_stages::chat::workspace_policy::{ChatAttachment, ChatRequest};
use ratchet_stages::chat::{BudgetChoice, ChatChange, ChatSettings, MAX_TITLE_CHARS, ModelChoice};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::{ApiError, ApiResult};

/// Maximum number of messages in `history`.
const MAX_HISTORY: usize = 10_000;
const MAX_MODEL_BYTES: usize = 200;
const MAX_MESSAGE_BYTES: usize = 2_000_000;

/// A chat to create.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateChatRequest {
    /// Folder in which the agent works, an absolute path on the server's machine.
    pub workspace: String,
    #[schema(min_length = 1, max_length = 300)]
    pub title: Option<String>,
    /// Name of the model [default: the agent's].
    pub model: Option<String>,
    /// Permission mode: `default`, `acceptEdits`, `plan`, `dontAsk`, `auto`.
    pub mode: Option<String>,
    /// Maximum number of model calls in one turn.
    pub max_turns: Option<u32>,
    /// Budget of the chat in US dollars.
    pub max_budget: Option<f64>,
    /// Messages of an earlier conversation, oldest first.
    #[serde(default)]
    pub history: Vec<PastMessageRequest>,
    /// Files for the agent.
    #[serde(default)]
    pub attachments: Vec<AttachmentRequest>,
}

/// A message of an earlier conversation.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PastMessageRequest {
    /// `user` or `assistant`.
    pub role: String,
    pub text: String,
}

/// An attachment: a name with its content, or the path of a file in the workspace.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AttachmentRequest {
    /// File name; required with `text` and `data`.
    pub name: Option<String>,
    /// Content as text.
    pub text: Option<String>,
    /// Content in Base64, for any type of file.
    pub data: Option<String>,
    /// Path of a file, relative to the workspace.
    pub path: Option<String>,
}

/// A message to the agent.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MessageRequest {
    pub text: String,
    #[serde(default)]
    pub attachments: Vec<AttachmentRequest>,
}

/// An answer to a question or permission prompt.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AnswerRequest {
    /// The `id` of a `question` or `permission` event.
    pub id: String,
    /// `allow` or `deny`; omitted with `answers`, `response` or `content`.
    pub decision: Option<String>,
    /// With `allow`: for the rest of the chat, by the rules that the prompt suggests.
    #[serde(default)]
    pub always: bool,
    /// With `allow`: the tool's input as the prompt showed it. A different input is refused.
    #[schema(value_type = Option<serde_json::Value>)]
    pub input: Option<Raw>,
    /// With `deny`: reason for the agent.
    pub message: Option<String>,
    /// With `deny`: also interrupts the turn.
    #[serde(default)]
    pub interrupt: bool,
    /// Answers by the text of their question: a label, labels separated by commas, or free text.
    pub answers: Option<BTreeMap<String, String>>,
    /// One free text for all questions.
    pub response: Option<String>,
    /// Values of a form.
    #[schema(value_type = Option<serde_json::Value>)]
    pub content: Option<Raw>,
}

/// The point at which a chat is forked.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForkRequest {
    /// Id of the last message that the fork includes, with its answer [default: the latest].
    pub at: Option<String>,
}

/// The new title of a chat.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TitleRequest {
    /// 1 to 300 characters; null removes the title.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required = true, min_length = 1, max_length = 300)]
    pub title: Option<String>,
}

/// The point to which files are restored.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RewindRequest {
    /// Id of the message; files are restored to their state before it.
    pub message: String,
    /// Only report what would change.
    #[serde(default)]
    pub dry_run: bool,
}

/// Changes to the settings of a chat. Omitted fields stay as they are.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModeRequest {
    /// Permission mode: `default`, `acceptEdits`, `plan`, `dontAsk` or `auto`.
    pub mode: Option<String>,
    /// Name of the model.
    pub model: Option<String>,
    /// Budget of the whole chat in US dollars, including what is already spent; null for no limit.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<f64>)]
    pub max_budget: Option<Option<f64>>,
    /// False: hooks and MCP servers of the workspace do not run, even if the server trusts it. True:
    /// they run if the server trusts it; this does not grant trust.
    pub trust: Option<bool>,
}

/// Distinguishes null from an absent field.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Option<f64>>, D::Error> {
    Option::deserialize(from).map(Some)
}

impl ModeRequest {
    pub(crate) fn change(&self) -> ApiResult<ChatChange> {
        let budget = self.max_budget.map(|dollars| match dollars {
            None => Ok(BudgetChoice::Unlimited),
            Some(dollars) => budget(dollars).map(BudgetChoice::Limit),
        });
        let trust = |is_allowed| if is_allowed { Trust::Trusted } else { Trust::Untrusted };
        let change = ChatChange {
            mode: self.mode.as_deref().map(mode).transpose()?,
            model: self.model.as_deref().map(model).transpose()?.map(ModelChoice::Named),
            budget: budget.transpose()?,
            trust: self.trust.map(trust),
        };
        if change == ChatChange::default() {
            return Err(invalid("mode, model, maxBudget or trust: one of them"));
        }
        Ok(change)
    }
}

fn invalid(why: impl Into<String>) -> ApiError {
    ApiError::Invalid(why.into())
}

impl CreateChatRequest {
    pub(crate) fn folder(&self) -> ApiResult<PathBuf> {
        let folder = PathBuf::from(&self.workspace);
        // A relative one would depend on where the server was started.
        let is_path = folder.is_absolute() && !self.workspace.contains('\0');
        if is_path { Ok(folder) } else { Err(invalid("workspace: an absolute path")) }
    }

    pub(crate) fn title(&self) -> ApiResult<Option<String>> {
        title(self.title.as_deref())
    }

    pub(crate) fn chat_request(&self) -> ApiResult<ChatRequest> {
        self.max_budget.map(budget).transpose()?;
        if self.max_turns == Some(0) {
            return Err(invalid("maxTurns: from 1"));
        }
        let mode = self.mode.as_deref().map(mode).transpose()?;
        let settings = ChatSettings {
            model: self.model.as_deref().map(model).transpose()?,
            mode: mode.map(|mode| mode.as_str().to_owned()),
            max_turns: self.max_turns,
            max_budget: self.max_budget,
            ..ChatSettings::default()
        };
        let attached = AttachmentRequest::read_all(&self.attachments)?;
        Ok(ChatRequest { attached, history: self.past()?, settings, ..ChatRequest::default() })
    }

    fn past(&self) -> ApiResult<Vec<PastMessage>> {
        if self.history.len() > MAX_HISTORY {
            return Err(invalid(format!("history: {MAX_HISTORY} at most")));
        }
        let read = |message: &PastMessageRequest| {
            let by = Speaker::parse(&message.role);
            let by = by.ok_or_else(|| invalid("history.role: user or assistant"))?;
            Ok(PastMessage { by, text: message.text.clone() })
        };
        self.history.iter().map(read).collect()
    }
}

impl MessageRequest {
    /// The text, if it is valid.
    pub(crate) fn text(&self) -> ApiResult<&str> {
        let has_content = !self.text.trim().is_empty() || !self.attachments.is_empty();
        if !has_content || self.text.len() > MAX_MESSAGE_BYTES {
            return Err(invalid(format!("text: 1 to {MAX_MESSAGE_BYTES} bytes")));
        }
        Ok(&self.text)
    }
}

impl AttachmentRequest {
    pub(crate) fn read_all(all: &[Self]) -> ApiResult<Vec<ChatAttachment>> {
        if all.len() > MAX_ATTACHMENTS {
            return Err(invalid(format!("attachments: {MAX_ATTACHMENTS} at most")));
        }
        all.iter().map(Self::read).collect()
    }

    fn read(&self) -> ApiResult<ChatAttachment> {
        let bytes = match (&self.text, &self.data, &self.path) {
            (Some(text), None, None) => text.clone().into_bytes(),
            (None, Some(data), None) => STANDARD
                .decode(data)
                .map_err(|why| invalid(format!("attachments.data: not Base64: {why}")))?,
            (None, None, Some(path)) if self.name.is_none() => {
                return Ok(ChatAttachment::InWorkspace(path.clone()));
            }
            _ => return Err(invalid("attachments: a name with text or data, or a path alone")),
        };
        let name = self.name.as_deref().unwrap_or_default();
        let read = Attachment::read(name, bytes);
        read.map(ChatAttachment::Here).map_err(|why| invalid(format!("attachments: {why}")))
    }
}

impl AnswerRequest {
    pub(crate) fn decision(self) -> ApiResult<Decision> {
        let given = (self.decision.as_deref(), self.answers, self.response, self.content);
        match given {
            (Some("allow"), None, None, None) => {
                let allowance =
                    if self.always { PermissionScope::Chat } else { PermissionScope::Once };
                let input = self.input.map(|input| one_line(&input)).transpose()?;
                Ok(Decision::Allow { allowance, input })
            }
            (Some("deny"), None, None, None) => {
                Ok(Decision::Deny { message: self.message, stops: self.interrupt })
            }
            (None | Some("answer"), Some(answers), None, None) => Ok(Decision::Answers(answers)),
            (None | Some("answer"), None, Some(text), None) => Ok(Decision::Says(text)),
            (None | Some("answer"), None, None, Some(content)) => {
                Ok(Decision::Fills(one_line(&content)?))
            }
            _ => Err(invalid(
                "decision: allow or deny; or one of answers, response and content instead",
            )),
        }
    }
}

/// The JSON on one line, because events and the agent's input are read line by line. In JSON a line
/// break is never part of a value.
fn one_line(raw: &Raw) -> ApiResult<JsonText> {
    let text = raw.get().replace(['\n', '\r'], " ");
    JsonText::parse(&text).ok_or_else(|| invalid("input, content: nested too deep"))
}

/// Validates a budget.
fn budget(dollars: f64) -> ApiResult<Money> {
    let money = Money::from_dollars(dollars).filter(|money| *money > Money::ZERO);
    money.ok_or_else(|| invalid("maxBudget: US dollars, more than 0"))
}

/// Parses a permission mode. The API does not offer to bypass permissions: it would allow anything.
pub(crate) fn mode(text: &str) -> ApiResult<PermissionMode> {
    let mode = PermissionMode::parse(text).filter(|mode| *mode != PermissionMode::Bypass);
    mode.ok_or_else(|| invalid("mode: default, acceptEdits, plan, dontAsk or auto"))
}

/// Validates a title.
pub(crate) fn title(title: Option<&str>) -> ApiResult<Option<String>> {
    let fits = |title: &str| (1..=MAX_TITLE_CHARS).contains(&title.chars().count());
    match title {
        Some(title) if !fits(title) => {
            Err(invalid(format!("title: 1 to {MAX_TITLE_CHARS} characters")))
        }
        title => Ok(title.map(str::to_owned)),
    }
}

/// Validates the name of a model.
pub(crate) fn model(name: &str) -> ApiResult<String> {
    let is_name = (1..=MAX_MODEL_BYTES).contains(&name.len()) && !name.starts_with('-');
    let is_plain = name.chars().all(|c| c.is_ascii_graphic());
    if is_name && is_plain { Ok(name.to_owned()) } else { Err(invalid("model: the name of one")) }
}
