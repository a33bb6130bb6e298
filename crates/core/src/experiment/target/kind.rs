use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::TargetValue;

/// How a target is called.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetKind {
    Command(CommandSpec),
    Http(HttpSpec),
    AgentCore(AgentCoreSpec),
    AgentCoreArn(AgentCoreArnSpec),
    Claude(ClaudeSpec),
    Prompt(PromptSpec),
}

/// A command: the item's input arrives as JSON on stdin, the answer is stdout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandSpec {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The working directory; that of the target file by default.
    pub directory: Option<String>,
}

/// An HTTP endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpSpec {
    pub url: TargetValue,
    /// `POST` by default.
    pub method: Option<String>,
    #[serde(default)]
    pub headers: BTreeMap<String, TargetValue>,
    /// A JSON template, in which `{{input}}` and `{{input.field}}` stand for the item's input, and
    /// `{{session}}` for the id of the call; the input itself by default.
    pub body: Option<String>,
    /// A path to the answer in the response, such as `$.output.text`; the whole body by default.
    pub output: Option<String>,
    /// Whether the response is a stream of server-sent events, whose outputs are joined.
    #[serde(default)]
    pub stream: bool,
}

/// A server with the contract of Amazon Bedrock AgentCore: `POST /invocations`, `GET /ping`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentCoreSpec {
    /// The base URL, such as `http://127.0.0.1:8080`.
    pub url: TargetValue,
    #[serde(default)]
    pub headers: BTreeMap<String, TargetValue>,
    /// As for HTTP endpoints; `{"prompt": {{input}}}` for a text by default.
    pub body: Option<String>,
    /// As for HTTP endpoints.
    pub output: Option<String>,
}

/// An agent in Amazon Bedrock AgentCore Runtime, called by `InvokeAgentRuntime`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentCoreArnSpec {
    pub arn: TargetValue,
    /// The region; that of the ARN by default.
    pub region: Option<String>,
    /// The endpoint of the runtime; `DEFAULT` by default.
    pub qualifier: Option<String>,
    /// Another address of the service, such as a VPC endpoint.
    pub endpoint: Option<TargetValue>,
    /// Who calls; by default what AWS's tools find: environment, profile, container or instance.
    pub credentials: Option<AwsKeys>,
    /// As for the contract of AgentCore.
    pub body: Option<String>,
    pub output: Option<String>,
}

/// An access key of AWS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AwsKeys {
    pub access_key_id: TargetValue,
    pub secret_access_key: TargetValue,
    /// For temporary ones.
    pub session_token: Option<TargetValue>,
}

/// The `claude` program, in a fresh workspace per call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaudeSpec {
    pub model: Option<String>,
    /// A text that is added to the system prompt.
    pub system_prompt: Option<String>,
    /// A folder that is copied into each workspace, relative to the file.
    pub workspace: Option<String>,
    /// Rules of tools that run without asking; any other call is refused.
    #[serde(default)]
    pub allowed_tools: Vec<String>,
    /// How often the model may be asked in a call.
    pub max_turns: Option<u32>,
    /// What a call may cost, in US dollars.
    pub max_budget: Option<f64>,
    /// The program; `RATCHET_CLAUDE_BIN` or `claude` by default.
    pub program: Option<String>,
}

/// A prompt and a model, without an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromptSpec {
    /// A prompt by its name. Its variables are fields of the item's input; `{{input}}` is all of it.
    pub prompt: Option<String>,
    /// A version of the prompt.
    pub prompt_version: Option<u32>,
    /// A label of the prompt; `latest` without a version.
    pub label: Option<String>,
    /// The prompt itself, instead of its name.
    pub text: Option<String>,
    /// The model, as judges are named: `anthropic:MODEL`, `openai:MODEL`, `bedrock:MODEL` or
    /// `connection:NAME:MODEL`.
    pub model: String,
    pub temperature: Option<f64>,
    pub max_tokens: Option<u32>,
}

impl TargetKind {
    /// Returns the name in target files.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Command(_) => "command",
            Self::Http(_) => "http",
            Self::AgentCore(_) => "agentcore",
            Self::AgentCoreArn(_) => "agentcore-arn",
            Self::Claude(_) => "claude",
            Self::Prompt(_) => "prompt",
        }
    }

    /// Returns the values that may be references.
    pub(super) fn values(&self) -> Vec<&TargetValue> {
        match self {
            Self::Http(HttpSpec { url, headers, .. })
            | Self::AgentCore(AgentCoreSpec { url, headers, .. }) => {
                std::iter::once(url).chain(headers.values()).collect()
            }
            Self::AgentCoreArn(AgentCoreArnSpec { arn, endpoint, credentials, .. }) => {
                let keys = credentials.iter().flat_map(|keys| {
                    [&keys.access_key_id, &keys.secret_access_key]
                        .into_iter()
                        .chain(&keys.session_token)
                });
                std::iter::once(arn).chain(endpoint).chain(keys).collect()
            }
            Self::Command(_) | Self::Claude(_) | Self::Prompt(_) => Vec::new(),
        }
    }

    /// Returns where it is called.
    pub(super) fn addresses(&self) -> Vec<&TargetValue> {
        match self {
            Self::Http(HttpSpec { url, .. }) | Self::AgentCore(AgentCoreSpec { url, .. }) => {
                vec![url]
            }
            Self::AgentCoreArn(AgentCoreArnSpec { arn, endpoint, .. }) => {
                std::iter::once(arn).chain(endpoint).collect()
            }
            Self::Command(_) | Self::Claude(_) | Self::Prompt(_) => Vec::new(),
        }
    }

    /// Returns why a target of this kind may not be stored on a server by its users; `None` if it
    /// may. What runs programs there, or acts in the name of its machine, is the operator's to name.
    pub const fn not_storable(&self) -> Option<&'static str> {
        match self {
            Self::Command(_) | Self::Claude(_) => Some(
                "runs a program on the server: its operator can add it below [targets] in ratchet.toml",
            ),
            Self::AgentCoreArn(AgentCoreArnSpec { credentials: None, .. }) => Some(
                "needs [credentials]: only the operator's own targets act with the server's identity",
            ),
            Self::Http(_) | Self::AgentCore(_) | Self::AgentCoreArn(_) | Self::Prompt(_) => None,
        }
    }
}
