use std::collections::BTreeMap;
use std::ops::Not;

use ratchet_core::money::Money;
use ratchet_core::record::observation::Observation;
use ratchet_core::record::usage::{Cost, TOTAL, Usage};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::json::{Raw, null_as_default, object, payload, raw};
use super::time::{Time, seconds};
use super::wire_name::{LevelName, ObservationKindName, WireName};

/// An observation.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObservationView {
    /// Unique id.
    pub id: String,
    /// Trace id.
    pub trace_id: Option<String>,
    /// Type.
    #[serde(rename = "type")]
    pub kind: ObservationKindName,
    /// Name.
    pub name: Option<String>,
    /// Start time.
    pub start_time: Time,
    /// End time.
    pub end_time: Option<Time>,
    /// Time of the first token.
    pub completion_start_time: Option<Time>,
    /// The provider's model name.
    pub model: Option<String>,
    /// Model parameters such as temperature.
    pub model_parameters: Option<Raw>,
    /// Input.
    pub input: Option<Raw>,
    /// Version of the code.
    pub version: Option<String>,
    /// Client metadata.
    pub metadata: Option<Raw>,
    /// Output.
    pub output: Option<Raw>,
    /// Usage and cost in the format of older clients.
    pub usage: UsageView,
    /// Input tokens, for clients of API version 1.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(required = true)]
    pub prompt_tokens: u64,
    /// Output tokens, for clients of API version 1.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(required = true)]
    pub completion_tokens: u64,
    /// Total tokens, for clients of API version 1.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(required = true)]
    pub total_tokens: u64,
    /// Level.
    pub level: LevelName,
    /// Status message.
    pub status_message: Option<String>,
    /// Parent observation id.
    pub parent_observation_id: Option<String>,
    /// Prompt version id.
    pub prompt_id: Option<String>,
    /// Prompt name.
    pub prompt_name: Option<String>,
    /// Prompt version.
    pub prompt_version: Option<u32>,
    /// Units by usage type, the total included.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(required = true)]
    pub usage_details: BTreeMap<String, u64>,
    /// Dollars by usage type, the total included; empty when the cost is unknown.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(required = true)]
    pub cost_details: BTreeMap<String, f64>,
    /// True where the usage is approximate: no client sent it, so the server counted the tokens.
    /// Omitted otherwise. Langfuse has no such field.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub usage_approximate: bool,
    /// True where the cost is approximate, because it is computed from such units. Omitted
    /// otherwise.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub cost_approximate: bool,
    /// Environment.
    pub environment: String,
    /// Model prices.
    #[serde(flatten)]
    pub prices: ModelPrices,
    /// Input cost in dollars.
    pub calculated_input_cost: Option<f64>,
    /// Output cost in dollars.
    pub calculated_output_cost: Option<f64>,
    /// Total cost in dollars.
    pub calculated_total_cost: Option<f64>,
    /// Seconds from start to end.
    pub latency: Option<f64>,
    /// Seconds from start to the first token.
    pub time_to_first_token: Option<f64>,
    /// Creation time of the record.
    pub created_at: Option<Time>,
    /// Time of the record's last change.
    pub updated_at: Option<Time>,
}

/// Unit prices of a model in dollars, where the price table has them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelPrices {
    /// Id of the model in the price table.
    pub model_id: Option<String>,
    /// Price per input unit.
    pub input_price: Option<f64>,
    /// Price per output unit.
    pub output_price: Option<f64>,
    /// Price per unit, for models with a single price.
    pub total_price: Option<f64>,
}

/// Usage and cost in the format of older clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageView {
    /// Input units.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(required = true)]
    pub input: u64,
    /// Output units.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(required = true)]
    pub output: u64,
    /// Total units.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(required = true)]
    pub total: u64,
    /// The records of a metrics query.
    pub unit: Option<String>,
    /// Input cost in dollars.
    pub input_cost: Option<f64>,
    /// Output cost in dollars.
    pub output_cost: Option<f64>,
    /// Total cost in dollars.
    pub total_cost: Option<f64>,
}

impl ObservationView {
    /// Converts an observation; with its content only if that was loaded.
    pub fn new(observation: &Observation, prices: ModelPrices) -> Self {
        let content = observation.content.as_ref();
        let cost = observation.cost.as_ref();
        let usage = UsageView::new(&observation.usage, cost);
        Self {
            id: observation.id.to_string(),
            trace_id: Some(observation.trace.to_string()),
            kind: WireName(observation.kind),
            name: observation.name.clone(),
            start_time: observation.start.into(),
            end_time: observation.end.map(Time),
            completion_start_time: observation.completion_start.map(Time),
            model: observation.model.clone(),
            model_parameters: observation.model_parameters.as_ref().map(raw),
            input: content.and_then(|content| content.input.as_ref()).map(payload),
            version: observation.version.clone(),
            metadata: content.map(|content| object(&content.metadata)),
            output: content.and_then(|content| content.output.as_ref()).map(payload),
            prompt_tokens: usage.input,
            completion_tokens: usage.output,
            total_tokens: usage.total,
            level: WireName(observation.level),
            status_message: observation.status_message.clone(),
            parent_observation_id: observation.parent.as_ref().map(ToString::to_string),
            prompt_id: None,
            prompt_name: observation.prompt.as_ref().map(|prompt| prompt.name.clone()),
            prompt_version: observation.prompt.as_ref().map(|prompt| prompt.version),
            usage_details: observation.usage.kinds().clone(),
            cost_details: cost.map(cost_details).unwrap_or_default(),
            usage_approximate: observation.counted,
            cost_approximate: observation.has_approximate_cost(),
            environment: observation.environment.to_string(),
            prices,
            calculated_input_cost: usage.input_cost,
            calculated_output_cost: usage.output_cost,
            calculated_total_cost: usage.total_cost,
            usage,
            latency: observation.latency().map(seconds),
            time_to_first_token: observation.time_to_first_token().map(seconds),
            created_at: Some(observation.created_at.into()),
            updated_at: Some(observation.updated_at.into()),
        }
    }
}

impl UsageView {
    fn new(usage: &Usage, cost: Option<&Cost>) -> Self {
        Self {
            input: usage.input(),
            output: usage.output(),
            total: usage.total(),
            unit: Some("TOKENS".to_owned()),
            input_cost: cost.and_then(Cost::input).map(Money::dollars),
            output_cost: cost.and_then(Cost::output).map(Money::dollars),
            total_cost: cost.map(|cost| cost.total().dollars()),
        }
    }
}

pub(super) fn cost_details(cost: &Cost) -> BTreeMap<String, f64> {
    let kinds = cost.kinds().iter().map(|(kind, money)| (kind.clone(), money.dollars()));
    kinds.chain([(TOTAL.to_owned(), cost.total().dollars())]).collect()
}
