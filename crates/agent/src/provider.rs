/// Anthropic's Messages API.
pub mod anthropic;
/// OpenAI's chat completions API.
pub mod openai;
/// Amazon Bedrock's Converse API.
pub mod bedrock;
/// The `claude` program.
pub mod claude;

use crate::capabilities::Capabilities;
use crate::error::ModelError;
use crate::judge::ProviderName;
use crate::provider::anthropic::Anthropic;
use crate::provider::bedrock::Bedrock;
use crate::provider::claude::ClaudeProgram;
use crate::provider::openai::OpenAi;
use crate::request::LlmRequest;
use crate::response::ProviderResponse;

/// An LLM provider.
#[derive(Clone, Debug)]
pub enum Provider {
    Anthropic(Anthropic),
    /// OpenAI's API or a compatible server.
    OpenAi(OpenAi),
    Bedrock(Bedrock),
    /// The `claude` program on this machine.
    Claude(ClaudeProgram),
}

/// A request with its model and capabilities.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProviderRequest<'a> {
    pub(crate) model: &'a str,
    pub(crate) ask: &'a LlmRequest,
    pub(crate) capabilities: Capabilities,
}

/// Callback for streamed text; `None` for a response in one piece.
pub(crate) type Listener<'a> = Option<&'a mut (dyn FnMut(&str) + Send)>;

impl Provider {
    /// Returns the provider's name.
    pub fn name(&self) -> ProviderName {
        match self {
            Self::Anthropic(_) => ProviderName::Anthropic,
            Self::OpenAi(_) => ProviderName::OpenAi,
            Self::Bedrock(_) => ProviderName::Bedrock,
            Self::Claude(_) => ProviderName::Claude,
        }
    }

    pub(crate) async fn complete(
        &self,
        provider_request: ProviderRequest<'_>,
        listener: Listener<'_>,
    ) -> Result<ProviderResponse, ModelError> {
        match self {
            Self::Anthropic(provider) => provider.complete(provider_request, listener).await,
            Self::OpenAi(provider) => provider.complete(provider_request, listener).await,
            Self::Bedrock(provider) => provider.complete(provider_request, listener).await,
            Self::Claude(provider) => provider.complete(provider_request, listener).await,
        }
    }
}
