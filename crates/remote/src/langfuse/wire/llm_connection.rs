use std::collections::BTreeMap;
use std::fmt;

use ratchet_core::catalog::llm::LlmAdapter;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::json::Raw;
use super::time::Time;
use super::wire_name::{WireEnum, WireName};

/// The API name of an adapter.
pub type LlmAdapterName = WireName<LlmAdapter>;

impl WireEnum for LlmAdapter {
    const WHAT: &'static str = "llm adapter";
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
    fn wire_name(self) -> &'static str {
        self.as_str()
    }
}

/// An LLM connection without its secrets.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LlmConnectionView {
    /// Unique id.
    pub id: String,
    /// Provider name in the project.
    pub provider: String,
    /// Adapter.
    pub adapter: LlmAdapterName,
    /// The last characters of the secret key.
    pub display_secret_key: String,
    /// Base URL, if not the default.
    #[serde(rename = "baseURL")]
    pub base_url: Option<String>,
    /// Models beyond the adapter's defaults.
    pub custom_models: Vec<String>,
    /// Whether the adapter's default models are included.
    pub with_default_models: bool,
    /// Names of extra request headers.
    pub extra_header_keys: Vec<String>,
    /// Adapter-specific settings.
    pub config: Option<Raw>,
    /// Creation time.
    pub created_at: Time,
    /// Time of the last change.
    pub updated_at: Time,
}

/// A request to create an LLM connection, or to replace the one of the same provider.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LlmConnectionRequest {
    /// Provider name in the project.
    pub provider: String,
    /// Adapter.
    pub adapter: LlmAdapterName,
    /// Secret key. Stored encrypted and never returned.
    pub secret_key: String,
    /// Base URL, if not the default.
    #[serde(rename = "baseURL")]
    pub base_url: Option<String>,
    /// Models beyond the adapter's defaults.
    pub custom_models: Option<Vec<String>>,
    /// Whether the adapter's default models are included; true when omitted.
    pub with_default_models: Option<bool>,
    /// Extra request headers.
    pub extra_headers: Option<BTreeMap<String, String>>,
    /// Adapter-specific settings: a region for Bedrock, for example.
    pub config: Option<Raw>,
}

/// Hides the secrets from logs.
impl fmt::Debug for LlmConnectionRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LlmConnectionRequest")
            .field("provider", &self.provider)
            .finish_non_exhaustive()
    }
}
