use std::collections::BTreeMap;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ratchet_agent::claude::options::PermissionMode;
use ratchet_core::chat::attachment::{Attachment, MAX_ATTACHMENTS};
use ratchet_core::chat::config_layer::Trust;
use ratchet_core::chat::permission_prompt::{Allowance, Decision};
use ratchet_core::chat::system_prompt::{PastMessage, Speaker};
use ratchet_core::money::Money;
use ratchet_core::payload::Json as JsonText;
use ratchet_remote::langfuse::wire::json::Raw;
use ratchet_stages::chat::workspace_policy::{Attached, ChatRequest};
use ratchet_stages::chat::{BudgetChoice, ChatChange, ChatSettings, MAX_TITLE_CHARS, ModelChoice};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::{ApiError, ApiResult};

/// How many words of an earlier conversation may be handed in.
const MAX_HISTORY: usize = 10_000;
/// How long the name of a model may be.
const MAX_MODEL_BYTES: usize = 200;
/// How long a message may be.
const MAX_MESSAGE_BYTES: usize = 2_000_000;

/// A session to be begun, as clients ask for it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionRequest {
    /// The folder that the agent works in, an absolute path on the server's machine.
    pub workspace: String,
    /// What people call it.
    #[schema(min_length = 1, max_length = 300)]
    pub title: Option<String>,
    /// Which model answers.
    pub model: Option<String>,
    /// What the agent may do without asking: `default`, `acceptEdits`, `plan`, `dontAsk`, `auto`.
    pub mode: Option<String>,
    /// How often the model may be asked in one turn.
    pub max_turns: Option<u32>,
    /// What the conversation may spend, in US dollars.
    pub max_budget: Option<f64>,
    /// What was said in an earlier conversation, oldest first.
    #[serde(default)]
    pub history: Vec<PastWordsRequest>,
    /// What the agent is given.
    #[serde(default)]
    pub attachments: Vec<AttachmentRequest>,
}

/// Something that was said, as clients hand it in.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PastWordsRequest {
    /// By whom: `user` or `assistant`.
    pub role: String,
    /// What.
    pub text: String,
}

/// Something that is attached, as clients hand it in: with its content, or as a file of the
/// workspace.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AttachmentRequest {
    /// What it is called; needed with `text` and `data`.
    pub name: Option<String>,
    /// Its content, if it is text.
    pub text: Option<String>,
    /// Its content in Base64, whatever it is.
    pub data: Option<String>,
    /// A file of the workspace, by its path from there.
    pub path: Option<String>,
}

/// A message, as clients send it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MessageRequest {
    /// What it says.
    pub text: String,
    /// What goes with it.
    #[serde(default)]
    pub attachments: Vec<AttachmentRequest>,
}

/// An answer to what the agent asked, as clients send it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AnswerRequest {
    /// What is answered: the `id` of a `question` or `permission` event.
    pub id: String,
    /// `allow` or `deny`; left out where there are answers.
    pub decision: Option<String>,
    /// With `allow`: for the rest of the session, as far as the rules say that come with the
    /// question.
    #[serde(default)]
    pub always: bool,
    /// With `allow`: the tool's input as it was shown, to make sure that this is what is allowed.
    /// Another input is refused.
    #[schema(value_type = Option<serde_json::Value>)]
    pub input: Option<Raw>,
    /// With `deny`: what the agent is told.
    pub message: Option<String>,
    /// With `deny`: the turn ends as well.
    #[serde(default)]
    pub interrupt: bool,
    /// The answer to each question, by its text: a label, labels with commas, or other words.
    pub answers: Option<BTreeMap<String, String>>,
    /// Words in answer to all questions.
    pub response: Option<String>,
    /// A form, filled in.
    #[schema(value_type = Option<serde_json::Value>)]
    pub content: Option<Raw>,
}

/// Where a session is forked, as clients ask for it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForkRequest {
    /// The last message that the copy knows, by its id, with the answer to it; all that was said
    /// so far when left out.
    pub at: Option<String>,
}

/// What people call a session, as clients say it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TitleRequest {
    /// The title, 1 to 300 characters; none when null.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required = true, min_length = 1, max_length = 300)]
    pub title: Option<String>,
}

/// Where files are put back to, as clients ask for it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RewindRequest {
    /// The message before which they were as wanted, by its id.
    pub message: String,
    /// Only tell what would be done.
    #[serde(default)]
    pub dry_run: bool,
}

/// How an agent works from now on, as clients set it. What is left out stays as it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModeRequest {
    /// `default`, `acceptEdits`, `plan`, `dontAsk` or `auto`.
    pub mode: Option<String>,
    /// Which model answers from now on.
    pub model: Option<String>,
    /// What the conversation may spend in US dollars, with what it has spent already; null for no
    /// limit.
    #[serde(default, deserialize_with = "told")]
    #[schema(value_type = Option<f64>)]
    pub max_budget: Option<Option<f64>>,
    /// False: what lies in the workspace may not run code, whatever the server trusts. True: it may
    /// if the server trusts it; nobody can have it trusted that way.
    pub trust: Option<bool>,
}

/// Tells null from what was left out.
fn told<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Option<f64>>, D::Error> {
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

impl SessionRequest {
    /// The folder that is named.
    pub(crate) fn folder(&self) -> ApiResult<PathBuf> {
        let folder = PathBuf::from(&self.workspace);
        // A relative one would depend on where the server was started.
        let is_path = folder.is_absolute() && !self.workspace.contains('\0');
        if is_path { Ok(folder) } else { Err(invalid("workspace: an absolute path")) }
    }

    pub(crate) fn title(&self) -> ApiResult<Option<String>> {
        title(self.title.as_deref())
    }

    /// What the session is begun with.
    pub(crate) fn wish(&self) -> ApiResult<ChatRequest> {
        self.max_budget.map(budget).transpose()?;
        if self.max_turns == Some(0) {
            return Err(invalid("maxTurns: from 1"));
        }
        let mode = self.mode.as_deref().map(mode).transpose()?;
        let setting = ChatSettings {
            model: self.model.as_deref().map(model).transpose()?,
            mode: mode.map(|mode| mode.as_str().to_owned()),
            max_turns: self.max_turns,
            max_budget: self.max_budget,
            ..ChatSettings::default()
        };
        let attached = AttachmentRequest::read_all(&self.attachments)?;
        Ok(ChatRequest { attached, history: self.past()?, setting, ..ChatRequest::default() })
    }

    fn past(&self) -> ApiResult<Vec<PastMessage>> {
        if self.history.len() > MAX_HISTORY {
            return Err(invalid(format!("history: {MAX_HISTORY} at most")));
        }
        let read = |words: &PastWordsRequest| {
            let by = Speaker::parse(&words.role);
            let by = by.ok_or_else(|| invalid("history.role: user or assistant"))?;
            Ok(PastMessage { by, text: words.text.clone() })
        };
        self.history.iter().map(read).collect()
    }
}

impl MessageRequest {
    /// The text, if it is one that can be sent.
    pub(crate) fn words(&self) -> ApiResult<&str> {
        let is_there = !self.text.trim().is_empty() || !self.attachments.is_empty();
        if !is_there || self.text.len() > MAX_MESSAGE_BYTES {
            return Err(invalid(format!("text: 1 to {MAX_MESSAGE_BYTES} bytes")));
        }
        Ok(&self.text)
    }
}

impl AttachmentRequest {
    pub(crate) fn read_all(all: &[Self]) -> ApiResult<Vec<Attached>> {
        if all.len() > MAX_ATTACHMENTS {
            return Err(invalid(format!("attachments: {MAX_ATTACHMENTS} at most")));
        }
        all.iter().map(Self::read).collect()
    }

    fn read(&self) -> ApiResult<Attached> {
        let bytes = match (&self.text, &self.data, &self.path) {
            (Some(text), None, None) => text.clone().into_bytes(),
            (None, Some(data), None) => STANDARD
                .decode(data)
                .map_err(|why| invalid(format!("attachments.data: not Base64: {why}")))?,
            (None, None, Some(path)) if self.name.is_none() => {
                return Ok(Attached::InWorkspace(path.clone()));
            }
            _ => return Err(invalid("attachments: a name with text or data, or a path alone")),
        };
        let name = self.name.as_deref().unwrap_or_default();
        let read = Attachment::read(name, bytes);
        read.map(Attached::Here).map_err(|why| invalid(format!("attachments: {why}")))
    }
}

impl AnswerRequest {
    pub(crate) fn decision(self) -> ApiResult<Decision> {
        let said = (self.decision.as_deref(), self.answers, self.response, self.content);
        match said {
            (Some("allow"), None, None, None) => {
                let allowance = if self.always { Allowance::Session } else { Allowance::Once };
                let input = self.input.map(|input| one_line(&input)).transpose()?;
                Ok(Decision::Allow { allowance, input })
            }
            (Some("deny"), None, None, None) => {
                Ok(Decision::Deny { message: self.message, stops: self.interrupt })
            }
            (None | Some("answer"), Some(answers), None, None) => Ok(Decision::Answers(answers)),
            (None | Some("answer"), None, Some(words), None) => Ok(Decision::Says(words)),
            (None | Some("answer"), None, None, Some(content)) => {
                Ok(Decision::Fills(one_line(&content)?))
            }
            _ => Err(invalid(
                "decision: allow or deny; or one of answers, response and content instead",
            )),
        }
    }
}

/// The JSON as it came, on one line: events and the agent's input are read line by line. In JSON a
/// line break is never part of a value.
fn one_line(raw: &Raw) -> ApiResult<JsonText> {
    let text = raw.get().replace(['\n', '\r'], " ");
    JsonText::parse(&text).ok_or_else(|| invalid("input, content: nested too deep"))
}

/// Reads what may be spent.
fn budget(dollars: f64) -> ApiResult<Money> {
    let money = Money::from_dollars(dollars).filter(|money| *money > Money::ZERO);
    money.ok_or_else(|| invalid("maxBudget: US dollars, more than 0"))
}

/// Reads a mode. To skip all permissions is not for the API: whoever may set that may do anything.
pub(crate) fn mode(word: &str) -> ApiResult<PermissionMode> {
    let mode = PermissionMode::parse(word).filter(|mode| *mode != PermissionMode::Bypass);
    mode.ok_or_else(|| invalid("mode: default, acceptEdits, plan, dontAsk or auto"))
}

/// Reads what people call a session.
pub(crate) fn title(title: Option<&str>) -> ApiResult<Option<String>> {
    let fits = |title: &str| (1..=MAX_TITLE_CHARS).contains(&title.chars().count());
    match title {
        Some(title) if !fits(title) => {
            Err(invalid(format!("title: 1 to {MAX_TITLE_CHARS} characters")))
        }
        title => Ok(title.map(str::to_owned)),
    }
}

/// Reads the name of a model.
pub(crate) fn model(name: &str) -> ApiResult<String> {
    let is_name = (1..=MAX_MODEL_BYTES).contains(&name.len()) && !name.starts_with('-');
    let is_plain = name.chars().all(|c| c.is_ascii_graphic());
    if is_name && is_plain { Ok(name.to_owned()) } else { Err(invalid("model: the name of one")) }
}
