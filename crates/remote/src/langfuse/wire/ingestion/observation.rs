use ratchet_core::record::observation::{Level, ObservationKind};
use serde::{Deserialize, Serialize};

use crate::langfuse::wire::json::Raw;
use crate::langfuse::wire::maybe::Maybe;
use crate::langfuse::wire::time::Time;
use crate::langfuse::wire::wire_name::WireName;

/// The body of an observation event of any type.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObservationBody {
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub id: Maybe<String>,
    /// Trace id.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub trace_id: Maybe<String>,
    /// Type, where the event type does not imply it.
    #[serde(rename = "type", skip_serializing_if = "Maybe::is_absent")]
    pub kind: Maybe<WireName<ObservationKind>>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub name: Maybe<String>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub start_time: Maybe<Time>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub end_time: Maybe<Time>,
    /// Time of the first token.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub completion_start_time: Maybe<Time>,
    /// The provider's model name.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub model: Maybe<String>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub model_parameters: Maybe<Raw>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub input: Maybe<Raw>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub output: Maybe<Raw>,
    /// Client metadata.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub metadata: Maybe<Raw>,
    /// Usage and cost in one of the older formats.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub usage: Maybe<Raw>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub usage_details: Maybe<Raw>,
    /// Dollars by usage type.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub cost_details: Maybe<Raw>,
    /// Level.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub level: Maybe<WireName<Level>>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub status_message: Maybe<String>,
    /// Parent observation id.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub parent_observation_id: Maybe<String>,
    /// Version of the code.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub version: Maybe<String>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub environment: Maybe<String>,
    /// Prompt name.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub prompt_name: Maybe<String>,
    /// Prompt version.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub prompt_version: Maybe<u32>,
}
