use std::collections::BTreeMap;
use std::fmt;

use ratchet_core::catalog::llm::LlmAdapter;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::json::Raw;
use super::time::Time;
use super::word::{Spelled, Word};

/// How to speak to a provider, as its word.
pub type LlmAdapterWord = Word<LlmAdapter>;

impl Spelled for LlmAdapter {
    const WHAT: &'static str = "llm adapter";
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
    fn word(self) -> &'static str {
        self.as_str()
    }
}

/// How to reach a provider of models. Secrets are never among it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LlmConnectionView {
    /// Its id.
    pub id: String,
    /// What the project calls the provider.
    pub provider: String,
    /// How to speak to it.
    pub adapter: LlmAdapterWord,
    /// The end of the secret, to tell it from others.
    pub display_secret_key: String,
    /// Where it is, if not where it usually is.
    #[serde(rename = "baseURL")]
    pub base_url: Option<String>,
    /// Models beyond the usual ones.
    pub custom_models: Vec<String>,
    /// Whether it has the usual ones.
    pub with_default_models: bool,
    /// Names of headers that go with every call.
    pub extra_header_keys: Vec<String>,
    /// What else the adapter needs.
    pub config: Option<Raw>,
    /// Since when.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

/// A connection to be kept, in place of the one to the same provider.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LlmConnectionRequest {
    /// What the project calls the provider.
    pub provider: String,
    /// How to speak to it.
    pub adapter: LlmAdapterWord,
    /// What opens it. Plain only on its way in.
    pub secret_key: String,
    /// Where it is, if not where it usually is.
    #[serde(rename = "baseURL")]
    pub base_url: Option<String>,
    /// Models beyond the usual ones.
    pub custom_models: Option<Vec<String>>,
    /// Whether it has the usual ones; true when left out.
    pub with_default_models: Option<bool>,
    /// Headers that go with every call.
    pub extra_headers: Option<BTreeMap<String, String>>,
    /// What else the adapter needs: a region for Bedrock, for example.
    pub config: Option<Raw>,
}

/// The secrets stay out of logs.
impl fmt::Debug for LlmConnectionRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LlmConnectionRequest")
            .field("provider", &self.provider)
            .finish_non_exhaustive()
    }
}
