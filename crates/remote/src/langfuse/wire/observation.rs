use std::collections::BTreeMap;
use std::ops::Not;

use ratchet_core::money::Money;
use ratchet_core::record::observation::Observation;
use ratchet_core::record::usage::{Cost, TOTAL, Usage};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::json::{Raw, null_as_default, object, payload, raw};
use super::time::{Time, seconds};
use super::word::{KindWord, LevelWord, Word};

/// An observation.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObservationView {
    /// Its id.
    pub id: String,
    /// Which trace it belongs to.
    pub trace_id: Option<String>,
    /// What kind of step.
    #[serde(rename = "type")]
    pub kind: KindWord,
    /// What it is called.
    pub name: Option<String>,
    /// When it began.
    pub start_time: Time,
    /// When it ended.
    pub end_time: Option<Time>,
    /// When the first token came.
    pub completion_start_time: Option<Time>,
    /// The model as the provider names it.
    pub model: Option<String>,
    /// Temperature and the like.
    pub model_parameters: Option<Raw>,
    /// What went in.
    pub input: Option<Raw>,
    /// The version of the code that ran.
    pub version: Option<String>,
    /// Keys and values of the client's own.
    pub metadata: Option<Raw>,
    /// What came out.
    pub output: Option<Raw>,
    /// The same as the usage and cost details, as older clients read them.
    pub usage: UsageView,
    /// Tokens in, as clients of the first API read them.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(required = true)]
    pub prompt_tokens: u64,
    /// Tokens out, likewise.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(required = true)]
    pub completion_tokens: u64,
    /// All tokens, likewise.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(required = true)]
    pub total_tokens: u64,
    /// How much attention it wants.
    pub level: LevelWord,
    /// Why.
    pub status_message: Option<String>,
    /// The step it is part of.
    pub parent_observation_id: Option<String>,
    /// The id of the prompt version it used.
    pub prompt_id: Option<String>,
    /// The name of the prompt it used.
    pub prompt_name: Option<String>,
    /// The version of the prompt it used.
    pub prompt_version: Option<u32>,
    /// Units by kind, the total among them.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(required = true)]
    pub usage_details: BTreeMap<String, u64>,
    /// Dollars by kind, the total among them; empty when the cost is unknown.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(required = true)]
    pub cost_details: BTreeMap<String, f64>,
    /// True where the units are approximate: nobody sent them, so the tokens were counted here.
    /// Left out otherwise. Langfuse has no such field.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub usage_approximate: bool,
    /// True where the cost is approximate, because it follows from such units. Left out otherwise.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub cost_approximate: bool,
    /// Where it ran.
    pub environment: String,
    /// What the model costs.
    #[serde(flatten)]
    pub prices: ModelPrices,
    /// What came in cost, in dollars.
    pub calculated_input_cost: Option<f64>,
    /// What went out cost, in dollars.
    pub calculated_output_cost: Option<f64>,
    /// What it cost, in dollars.
    pub calculated_total_cost: Option<f64>,
    /// Seconds from start to end.
    pub latency: Option<f64>,
    /// Seconds from start to the first token.
    pub time_to_first_token: Option<f64>,
    /// When the record was first written.
    pub created_at: Option<Time>,
    /// When the record last changed.
    pub updated_at: Option<Time>,
}

/// What a model costs a unit, in dollars, where the price table knows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelPrices {
    /// The model's entry in the price table.
    pub model_id: Option<String>,
    /// A unit of input.
    pub input_price: Option<f64>,
    /// A unit of output.
    pub output_price: Option<f64>,
    /// A unit of any kind, for models that are priced so.
    pub total_price: Option<f64>,
}

/// Usage and cost as older clients read them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageView {
    /// Units in.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(required = true)]
    pub input: u64,
    /// Units out.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(required = true)]
    pub output: u64,
    /// All units.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(required = true)]
    pub total: u64,
    /// What is counted.
    pub unit: Option<String>,
    /// Dollars for what came in.
    pub input_cost: Option<f64>,
    /// Dollars for what went out.
    pub output_cost: Option<f64>,
    /// Dollars in all.
    pub total_cost: Option<f64>,
}

impl ObservationView {
    /// Shows an observation; what it carries, only if it was fetched.
    pub fn new(observation: &Observation, prices: ModelPrices) -> Self {
        let content = observation.content.as_ref();
        let cost = observation.cost.as_ref();
        let usage = UsageView::new(&observation.usage, cost);
        Self {
            id: observation.id.to_string(),
            trace_id: Some(observation.trace.to_string()),
            kind: Word(observation.kind),
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
            level: Word(observation.level),
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
