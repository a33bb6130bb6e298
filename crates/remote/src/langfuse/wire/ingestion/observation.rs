use ratchet_core::record::observation::{Level, ObservationKind};
use serde::{Deserialize, Serialize};

use crate::langfuse::wire::json::Raw;
use crate::langfuse::wire::maybe::Maybe;
use crate::langfuse::wire::time::Time;
use crate::langfuse::wire::word::Word;

/// What an event says about an observation of any kind.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObservationBody {
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub id: Maybe<String>,
    /// Which trace it belongs to.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub trace_id: Maybe<String>,
    /// What kind of step, where the event type does not say.
    #[serde(rename = "type", skip_serializing_if = "Maybe::is_absent")]
    pub kind: Maybe<Word<ObservationKind>>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub name: Maybe<String>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub start_time: Maybe<Time>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub end_time: Maybe<Time>,
    /// When the first token came.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub completion_start_time: Maybe<Time>,
    /// The model as the provider names it.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub model: Maybe<String>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub model_parameters: Maybe<Raw>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub input: Maybe<Raw>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub output: Maybe<Raw>,
    /// Keys and values of the client's own.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub metadata: Maybe<Raw>,
    /// Units and costs in one of the older forms.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub usage: Maybe<Raw>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub usage_details: Maybe<Raw>,
    /// Dollars by kind.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub cost_details: Maybe<Raw>,
    /// How much attention it wants.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub level: Maybe<Word<Level>>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub status_message: Maybe<String>,
    /// The step it is part of.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub parent_observation_id: Maybe<String>,
    /// The version of the code that ran.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub version: Maybe<String>,
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub environment: Maybe<String>,
    /// The name of the prompt it used.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub prompt_name: Maybe<String>,
    /// The version of the prompt it used.
    #[serde(skip_serializing_if = "Maybe::is_absent")]
    pub prompt_version: Maybe<u32>,
}
