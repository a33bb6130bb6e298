use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// Something the program asks.
#[derive(Clone, Debug)]
pub struct CliRequest {
    /// Its id, for the answer.
    pub id: String,
    pub ask: CliRequestKind,
    /// The whole line, as it was said.
    pub raw: Arc<RawValue>,
}

/// What the program asks.
#[derive(Clone, Debug)]
pub enum CliRequestKind {
    /// Whether a tool may run. Questions to a person (`AskUserQuestion`) come this way too.
    Tool(Box<ToolPermissionRequest>),
    /// What a hook of ours says.
    Hook(HookRequest),
    /// Something of a server of tools that lives in this process, but has no handler.
    Mcp(McpRequest),
    /// What a person fills in for a server of tools.
    Elicitation(ElicitationRequest),
    /// Something else, or one of these in a form we do not know.
    Other { subtype: String },
}

/// Whether a tool may run.
#[derive(Clone, Debug, Deserialize)]
pub struct ToolPermissionRequest {
    pub tool_name: String,
    #[serde(default)]
    pub display_name: Option<String>,
    pub input: Box<RawValue>,
    /// What it would do, in words.
    #[serde(default)]
    pub description: Option<String>,
    /// Which call of the model.
    #[serde(default)]
    pub tool_use_id: Option<String>,
    /// What the program would have us remember: never to be sent back whole, see
    /// [`super::permission`].
    #[serde(default, deserialize_with = "or_default")]
    pub permission_suggestions: Vec<Value>,
    /// The path that is why it asks.
    #[serde(default)]
    pub blocked_path: Option<String>,
    #[serde(default)]
    pub decision_reason: Option<String>,
    /// The sub-agent that wants to, if it is one.
    #[serde(default)]
    pub agent_id: Option<String>,
    /// Whether only a person can answer.
    #[serde(default, deserialize_with = "or_default")]
    pub requires_user_interaction: bool,
}

/// What a hook of ours says.
#[derive(Clone, Debug, Deserialize)]
pub struct HookRequest {
    /// The name we gave it.
    pub callback_id: String,
    pub input: Box<RawValue>,
    /// Which call of the model, if it is about one.
    #[serde(default)]
    pub tool_use_id: Option<String>,
}

/// A message to a server of tools that lives in this process.
#[derive(Clone, Debug, Deserialize)]
pub struct McpRequest {
    pub server_name: String,
    /// The message, as JSON-RPC has it.
    pub message: Box<RawValue>,
}

/// What a person fills in for a server of tools.
#[derive(Clone, Debug, Deserialize)]
pub struct ElicitationRequest {
    pub mcp_server_name: String,
    pub message: String,
    /// How it wants to know: `form` or `url`.
    #[serde(default)]
    pub mode: Option<String>,
    /// The form of the answer, as a JSON schema.
    #[serde(default)]
    pub requested_schema: Option<Box<RawValue>>,
    /// Where to go instead of filling in.
    #[serde(default)]
    pub url: Option<String>,
}

impl CliRequestKind {
    /// What the program calls it.
    pub fn subtype(&self) -> &str {
        match self {
            Self::Tool(_) => "can_use_tool",
            Self::Hook(_) => "hook_callback",
            Self::Mcp(_) => "mcp_message",
            Self::Elicitation(_) => "elicitation",
            Self::Other { subtype } => subtype,
        }
    }
}

impl HookRequest {
    /// The name of the moment, as `PreToolUse`.
    pub fn event(&self) -> Option<String> {
        let named: Named = serde_json::from_str(self.input.get()).ok()?;
        Some(named.hook_event_name)
    }
}

#[derive(Deserialize)]
struct Named {
    hook_event_name: String,
}

/// The envelope of a request.
#[derive(Deserialize)]
struct Envelope<'a> {
    request_id: String,
    #[serde(borrow)]
    request: &'a RawValue,
}

#[derive(Deserialize)]
struct Subtype {
    subtype: String,
}

impl CliRequest {
    /// Reads a line that is a `control_request`; `None` when there is nothing to answer to.
    pub(super) fn read(raw: &Arc<RawValue>) -> Option<Self> {
        let Envelope { request_id, request } = serde_json::from_str(raw.get()).ok()?;
        let Subtype { subtype } = serde_json::from_str(request.get()).ok()?;
        let ask = match subtype.as_str() {
            "can_use_tool" => body(request).map(|ask| CliRequestKind::Tool(Box::new(ask))),
            "hook_callback" => body(request).map(CliRequestKind::Hook),
            "mcp_message" => body(request).map(CliRequestKind::Mcp),
            "elicitation" => body(request).map(CliRequestKind::Elicitation),
            _ => None,
        };
        let ask = ask.unwrap_or(CliRequestKind::Other { subtype });
        Some(Self { id: request_id, ask, raw: Arc::clone(raw) })
    }
}

/// What is null is as what is not there.
fn or_default<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

fn body<T: DeserializeOwned>(request: &RawValue) -> Option<T> {
    serde_json::from_str(request.get()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> CliRequest {
        let raw: Arc<RawValue> = RawValue::from_string(line.to_owned()).unwrap().into();
        CliRequest::read(&raw).unwrap()
    }

    #[test]
    fn the_input_of_a_tool_stays_as_it_is() {
        let request = read(
            r#"{"request":{"input":{"z":1.0,"a":[ 1e2 ]},"tool_name":"Bash","subtype":"can_use_tool","permission_suggestions":null},"type":"control_request","request_id":"r"}"#,
        );
        let CliRequestKind::Tool(ask) = request.ask else { panic!("{request:?}") };
        assert_eq!(ask.input.get(), r#"{"z":1.0,"a":[ 1e2 ]}"#);
        assert!(!ask.requires_user_interaction && ask.tool_use_id.is_none());
    }

    #[test]
    fn what_we_never_heard_of_is_asked_all_the_same() {
        let request = read(r#"{"request_id":"r","request":{"subtype":"request_user_dialog"}}"#);
        assert_eq!(request.ask.subtype(), "request_user_dialog");
        let odd = read(r#"{"request_id":"r","request":{"subtype":"can_use_tool","input":3}}"#);
        assert!(matches!(odd.ask, CliRequestKind::Other { .. }), "{odd:?}");
    }
}
